"""Arrays of numbers, scaled."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, final

import numpy as np
import torch

from tailormix.data.files.arrays import names_in_npz, read_npy, read_npz
from tailormix.data.files.location import DataError
from tailormix.data.files.tables import read_table
from tailormix.data.preprocessing.base import Preprocessing

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from torch import Tensor

#: facts of a model that makes features which must be equal
IDENTITY = ("weights sha256", "size", "mean", "std")
Scaling = Literal["standard", "min-max"]


@final
class ArrayPreprocessing(Preprocessing):
    """(x - centre) / spread, in double precision, for arrays of numbers of one shape.

    ``centre`` and ``spread`` must broadcast to ``shape``, the shape of one input. With ``flat`` the inputs of
    the model are (n, features). ``encoder`` says which model made them, if they are features: a file that
    another one made is refused.

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
        encoder: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__()
        self.shape, self.flat, self.encoder = tuple(shape), flat, dict(encoder or {})
        self.register_buffer("centre", torch.as_tensor(centre, dtype=torch.float64))
        self.register_buffer("spread", torch.as_tensor(spread, dtype=torch.float64))

    @classmethod
    def fit(
        cls, features: Tensor, scaling: Scaling = "standard", *, encoder: Mapping[str, Any] | None = None
    ) -> ArrayPreprocessing:
        """(x - mean) / std, or (x - min) / (max - min), per feature of (n, ...); constant features become 0.

        >>> ArrayPreprocessing.fit(torch.tensor([[0.0], [4.0]]), "min-max")(torch.tensor([[8.0]])).item()
        2.0
        """
        known = features.to(torch.float64)
        if scaling == "standard":
            centre, spread = known.mean(dim=0), known.std(dim=0, correction=0)
        else:
            centre, spread = known.amin(dim=0), known.amax(dim=0) - known.amin(dim=0)
        spread = torch.where(spread > 0, spread, 1.0)
        return cls(features.shape[1:], centre=centre, spread=spread, flat=features.ndim > 2, encoder=encoder)

    def read(self, source: Any) -> Tensor:
        """Finite numbers (n, *shape) as float64, from an array or a file.

        Files are .npy, .npz with an array x, or tables whose columns are the features in their order.
        """
        try:
            name, raw = self._read(source)
        except DataError as error:
            if not self.encoder:
                raise
            made = f"as tailormix features --model {self.encoder.get('model')} makes them"
            raise DataError(f"{error}; the model takes features, {made}") from error
        if isinstance(source, (str, Path)) and Path(source).suffix == ".npz":
            made_by = encoder_of(Path(source))
            if self.encoder and made_by and _identity(made_by) != _identity(self.encoder):
                told = f"expected features made by {_named(self.encoder)}, got those of {_named(made_by)}"
                raise DataError(f"cannot use {name}: {told}")
        return torch.from_numpy(check_finite(name, raw.astype(np.float64)))

    def _read(self, source: Any) -> tuple[str, np.ndarray[tuple[int, ...], np.dtype[Any]]]:
        """A name for messages, and numbers of the right shape."""
        name, raw = read_array(source)
        if tuple(raw.shape[1:]) != self.shape:
            expected = f"shape (n, {', '.join(map(str, self.shape))})"
            raise DataError(f"cannot use {name}: expected {expected}, got {tuple(raw.shape)}")
        if raw.dtype.kind not in "fiub":
            raise DataError(f"cannot use {name}: expected real numbers, got {raw.dtype}")
        return name, raw

    def forward(self, raw: Tensor) -> Tensor:
        """Inputs (n, *shape), or (n, features) with ``flat``."""
        scaled = ((raw.double() - self.centre) / self.spread).float()
        return scaled.flatten(1) if self.flat else scaled

    def facts(self) -> dict[str, Any]:
        """Shape, whether inputs are flattened, and what made them."""
        sizes = {"centre": list(self.centre.shape), "spread": list(self.spread.shape)}
        encoder = {"encoder": self.encoder} if self.encoder else {}
        return {"shape": list(self.shape), "flat": self.flat, "sizes": sizes, **encoder}

    @classmethod
    def from_facts(cls, facts: dict[str, Any]) -> ArrayPreprocessing:
        """Of those facts."""
        zeros = {name: torch.zeros(size) for name, size in facts["sizes"].items()}
        return cls(facts["shape"], flat=facts["flat"], encoder=facts.get("encoder"), **zeros)


def encoder_of(path: Path) -> dict[str, Any]:
    """The model that made a file of features, and how it saw images; nothing where the file does not say."""
    if "source" not in names_in_npz(path):
        return {}
    try:
        facts = json.loads(str(read_npz(path, ["source"])[0]))
    except ValueError:
        return {}
    return (
        {key: facts[key] for key in ("model", *IDENTITY) if key in facts} if isinstance(facts, dict) else {}
    )


def _identity(encoder: Mapping[str, Any]) -> list[Any]:
    """What makes features comparable: equal weights under another name are the same model."""
    return [encoder.get(key) for key in IDENTITY]


def _named(encoder: Mapping[str, Any]) -> str:
    pixels = f" at {encoder['size']} pixels" if encoder.get("size") else ""
    return f"{encoder.get('model')}{pixels} (weights {str(encoder.get(IDENTITY[0]))[:8]})"


def read_array(source: Any) -> tuple[str, np.ndarray[tuple[int, ...], np.dtype[Any]]]:
    """A name for messages, and the array of a file (see :class:`ArrayPreprocessing`), a list or a tensor."""
    if not isinstance(source, (str, Path)):
        return "inputs", np.asarray(source)
    path = Path(source)
    if path.suffix == ".npy":
        return str(path), read_npy(path)
    if path.suffix == ".npz":
        return str(path), read_npz(path, ["x"])[0]
    columns = read_table(path).columns.values()
    return str(path), np.stack([column.numbers() for column in columns], axis=1)


def check_finite(
    name: str, array: np.ndarray[tuple[int, ...], np.dtype[Any]]
) -> np.ndarray[tuple[int, ...], np.dtype[Any]]:
    """The array, if no number in it is NaN or infinite.

    >>> check_finite("x", np.array([[1.0, np.nan]]))
    Traceback (most recent call last):
    tailormix.data.files.location.DataError: cannot use x: expected finite numbers, got nan in row 0, column 1
    """
    if not np.isfinite(array).all():
        place = tuple(np.argwhere(~np.isfinite(array))[0])
        words = ("row", "column") if array.ndim == 2 else ("row", "index") if array.ndim > 2 else ("row",)
        where = [place[0], ", ".join(map(str, place[1:]))]
        told = ", ".join(f"{word} {value}" for word, value in zip(words, where, strict=False))
        raise DataError(f"cannot use {name}: expected finite numbers, got {array[place]} in {told}")
    return array
