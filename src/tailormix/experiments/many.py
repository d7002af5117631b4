"""Many runs at once: each a process of its own with its own log; one that fails stops no other."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tailormix import checks
from tailormix.training import folder

from .engines import ENGINES
from .stopping import stop_signal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from .stopping import Flag

#: variables that a run on another machine needs as they are here; all others are that machine's own
SENT = r"PYTHONPATH|TAILORMIX_.*"
LOG = "log.txt"
NOT_STARTED = "not started"
PROGRAM = "import typer; from tailormix.commands.train import train; typer.run(train)"


@dataclass(frozen=True)
class Task:
    """A run to be started: the arguments of ``tailormix train``, and its folder."""

    arguments: tuple[str, ...]
    path: Path

    @property
    def command(self) -> str:
        """What to type to run it again."""
        return shlex.join(["tailormix", "train", *self.arguments])


@dataclass(frozen=True)
class Outcome:
    """How a run ended: its exit code (negative: killed by that signal) and the end of its log."""

    task: Task
    code: int
    said: str = ""

    @property
    def result(self) -> dict[str, Any] | None:
        """What the run found, if it finished."""
        return folder.read_json(self.task.path / folder.RESULT) if self.code == 0 else None


@dataclass(frozen=True)
class Surroundings:
    """What a run finds around it, on whichever machine: the folder it starts in, and variables to be set."""

    folder: Path
    variables: Mapping[str, str]

    @staticmethod
    def here(jobs: int) -> Surroundings:
        """Those of this process, with the cores shared out over the jobs unless somebody has decided."""
        threads = os.environ.get("OMP_NUM_THREADS") or str(max(1, (os.cpu_count() or 1) // jobs))
        sent = {name: value for name, value in os.environ.items() if re.fullmatch(SENT, name)}
        return Surroundings(Path.cwd(), {**sent, "OMP_NUM_THREADS": threads})


def carry_out(task: Task, around: Surroundings, stop: Flag) -> Outcome:
    """Run one task to its end, in a process of its own; its words go to its log."""
    if stop.is_set():
        return Outcome(task, -signal.SIGTERM, NOT_STARTED)
    path = around.folder / task.path
    try:
        folder.prepare(path)
        with (path / LOG).open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-c", PROGRAM, *task.arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, **around.variables},
                cwd=around.folder,
                process_group=0,  # Ctrl-C is passed on once, below; the terminal would say it a second time
            )
            code = _wait(process, stop)
    except (OSError, folder.RunError) as error:
        return Outcome(task, 1, str(error))
    return Outcome(task, code, "" if code == 0 else _tail(path / LOG))


def _wait(process: subprocess.Popen[bytes], stop: Flag) -> int:
    """Wait for the run; pass a wish to stop on to it, once, so that it saves and ends."""
    told = False
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired, KeyboardInterrupt):
            return process.wait(0.2)
        if not told and stop.is_set():
            process.terminate()
            told = True


def _tail(path: Path, lines: int = 1) -> str:
    return " / ".join(path.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-lines:])


def carry_out_all(tasks: Sequence[Task], jobs: int, engine: str = "local") -> Iterator[Outcome]:
    """Run the tasks, ``jobs`` at a time, and yield each as it ends; Ctrl-C and SIGTERM end all."""
    import joblib

    if not tasks:
        return
    start = ENGINES[checks.known("engine", engine, ENGINES)]
    around = Surroundings.here(jobs)
    with start(jobs) as options, stop_signal(around.folder / tasks[0].path.parent) as stop:
        work = (joblib.delayed(carry_out)(task, around, stop) for task in tasks)
        lazily = "list" if engine == "ray" else "generator_unordered"  # joblib has no other for Ray
        with joblib.parallel_config(**options):
            # No more runs than jobs are handed out, also where a cluster has more places.
            yield from joblib.Parallel(return_as=lazily, pre_dispatch=jobs, batch_size=1)(work)


def seeds_of(text: str) -> list[int]:
    """The seeds that ``0-2,7`` stands for.

    >>> seeds_of("0-2,7")
    [0, 1, 2, 7]
    >>> seeds_of("2-0")
    Traceback (most recent call last):
    ValueError: seeds must be numbers and ranges like 0-9 or 1,3,5, got '2-0'
    """
    found: list[int] = []
    for part in text.split(","):
        matched = re.fullmatch(r"\s*([0-9]+)(?:-([0-9]+))?\s*", part)
        first, last = (
            (int(number) for number in (matched[1], matched[2] or matched[1])) if matched else (1, 0)
        )
        if first > last:
            raise ValueError(f"seeds must be numbers and ranges like 0-9 or 1,3,5, got {text!r}")
        found += range(first, last + 1)
    return list(dict.fromkeys(found))
