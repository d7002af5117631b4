"""Real files, where ``TAILORMIX_DATA`` names a folder that has them."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def real() -> Callable[[str], Path]:
    """Return the data root if it holds ``folder``, else skip."""

    def root_with(folder: str) -> Path:
        named = os.environ.get("TAILORMIX_DATA")
        if not named:
            pytest.skip("TAILORMIX_DATA names no folder of real data")
        if not (Path(named) / folder).is_dir():
            pytest.skip(f"no real files: {named} holds no folder {folder}")
        return Path(named)

    return root_with
