"""Ctrl-C and SIGTERM: finish the step, save a checkpoint, and stop."""

from __future__ import annotations

import contextlib
import signal
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import FrameType


SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupted(KeyboardInterrupt):
    """A run was stopped by a signal; its checkpoint is complete."""


@contextlib.contextmanager
def stop_on_signal() -> Iterator[threading.Event]:
    """An event that the first Ctrl-C or SIGTERM sets; a second one ends the process at once.

    Outside the main thread no handler can be set, and the event stays clear.
    """
    stop = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return

    def handler(number: int, _: FrameType | None) -> None:
        if stop.is_set():
            raise KeyboardInterrupt(f"second signal {number}")
        stop.set()

    with signal_handler(SIGNALS, handler):
        yield stop


@contextlib.contextmanager
def signal_handler(
    numbers: Iterable[int], handler: Callable[[int, FrameType | None], None]
) -> Iterator[None]:
    """Inside, ``handler`` receives these signals; afterwards the handlers before it do again."""
    before = {number: signal.getsignal(number) for number in numbers}
    for number in before:
        signal.signal(number, handler)
    try:
        yield
    finally:
        for number, previous in before.items():
            signal.signal(number, previous)
