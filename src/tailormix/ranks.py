"""Which of the processes that ``torchrun`` started this one is, told without torch."""

from __future__ import annotations

import os


def first_rank() -> bool:
    """Whether this process writes and prints for all; one that runs alone does."""
    return os.environ.get("RANK", "0") == "0"


def world_size() -> int:
    """How many processes train together."""
    return int(os.environ.get("WORLD_SIZE", "1"))
