"""Several processes that work on one study; Ctrl-C reaches each of them once."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

from tailormix.training.signals import polite_stop

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

PROGRAM = "import typer; from tailormix.commands.tune import tune; typer.run(tune)"
PAUSE = 0.5


def start(arguments: Sequence[str], worker: int, jobs: int, log: Path) -> subprocess.Popen[bytes]:
    """One process; its words go to ``log``. A session of its own keeps the terminal's Ctrl-C from it."""
    command = [sys.executable, "-c", PROGRAM, *arguments, "--worker", str(worker)]
    threads = os.environ.get("OMP_NUM_THREADS") or max(1, (os.cpu_count() or 1) // jobs)
    with log.open("ab") as said:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            env={**os.environ, "OMP_NUM_THREADS": str(threads)},
            start_new_session=True,
        )


def work_together(
    arguments: Sequence[str], jobs: int, folder: Path, look: Callable[[], None]
) -> tuple[bool, list[Path]]:
    """Run ``jobs`` processes to their end, calling ``look`` now and then.

    Returns whether a stop was asked for, and the logs of the processes that failed.
    """
    logs = [folder / f"worker-{number}.txt" for number in range(1, jobs + 1)]
    told = False
    with polite_stop() as asked:
        processes = [start(arguments, number, jobs, log) for number, log in enumerate(logs, start=1)]
        try:
            while any(process.poll() is None for process in processes):
                if asked.is_set() and not told:
                    told = True
                    _tell(processes, signal.SIGINT)
                time.sleep(PAUSE)
                look()
        except BaseException:  # a second Ctrl-C, say: nobody would be left to watch them
            _tell(processes, signal.SIGKILL)
            raise
    look()
    failed = [log for process, log in zip(processes, logs, strict=True) if process.returncode != 0]
    return told, [] if told else failed


def _tell(processes: Sequence[subprocess.Popen[bytes]], number: signal.Signals) -> None:
    for process in processes:
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(number)
