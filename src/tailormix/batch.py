"""A batch as the components of a method see it, and the plan of who is mixed with whom and how strongly."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NoReturn

import torch
from torch import Tensor, float32, get_default_dtype
from torch.compiler import is_dynamo_compiling

from tailormix.bags import blend, sums
from tailormix.kept import is_batched, readable, remembering

if TYPE_CHECKING:
    from torch import nn
    from torch.distributed import ProcessGroup

    from tailormix.bags import Bags


FEW = 2**9  # classes up to which an identity matrix is kept, whose rows are copied
INDICES = (torch.int64, torch.int32)
INTEGERS = (*INDICES, torch.int16, torch.int8, torch.uint8, torch.uint16, torch.uint32, torch.uint64)
COLUMN = [(-1, *(1,) * (axes - 1)) for axes in range(65)]  # one number a row, for tensors of so many axes


@dataclass(frozen=True, init=False)
class Plan:
    """Who is mixed with whom (``partner``) and how strongly (``lam``), for a batch of n samples.

    All fields have shape (n,). λ_i = 1 keeps sample i as it is, λ_i = 0 replaces it by its partner.

    Attributes:
        partner: index of each sample's partner, in the batch or in the pool.
        lam: coefficient of the inputs.
        lam_targets: coefficient of the targets, where it differs from ``lam``.
        tau: the warping parameter behind ``lam``, where there is one and somebody asked (``method.plan``).
        distance: the rescaled distance of each pair, likewise.

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

    def __init__(
        self,
        partner: Tensor,
        lam: Tensor,
        lam_targets: Tensor | None = None,
        tau: Tensor | None = None,
        distance: Tensor | None = None,
    ) -> None:
        # By hand: every batch has its plan, and most plans have two fields.
        shape = partner.shape
        if len(shape) != 1:
            raise ValueError(f"partner must have shape (n,), got {tuple(shape)}")
        if lam.shape != shape:
            _reject("lam", lam, shape)
        object.__setattr__(self, "partner", partner)
        object.__setattr__(self, "lam", lam)
        if lam_targets is not None or tau is not None or distance is not None:
            for name, value in (("lam_targets", lam_targets), ("tau", tau), ("distance", distance)):
                if value is not None:
                    if value.shape != shape:
                        _reject(name, value, shape)
                    object.__setattr__(self, name, value)

    def __post_init__(self) -> None:
        """For subclasses, whose own ``__init__`` a dataclass writes: checked like a plan."""
        Plan(self.partner, self.lam, self.lam_targets, self.tau, self.distance)

    def __len__(self) -> int:
        return self.partner.shape[0]

    def blend(self, a: Tensor, partners: Tensor | None = None) -> Tensor:
        """λ_i a_i + (1 - λ_i) partners_σ(i) for anything with a batch axis; ``partners`` is ``a`` by default.

        ``partners`` may be longer than the batch (a pool), in which case ``partner`` points into it.
        """
        if partners is None:
            found = blend(a, self.partner, self.lam)
            if found is not None:
                return found[0]
            partners = a
        if partners.is_contiguous():
            return mix(a, partners.index_select(0, self.partner), self.lam)
        return mix(a, take(partners, self.partner), self.lam)

    @property
    def for_targets(self) -> Plan:
        """The same plan with the coefficients of the targets as ``lam``."""
        return self if self.lam_targets is None else replace(self, lam=self.lam_targets, lam_targets=None)

    def blend_labels(
        self, y: Tensor, num_classes: int, partners: Tensor | None = None, bags: Bags | None = None
    ) -> Tensor:
        """Soft rows (n, C) with λ_i at class y_i and 1 - λ_i at the partner's class; y holds class indices.

        ``bags`` are those of this plan, from :func:`tailormix.bags.blend`, if they are at hand.

        >>> Plan(torch.tensor([1, 0]), torch.tensor([0.75, 1.0])).blend_labels(torch.tensor([0, 2]), 3)
        tensor([[0.7500, 0.0000, 0.2500],
                [0.0000, 0.0000, 1.0000]])
        """
        if bags is not None and num_classes <= FEW and y.dtype in INDICES and get_default_dtype() is float32:
            return _summed_labels(y, num_classes, bags)
        rows = one_hot(y, num_classes)
        if partners is None:
            return self.blend(rows)
        return mix(rows, one_hot(take(partners, self.partner), num_classes), self.lam)


def _reject(name: str, value: Tensor, shape: torch.Size) -> NoReturn:
    raise ValueError(
        f"{name} must have shape (n,) like partner, got {tuple(value.shape)} beside {tuple(shape)}"
    )


def mix(a: Tensor, others: Tensor, lam: Tensor) -> Tensor:
    """λ_i a_i + (1 - λ_i) others_i, written over ``others``: one pass and no further allocation."""
    if not a.is_floating_point():
        raise TypeError(f"only floating-point tensors can be mixed, got dtype {a.dtype}: convert it first")
    if lam.dtype != a.dtype or lam.get_device() != a.get_device():
        lam = lam.to(device=a.device, dtype=a.dtype)
    return others.lerp_(a, lam.view(COLUMN[a.dim()]))


def take(a: Tensor, index: Tensor) -> Tensor:
    """``a[index]`` along the first axis, in the memory format of ``a``."""
    # index_select is faster, but turns channels-last into contiguous.
    return a.index_select(0, index) if a.is_contiguous() else a[index]


def one_hot(y: Tensor, num_classes: int) -> Tensor:
    """Class indices (n,) as rows (n, C), without the wait that torch's own ``one_hot`` needs on a GPU.

    >>> one_hot(torch.tensor([1, 0]), 2)
    tensor([[0., 1.],
            [1., 0.]])
    """
    index = y if y.dtype in INDICES else y.long()
    try:
        if num_classes <= FEW and not is_dynamo_compiling():  # whose graphs fuse the rest
            return _identity(num_classes, y.device, get_default_dtype()).index_select(0, index)
        if is_batched(y):  # which scatters one by one
            return (y[:, None] == torch.arange(num_classes, device=y.device)).to(get_default_dtype())
        rows = torch.zeros(y.shape[0], num_classes, device=y.device)
        return rows.scatter_(1, index.long()[:, None], 1.0)
    except (IndexError, RuntimeError):
        check_range(y, num_classes)
        raise


def _summed_labels(y: Tensor, num_classes: int, bags: Bags) -> Tensor:
    """Soft rows as sums over the bags in which the inputs were blended."""
    rows, shares, starts = bags
    classes = _identity(num_classes, y.device, shares.dtype)
    try:
        return sums(classes, y.index_select(0, rows), shares, starts)
    except (IndexError, RuntimeError):
        check_range(y, num_classes)
        raise


def check_range(y: Tensor, num_classes: int) -> None:
    """Reject class indices out of range, where looking at them is free."""
    if readable(y) and y.numel():
        low, high = (int(bound) for bound in y.aminmax())
        if low < 0 or high >= num_classes:
            raise ValueError(
                f"y must lie in 0..{num_classes - 1} (num_classes={num_classes}), got {low}..{high}"
            )


@remembering
def _identity(size: int, device: torch.device, dtype: torch.dtype) -> Tensor:
    return torch.eye(size, device=device, dtype=dtype)


Space = str | Callable[["Tensor"], "Tensor"]
SPACES = ("embedding", "input", "label")


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
        """The inputs of some rows, as a tensor of its own: mixing writes over it."""
        return self.x(index).clone() if callable(self.x) else self.x[index]


@dataclass(eq=False)
class Batch:
    """n samples and all that a method may want to know about them.

    Attributes:
        x: inputs (n, ...), floating point.
        y: class indices (n,), soft rows (n, C), or real targets (n, ...).
        num_classes: C where it is known; with real targets, giving it means classification with soft rows.
        embeddings: (n, ...), or a function that makes them when somebody asks.
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

    def __len__(self) -> int:
        return self.x.shape[0]

    @property
    def classification(self) -> bool:
        """Integer targets, or a number of classes, mean classification."""
        return self.num_classes is not None or not self.y.is_floating_point()

    def space(self, space: Space | None) -> Space:
        """The space of distances: embeddings for classification and labels for regression, unless named."""
        if space is not None:
            return space
        return "label" if self.num_classes is None and self.y.is_floating_point() else "embedding"

    def features(self, space: Space | None = None) -> Tensor:
        """The points (n, ...) between which distances are measured."""
        if space is None:
            space = self.space(space)
        if space == "embedding":
            points = self.embeddings
            if points is None:
                raise ValueError(
                    "embeddings are needed by space='embedding' (the default for classification): pass "
                    "embeddings=, use .loss(model, x, y), or measure distances in space='input'"
                )
            return points if isinstance(points, Tensor) else points()
        if callable(space):
            return _measured(space, self.x)
        return self.x if space == "input" else self._label_points(self.y)

    def pair_features(self, partner: Tensor, space: Space | None = None) -> tuple[Tensor, Tensor, Tensor]:
        """The points (n, ...) of the samples, points to choose partners from, and which are chosen, (n,)."""
        if space is None:
            space = self.space(space)
        points = self.features(space)
        if self.pool is None:
            return points, points, partner
        if space == "label":
            others = self._label_points(self.pool.y[partner])
        elif space == "embedding":
            raise ValueError("partners from the pool have no embeddings: use space='label' or space='input'")
        else:
            others = self.pool.inputs(partner)
            if callable(space):
                others = _measured(space, others)
        return points, others, torch.arange(partner.shape[0], device=partner.device)

    def partner_inputs(self, partner: Tensor) -> Tensor:
        """The inputs of the partners, as a tensor of its own."""
        if self.pool is not None:
            return self.pool.inputs(partner)
        return take(self.x, partner)

    def _label_points(self, y: Tensor) -> Tensor:
        if y.is_floating_point():
            return y
        if self.num_classes is None:
            raise ValueError("space='label' with class indices needs num_classes")
        return one_hot(y, self.num_classes)


def _measured(space: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """The points that a function makes of inputs; distances carry no gradient, so neither does it."""
    with torch.no_grad():
        points = space(x)
    if points.shape[:1] != x.shape[:1]:
        raise ValueError(f"space must return {x.shape[0]} rows, one a sample, got {tuple(points.shape)}")
    return points


@dataclass(eq=False)
class Mixed:
    """A mixed batch: inputs, the plan as it was carried out, and where in the model it is to happen.

    Attributes:
        x: the inputs to run the model on.
        plan: who was mixed with whom; its coefficients are those that really happened (CutMix corrects them).
        batch: where it came from.
        place: tells for a model at which layer to mix (``None``: the input); absent if ``x`` is mixed.
        bags: the plan by which ``x`` was blended in bags, if it was, and these, for the targets.

    """

    x: Tensor
    plan: Plan
    batch: Batch
    place: Callable[[nn.Module], str | None] | None = None
    bags: tuple[Plan, Bags | None] | None = None

    def predict(self, model: nn.Module) -> Any:
        """Run the model, mixing on the way where that is still to be done."""
        if self.place is None:
            return model(self.x)
        from tailormix.embeddings import rewrite_output, unwrap

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
        batch, plan = self.batch, self.plan
        if plan.lam_targets is not None:
            plan = plan.for_targets
        bags = self.bags[1] if self.bags is not None and self.bags[0] is plan else None
        pool = None if batch.pool is None else batch.pool.y
        if batch.y.is_floating_point():
            return plan.blend(batch.y, pool)
        classes = batch.num_classes or num_classes
        if classes is None:
            raise ValueError("num_classes is needed to turn class indices into soft targets, got None")
        return plan.blend_labels(batch.y, classes, pool, bags)

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


def check_batch(batch: Batch) -> None:
    """Reject what no method can work with, before anything is drawn."""
    x: Any = batch.x  # whatever was given
    y: Any = batch.y
    points: Any = batch.embeddings
    shape = x.shape if isinstance(x, Tensor) and x.is_floating_point() else ()
    if not shape or not shape[0]:
        _reject_inputs(x)
    n = shape[0]
    shape = y.shape if isinstance(y, Tensor) else ()
    if not shape or shape[0] != n:
        _reject_rows("y", y, n)
    if y.dtype in INTEGERS:
        if len(shape) != 1:
            raise ValueError(f"class indices must have shape (n,), got {tuple(shape)}")
    elif not y.is_floating_point():
        raise TypeError(f"y must hold class indices or real numbers, got dtype {y.dtype}")
    elif batch.num_classes is not None and shape != (n, batch.num_classes):
        raise ValueError(f"soft targets must have shape ({n}, {batch.num_classes}), got {tuple(shape)}")
    if points is not None and not callable(points):
        _check_rows("embeddings", points, n)
    if batch.ids is not None or batch.weight is not None:
        _check_columns(batch, n)


def _check_columns(batch: Batch, n: int) -> None:
    for name, value in (("ids", batch.ids), ("weight", batch.weight)):
        if value is not None:
            _check_rows(name, value, n)
            if value.dim() != 1:
                raise ValueError(f"{name} must have shape ({n},), got {tuple(value.shape)}")


def _check_rows(name: str, value: Any, n: int) -> None:
    if not isinstance(value, Tensor) or not value.dim() or value.shape[0] != n:
        _reject_rows(name, value, n)


def _reject_inputs(x: object) -> NoReturn:
    if not isinstance(x, Tensor):
        raise TypeError(f"x must be a tensor, got {type(x).__name__}")
    if not x.is_floating_point():
        raise TypeError(f"x must be floating point, got dtype {x.dtype}: convert images with x.float() / 255")
    raise ValueError(f"x must hold at least one sample, got shape {tuple(x.shape)}")


def _reject_rows(name: str, value: object, n: int) -> NoReturn:
    if not isinstance(value, Tensor):
        raise TypeError(f"{name} must be a tensor, got {type(value).__name__}")
    raise ValueError(f"{name} must have {n} rows like x, got shape {tuple(value.shape)}")
