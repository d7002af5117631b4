"""What commands that start many runs show: one bar for all on a terminal, one line a run elsewhere."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tailormix.experiments.parallel import Outcome


def shown(outcomes: Iterator[Outcome], total: int) -> Iterator[Outcome]:
    """Pass the outcomes on, saying of each how it ended and how long the rest may take."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    started = time.monotonic()
    with Progress(console=console, disable=not console.is_terminal) as bars:
        task = bars.add_task("runs", total=total)
        for number, outcome in enumerate(outcomes, start=1):
            ended = "done" if outcome.result is not None else "failed"
            bars.advance(task)
            left = (time.monotonic() - started) / number * (total - number)
            rest = f" · about {time_text(left)} left" if number < total else ""
            console.print(
                f"{number}/{total} {ended}: {outcome.task.path}{rest}", soft_wrap=True, highlight=False
            )
            yield outcome


def time_text(seconds: float) -> str:
    """A duration in words.

    >>> time_text(40), time_text(300), time_text(9000), time_text(400000)
    ('40 s', '5 min', '2.5 h', '4.6 d')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 48 * 3600 else f"{seconds / 86400:.1f} d"


def list_failures(failed: Sequence[Outcome]) -> None:
    """Say what failed, why and how to run it again; exit with 1 if anything did."""
    from tailormix.experiments.parallel import NOT_STARTED

    waiting = [outcome for outcome in failed if outcome.said == NOT_STARTED]
    if waiting:
        typer.echo(f"{len(waiting)} runs were not started: the same command goes on with them", err=True)
    for outcome in failed:
        if outcome in waiting:
            continue
        typer.echo(f"failed ({outcome.code}): {outcome.said}\n  again: {outcome.task.command}", err=True)
    if failed:
        raise typer.Exit(1)
