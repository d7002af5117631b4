"""Fitted calibrators on disk, as JSON or safetensors by the file's ending, with what they were fitted on."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tailormix.atomic import write_atomically
from tailormix.predictions import Provenance

if TYPE_CHECKING:
    import numpy.typing as npt

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
