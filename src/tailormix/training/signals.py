"""Ctrl-C and SIGTERM: finish the step, save, and go."""

from __future__ import annotations

import contextlib
import signal
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
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
    before = {number: signal.getsignal(number) for number in SIGNALS}

    def ask(number: int, _: FrameType | None) -> None:
        if asked.is_set():
            raise KeyboardInterrupt(f"second signal {number}")
        asked.set()

    for number in SIGNALS:
        signal.signal(number, ask)
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
