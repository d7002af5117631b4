"""What every preprocessing offers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Self

from torch import nn

if TYPE_CHECKING:
    from torch import Tensor


class Preprocessing(nn.Module, ABC):
    """Two stages: ``read`` turns what the user has into one raw tensor, ``forward`` turns that into inputs.

    ``forward`` is torch operations alone, so that it can be exported together with a model. Everything
    that was fitted is a buffer or one of the ``facts``.
    """

    kind: ClassVar[str]

    @abstractmethod
    def read(self, source: Any) -> Tensor:
        """Raw inputs (n, ...), always of one type, from a file, an array or a data frame.

        What cannot be read is a ``DataError`` that names the file, the row and the column.
        """

    @abstractmethod
    def forward(self, raw: Tensor) -> Tensor:
        """Inputs (n, ...) of the model, float32."""

    @abstractmethod
    def facts(self) -> dict[str, Any]:
        """Everything but the buffers, for JSON and for a reader."""

    @classmethod
    @abstractmethod
    def from_facts(cls, facts: dict[str, Any]) -> Self:
        """A preprocessing of these facts, whose buffers are still to be loaded."""
