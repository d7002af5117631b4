"""The pictures of the documentation are what the library draws."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
import pytest
from PIL import Image

from docs.pages import pages, script
from helpers import ROOT

if TYPE_CHECKING:
    from pathlib import Path

from sharing import made_once

PICTURES = ("kernel", "warps", "density", "pairs", "reliability")
IMAGES = ROOT / "docs" / "images"


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_once(tmp_path_factory, "images", draw)


def draw(folder: Path) -> None:
    drawing = script("make_pictures")
    assert tuple(drawing["PICTURES"]) == PICTURES
    drawing["main"](["--out", str(folder)])


@pytest.mark.parametrize("name", PICTURES)
def test_pictures_are_up_to_date(name: str, drawn: Path) -> None:
    """Up to the hair's breadth by which fonts and processors differ."""
    new, kept = (
        np.asarray(Image.open(folder / f"{name}.png").convert("L"), float) for folder in (drawn, IMAGES)
    )
    assert new.shape == kept.shape
    assert np.abs(new - kept).mean() < 1.0, f"python docs/make_pictures.py redraws {name}.png"


def test_pictures_are_shown_small_and_described() -> None:
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages())
    for path in IMAGES.iterdir():
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
