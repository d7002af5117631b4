"""Ctrl-C and SIGTERM: finish the step, save, and go."""

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
    """A run ended early because it was asked to; its checkpoint is whole."""


@contextlib.contextmanager
def polite_stop() -> Iterator[threading.Event]:
    """An event that the first Ctrl-C or SIGTERM sets; a second one ends the process at once.

    Outside the main thread no handler can be set, and the event stays clear.
    """
    asked = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield asked
        return

    def ask(number: int, _: FrameType | None) -> None:
        if asked.is_set():
            raise KeyboardInterrupt(f"second signal {number}")
        asked.set()

    with handled(SIGNALS, ask):
        yield asked


@contextlib.contextmanager
def handled(numbers: Iterable[int], handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Inside, ``handler`` takes these signals; afterwards whoever had them before."""
    before = {number: signal.getsignal(number) for number in numbers}
    for number in before:
        signal.signal(number, handler)
    try:
        yield
    finally:
        for number, other in before.items():
            signal.signal(number, other)
