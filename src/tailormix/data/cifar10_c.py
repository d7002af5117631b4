"""CIFAR-10-C: the test set of CIFAR-10 under 19 corruptions of 5 severities."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .access.corrupted import corrupted_splits
from .cifar10 import CLASSES, CONSTANTS

if TYPE_CHECKING:
    from pathlib import Path

    from .access.record import DataSplits


def load(root: Path, *, corruption: str = "all", severity: int = 1) -> DataSplits:
    """Read 10 000 images of one corruption, or 190 000 of all; nothing depends on the seed."""
    return corrupted_splits("cifar10-c", root / "CIFAR-10-C", corruption, severity, CLASSES, CONSTANTS)
