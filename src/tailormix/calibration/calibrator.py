"""What all calibrators share: a fit, its provenance, and how they are stored."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields, replace
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar, get_args, get_origin, get_type_hints

import numpy as np
import numpy.typing as npt
import torch
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from tailormix.atomic import write_atomically
from tailormix.calibration.predictions import Predictions, Provenance, check_fit, check_use
from tailormix.metrics.inputs import as_float, classification_inputs

if TYPE_CHECKING:
    from collections.abc import Callable

    from tailormix.metrics.inputs import Array, ClassificationInputs


FORMAT = "tailormix-calibrator-1"
POINTS = "provenance.points"
Record = TypeVar("Record")


class Calibrator(ABC, Generic[Record]):
    """Its fitted numbers are a frozen dataclass in ``fitted``; ``kind`` is its name on disk."""

    kind: ClassVar[str]
    record: ClassVar[type[Any]]

    def __init__(self) -> None:
        self._fitted: Record | None = None
        self._provenance: Provenance | None = None

    @property
    def fitted(self) -> Record:
        """The fitted numbers and how they were found."""
        if self._fitted is None:
            raise RuntimeError(f"{type(self).__name__} is not fitted: call fit first")
        return self._fitted

    @property
    def provenance(self) -> Provenance:
        """The split and the points of the fit."""
        if self._provenance is None:
            raise RuntimeError(f"{type(self).__name__} is not fitted: call fit first")
        return self._provenance

    def save(self, path: str | Path) -> Path:
        """Write to ``.json`` or ``.safetensors``."""
        return _write(path, self.kind, self.fitted, self.provenance)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read back what ``save`` wrote."""
        return cls.restore(read(path, kind=cls.kind))

    @classmethod
    def restore(cls, stored: Stored) -> Self:
        """Return the calibrator that was stored."""
        new = cls()
        try:
            new._fitted = _checked(cls.record(**stored.values))
        except (TypeError, ValueError) as error:
            raise ValueError(f"cannot read a calibrator from {stored.path}: {error}") from error
        new._provenance = stored.provenance
        return new


class LogitCalibrator(Calibrator[Record]):
    """Fitted on logits and class indices, or on ``Predictions``.

    ``gives`` says what ``transform`` returns: "logits" or "probabilities".
    """

    gives: ClassVar[str] = "logits"

    def fit(
        self, logits: Array | Predictions, targets: Array | None = None, *, imitate: str | None = None
    ) -> Self:
        """Fit on logits (n, C) and class indices (n,), or on predictions of a split that is not the test's.

        ``imitate="released-protocol"`` allows test points, and is written into everything that follows.
        """
        if not isinstance(logits, Predictions):
            if targets is None:
                raise TypeError("targets must be given with logits")
            logits = Predictions(targets=targets, logits=logits)
        if logits.logits is None:
            raise ValueError(f"{type(self).__name__} is fitted on logits, got probabilities or a regression")
        if logits.logits.ndim == 1:
            raise ValueError("logits must have shape (n, classes) to be calibrated, got (n,): stack 0 and z")
        provenance = check_fit(logits, imitate)
        self._fitted = self._fit(classification_inputs(logits.logits, logits.targets, from_logits=True))
        self._provenance = provenance
        return self

    def transform(self, logits: Array | Predictions, *, imitate: str | None = None) -> Any:
        """Calibrate logits; predictions that share points with the fit need ``imitate``, else they raise."""
        fitted = self.fitted
        if not isinstance(logits, Predictions):
            return on_any(logits, lambda z: self._apply(fitted, z))
        if logits.logits is None:
            raise ValueError(f"{type(self).__name__} is applied to logits, got probabilities or a regression")
        allowed = check_use(self.provenance, logits, imitate)
        new = on_any(logits.logits, lambda z: self._apply(fitted, z))
        return replace(allowed, **({"logits": None} | {self.gives: new}))

    @abstractmethod
    def _fit(self, inputs: ClassificationInputs) -> Record:
        """Return the record of a fit."""

    @abstractmethod
    def _apply(self, fitted: Record, logits: torch.Tensor) -> torch.Tensor:
        """Return calibrated logits or probabilities of (m, C) logits."""


def on_any(array: Array, function: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    """Apply a tensor function to a tensor or a numpy array, and return the same kind of array."""
    if isinstance(array, torch.Tensor):
        return function(array)
    return function(as_float("logits", np.asarray(array))).numpy()


@dataclass(frozen=True, eq=False)
class Stored:
    """A calibrator as plain data: its file, its kind, the values of its record, and its provenance."""

    path: Path
    kind: str
    values: dict[str, Any]
    provenance: Provenance


def read(path: str | Path, kind: str | None = None) -> Stored:
    """Read a saved calibrator of that ``kind``; anything else is an error that names the file."""
    path = Path(path)
    try:
        head, arrays = _read_json(path) if _ending(path) == ".json" else _read_safetensors(path)
        if head.get("format") != FORMAT:
            raise ValueError(f"format must be {FORMAT!r}, got {head.get('format')!r}")
        if kind is not None and head["kind"] != kind:
            raise ValueError(f"kind must be {kind!r}, got {head['kind']!r}")
        provenance = _checked(Provenance(**head["provenance"], points=arrays.pop(POINTS, None)))
        return Stored(path, head["kind"], head["facts"] | arrays, provenance)
    except (KeyError, TypeError, AttributeError, ValueError, RecursionError, SafetensorError) as error:
        raise ValueError(f"cannot read a calibrator from {path}: {error}") from error


def _checked(record: Any) -> Any:
    """Return the record if each of its values is of the type that its class names."""
    for name, hint in get_type_hints(type(record), localns={"npt": npt}).items():
        value = getattr(record, name)
        if not any(
            _is_a(value, kind) for kind in (get_args(hint) if isinstance(hint, UnionType) else (hint,))
        ):
            text = repr(value)
            raise ValueError(f"{name} must be {hint}, got {text if len(text) < 60 else text[:57] + '...'}")
    return record


def _is_a(value: Any, kind: Any) -> bool:
    if kind is float:
        return type(value) in (int, float)
    if get_origin(kind) is list:
        return type(value) is list and all(_is_a(one, get_args(kind)[0]) for one in value)
    if get_origin(kind) is np.ndarray:
        return isinstance(value, np.ndarray) and np.issubdtype(value.dtype, np.number)
    return type(value) is kind


def _write(path: str | Path, kind: str, record: Any, provenance: Provenance) -> Path:
    """Write in one step: arrays apart, all other fields of the record as JSON facts."""
    path = Path(path)
    values = {field.name: getattr(record, field.name) for field in fields(record)}
    arrays = {name: np.ascontiguousarray(v) for name, v in values.items() if isinstance(v, np.ndarray)}
    facts = {name: value for name, value in values.items() if name not in arrays}
    head = {"format": FORMAT, "kind": kind, "facts": facts, "provenance": provenance.as_dict()}
    if provenance.points is not None:
        arrays[POINTS] = provenance.points
    if _ending(path) == ".json":
        lists = {name: {"dtype": str(a.dtype), "values": a.tolist()} for name, a in arrays.items()}
        return write_atomically(path, json.dumps(head | {"arrays": lists}, indent=1))
    metadata = {"tailormix": json.dumps(head)}
    return write_atomically(path, save(arrays or {"empty": np.zeros(1)}, metadata=metadata))


def _ending(path: Path) -> str:
    if path.suffix not in (".json", ".safetensors"):
        raise ValueError(f"path must end in .json or .safetensors, got {path.name!r}")
    return path.suffix


def _read_json(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    head = json.loads(path.read_text(encoding="utf-8"))
    arrays = head.pop("arrays")
    return head, {name: np.array(one["values"], dtype=one["dtype"]) for name, one in arrays.items()}


def _read_safetensors(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    with safe_open(path, framework="numpy") as file:
        head = json.loads((file.metadata() or {}).get("tailormix", "{}"))
        return head, {name: file.get_tensor(name) for name in file.keys() if name != "empty"}  # noqa: SIM118
