"""A method: a sentence of four words, and the three ways to use it."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NoReturn

from torch import nn

from tailormix import checks
from tailormix.batch import Batch, Mixed, Pool, check_batch, check_range
from tailormix.components import explained
from tailormix.draws import Draws
from tailormix.embeddings import embed
from tailormix.interpolation import Linear
from tailormix.objectives.reduction import check_history, default_criterion

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
        pairs, coefficients, interpolation, objective: the four words.
        num_classes: C; needed by the batch form with class indices, and to tell soft rows from real targets.
        embedding_layer: the layer whose input is the embedding, if not the one that the model declares.
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
    pool: Pool | None = None

    def __post_init__(self) -> None:
        if self.num_classes is not None:
            checks.integer("num_classes", self.num_classes, at_least=2)
        if self.pooled and not self.interpolation.batch_form:
            raise ValueError("partners from the pool cannot be mixed at a hidden layer: use partners='batch'")
        if self.pooled and self.coefficients.needs_embeddings:
            raise ValueError("partners from the pool have no embeddings: use space='label' or space='input'")
        _ = self.batch_form  # worked out here, since the compiler could not do it

    @functools.cached_property
    def batch_form(self) -> bool:
        """Whether ``method(x, y)`` is defined, without the model."""
        return self.interpolation.batch_form and self.objective.batch_form

    @functools.cached_property
    def pooled(self) -> bool:
        """Whether partners come from the training set instead of the batch."""
        return self.pairs.pooled

    def fit(self, x: Tensor | Callable[[Tensor], Tensor], y: Tensor) -> Method:
        """The same method with the training set as its pool, and whatever its words learn from the targets.

        ``x`` may be a function from indices to inputs, so that partners pass the augmentation like the rest.
        """
        if not callable(x) and x.shape[:1] != y.shape[:1]:
            raise ValueError(
                f"x and y must have one length, got shapes {tuple(x.shape)} and {tuple(y.shape)}"
            )
        words = {name: getattr(self, name) for name in ("pairs", "coefficients")}
        fitted = {name: word.fit(y) for name, word in words.items() if hasattr(word, "fit")}
        return replace(self, pool=Pool(x, y), **fitted)

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
        batch = self._batch(x, y, embeddings, group)
        self._check_labels(y)
        draws = Draws(x.device, generator)
        return explained(self.coefficients, batch, self.pairs(batch, draws), draws)

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
        """The batch form: mixed inputs, and mixed targets that ``cross_entropy`` takes as they are."""
        if not self.batch_form:
            self._reject_batch_form()
        batch = self._batch(x, y, embeddings, group)
        if self.num_classes is None and not y.is_floating_point():
            raise ValueError("num_classes is needed to turn class indices into soft targets, got None")
        mixed = self._mix(batch, Draws(x.device, generator), plan)
        return mixed.x, mixed.targets()

    def compiled(self, **options: Any) -> Callable[..., tuple[Tensor, Tensor]]:
        """The batch form as one graph of ``torch.compile``, which takes the options (``mode=`` and the like).

        It is called like the method, but without ``generator``. On small batches it is faster than
        ``torch.compile(method)``, which looks in every call whether the library or the method's words have
        changed.
        """
        if not self.batch_form:
            self._reject_batch_form()
        from tailormix.compiling import compiled

        return compiled(self, **options)

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
            y: class indices (n,), soft rows (n, C) with ``num_classes`` set, or real targets (n, ...).
            criterion: (predictions, targets) → scalar or (n,). Default: cross-entropy or squared error.
            ids: the samples' numbers in the training set, for criteria with a history (CRL).
            weight: weights (n,) of the samples; needs a criterion that returns (n,).
            embeddings: (n, ...), if they are at hand; otherwise they are measured where they are needed.
            plan: carry out this plan instead of drawing one.
            group: take mean distances over these ranks.
            generator: a CPU generator for everything the method draws.

        """
        if not isinstance(model, nn.Module):
            raise TypeError(f"model must be an nn.Module, got {type(model).__name__}")
        points = _Embeddings(model, x, self.embedding_layer) if embeddings is None else embeddings
        batch = self._batch(x, y, points, group, ids, weight)
        self._check_labels(y)
        criterion = default_criterion(batch) if criterion is None else criterion
        check_history(criterion, self.objective, batch)
        return self.objective(model, batch, _Mix(self, Draws(x.device, generator), plan), criterion)

    def _reject_batch_form(self) -> NoReturn:
        word = self.objective if not self.objective.batch_form else self.interpolation
        raise TypeError(
            f"this method has no batch form, since {type(word).__name__} needs the model: "
            "use .loss(model, x, y, criterion)"
        )

    def _batch(
        self,
        x: Tensor,
        y: Tensor,
        embeddings: Tensor | Callable[[], Tensor] | None,
        group: ProcessGroup | None,
        ids: Tensor | None = None,
        weight: Tensor | None = None,
    ) -> Batch:
        pool = None
        if self.pooled:
            pool = self.pool
            if pool is None:
                raise ValueError(
                    "partners come from the pool, but there is none: call fit(x, y) with the training set"
                )
        batch = Batch(x, y, self.num_classes, embeddings, pool, ids, weight, group)
        check_batch(batch)
        return batch

    def _check_labels(self, y: Tensor) -> None:
        """For the forms that may do without soft rows, whose making would reject what is out of range."""
        if self.num_classes is not None and not y.is_floating_point():
            check_range(y, self.num_classes)

    def _mix(self, batch: Batch, draws: Draws, plan: Plan | None) -> Mixed:
        if plan is None:
            plan = self.coefficients(batch, self.pairs(batch, draws), draws)
        else:
            _check_rows(plan, batch)
        return self.interpolation(batch, plan, draws)


class _Embeddings:
    """Embeddings of a batch, measured when somebody asks for the first time."""

    def __init__(self, model: nn.Module, x: Tensor, layer: str | None) -> None:
        self.arguments = model, x, layer
        self.found: Tensor | None = None

    def __call__(self) -> Tensor:
        if self.found is None:
            self.found = embed(*self.arguments)
        return self.found


def _check_rows(plan: Plan, batch: Batch) -> None:
    if len(plan) != len(batch):
        raise ValueError(f"plan must have {len(batch)} rows like x, got {len(plan)}")


@dataclass(eq=False)
class _Mix:
    """The first three answers of a method, ready to be asked: each call mixes the batch afresh."""

    method: Method
    draws: Draws
    given: Plan | None = None

    @property
    def coefficients(self) -> Coefficients:
        """The method's second word."""
        return self.method.coefficients

    @property
    def embedding_layer(self) -> str | None:
        """The layer whose input is the embedding, where it was named."""
        return self.method.embedding_layer

    def pairing(self, batch: Batch) -> Tensor:
        """Partners alone."""
        if self.given is None:
            return self.method.pairs(batch, self.draws)
        _check_rows(self.given, batch)
        return self.given.partner

    def needs_embeddings(self, batch: Batch) -> bool:
        """Whether embeddings of this batch will be asked for."""
        words = (self.method.pairs.needs_embeddings, self.method.coefficients.needs_embeddings)
        return self.given is None and any(batch.classification if word is None else word for word in words)

    def linear_plan(self, batch: Batch) -> Plan | None:
        """A plan alone, if all that is to be done by it is to blend the inputs with each other."""
        if type(self.method.interpolation) is not Linear or batch.pool is not None:
            return None
        if self.given is None:
            return self.method.coefficients(batch, self.pairing(batch), self.draws)
        _check_rows(self.given, batch)
        return self.given

    def __call__(self, batch: Batch) -> Mixed:
        return self.method._mix(batch, self.draws, self.given)


class Step(nn.Module):
    """A training step as a module: ``forward`` is ``method.loss``. Wrap this in DDP or Fabric."""

    def __init__(self, model: nn.Module, method: Method, criterion: Criterion | None = None) -> None:
        super().__init__()
        self.model = model
        self.method = method
        self.criterion = criterion

    def forward(self, x: Tensor, y: Tensor, **options: Any) -> Tensor:
        """The loss of the batch; options as in :meth:`Method.loss`."""
        return self.method.loss(self.model, x, y, self.criterion, **options)
