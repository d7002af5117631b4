"""From raw inputs, as a user has them, to the inputs of a model; fitted on training rows only."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Self, final

import numpy as np
import safetensors.torch
import torch
from safetensors import SafetensorError, safe_open
from torch import nn

from tailormix import checks
from tailormix.atomic import write_atomically
from tailormix.data.files.location import unusable

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from torch import Tensor


class Preprocessing(nn.Module, ABC):
    """Two stages: ``read`` turns what the user has into one raw tensor, ``forward`` turns that into inputs.

    ``forward`` is torch operations alone, so that it can be exported together with a model. Everything
    that was fitted is a buffer or one of the ``facts``.
    """

    kind: ClassVar[str]

    @abstractmethod
    def read(self, source: Any) -> Tensor:
        """Raw inputs (n, ...) of a file, an array or a data frame; errors name the row and the column."""

    @abstractmethod
    def forward(self, raw: Tensor) -> Tensor:
        """Inputs (n, ...) of the model, float32."""

    @abstractmethod
    def facts(self) -> dict[str, Any]:
        """Everything but the buffers, for JSON."""

    @classmethod
    @abstractmethod
    def from_facts(cls, facts: dict[str, Any]) -> Self:
        """A preprocessing of these facts, whose buffers are still to be loaded."""


@final
class ArrayPreprocessing(Preprocessing):
    """(x - centre) / spread, in double precision, for arrays of numbers of one shape.

    ``centre`` and ``spread`` must broadcast to ``shape``, the shape of one input. With ``flat`` the inputs of
    the model are (n, features).

    >>> ArrayPreprocessing((2,), centre=[1.0, 0.0], spread=[1.0, 2.0])(torch.tensor([[3.0, 4.0]])).tolist()
    [[2.0, 2.0]]
    """

    kind = "array"
    centre: Tensor
    spread: Tensor

    def __init__(
        self,
        shape: Sequence[int],
        *,
        centre: Tensor | Sequence[float] = (0.0,),
        spread: Tensor | Sequence[float] = (1.0,),
        flat: bool = False,
    ) -> None:
        super().__init__()
        self.shape, self.flat = tuple(shape), flat
        self.register_buffer("centre", torch.as_tensor(centre, dtype=torch.float64))
        self.register_buffer("spread", torch.as_tensor(spread, dtype=torch.float64))

    def read(self, source: Any) -> Tensor:
        """A tensor or array (n, *shape) of finite numbers."""
        raw = torch.as_tensor(np.asarray(source))
        if tuple(raw.shape[1:]) != self.shape:
            raise ValueError(
                f"inputs must have shape (n, {', '.join(map(str, self.shape))}), got {tuple(raw.shape)}"
            )
        if raw.is_floating_point() and not raw.isfinite().all():
            row = int((~raw.isfinite()).nonzero()[0, 0])
            raise ValueError(f"inputs must be finite, got NaN or infinity in row {row}")
        return raw

    def forward(self, raw: Tensor) -> Tensor:
        """Inputs (n, *shape), or (n, features) with ``flat``."""
        scaled = ((raw.double() - self.centre) / self.spread).float()
        return scaled.flatten(1) if self.flat else scaled

    def facts(self) -> dict[str, Any]:
        """Shape, and whether inputs are flattened."""
        sizes = {"centre": list(self.centre.shape), "spread": list(self.spread.shape)}
        return {"shape": list(self.shape), "flat": self.flat, "sizes": sizes}

    @classmethod
    def from_facts(cls, facts: dict[str, Any]) -> ArrayPreprocessing:
        """Of those facts."""
        zeros = {name: torch.zeros(size) for name, size in facts["sizes"].items()}
        return cls(facts["shape"], flat=facts["flat"], **zeros)


PREPROCESSINGS: dict[str, type[Preprocessing]] = {"array": ArrayPreprocessing}


def save_preprocessing(path: Path, preprocessing: Preprocessing) -> Path:
    """Write to one safetensors file, atomically: buffers as tensors, facts as JSON."""
    metadata = {"kind": preprocessing.kind, "facts": json.dumps(preprocessing.facts())}
    tensors = {name: tensor.cpu().contiguous() for name, tensor in preprocessing.state_dict().items()}
    return write_atomically(path, safetensors.torch.save(tensors, metadata))


def load_preprocessing(path: Path) -> Preprocessing:
    """Read back what :func:`save_preprocessing` wrote."""
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118
        kind = PREPROCESSINGS[checks.known("kind of preprocessing", metadata.get("kind"), PREPROCESSINGS)]
        preprocessing = kind.from_facts(json.loads(metadata["facts"]))
        preprocessing.load_state_dict(tensors)
    except (SafetensorError, OSError, KeyError, TypeError, ValueError, RuntimeError) as error:
        raise unusable(path, "a saved preprocessing", str(error)) from error
    return preprocessing
