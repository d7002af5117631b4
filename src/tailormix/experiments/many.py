"""Many runs at once: each a process of its own with its own log; one that fails stops no other."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tailormix import checks
from tailormix.training import folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path
    from types import FrameType

#: joblib's backends; runs are processes anyway, so that a thread to watch each is enough on one machine
ENGINES = {"local": "threading", "loky": "loky", "ray": "ray", "dask": "dask"}
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


def carry_out(task: Task, threads: int, stop: threading.Event | None = None) -> Outcome:
    """Run one task to its end, in a process of its own; its words go to its log."""
    if stop is not None and stop.is_set():
        return Outcome(task, -signal.SIGTERM, NOT_STARTED)
    try:
        folder.prepare(task.path)
        with (task.path / LOG).open("ab") as log:
            program = [sys.executable, "-c", PROGRAM, *task.arguments]
            given = {**os.environ, "OMP_NUM_THREADS": str(threads)}
            process = subprocess.Popen(program, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=given)
            code = _wait(process, stop)
    except (OSError, folder.RunError) as error:
        return Outcome(task, 1, str(error))
    return Outcome(task, code, "" if code == 0 else _tail(task.path / LOG))


def _wait(process: subprocess.Popen[bytes], stop: threading.Event | None) -> int:
    """Wait for the run; pass a wish to stop on to it, once, so that it saves and ends."""
    told = False
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired, KeyboardInterrupt):
            return process.wait(0.2 if stop is not None else None)
        if stop is not None and stop.is_set() and not told:
            process.terminate()
            told = True


def _tail(path: Path, lines: int = 1) -> str:
    return " / ".join(path.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-lines:])


def carry_out_all(tasks: Sequence[Task], jobs: int, engine: str = "local") -> Iterator[Outcome]:
    """Run the tasks, ``jobs`` at a time, and yield each as it ends; Ctrl-C and SIGTERM end all."""
    import joblib

    backend = ENGINES[checks.known("engine", engine, ENGINES)]
    _register(engine)
    threads = int(os.environ.get("OMP_NUM_THREADS") or max(1, (os.cpu_count() or 1) // jobs))
    with _stop_signal() as asked, joblib.parallel_config(backend=backend, n_jobs=jobs):
        stop = asked if engine == "local" else None  # an event cannot travel to other machines
        lazily = "list" if engine in ("ray", "dask") else "generator_unordered"
        work = (joblib.delayed(carry_out)(task, threads, stop) for task in tasks)
        yield from joblib.Parallel(return_as=lazily)(work)


def _register(engine: str) -> None:
    """Ray and Dask bring their own backends."""
    try:
        if engine == "ray":
            from ray.util.joblib import register_ray  # type: ignore[import-not-found]

            register_ray()
        elif engine == "dask":
            from distributed import Client  # type: ignore[import-not-found]

            Client()
    except ImportError as error:
        package = {"ray": "ray", "dask": "distributed"}[engine]
        raise ValueError(f"--engine {engine} needs the package {package}: pip install {package}") from error


@contextlib.contextmanager
def _stop_signal() -> Iterator[threading.Event]:
    """An event that Ctrl-C or SIGTERM sets."""
    asked = threading.Event()
    numbers = (signal.SIGINT, signal.SIGTERM)

    def ask(_: int, __: FrameType | None) -> None:
        asked.set()

    before = {number: signal.signal(number, ask) for number in numbers}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


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
