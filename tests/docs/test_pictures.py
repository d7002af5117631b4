"""The pictures of the documentation are what the library draws; docstrings become Markdown."""

from __future__ import annotations

import re
import runpy
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from PIL import Image

from docs.pages import pages
from helpers import ROOT
from sharing import made_once

if TYPE_CHECKING:
    from pathlib import Path

DOCS = ROOT / "docs"
PICTURES = sorted(path.stem for path in (DOCS / "images").iterdir() if path.stem != "demo")


def script(name: str) -> dict[str, Any]:
    """What a Python file beside the pages defines."""
    return runpy.run_path(str(DOCS / f"{name}.py"))


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_once(
        tmp_path_factory, "images", lambda to: script("make_pictures")["main"](["--out", str(to)])
    )


@pytest.mark.parametrize("name", PICTURES)
def test_pictures_are_up_to_date(name: str, drawn: Path) -> None:
    """Up to the little by which fonts and processors differ."""
    folders = (drawn, DOCS / "images")
    new, old = (np.asarray(Image.open(path / f"{name}.png").convert("L"), float) for path in folders)
    assert new.shape == old.shape
    assert np.abs(new - old).mean() < 1.0, f"python docs/make_pictures.py redraws {name}.png"


def test_pictures_are_shown_small_and_described() -> None:
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages())
    for path in (DOCS / "images").iterdir():
        assert re.search(rf"!\[[^\]]{{20,}}\]\((docs/)?images/{path.name}\)", text), path.name
        assert path.stat().st_size < 200_000, path.name


def test_docstrings_become_markdown() -> None:
    """A heading, a table without one, a reference and an example."""
    markdown = script("docstrings")["markdown"]
    table = markdown("a\n\n==  ===\nx   y\n==  ===\n1   two\n==  ===\n\nb")
    assert table == "a\n\n| x | y |\n|---|---|\n| 1 | two |\n\nb"
    assert markdown("==  ==\n1   2\n==  ==") == "|  |  |\n|---|---|\n| 1 | 2 |"
    assert markdown("see :meth:`Method.loss`, ``x``") == "see `Method.loss`, ``x``"
    assert markdown("f.\n\n>>> 1 + 1\n2") == "f.\n\n```pycon\n>>> 1 + 1\n2\n```"
