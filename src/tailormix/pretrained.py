"""What the transformers library loads, where it is installed: from a folder, or by a name."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any


def pretrained(kind: str, name: str, **options: Any) -> Any:
    """``transformers.KIND.from_pretrained(name)``; whatever goes wrong is one line."""
    try:
        transformers = importlib.import_module("transformers")
    except ImportError as error:
        raise ImportError(
            f'{name}: models of transformers need that package: pip install "tailormix[huggingface]"'
        ) from error
    path = Path(name).expanduser()
    if path.is_file() or (name.startswith((".", "/", "~")) and not path.is_dir()):
        hint = f"{name}:NAME names what is in it" if path.suffix == ".py" else "there is no such folder"
        raise ValueError(f"cannot load a model of transformers from {name!r}: {hint}")
    name = str(path) if path.is_dir() else name
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    try:
        return getattr(transformers, kind).from_pretrained(name, **options)
    except (OSError, ValueError, KeyError, TypeError, RuntimeError, ImportError) as error:
        first = " ".join(str(error).split())[:200]
        raise ValueError(f"cannot load {kind} of {name!r} by transformers: {first}") from error
