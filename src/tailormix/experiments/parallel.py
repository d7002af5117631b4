"""Several runs at once: each in a process of its own, started through a backend of joblib."""

from __future__ import annotations

import contextlib
import importlib
import os
import re
import shlex
import signal
import subprocess
import sys
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tailormix import checks
from tailormix.atomic import write_atomically
from tailormix.training import run_folder
from tailormix.training.signals import signal_handler

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from types import FrameType


#: joblib's backend for every ``--engine``; a job is a process anyway: a thread to wait for it is enough
ENGINES = {"local": "threading", "ray": "ray", "dask": "dask"}
#: by which the process of a run learns what started it
ENGINE_VARIABLE = "TAILORMIX_ENGINE"
COMMAND = (sys.executable, "-m", "tailormix")
LOG = "log.txt"
MOST_SEEDS = 100_000
STOPPED, NOT_STARTED = "stopped", "not started"


@dataclass(frozen=True)
class Job:
    """A run to be started: the arguments of ``tailormix train``, and its folder."""

    arguments: tuple[str, ...]
    path: Path

    @property
    def command(self) -> str:
        """What to type to run it again."""
        return shlex.join(["tailormix", "train", *self.arguments])


@dataclass(frozen=True)
class JobResult:
    """How a run ended: its exit code (negative: ended by that signal), and its error or last line."""

    job: Job
    code: int
    message: str = ""

    @property
    def stopped(self) -> bool:
        """Whether it ended, or did not start, because all were asked to stop."""
        return self.code < 0 and self.message in (STOPPED, NOT_STARTED)

    @property
    def result(self) -> dict[str, Any] | None:
        """The run's ``result.json``, if it finished."""
        return run_folder.read_json(self.job.path / run_folder.RESULT) if self.code == 0 else None


def run_jobs(jobs: Sequence[Job], n_jobs: int, engine: str = "local") -> Iterator[JobResult]:
    """Run the jobs, ``n_jobs`` at a time, and yield each result as it arrives.

    Ctrl-C and SIGTERM stop them all; a job that fails stops no other.
    """
    import joblib

    if not jobs:
        return
    checks.known("engine", engine, ENGINES)
    folder, variables = Path.cwd(), {**job_environment(n_jobs), ENGINE_VARIABLE: engine}
    with _backend(engine, n_jobs) as options, _stop_file(folder / jobs[0].path.parent) as stop:
        calls = (joblib.delayed(run_job)(job, folder, variables, stop) for job in jobs)
        return_as = "list" if engine == "ray" else "generator_unordered"  # joblib has no other for Ray
        with joblib.parallel_config(ENGINES[engine], n_jobs=n_jobs, **options):
            # No more than n_jobs are dispatched, also where a cluster has more room.
            yield from joblib.Parallel(return_as=return_as, pre_dispatch=n_jobs, batch_size=1)(calls)


def run_job(job: Job, folder: Path, variables: Mapping[str, str], stop: Path) -> JobResult:
    """Run one job to its end, starting in ``folder``; once the file ``stop`` exists, end it politely."""
    if stop.exists():
        return JobResult(job, -_signal(stop), NOT_STARTED)
    path = folder / job.path
    try:
        log = run_folder.prepare(path) / LOG
        begin = log.stat().st_size if log.exists() else 0
        process = start(["train", *job.arguments], log, variables, folder)
    except (OSError, run_folder.RunError) as error:
        return JobResult(job, 1 if isinstance(error, OSError) else 2, f"error: {error}")
    stopping = False
    while process.returncode is None:
        with contextlib.suppress(subprocess.TimeoutExpired, KeyboardInterrupt):
            process.wait(0.2)
        if not stopping and stop.exists():
            stopping = True
            process.terminate()  # the run saves a checkpoint and ends
    code = process.returncode
    if stopping and code in (-signal.SIGTERM, 128 + signal.SIGTERM):
        return JobResult(job, -_signal(stop), STOPPED)
    return JobResult(
        job, code, _last_words(log.read_bytes()[begin:].decode(errors="replace")) if code else ""
    )


def _last_words(text: str) -> str:
    r"""The error that a process told of, else its last line: packages may have a word after it.

    >>> _last_words("epoch 1/3\nerror: no such column\nleaked a semaphore")
    'error: no such column'
    """
    lines = text.strip().splitlines() or [""]
    return next((line for line in reversed(lines) if line.startswith("error: ")), lines[-1])


def start(
    arguments: Sequence[str], log: Path, variables: Mapping[str, str], folder: Path | None = None
) -> subprocess.Popen[bytes]:
    """Start ``tailormix ARGUMENTS`` with output to ``log``, out of reach of the terminal's Ctrl-C."""
    with log.open("ab") as file:
        return subprocess.Popen(
            [*COMMAND, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            env={**os.environ, **variables},
            cwd=folder,
            process_group=0,
        )


def job_environment(n_jobs: int) -> dict[str, str]:
    """Variables that a job needs on any machine; cores are divided unless OMP_NUM_THREADS is set."""
    threads = os.environ.get("OMP_NUM_THREADS") or str(max(1, (os.cpu_count() or 1) // n_jobs))
    shared = {key: value for key, value in os.environ.items() if re.fullmatch("PYTHONPATH|TAILORMIX_.*", key)}
    return {**shared, "OMP_NUM_THREADS": threads}


def parse_seeds(text: str) -> list[int]:
    """The seeds that ``0-2,7`` stands for.

    >>> parse_seeds("0-2,7")
    [0, 1, 2, 7]
    >>> parse_seeds("2-0")
    Traceback (most recent call last):
    ValueError: seeds must be numbers and ranges like 0-9 or 1,3,5, got '2-0'
    """
    found: list[int] = []
    for part in text.split(","):
        matched = re.fullmatch(r"\s*([0-9]+)(?:-([0-9]+))?\s*", part)
        seeds = range(int(matched[1]), int(matched[2] or matched[1]) + 1) if matched else range(0)
        if not seeds:
            raise ValueError(f"seeds must be numbers and ranges like 0-9 or 1,3,5, got {text!r}")
        if seeds[-1] - seeds[0] >= MOST_SEEDS:
            raise ValueError(f"seeds must be at most {MOST_SEEDS} at a time, got {text!r}")
        found += seeds
    return list(dict.fromkeys(found))


@contextlib.contextmanager
def _stop_file(folder: Path) -> Iterator[Path]:
    """A file in ``folder`` that Ctrl-C, SIGTERM and a closed terminal create; other machines see it too.

    It holds the signal's number.
    """
    stop = folder / f".stop-{uuid.uuid4().hex}"

    def create(number: int, _: FrameType | None) -> None:
        stop.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(stop, str(number))

    names = ("SIGINT", "SIGTERM", "SIGHUP")
    numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
    try:  # signals that are ignored stay so, as nohup wants it
        with signal_handler([n for n in numbers if signal.getsignal(n) is not signal.SIG_IGN], create):
            yield stop
    finally:
        stop.unlink(missing_ok=True)


def _signal(stop: Path) -> int:
    """The signal that created the file."""
    return int(stop.read_text())


@contextlib.contextmanager
def _backend(engine: str, n_jobs: int) -> Iterator[dict[str, Any]]:
    """Options of joblib's backend.

    A cluster is the one that the package's own variable names, or a local one that ends with the jobs.
    """
    if engine == "dask":
        distributed = _import("dask", "distributed")
        address = os.environ.get("DASK_SCHEDULER_ADDRESS")
        here = "127.0.0.1:0"  # scheduler and worker are threads; only their pages listen, for this machine
        local: dict[str, Any] = {"n_workers": 1, "threads_per_worker": n_jobs, "processes": False}
        local |= {"dashboard_address": here, "worker_dashboard_address": here, "memory_limit": 0}
        with _reachable("dask", "DASK_SCHEDULER_ADDRESS"):
            client = distributed.Client(address or None, set_as_default=False, **({} if address else local))
        with client:
            yield {"client": client}
    elif engine == "ray":
        ray = _import("ray", "ray")
        _import("ray", "ray.util.joblib").register_ray()
        before = signal.getsignal(signal.SIGTERM)  # Ray sets a handler of its own and leaves it there
        local = {"address": "local", "num_cpus": n_jobs, "include_dashboard": False}
        with _reachable("ray", "RAY_ADDRESS"):
            connection = {} if os.environ.get("RAY_ADDRESS") else local
            ray.init(**connection, log_to_driver=False, logging_level="ERROR")
        try:
            # Ray hides GPUs from a job that asks for none: jobs share what the cluster has.
            share = min(1.0, ray.cluster_resources().get("GPU", 0) / n_jobs)
            # Results come only when all jobs have ended; meanwhile joblib reports.
            yield {"ray_remote_args": {"num_gpus": share}, "verbose": 11}
        finally:
            ray.shutdown()
            signal.signal(signal.SIGTERM, before)
    else:
        yield {}


def _import(engine: str, name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        raise ValueError(f"--engine {engine} needs the package {package}: pip install {package}") from error


@contextlib.contextmanager
def _reachable(engine: str, variable: str) -> Iterator[None]:
    """Failures to connect name the cluster."""
    try:
        yield
    except (OSError, ValueError, RuntimeError) as error:
        address = os.environ.get(variable)
        cluster = f"the cluster at {variable}={address}" if address else "a local cluster"
        raise ValueError(f"--engine {engine} cannot use {cluster}: {error}") from error
