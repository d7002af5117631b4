"""What several tests need and is costly to make: made by one of the parallel workers, read by all."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock

if TYPE_CHECKING:
    from collections.abc import Callable

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


def torchrun(program: Path, ranks: int, *arguments: str) -> None:
    """Run a program in that many processes that see each other and these tests, with one thread each."""
    paths = os.pathsep.join([str(Path(__file__).parent), *os.environ.get("PYTHONPATH", "").split(os.pathsep)])
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks)]
    done = subprocess.run(
        [*command, str(program), *arguments],
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": paths.rstrip(os.pathsep)},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stderr
