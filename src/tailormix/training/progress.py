"""Progress of a run: a bar on terminals, plain lines elsewhere, TensorBoard on request."""

from __future__ import annotations

import contextlib
import math
import os
import sys
import time
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path


DUMB = ("dumb", "unknown")  # terminals that cannot redraw a line: a bar would appear only at the end


class Reporter(Protocol):
    """Called after every epoch, with the row that goes into ``metrics.jsonl``."""

    def __call__(self, row: Mapping[str, Any], epochs: int) -> None:
        """Epoch ``row["epoch"]`` of ``epochs`` is done."""


def silent(row: Mapping[str, Any], epochs: int) -> None:
    """Report nothing."""


def row_text(row: Mapping[str, Any]) -> str:
    """The loss, and the metrics of the split that selects, in one line.

    >>> row_text({"loss": 0.5, "validation": {"accuracy": 0.75, "ece": 0.1}})
    'loss 0.5 · accuracy 0.75 · ece 0.1'
    """
    shown = {"loss": row["loss"], **selected_by(row)}
    return " · ".join(f"{name} {value:.4g}" for name, value in shown.items())


def selected_by(row: Mapping[str, Any]) -> Mapping[str, float]:
    """Metrics of the split that selects: validation, or test where the released protocol is imitated."""
    found: Mapping[str, float] = row.get("validation", row.get("test", {}))
    return found


def time_text(seconds: float) -> str:
    """A duration in the unit that fits.

    >>> time_text(40), time_text(300), time_text(9000), time_text(400000)
    ('40 s', '5 min', '2.5 h', '4.6 days')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 48 * 3600 else f"{seconds / 86400:.1f} days"


class Lines:
    """Plain lines: those of the first and the last epoch, and at most one per second between."""

    def __init__(self, pause: float = 1.0) -> None:
        self.pause = pause
        self.printed_at = -math.inf

    def __call__(self, row: Mapping[str, Any], epochs: int) -> None:
        """Print the epoch, unless the last line is too recent."""
        now = time.monotonic()
        if now - self.printed_at >= self.pause or row["epoch"] == epochs:
            self.printed_at = now
            sys.stderr.write(f"epoch {row['epoch']}/{epochs} · {row_text(row)} · {row['seconds']:.2f} s\n")
            sys.stderr.flush()


@contextlib.contextmanager
def console(name: str, epochs: int | None = None) -> Iterator[Reporter]:
    """A bar with loss, validation metrics and time left on a terminal; plain lines elsewhere.

    Without ``epochs`` the bar does not know how many there are until the first is done.
    """
    if not sys.stderr.isatty() or os.environ.get("TERM") in DUMB:
        yield Lines()
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[text]}"),
    )
    with Progress(*columns, console=Console(stderr=True)) as bars:
        task = bars.add_task(name, total=epochs, text="")

        def show(row: Mapping[str, Any], epochs: int) -> None:
            bars.update(task, completed=row["epoch"], total=epochs, text=row_text(row))

        yield show


@contextlib.contextmanager
def tensorboard(folder: Path) -> Iterator[Reporter]:
    """Write scalars for TensorBoard into ``folder``."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        raise ImportError("--tensorboard needs the package tensorboard: pip install tensorboard") from error
    with SummaryWriter(str(folder)) as writer:

        def show(row: Mapping[str, Any], epochs: int) -> None:
            del epochs
            scalars = {"loss": row["loss"], "lr": row["lr"]}
            split = "test" if "test" in row else "validation"
            scalars |= {f"{split}/{name}": value for name, value in selected_by(row).items()}
            for name, value in scalars.items():
                writer.add_scalar(name, value, row["epoch"])

        yield show
