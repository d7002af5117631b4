"""Predictions on disk: an ``.npz`` file, or memory-mapped ``.npy`` files side by side; never pickle.

An ``.npz`` holds ``logits`` or ``probabilities`` and ``targets``, or ``mean``, ``std`` and ``targets``;
optionally ``ids`` and ``split``. The same arrays as single files are ``test.logits.npy``,
``test.targets.npy`` … or, in a folder of their own, ``logits.npy``, ``targets.npy`` …
"""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from tailormix.atomic import write_atomically
from tailormix.predictions import Predictions, to_numpy

ARRAYS = ("logits", "probabilities", "mean", "std", "targets", "ids", "split")
OUTPUTS = ("logits", "probabilities", "mean")


def load_predictions(path: str | Path, *, split: str | None = None) -> Predictions:
    """Read predictions from an ``.npz`` file, one ``.npy`` file of several, or a folder that holds either.

    ``split`` names the split where the file does not; a different name in the file is an error.
    """
    path = Path(path)
    if path.is_dir():
        return load_predictions(_inside(path), split=split)
    if path.suffix not in (".npz", ".npy"):
        raise ValueError(f"predictions must be an .npz or .npy file or a folder, got {path.name!r}")
    try:
        arrays = _from_npz(path) if path.suffix == ".npz" else _from_npy(path)
    except (ValueError, zipfile.BadZipFile, EOFError) as error:
        raise ValueError(f"cannot read {path}: {error}") from error
    if "targets" not in arrays:
        raise ValueError(
            f"{path} must hold the array 'targets', got {', '.join(sorted(arrays)) or 'nothing'}"
        )
    arrays["split"] = _split_name(arrays.get("split"), split, path)
    return Predictions(**arrays)


def save_predictions(path: str | Path, predictions: Predictions) -> Path:
    """Write predictions to one ``.npz`` file, in one step."""
    found = {name: getattr(predictions, name) for name in ARRAYS}
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **{k: to_numpy(v) for k, v in found.items() if v is not None})
    return write_atomically(path, buffer.getvalue())


def _inside(folder: Path) -> Path:
    for name in ("predictions.npz", *(f"{name}.npy" for name in OUTPUTS)):
        if (folder / name).is_file():
            return folder / name
    raise FileNotFoundError(
        f"{folder} holds neither predictions.npz nor logits.npy, probabilities.npy or mean.npy"
    )


def _from_npz(path: Path) -> dict[str, Any]:
    with np.load(path, allow_pickle=False) as stored:
        return {name: stored[name] for name in ARRAYS if name in stored.files}


def _from_npy(path: Path) -> dict[str, Any]:
    prefix, _, word = path.stem.rpartition(".")
    if word not in OUTPUTS:
        raise ValueError(f"expected a file name that ends in {', '.join(f'{name}.npy' for name in OUTPUTS)}")
    start = f"{prefix}." if prefix else ""
    files = {name: path.with_name(f"{start}{name}.npy") for name in ARRAYS}
    wanted = (word, *(name for name in ARRAYS if name not in (*OUTPUTS, word)))
    return {
        name: np.load(files[name], mmap_mode="r", allow_pickle=False)
        for name in wanted
        if files[name].is_file()
    }


def _split_name(stored: Any, given: str | None, path: Path) -> str | None:
    name = None if stored is None else str(np.asarray(stored).reshape(-1)[0])
    if name is not None and given is not None and name != given:
        raise ValueError(f"split must be {name!r} as {path.name} says, got {given!r}")
    return name if name is not None else given
