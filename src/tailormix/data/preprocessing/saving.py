"""Write a preprocessing to one file, and read it back."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import safetensors.torch
from safetensors import SafetensorError, safe_open

from tailormix import checks
from tailormix.atomic import write_atomically
from tailormix.data.files.location import unusable
from tailormix.data.preprocessing.arrays import ArrayPreprocessing
from tailormix.data.preprocessing.images import ImagePreprocessing
from tailormix.data.preprocessing.tables import TablePreprocessing
from tailormix.data.preprocessing.texts import TextPreprocessing

if TYPE_CHECKING:
    from pathlib import Path

    from tailormix.data.preprocessing.base import Preprocessing

PREPROCESSINGS: dict[str, type[Preprocessing]] = {
    kind.kind: kind
    for kind in (ArrayPreprocessing, ImagePreprocessing, TablePreprocessing, TextPreprocessing)
}


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
    except (
        SafetensorError,
        OSError,
        LookupError,
        AttributeError,
        TypeError,
        ValueError,
        RuntimeError,
    ) as error:
        raise unusable(path, "a saved preprocessing", str(error)) from error
    return preprocessing
