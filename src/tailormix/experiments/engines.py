"""Where many runs go, through joblib: this machine, or a cluster of Dask or Ray."""

from __future__ import annotations

import contextlib
import importlib
import os
import signal
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Engine = Callable[[int], contextlib.AbstractContextManager[dict[str, Any]]]

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
