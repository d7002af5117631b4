"""A batch, and a mixed batch: what the four questions are asked about."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import torch
from torch import Tensor

from tailormix.plan import INTEGERS, Plan, one_hot, take

if TYPE_CHECKING:
    from torch import nn
    from torch.distributed import ProcessGroup

    from tailormix.bags import Bags

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
