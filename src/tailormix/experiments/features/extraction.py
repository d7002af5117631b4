"""Features of a source, chunk by chunk, into one file; what was done before an interruption is kept."""

from __future__ import annotations

import io
import json
import math
import shutil
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch

from tailormix.atomic import write_atomically
from tailormix.data.corrupt import CHUNK
from tailormix.training import run_folder

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tailormix.experiments.features.backbones import Backbone
    from tailormix.experiments.features.sources import Part, Source

    #: called with a part and how many of its rows are done
    Progress = Callable[[str, int, int], None]
    Array = np.ndarray[tuple[int, ...], np.dtype[Any]]

FACTS = "facts.json"
Precision = Literal["float32", "float16"]


class PrecisionError(ValueError):
    """Features are too large for half precision."""


def no_progress(part: str, done: int, total: int) -> None:
    """Show nothing.

    >>> no_progress("train", 500, 1000)
    """


def extract(
    source: Source,
    backbone: Backbone,
    out: Path,
    *,
    batch: int = 64,
    precision: Precision = "float32",
    settings: dict[str, Any] | None = None,
    progress: Progress = no_progress,
) -> dict[str, int]:
    """Write ``out`` and return the number of rows of each part.

    Chunks lie in the folder ``NAME.chunks`` beside the file until it is written; the same call resumes there,
    another one, or one of changed data, starts anew. The file holds ``x`` (n, d), ``y`` (n,), ``part`` (n,),
    ``id`` (n,), ``class_names``, and ``source``, JSON that says what it was made of.
    """
    parts = {part.name: len(part) for part in source.parts}
    facts = {
        "data": source.name,
        "data sha256": source.sha256,
        **backbone.facts(source.kind),
        "parts": parts,
        "settings": settings or {},
    }
    folder = out.with_name(f"{out.name}.chunks")
    run_folder.prepare(folder)
    try:
        with run_folder.locked(folder):
            if run_folder.read_json(folder / FACTS) != json.loads(json.dumps(facts)):
                for old in folder.glob("*.npy"):
                    old.unlink()
                run_folder.write_json(folder / FACTS, facts)
            features = [_part(part, backbone, folder, batch, precision, progress) for part in source.parts]
            arrays: dict[str, Any] = {
                "x": np.concatenate(features),
                "y": torch.cat([part.labels for part in source.parts]).numpy(),
                "part": np.repeat(list(parts), list(parts.values())),
                "id": torch.cat([part.ids for part in source.parts]).numpy(),
                "class_names": np.array(source.class_names, dtype=np.str_),
                "source": np.array(json.dumps(facts)),
            }
            file = io.BytesIO()
            np.savez(file, **arrays)
            write_atomically(out, file.getvalue())
    except PrecisionError:  # the same call would fail again: its chunks are of no use
        shutil.rmtree(folder)
        raise
    shutil.rmtree(folder)
    return parts


def _part(
    part: Part, backbone: Backbone, folder: Path, batch: int, precision: Precision, progress: Progress
) -> Array:
    """Features (n, d) of a part."""
    found = []
    for number in range(math.ceil(len(part) / CHUNK)):
        path = folder / f"{part.name}-{number:05}.npy"
        if not path.is_file():
            rows = torch.arange(number * CHUNK, min((number + 1) * CHUNK, len(part)))
            features = _stored(
                _chunk(part.fetch(rows, number), backbone, batch).numpy(), precision, part.name
            )
            file = io.BytesIO()
            np.save(file, features)
            write_atomically(path, file.getvalue())
        found.append(np.load(path))
        progress(part.name, min((number + 1) * CHUNK, len(part)), len(part))
    return np.concatenate(found)


def _stored(features: Array, precision: Precision, part: str) -> Array:
    """The features in the precision of the file; raise if one of them is too large for it."""
    with np.errstate(over="ignore"):
        stored = features.astype(precision)
    if not np.isfinite(stored).all():
        largest, told = np.finfo(precision).max, np.abs(features).max()
        raise PrecisionError(
            f"--half needs features between -{largest:g} and {largest:g}, got {told:g} in size "
            f"in the part {part!r}: leave --half out"
        )
    return stored


def _chunk(inputs: Any, backbone: Backbone, batch: int) -> torch.Tensor:
    """Features of a chunk; texts of like length share a batch, so that little of it is padding."""
    if isinstance(inputs, torch.Tensor):
        return torch.cat([backbone(part) for part in torch.split(inputs, batch)])
    order = torch.tensor(sorted(range(len(inputs)), key=lambda k: len(inputs[k])))
    found = torch.cat([backbone([inputs[k] for k in part]) for part in torch.split(order, batch)])
    return found[order.argsort()]
