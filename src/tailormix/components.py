"""The four kinds of words that make a method: what each must answer, and nothing about how."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor, nn

    from tailormix.batch import Batch, Mixed, Plan
    from tailormix.draws import Draws

    Criterion = Callable[..., Tensor]


class Pairs(Protocol):
    """(i) Who is mixed with whom?

    A word of this kind or of the next that is built of operations which ``torch.func.vmap`` knows may say so
    by an attribute ``vectorised = True``: then plans of many batches can be drawn at once.
    """

    @property
    def needs_embeddings(self) -> bool | None:
        """Whether it looks at embeddings; ``None`` if that depends on the task."""

    @property
    def pooled(self) -> bool:
        """Whether partners come from the training set instead of the batch."""

    def __call__(self, batch: Batch, draws: Draws) -> Tensor:
        """The partner of each sample, (n,)."""


class Coefficients(Protocol):
    """(ii) How strongly?"""

    @property
    def needs_embeddings(self) -> bool | None:
        """Whether it looks at embeddings; ``None`` if that depends on the task."""

    def __call__(self, batch: Batch, partner: Tensor, draws: Draws) -> Plan:
        """The partners with their coefficients."""


@runtime_checkable
class Explained(Protocol):
    """(ii) for words that work out only on demand what stands behind their coefficients."""

    def explain(self, batch: Batch, partner: Tensor, draws: Draws) -> Plan:
        """The partners with their coefficients, and the ``tau`` and ``distance`` behind them."""


def explained(word: Coefficients, batch: Batch, partner: Tensor, draws: Draws) -> Plan:
    """The plan with all that is known about it: what only a reader wants is worked out for readers only."""
    return word.explain(batch, partner, draws) if isinstance(word, Explained) else word(batch, partner, draws)


@runtime_checkable
class SeparatedCoefficients(Protocol):
    """(ii) for methods that mix every pair twice."""

    def pairs(self, draws: Draws, count: int) -> Tensor:
        """``count`` times two coefficients for the whole batch, (2, count)."""


class Interpolation(Protocol):
    """(iii) How, and where, are two things blended?

    A word that draws nothing and blends every row by itself may say so by an attribute ``rowwise = True``:
    then many batches can be blended as one.
    """

    @property
    def batch_form(self) -> bool:
        """Whether it can be done before the model is run."""

    def __call__(self, batch: Batch, plan: Plan, draws: Draws) -> Mixed:
        """The mixed batch."""


class Mix(Protocol):
    """What an objective mixes with: the first three answers of the method, ready to be asked."""

    def needs_embeddings(self, batch: Batch) -> bool:
        """Whether embeddings of this batch will be asked for."""

    @property
    def embedding_layer(self) -> str | None:
        """The layer whose input is the embedding, where it was named."""

    def pairing(self, batch: Batch) -> Tensor:
        """Partners alone, (n,)."""

    @property
    def coefficients(self) -> Coefficients:
        """The method's second word, for objectives that ask it for more."""

    @property
    def draws(self) -> Draws:
        """Where further random numbers come from."""

    def linear_plan(self, batch: Batch) -> Plan | None:
        """A fresh plan, if all that is to be done by it is to ``blend`` the inputs; else nothing."""

    def __call__(self, batch: Batch) -> Mixed:
        """A fresh mixed batch each time."""


class Objective(Protocol):
    """(iv) What is learned from it?"""

    @property
    def batch_form(self) -> bool:
        """Whether the mixed batch alone says it, without the model."""

    def __call__(self, model: nn.Module, batch: Batch, mix: Mix, criterion: Criterion) -> Tensor:
        """The loss of a training step, a scalar."""
