"""CIFAR-100-C: the test set of CIFAR-100 under 19 corruptions of 5 severities."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .access.corrupted import corrupted_splits
from .cifar100 import CONSTANTS, class_names

if TYPE_CHECKING:
    from pathlib import Path

    from .access.record import DataSplits


def load(root: Path, *, corruption: str = "all", severity: int = 1) -> DataSplits:
    """Read 10 000 images of one corruption, or 190 000 of all; nothing depends on the seed."""
    folder = root / "CIFAR-100-C"
    return corrupted_splits("cifar100-c", folder, corruption, severity, class_names(root), CONSTANTS)
