"""Where a result comes from: versions, commit and machine."""

from __future__ import annotations

import platform
import subprocess
from importlib import metadata
from pathlib import Path
from typing import Any

PACKAGES = ("tailormix", "torch", "lightning-fabric", "torchmetrics", "numpy", "scipy", "scikit-learn")


def provenance() -> dict[str, Any]:
    """Versions of Python and of the packages that matter, and the commit of a source checkout."""
    found = {package: _version(package) for package in PACKAGES}
    return {"versions": {"python": platform.python_version(), **found}, "commit": commit()}


def commit() -> str | None:
    """The commit of the checkout this code runs from, with ``+changes`` where it was edited; else None."""
    here = Path(__file__).resolve().parent
    named = _git(here, "rev-parse", "HEAD")
    tracked = named and _git(here, "ls-files", "--error-unmatch", Path(__file__).name)
    if not tracked:  # installed, or inside somebody else's repository
        return None
    return f"{named}+changes" if _git(here, "status", "--porcelain", "--untracked-files=no") else named


def _git(folder: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=False, timeout=10
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
