"""A pseudo-terminal in the place of standard error, and what is seen on it."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import sys
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

PATIENCE = 60.0  # seconds after which something that should be drawn never will be
CODES = re.compile(r"\x1b\[[?0-9;]*[A-Za-z]")


class Screen:
    """Everything that was written to the terminal so far."""

    def __init__(self) -> None:
        self.written = ""
        self.grown = threading.Condition()

    def read(self, descriptor: int) -> None:
        """Take what comes until the other end is closed."""
        with contextlib.suppress(OSError):  # so Linux says that nobody holds the other end any more
            while piece := os.read(descriptor, 4096):
                with self.grown:
                    self.written += piece.decode()
                    self.grown.notify_all()

    def wait_for(self, text: str) -> None:
        """Until the text has been drawn."""
        with self.grown:
            assert self.grown.wait_for(lambda: text in self.written, PATIENCE), (text, self.written)

    def frames(self) -> list[str]:
        """What was drawn over what, without the codes of colours and cursor; repeated frames count once."""
        drawn = [CODES.sub("", frame).strip() for frame in self.written.split("\r\x1b[2K")]
        return list(dict.fromkeys(frame for frame in drawn if frame))


@contextlib.contextmanager
def terminal() -> Iterator[Screen]:
    """Standard error is a terminal inside; afterwards all that was written to it has been read."""
    inner, outer = pty.openpty()
    screen, kept = Screen(), sys.stderr
    reader = threading.Thread(target=screen.read, args=(inner,))
    reader.start()
    try:
        with os.fdopen(outer, "w", encoding="utf-8") as sys.stderr:
            yield screen
    finally:
        sys.stderr = kept
        reader.join()
        os.close(inner)
