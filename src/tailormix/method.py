"""A method: four components, and the three ways to use them."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from torch import nn

from tailormix import checks
from tailormix.batch import Batch, Draws, Mixed, Pool, check_range
from tailormix.embeddings import embed, find_layer, outside_compiled_code
from tailormix.objectives.mixed import check_criterion, default_criterion

if TYPE_CHECKING:
    from collections.abc import Callable

    import torch
    from torch import Tensor
    from torch.distributed import ProcessGroup

    from tailormix.batch import Plan
    from tailormix.components import Coefficients, Criterion, Interpolation, Objective, Pairs


@dataclass(frozen=True)
class Method:
    """Who is mixed with whom, how strongly, how and where, and what is learned from it.

    Attributes:
        pairs, coefficients, interpolation, objective: the four components.
        num_classes: C; needed by the batch form with class indices, and to tell soft rows from real targets.
        embedding_layer: the layer whose input is the embedding, if not the one that the model declares.
        update_statistics: let the pass that measures embeddings update BatchNorm's running statistics, as the
            released code does: they then follow clean and mixed batches in turn.
        pool: the training set, once :meth:`fit` has seen it.

    >>> import torch
    >>> from tailormix import Mixup
    >>> x, y = Mixup(alpha=1.0, num_classes=3)(torch.rand(4, 2), torch.tensor([0, 1, 2, 0]))
    >>> x.shape, y.shape
    (torch.Size([4, 2]), torch.Size([4, 3]))

    """

    pairs: Pairs
    coefficients: Coefficients
    interpolation: Interpolation
    objective: Objective
    num_classes: int | None = None
    embedding_layer: str | None = None
    update_statistics: bool = False
    pool: Pool | None = None
    batch_form: bool = field(init=False)  # whether ``method(x, y)`` is defined, without the model

    def __post_init__(self) -> None:
        batch_form = self.interpolation.batch_form and self.objective.batch_form
        object.__setattr__(self, "batch_form", batch_form)
        if self.num_classes is not None:
            checks.integer("num_classes", self.num_classes, at_least=2)
        checks.boolean("update_statistics", self.update_statistics)
        if self.pairs.source == "pool" and not self.interpolation.batch_form:
            raise ValueError("partners from the pool cannot be mixed at a hidden layer: use partners='batch'")
        if self.pairs.source == "pool" and self.coefficients.needs_embeddings:
            raise ValueError("partners from the pool have no embeddings: use space='label' or space='input'")

    def fit(self, x: Tensor | Callable[[Tensor], Tensor], y: Tensor) -> Method:
        """The same method with the training set as its pool, and what its components learn from the targets.

        ``x`` may be a function from indices to inputs, so that partners pass the augmentation like the rest.
        """
        if not callable(x) and x.shape[:1] != y.shape[:1]:
            raise ValueError(
                f"x and y must have one length, got shapes {tuple(x.shape)} and {tuple(y.shape)}"
            )
        if not y.is_floating_point():
            y = y.long()
            if self.num_classes is not None:
                check_range(y, self.num_classes)
        components = {name: getattr(self, name) for name in ("pairs", "coefficients")}
        fitted = {name: each.fit(y) for name, each in components.items() if hasattr(each, "fit")}
        return replace(self, pool=Pool(x, y) if self.pairs.source == "pool" else None, **fitted)

    def plan(
        self,
        x: Tensor,
        y: Tensor,
        embeddings: Tensor | None = None,
        *,
        group: ProcessGroup | None = None,
        generator: torch.Generator | None = None,
    ) -> Plan:
        """Who is mixed with whom, how strongly and why: look inside before, or hand it to :meth:`loss`."""
        batch = Batch(x, y, self.num_classes, embeddings, self.pool, group=group)
        draws = Draws(x.device, generator)
        return self.coefficients(batch, self.pairs(batch, draws), draws)

    def __call__(
        self,
        x: Tensor,
        y: Tensor,
        embeddings: Tensor | Callable[[], Tensor] | None = None,
        *,
        plan: Plan | None = None,
        group: ProcessGroup | None = None,
        generator: torch.Generator | None = None,
    ) -> tuple[Tensor, Tensor]:
        """The batch form: mixed inputs, and mixed targets that ``cross_entropy`` takes as they are.

        ``torch.compile(method, fullgraph=True)`` compiles it as one graph. There, as on a GPU, labels are not
        looked at, and one that is no class makes its rows NaN.
        """
        if not self.batch_form:
            component = self.interpolation if self.objective.batch_form else self.objective
            raise TypeError(
                f"this method has no batch form, since {type(component).__name__} needs the model: "
                "use .loss(model, x, y, criterion)"
            )
        if self.num_classes is None and not y.is_floating_point():
            raise ValueError("num_classes is needed to turn class indices into soft targets, got None")
        batch = Batch(x, y, self.num_classes, embeddings, self.pool, group=group)
        draws = Draws(x.device, generator)
        if plan is None:
            plan = self.coefficients(batch, self.pairs(batch, draws), draws)
        else:
            _check_plan(plan, batch)
        mixed = self.interpolation(batch, plan, draws)
        return mixed.x, mixed.targets()

    def loss(
        self,
        model: nn.Module,
        x: Tensor,
        y: Tensor,
        criterion: Criterion | None = None,
        *,
        ids: Tensor | None = None,
        weight: Tensor | None = None,
        embeddings: Tensor | None = None,
        plan: Plan | None = None,
        group: ProcessGroup | None = None,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """The loss of a whole training step, for any method and any module.

        Args:
            model: maps inputs to logits (n, C) or to predictions shaped like the targets.
            x: inputs (n, ...).
            y: class indices (n,), soft rows (n, C) with ``num_classes`` set, or real targets (n, ...). Rows
                of several labels each go with ``num_classes`` and a criterion per class.
            criterion: (predictions, targets) → scalar, (n,) or (n, C). By default cross-entropy, or squared
                error for real targets.
            ids: the samples' numbers in the training set, for criteria with a history (CRL).
            weight: weights (n,) of the samples; needs a criterion that returns (n,).
            embeddings: (n, ...), if they are at hand; otherwise they are measured where they are needed.
            plan: carry out this plan instead of drawing one.
            group: take mean distances over these ranks.
            generator: a CPU generator for everything the method draws.

        """
        if not isinstance(model, nn.Module):
            raise TypeError(f"model must be an nn.Module, got {type(model).__name__}")
        if self.embedding_layer is not None:
            find_layer(model, self.embedding_layer)  # an unknown one fails at once, not when it is needed
        measure = functools.partial(embed, model, x, self.embedding_layer, self.update_statistics)
        points = measure if embeddings is None else embeddings
        batch = Batch(x, y, self.num_classes, points, self.pool, ids, weight, group)
        if plan is not None:
            _check_plan(plan, batch)
        if criterion is None:
            criterion = default_criterion(batch)
        else:
            check_criterion(criterion, self.objective, batch)
        objective: Callable[..., Tensor] = self.objective
        if not self.interpolation.batch_form:  # mixes inside the model, by hooks
            objective = outside_compiled_code(objective)
        return objective(model, batch, _Mix(self, Draws(x.device, generator), plan), criterion)


def _check_plan(plan: Plan, batch: Batch) -> None:
    """Reject a plan that was made for another batch."""
    if len(plan) != len(batch):
        raise ValueError(f"plan must have {len(batch)} rows like x, got {len(plan)}")
    rows = len(batch if batch.pool is None else batch.pool)
    if checks.readable(plan.partner) and (largest := int(plan.partner.max())) >= rows:
        raise ValueError(f"partner must lie in 0..{rows - 1}, got {largest}")


@dataclass(eq=False)
class _Mix:
    """The first three components of a method, ready to be called: each call mixes the batch afresh."""

    method: Method
    draws: Draws
    given: Plan | None = None

    @property
    def coefficients(self) -> Coefficients:
        """The method's second component."""
        return self.method.coefficients

    @property
    def embedding_layer(self) -> str | None:
        """The layer whose input is the embedding, where it was named."""
        return self.method.embedding_layer

    def needs_embeddings(self, batch: Batch) -> bool:
        """Whether embeddings of this batch will be asked for."""
        needs = (self.method.pairs.needs_embeddings, self.method.coefficients.needs_embeddings)
        return self.given is None and any(batch.classification if need is None else need for need in needs)

    def pairing(self, batch: Batch) -> Tensor:
        """Partners alone."""
        return self.method.pairs(batch, self.draws) if self.given is None else self.given.partner

    def __call__(self, batch: Batch) -> Mixed:
        plan = self.given
        if plan is None:
            plan = self.method.coefficients(batch, self.method.pairs(batch, self.draws), self.draws)
        return self.method.interpolation(batch, plan, self.draws)


class Step(nn.Module):
    """A training step as a module: ``forward`` is ``method.loss``. Wrap this in DDP or Fabric, or compile it.

    ``torch.compile(Step(model, method))`` works for every method. Passes that read or change a hidden layer
    run eagerly in it: the one that measures embeddings, and those of Manifold Mixup and MIT-A.
    """

    def __init__(self, model: nn.Module, method: Method, criterion: Criterion | None = None) -> None:
        super().__init__()
        self.model = model
        self.method = method
        self.criterion = criterion

    def forward(self, x: Tensor, y: Tensor, **options: Any) -> Tensor:
        """The loss of the batch; options as in :meth:`Method.loss`."""
        return self.method.loss(self.model, x, y, self.criterion, **options)
