"""What several tests need and is costly to make: made by one of the parallel workers, read by all."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from filelock import FileLock

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pytest


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], None]) -> Path:
    """The folder that ``make`` fills; workers that come later wait for the first and find it filled."""
    base = factory.getbasetemp()
    root = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    folder, ready = root / name, root / f"{name}.ready"
    with FileLock(root / f"{name}.lock"):
        if not ready.exists():
            folder.mkdir(exist_ok=True)
            make(folder)
            ready.touch()
    return folder
