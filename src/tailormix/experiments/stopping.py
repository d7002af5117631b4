"""A wish to stop that reaches every run, in whichever process or machine it is watched."""

from __future__ import annotations

import contextlib
import signal
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tailormix.training.signals import handled

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from types import FrameType


@dataclass(frozen=True)
class Flag:
    """An empty file beside the runs: unlike an event it can be seen from wherever the runs are written.

    >>> from pathlib import Path
    >>> Flag(Path("no such folder") / "flag").is_set()
    False
    """

    path: Path

    def is_set(self) -> bool:
        """Whether it is there."""
        return self.path.exists()

    def set(self) -> None:
        """Put it there."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.touch()


@contextlib.contextmanager
def stop_signal(folder: Path) -> Iterator[Flag]:
    """A flag in ``folder`` that Ctrl-C, SIGTERM and a closed terminal raise; what was ignored stays so."""
    flag = Flag(folder / f".stop-{uuid.uuid4().hex}")

    def ask(_: int, __: FrameType | None) -> None:
        flag.set()

    names = ("SIGINT", "SIGTERM", "SIGHUP")
    numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
    try:
        with handled([number for number in numbers if signal.getsignal(number) is not signal.SIG_IGN], ask):
            yield flag
    finally:
        flag.path.unlink(missing_ok=True)
