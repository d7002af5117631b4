"""How the process keeps its memory."""

from __future__ import annotations

import ctypes

MMAP_THRESHOLD, TRIM_THRESHOLD = -3, -1  # glibc's numbers for mallopt


def keep_freed_memory(size: int = 1 << 30) -> bool:
    """Let glibc hold on to freed blocks below ``size``: whether it does.

    A training step frees what the next one asks for again. Given back in between, every page of it would be
    mapped and cleared anew, which is a tenth of the time of a small network on a CPU.
    """
    try:
        libc = ctypes.CDLL("libc.so.6")
    except OSError:  # no glibc here, which has other habits
        return False
    taken = [libc.mallopt(threshold, size) for threshold in (MMAP_THRESHOLD, TRIM_THRESHOLD)]
    return all(taken)
