"""Many runs at once: engines, and how all are stopped."""

from __future__ import annotations

import contextlib
import importlib
import os
import re
import shlex
import signal
import subprocess
import sys
import threading
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tailormix import checks
from tailormix.training import run_folder
from tailormix.training.signals import handled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from types import FrameType

    Engine = Callable[[int], contextlib.AbstractContextManager[dict[str, Any]]]


@dataclass(frozen=True)
class Flag:
    """An empty file beside the runs: unlike an event it can be seen from wherever the runs are written.

    >>> from pathlib import Path
    >>> Flag(Path("no such folder") / "flag").is_set()
    False
    """

    path: Path

    def is_set(self) -> bool:
        """Whether it is there."""
        return self.path.exists()

    def set(self) -> None:
        """Put it there."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.touch()


@contextlib.contextmanager
def stop_signal(folder: Path) -> Iterator[Flag]:
    """A flag in ``folder`` that Ctrl-C, SIGTERM and a closed terminal raise; what was ignored stays so."""
    flag = Flag(folder / f".stop-{uuid.uuid4().hex}")

    def ask(_: int, __: FrameType | None) -> None:
        flag.set()

    names = ("SIGINT", "SIGTERM", "SIGHUP")
    numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
    try:
        with handled([number for number in numbers if signal.getsignal(number) is not signal.SIG_IGN], ask):
            yield flag
    finally:
        flag.path.unlink(missing_ok=True)


DASK_ADDRESS, RAY_ADDRESS = "DASK_SCHEDULER_ADDRESS", "RAY_ADDRESS"  # the names that both packages read


@contextlib.contextmanager
def local(jobs: int) -> Iterator[dict[str, Any]]:
    """Threads of this process: runs are processes anyway, so that a thread to watch each is enough."""
    yield {"backend": "threading", "n_jobs": jobs}


@contextlib.contextmanager
def loky(jobs: int) -> Iterator[dict[str, Any]]:
    """Processes of this machine."""
    yield {"backend": "loky", "n_jobs": jobs}


@contextlib.contextmanager
def dask(jobs: int) -> Iterator[dict[str, Any]]:
    """The cluster at ``DASK_SCHEDULER_ADDRESS``, or one of ``jobs`` threads that ends with the runs."""
    distributed = _package("dask", "distributed")
    with contextlib.ExitStack() as stack:
        address = os.environ.get(DASK_ADDRESS)
        if not address:
            local_workers = {"n_workers": 1, "threads_per_worker": jobs, "processes": False}
            cluster = distributed.LocalCluster(**local_workers, dashboard_address=None, memory_limit=0)
            address = stack.enter_context(cluster)
        try:
            client = stack.enter_context(distributed.Client(address, set_as_default=False))
        except (OSError, ValueError) as error:
            raise _unreachable("dask", DASK_ADDRESS, address, error) from error
        yield {"backend": "dask", "client": client, "n_jobs": jobs}


@contextlib.contextmanager
def ray(jobs: int) -> Iterator[dict[str, Any]]:
    """The cluster at ``RAY_ADDRESS``, or one of ``jobs`` places that ends with the runs."""
    package = _package("ray", "ray")
    _package("ray", "ray.util.joblib").register_ray()
    address = os.environ.get(RAY_ADDRESS)
    started = {} if address else {"address": "local", "num_cpus": jobs, "include_dashboard": False}
    with _handlers_kept():
        try:
            package.init(**started, log_to_driver=False, logging_level="ERROR")
        except (OSError, ValueError, RuntimeError) as error:
            raise _unreachable("ray", RAY_ADDRESS, address, error) from error
        try:
            # A run that asks Ray for no GPU is shown none: jobs share what the cluster has.
            share = min(1.0, package.cluster_resources().get("GPU", 0) / jobs)
            # joblib's backend for Ray gives outcomes only when all are there; meanwhile joblib itself tells.
            yield {"backend": "ray", "ray_remote_args": {"num_gpus": share}, "n_jobs": jobs, "verbose": 11}
        finally:
            package.shutdown()


ENGINES: dict[str, Engine] = {"local": local, "loky": loky, "ray": ray, "dask": dask}


@contextlib.contextmanager
def _handlers_kept() -> Iterator[None]:
    """Ray puts a handler of its own on SIGTERM, and leaves it there."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _package(engine: str, name: str) -> Any:
    """A module of the package that an engine needs."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        raise ValueError(f"--engine {engine} needs the package {package}: pip install {package}") from error


def _unreachable(engine: str, variable: str, address: object, error: Exception) -> ValueError:
    where = f"the cluster at {variable}={address}" if os.environ.get(variable) else "a cluster of its own"
    return ValueError(f"--engine {engine} cannot use {where}: {error}")


#: variables that a run on another machine needs as they are here; all others are that machine's own
SENT = r"PYTHONPATH|TAILORMIX_.*"
LOG = "log.txt"
NOT_STARTED = "not started"
PROGRAM = "import typer; from tailormix.cli.train import train; typer.run(train)"


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
        return run_folder.read_json(self.task.path / run_folder.RESULT) if self.code == 0 else None


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
        run_folder.prepare(path)
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
    except (OSError, run_folder.RunError) as error:
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
