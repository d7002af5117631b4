"""The four kinds of components that make a method: what each must answer, and nothing about how."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor, nn

    from tailormix.batch import Batch, Draws, Mixed, Plan

    Criterion = Callable[..., Tensor]


class Pairs(Protocol):
    """(i) Who is mixed with whom?"""

    @property
    def needs_embeddings(self) -> bool | None:
        """Whether it looks at embeddings; ``None`` if that depends on the task."""

    @property
    def source(self) -> str:
        """Where partners come from: the ``"batch"`` or the ``"pool"``, which is the training set."""

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
class SeparatedCoefficients(Protocol):
    """(ii) for methods that mix every pair twice."""

    def pairs(self, draws: Draws, count: int) -> Tensor:
        """``count`` times two coefficients for the whole batch, (2, count)."""


class Interpolation(Protocol):
    """(iii) How, and where, are two things blended?"""

    @property
    def batch_form(self) -> bool:
        """Whether it can be done before the model is run."""

    def __call__(self, batch: Batch, plan: Plan, draws: Draws) -> Mixed:
        """The mixed batch."""


class Mix(Protocol):
    """What an objective mixes with: the first three components of the method, ready to be called."""

    def needs_embeddings(self, batch: Batch) -> bool:
        """Whether embeddings of this batch will be asked for."""

    @property
    def embedding_layer(self) -> str | None:
        """The layer whose input is the embedding, where it was named."""

    def pairing(self, batch: Batch) -> Tensor:
        """Partners alone, (n,)."""

    @property
    def coefficients(self) -> Coefficients:
        """The method's second component, for objectives that ask it for more."""

    @property
    def draws(self) -> Draws:
        """Where further random numbers come from."""

    def __call__(self, batch: Batch) -> Mixed:
        """A fresh mixed batch each time."""


class Objective(Protocol):
    """(iv) What is learned from it?"""

    @property
    def batch_form(self) -> bool:
        """Whether the mixed batch alone says it, without the model."""

    def __call__(self, model: nn.Module, batch: Batch, mix: Mix, criterion: Criterion) -> Tensor:
        """The loss of a training step, a scalar."""
