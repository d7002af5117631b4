"""Progress of commands on the terminal: bars there, plain lines elsewhere, and a list of what failed."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING, Protocol

import typer

from tailormix.cli.errors import FAILED, WRONG_USE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.progress import TaskID

    from tailormix.experiments.parallel import JobResult


class Update(Protocol):
    """Shows how far a task is."""

    def __call__(self, task: str, done: int, total: int | None) -> None:
        """``done`` of ``total``; None where the total is unknown."""


@contextlib.contextmanager
def bars(*, size: bool = False) -> Iterator[Update]:
    """A function that draws one bar per task on stderr; only terminals see them.

    With ``size`` the numbers are bytes.
    """
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    with Progress(
        *(columns if size else Progress.get_default_columns()),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    ) as progress:
        tasks: dict[str, TaskID] = {}

        def update(task: str, done: int, total: int | None) -> None:
            if task not in tasks:
                tasks[task] = progress.add_task(task, total=total)
            progress.update(tasks[task], completed=done, total=total)

        yield update


def show_progress(results: Iterator[JobResult], total: int) -> Iterator[JobResult]:
    """Pass the results on; print of each how it ended, and how long the rest may take."""
    from rich.console import Console
    from rich.progress import Progress

    from tailormix.training.progress import time_text

    console = Console(stderr=True)
    started = time.monotonic()
    with Progress(console=console, disable=not console.is_terminal) as progress:
        task = progress.add_task("runs", total=total)
        for number, result in enumerate(results, start=1):
            ended = "done" if result.result is not None else "stopped" if result.stopped else "failed"
            progress.advance(task)
            left = (time.monotonic() - started) / number * (total - number)
            rest = f" · about {time_text(left)} left" if number < total else ""
            console.print(
                f"{number}/{total} {ended}: {result.job.path}{rest}", soft_wrap=True, highlight=False
            )
            yield result


def list_failures(failed: Sequence[JobResult]) -> None:
    """Print what failed, why and how to run it again, and what was stopped; exit accordingly if there is any.

    The exit code is that of the signal that stopped them, else 2 if all runs say wrong use, else 1.
    """
    stopped = [result for result in failed if result.stopped]
    for result in failed:
        if result not in stopped:
            typer.echo(f"failed ({result.code}): {result.message}\n  again: {result.job.command}", err=True)
    if stopped:
        typer.echo(f"stopped with {len(stopped)} runs unfinished: the same command resumes them", err=True)
        raise typer.Exit(128 - stopped[0].code)
    if failed:
        raise typer.Exit(WRONG_USE if {result.code for result in failed} == {WRONG_USE} else FAILED)
