"""Ctrl-C and SIGTERM: finish the step, save a checkpoint, and stop."""

from __future__ import annotations

import contextlib
import signal
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import FrameType


SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupted(KeyboardInterrupt):
    """A run was stopped by ``signal``; the same command resumes it."""

    def __init__(self, message: str, signal: int = signal.SIGINT) -> None:
        super().__init__(message)
        self.signal = signal


@dataclass
class Heard:
    """The first signal that came, 0 before it."""

    signal: int = 0


@contextlib.contextmanager
def stop_on_signal() -> Iterator[Heard]:
    """What remembers the first Ctrl-C or SIGTERM; a second one ends the process at once.

    Outside the main thread no handler can be set, and no signal is heard.
    """
    heard = Heard()
    if threading.current_thread() is not threading.main_thread():
        yield heard
        return

    def handler(number: int, _: FrameType | None) -> None:
        if heard.signal:
            raise Interrupted("stopped at once by a second signal; the same command resumes it", number)
        heard.signal = number

    with signal_handler(SIGNALS, handler):
        yield heard


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
