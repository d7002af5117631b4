"""What a method works on: a batch, a plan of who is mixed with whom, the mixed batch, and random draws."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NoReturn

import torch
from torch import Tensor

from tailormix import checks
from tailormix.embeddings import rewrite_output, unwrap

if TYPE_CHECKING:
    from torch import nn
    from torch.distributed import ProcessGroup

Space = str | Callable[["Tensor"], "Tensor"]
SPACES = ("embedding", "input", "label")
PER = ("batch", "sample")  # how finely coefficients may be drawn


@dataclass(frozen=True)
class Plan:
    """Who is mixed with whom (``partner``) and how strongly (``lam``), for a batch of n samples.

    All fields have shape (n,). λ_i = 1 keeps sample i as it is, λ_i = 0 replaces it by its partner.

    Attributes:
        partner: index of each sample's partner, in the batch or in the pool.
        lam: coefficient of the inputs.
        lam_targets: coefficient of the targets, where it differs from ``lam``.
        tau: the warping parameter behind ``lam``, where there is one.
        distance: the rescaled distance of each pair, where it was measured.

    >>> plan = Plan(partner=torch.tensor([1, 0]), lam=torch.tensor([0.75, 0.5]))
    >>> plan.blend(torch.tensor([[0.0], [8.0]]))
    tensor([[2.],
            [4.]])

    """

    partner: Tensor
    lam: Tensor
    lam_targets: Tensor | None = None
    tau: Tensor | None = None
    distance: Tensor | None = None

    def __post_init__(self) -> None:
        shape = self.partner.shape
        if len(shape) != 1:
            raise ValueError(f"partner must have shape (n,), got {tuple(shape)}")
        if self.partner.dtype not in (torch.int64, torch.int32):
            raise TypeError(f"partner must hold indices (torch.int64), got dtype {self.partner.dtype}")
        readable = self.partner.is_cpu and not torch.compiler.is_compiling() and not checks.TRUSTING.get()
        if readable and bool((self.partner < 0).any()):
            raise ValueError(f"partner must hold indices >= 0, got {int(self.partner.min())}")
        for name in ("lam", "lam_targets", "tau", "distance"):
            value = getattr(self, name)
            if value is not None and value.shape != shape:
                found = tuple(value.shape)
                raise ValueError(f"{name} must have shape (n,) like partner, {tuple(shape)}, got {found}")

    def __len__(self) -> int:
        return self.partner.shape[0]

    def blend(self, a: Tensor, others: Tensor | None = None) -> Tensor:
        """λ_i a_i + (1 - λ_i) a_σ(i), for anything with a batch axis.

        ``others`` are the partners' rows, (n, ...), where they do not come from ``a`` itself but from a pool.
        """
        if not a.is_floating_point():
            raise TypeError(
                f"only floating-point tensors can be mixed, got dtype {a.dtype}: convert it first"
            )
        if others is None:  # index_select is the faster one, and makes channels-last contiguous
            others = a.index_select(0, self.partner) if a.is_contiguous() else a[self.partner]
        lam = self.lam.to(a.device, a.dtype)
        return others.lerp(a, lam.reshape(-1, *(1,) * (a.dim() - 1)))

    @property
    def for_targets(self) -> Plan:
        """The same plan with the coefficients of the targets as ``lam``."""
        return self if self.lam_targets is None else replace(self, lam=self.lam_targets, lam_targets=None)


@dataclass(frozen=True)
class Pool:
    """The training set as a place to draw partners from.

    Attributes:
        x: inputs (N, ...), or a function from indices to inputs (so that partners pass the augmentation).
        y: targets (N, ...).

    """

    x: Tensor | Callable[[Tensor], Tensor]
    y: Tensor

    def __len__(self) -> int:
        return self.y.shape[0]

    def inputs(self, index: Tensor) -> Tensor:
        """The inputs of some rows."""
        return self.x(index) if callable(self.x) else self.x[index]


@dataclass(frozen=True)
class Draws:
    """Random numbers on ``device``.

    With a ``generator`` (a CPU generator) the numbers are drawn there and moved, so one seed gives one result
    on every device. Without one they come from the device's own generator, with no copy and no wait.
    """

    device: torch.device
    generator: torch.Generator | None = None

    def uniform(self, *shape: int) -> Tensor:
        """U(0, 1), of the given shape."""
        if self.generator is None:  # not even as an argument, which has no compiled form of unknown size
            return torch.rand(shape, dtype=torch.float32, device=self.device)
        return torch.rand(shape, generator=self.generator, dtype=torch.float32, device="cpu").to(self.device)

    def below(self, n: int, count: int) -> Tensor:
        """``count`` indices, uniform in {0, ..., n-1}, with replacement."""
        if self.generator is None:
            return torch.randint(n, (count,), device=self.device)
        return torch.randint(n, (count,), generator=self.generator, device="cpu").to(self.device)

    def choice(self, n: int) -> int:
        """One index below n, on the host: drawn there, so that no device has to be waited for."""
        return int(torch.randint(n, (), generator=self.generator, device="cpu"))

    def beta(self, concentration: Tensor) -> Tensor:
        """Beta(τ_i, τ_i) directly, as a ratio of two gammas on the logarithmic scale, safe for any τ_i."""
        shape = concentration.clamp(1e-30, 1e30)
        return torch.sigmoid(self._log_gamma(shape) - self._log_gamma(shape))

    def _log_gamma(self, shape: Tensor) -> Tensor:
        """Log of Gamma(a) = Gamma(a+1) · U^(1/a): small shapes would underflow without the logarithm."""
        u = self.uniform(*shape.shape).clamp(min=torch.finfo(torch.float32).tiny)
        if self.generator is None:
            return _gamma(shape + 1).log() + u.log() / shape
        with torch.random.fork_rng(devices=[]):  # torch's gammas take no generator
            torch.manual_seed(self.choice(2**62))
            gamma = _gamma((shape + 1).cpu())
        return gamma.to(self.device).log() + u.log() / shape


def _gamma(shape: Tensor) -> Tensor:
    return torch.distributions.Gamma(shape, torch.ones_like(shape), validate_args=False).sample()


@dataclass(eq=False)
class Batch:
    """n samples and all that a method may want to know about them.

    Attributes:
        x: inputs (n, ...), floating point.
        y: class indices or booleans (n,), soft rows (n, C), or real targets (n, ...).
        num_classes: C where it is known; with real targets, giving it means classification with soft rows.
        embeddings: (n, ...), or a function that makes them, called when they are first asked for.
        pool: the training set, if partners come from it and not from the batch.
        ids: (n,) identities of the samples in the training set.
        weight: (n,) weights of the samples in the loss.
        group: the ranks over which mean distances are taken.

    """

    x: Tensor
    y: Tensor
    num_classes: int | None = None
    embeddings: Tensor | Callable[[], Tensor] | None = None
    pool: Pool | None = None
    ids: Tensor | None = None
    weight: Tensor | None = None
    group: ProcessGroup | None = None
    classification: bool = field(init=False)  # integer targets, or a number of classes

    def __post_init__(self) -> None:  # noqa: C901 - one check after the other
        x: Any = self.x
        y: Any = self.y
        if not isinstance(x, Tensor) or not x.is_floating_point() or not x.dim() or not len(x):
            _reject_inputs(x)
        for name in ("y", "ids", "weight", "embeddings"):
            value = getattr(self, name)
            if isinstance(value, Tensor):
                if value.shape[:1] != x.shape[:1]:
                    raise ValueError(f"{name} must have {len(x)} rows like x, got shape {tuple(value.shape)}")
                if name in ("ids", "weight") and value.dim() != 1:
                    raise ValueError(f"{name} must have shape ({len(x)},), got {tuple(value.shape)}")
            elif name == "y" or not (value is None or callable(value)):
                raise TypeError(f"{name} must be a tensor, got {type(value).__name__}")
        if y.is_complex():
            raise TypeError(f"y must hold class indices or real numbers, got dtype {y.dtype}")
        if not y.is_floating_point() and y.dim() != 1:
            raise ValueError(
                f"class indices must have shape (n,), got {tuple(y.shape)}: several labels per sample go as "
                "y.float(), with num_classes and a criterion per class"
            )
        if y.is_floating_point() and self.num_classes is not None and y.shape != (len(x), self.num_classes):
            soft = (len(x), self.num_classes)
            raise ValueError(f"soft targets must have shape {soft}, got {tuple(y.shape)}")
        self.classification = self.num_classes is not None or not y.is_floating_point()
        if not y.is_floating_point():
            self.y = y = y.long()
            if self.num_classes is not None:
                check_range(y, self.num_classes)

    def __len__(self) -> int:
        return self.x.shape[0]

    def features(self, space: Space | None = None) -> Tensor:
        """The points (n, ...) between which distances are measured.

        By default embeddings for classification and labels for regression.
        """
        if space is None:
            space = "embedding" if self.classification else "label"
            if not self.classification:
                reject_class_rows(self.y, "space='label'")
        if space == "label":
            return self._label_points(self.y)
        if space != "embedding":
            return _input_points(space, self.x)
        if self.embeddings is None:
            raise ValueError(
                "embeddings are needed by space='embedding' (the default for classification): pass "
                "embeddings=, use .loss(model, x, y), or measure distances in space='input'"
            )
        if not isinstance(self.embeddings, Tensor):
            self.embeddings = self.embeddings()
        return self.embeddings

    def pair_features(self, partner: Tensor, space: Space | None = None) -> tuple[Tensor, Tensor, Tensor]:
        """The points (n, ...) of the samples, points to choose partners from, and which are chosen, (n,)."""
        points = self.features(space)
        if self.pool is None:
            return points, points, partner
        if space == "embedding" or (space is None and self.classification):
            raise ValueError("partners from the pool have no embeddings: use space='label' or space='input'")
        if space is None or space == "label":
            return points, self._label_points(self.pool.y), partner
        others = _input_points(space, self.pool.inputs(partner))
        return points, others, torch.arange(len(self), device=partner.device)

    def _label_points(self, y: Tensor) -> Tensor:
        if y.is_floating_point():
            return y
        if self.num_classes is None:
            raise ValueError("space='label' with class indices needs num_classes")
        return one_hot(y, self.num_classes)


def _input_points(space: Space, x: Tensor) -> Tensor:
    """Inputs as points, or what a function makes of them; distances carry no gradient, so neither does it."""
    if not callable(space):
        return x
    with torch.no_grad():
        points = space(x)
    if points.shape[:1] != x.shape[:1]:
        raise ValueError(f"space must return {x.shape[0]} rows, one per sample, got {tuple(points.shape)}")
    return points


@dataclass(eq=False)
class Mixed:
    """A mixed batch: inputs, the plan as it was carried out, and where in the model it is to happen.

    Attributes:
        x: the inputs to run the model on.
        plan: who was mixed with whom; its coefficients are those that really happened (CutMix corrects them).
        batch: where it came from.
        place: tells for a model at which layer to mix (``None``: the input); absent if ``x`` is mixed.

    """

    x: Tensor
    plan: Plan
    batch: Batch
    place: Callable[[nn.Module], str | None] | None = None

    def predict(self, model: nn.Module) -> Any:
        """Run the model, mixing on the way where that is still to be done."""
        if self.place is None:
            return model(self.x)
        layer = self.place(model)
        if layer is None:
            return model(self.plan.blend(self.x))
        with contextlib.ExitStack() as stack:
            # A model may name modules to be blended together with any of its layers (LSTNet's highway).
            for name in (layer, *getattr(unwrap(model), "companions", ())):
                stack.enter_context(rewrite_output(model, name, self.plan.blend, rows=len(self.batch)))
            return model(self.x)

    def targets(self, num_classes: int | None = None) -> Tensor:
        """Mixed targets: soft rows (n, C) for classes, mixed values for real targets."""
        batch, plan = self.batch, self.plan if self.plan.lam_targets is None else self.plan.for_targets
        mine, theirs = batch.y, None if batch.pool is None else batch.pool.y[plan.partner]
        if not mine.is_floating_point():
            classes = batch.num_classes or num_classes
            if classes is None:
                raise ValueError("num_classes is needed to turn class indices into soft targets, got None")
            mine = one_hot(mine, classes)
            if theirs is not None:
                check_range(theirs, classes)
                theirs = one_hot(theirs, classes)
        return plan.blend(mine, theirs)

    def weight(self) -> Tensor | None:
        """Weights of the mixed samples: those of the two samples, mixed like the targets."""
        weight = self.batch.weight
        if weight is None:
            return None
        if self.batch.pool is not None:
            raise ValueError(
                "weight cannot be given with partners from the pool: their weights are not known"
            )
        return self.plan.for_targets.blend(weight)


def one_hot(y: Tensor, num_classes: int) -> Tensor:
    """Class indices (n,) as rows (n, C) of the default dtype; NaN for an index that is no class.

    Where values cannot be looked at, on a GPU and in compiled code, such a label so makes the loss NaN. It is
    never a row without a class.

    >>> one_hot(torch.tensor([1, 0, 2]), 2)
    tensor([[0., 1.],
            [1., 0.],
            [nan, nan]])
    """
    classes = torch.arange(num_classes, device=y.device)
    rows = (y.long()[:, None] == classes).to(torch.get_default_dtype())
    return rows / rows.sum(1, keepdim=True)  # divides by 1, or by 0 where no class is meant


def check_range(y: Tensor, num_classes: int) -> None:
    """Reject class indices out of range, where looking at them is free."""
    if not y.is_cpu or torch.compiler.is_compiling() or checks.TRUSTING.get() or not y.numel():
        return
    low, high = (int(bound) for bound in y.aminmax())
    if low < 0 or high >= num_classes:
        raise ValueError(f"y must lie in 0..{num_classes - 1} (num_classes={num_classes}), got {low}..{high}")


def reject_class_rows(y: Tensor, otherwise: str) -> None:
    """Reject rows (n, C) of probabilities, or of zeros and ones, where they would be taken for real targets.

    ``otherwise`` is what to say where they are real targets indeed.
    """
    if y.dim() != 2 or y.shape[1] < 2 or not checks.readable(y):
        return
    labels = ((y == 0) | (y == 1)).all()
    probabilities = (y >= 0).all() & ((y.float().sum(1) - 1).abs() < 1e-2).all()
    if bool(labels | probabilities):
        raise ValueError(
            f"y of shape {tuple(y.shape)} looks like classes, one per column: pass "
            f"num_classes={y.shape[1]} to the method for classification, or {otherwise} for real targets"
        )


def _reject_inputs(x: Any) -> NoReturn:
    if not isinstance(x, Tensor):
        raise TypeError(f"x must be a tensor, got {type(x).__name__}")
    if x.dtype == torch.uint8:
        raise TypeError(f"x must be floating point, got dtype {x.dtype}: convert images with x.float() / 255")
    if not x.is_floating_point():
        raise TypeError(
            f"x must be floating point to be mixed, got dtype {x.dtype}: for tokens, pass their embeddings "
            "and the rest of the model (MixupTrainer does so)"
        )
    raise ValueError(f"x must hold at least one sample, got shape {tuple(x.shape)}")


def check_space(space: Space | None) -> None:
    """Reject a space of distances that is neither named, nor a function, nor left open."""
    if space is not None and not callable(space):
        checks.known("space", space, SPACES)
