"""What all calibrators share: a fit, its provenance, and how they are stored."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar

import numpy as np
import torch

from tailormix.atomic import write_atomically
from tailormix.calibration.predictions import Predictions, Provenance, allow_fit, allow_use
from tailormix.metrics.inputs import Classified, as_float, classified

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from tailormix.metrics.inputs import Array


Record = TypeVar("Record")


class LogitCalibrator(ABC, Generic[Record]):
    """Fitted on logits and class indices, or on ``Predictions``; its result is a frozen record in ``fitted``.

    ``kind`` is its name on disk, ``gives`` what ``transform`` returns: "logits" or "probabilities".
    """

    kind: ClassVar[str]
    gives: ClassVar[str] = "logits"
    record: ClassVar[type[Any]]

    def __init__(self) -> None:
        self._fitted: Record | None = None
        self._provenance: Provenance | None = None

    @property
    def fitted(self) -> Record:
        """The fitted numbers and how they were found."""
        return fitted_or_raise(self._fitted, type(self).__name__)

    @property
    def provenance(self) -> Provenance:
        """The split and the points of the fit."""
        return fitted_or_raise(self._provenance, type(self).__name__)

    def fit(
        self, logits: Array | Predictions, targets: Array | None = None, *, imitate: str | None = None
    ) -> Self:
        """Fit on logits (n, C) and class indices (n,), or on predictions of a split that is not the test's.

        ``imitate="released-protocol"`` allows test points, and is written into everything that follows.
        """
        given = logits if isinstance(logits, Predictions) else _wrapped(logits, targets)
        if given.logits is None:
            raise ValueError(f"{type(self).__name__} is fitted on logits, got probabilities or a regression")
        if given.logits.ndim == 1:
            raise ValueError("logits must have shape (n, classes) to be calibrated, got (n,): stack 0 and z")
        provenance = allow_fit(given, imitate)
        self._fitted = self._fit(classified(given.logits, given.targets, from_logits=True))
        self._provenance = provenance
        return self

    def transform(self, logits: Array | Predictions, *, imitate: str | None = None) -> Any:
        """Calibrate logits; predictions that share points with the fit need ``imitate``, else they raise."""
        fitted = self.fitted
        if not isinstance(logits, Predictions):
            return on_any(logits, lambda z: self._apply(fitted, z))
        if logits.logits is None:
            raise ValueError(f"{type(self).__name__} is applied to logits, got probabilities or a regression")
        allowed = allow_use(self.provenance, logits, imitate)
        new = on_any(logits.logits, lambda z: self._apply(fitted, z))
        return replace(allowed, **({"logits": None} | {self.gives: new}))

    def save(self, path: str | Path) -> Path:
        """Write to ``.json`` or ``.safetensors``."""
        return write(path, pack(self.kind, self.fitted, self.provenance))

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read back what ``save`` wrote."""
        return cls.restore(read(path, kind=cls.kind))

    @classmethod
    def restore(cls, stored: Stored) -> Self:
        """Return the calibrator that was stored."""
        new = cls()
        new._fitted, new._provenance = unpack(cls.record, stored), stored.provenance
        return new

    @abstractmethod
    def _fit(self, given: Classified) -> Record:
        """Return the record of a fit."""

    @abstractmethod
    def _apply(self, fitted: Record, logits: torch.Tensor) -> torch.Tensor:
        """Return calibrated logits or probabilities of (m, C) logits."""


def fitted_or_raise(fitted: Record | None, name: str) -> Record:
    """Return the fitted record, or say that there is none yet."""
    if fitted is None:
        raise RuntimeError(f"{name} is not fitted: call fit first")
    return fitted


def on_any(array: Array, function: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    """Apply a tensor function to a tensor or a numpy array, giving back the kind that came."""
    if isinstance(array, torch.Tensor):
        return function(array)
    return function(as_float("logits", np.asarray(array))).numpy()


def _wrapped(logits: Array, targets: Array | None) -> Predictions:
    if targets is None:
        raise TypeError("targets must be given with logits")
    return Predictions(targets=targets, logits=logits)


FORMAT = "tailormix-calibrator-1"
POINTS = "provenance.points"


@dataclass(frozen=True, eq=False)
class Stored:
    """A calibrator as plain data: its kind, JSON facts, float64 arrays, and provenance."""

    kind: str
    facts: dict[str, Any]
    provenance: Provenance
    arrays: dict[str, npt.NDArray[Any]] = field(default_factory=dict)


def pack(kind: str, record: Any, provenance: Provenance) -> Stored:
    """Return a frozen dataclass as plain data: its arrays apart, all else as facts."""
    values = {one.name: getattr(record, one.name) for one in fields(record)}
    arrays = {name: value for name, value in values.items() if isinstance(value, np.ndarray)}
    return Stored(
        kind, {name: value for name, value in values.items() if name not in arrays}, provenance, arrays
    )


def unpack(record: type[Any], stored: Stored) -> Any:
    """Return the dataclass ``record`` again; facts that do not fit it are an error."""
    try:
        return record(**stored.facts, **stored.arrays)
    except TypeError as error:
        raise ValueError(f"cannot restore {record.__name__}: {error}") from error


def write(path: str | Path, stored: Stored) -> Path:
    """Write in one step; the ending ``.json`` or ``.safetensors`` chooses the format."""
    path = Path(path)
    head = {
        "format": FORMAT,
        "kind": stored.kind,
        "facts": stored.facts,
        "provenance": stored.provenance.as_dict(),
    }
    arrays = dict(stored.arrays)
    if stored.provenance.points is not None:
        arrays[POINTS] = stored.provenance.points
    if _ending(path) == ".json":
        lists = {name: {"dtype": str(a.dtype), "values": a.tolist()} for name, a in arrays.items()}
        return write_atomically(path, json.dumps(head | {"arrays": lists}, indent=1))
    from safetensors.numpy import save

    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    return write_atomically(
        path, save(arrays or {"empty": np.zeros(1)}, metadata={"tailormix": json.dumps(head)})
    )


def read(path: str | Path, kind: str | None = None) -> Stored:
    """Read what ``write`` wrote, of that ``kind``; anything else is an error that names the file."""
    path = Path(path)
    try:
        head, arrays = _read_json(path) if _ending(path) == ".json" else _read_safetensors(path)
        if head.get("format") != FORMAT:
            raise ValueError(f"format must be {FORMAT!r}, got {head.get('format')!r}")
        if kind is not None and head["kind"] != kind:
            raise ValueError(f"kind must be {kind!r}, got {head['kind']!r}")
        points = arrays.pop(POINTS, None)
        return Stored(head["kind"], head["facts"], Provenance(**head["provenance"], points=points), arrays)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise ValueError(f"cannot read a calibrator from {path}: {error}") from error


def _ending(path: Path) -> str:
    if path.suffix not in (".json", ".safetensors"):
        raise ValueError(f"path must end in .json or .safetensors, got {path.name!r}")
    return path.suffix


def _read_json(path: Path) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    head = json.loads(path.read_text(encoding="utf-8"))
    arrays = head.pop("arrays")
    return head, {name: np.array(one["values"], dtype=one["dtype"]) for name, one in arrays.items()}


def _read_safetensors(path: Path) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy") as file:
            head = json.loads((file.metadata() or {}).get("tailormix", "{}"))
            return head, {name: file.get_tensor(name) for name in file.keys() if name != "empty"}  # noqa: SIM118
    except SafetensorError as error:
        raise ValueError(str(error)) from error
