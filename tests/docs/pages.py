"""Pages of the documentation as lists of code blocks, and what those print."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from markdown_it import MarkdownIt

from helpers import ROOT

if TYPE_CHECKING:
    from pathlib import Path

NOTE = re.compile(r"<!-- (needs|run|source|tolerance): (\S+) -->")
NUMBER = r"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?"
PIECES = re.compile(rf"(\.\.\.|\s+|{NUMBER})")


@dataclass(frozen=True)
class Block:
    """A code block.

    Attributes:
        place: page and line.
        language: its info string.
        text: its contents.
        needs: a module that it imports and the library does not install (``<!-- needs: timm -->`` above it).
        source: an object from whose source it quotes lines, instead of being run.
        whole: whether its commands are run as they are (``<!-- run: whole -->`` above it), not shortened.
        tolerance: by how much printed numbers may differ (``<!-- tolerance: 0.1 -->`` above it).

    """

    place: str
    language: str
    text: str
    needs: str | None = None
    source: str | None = None
    whole: bool = False
    tolerance: float = 0.0


def pages() -> list[Path]:
    """All pages of the documentation."""
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def name_of(page: Path) -> str:
    """The page's path from the root."""
    return page.relative_to(ROOT).as_posix()


def blocks_of(text: str, page: str = "page") -> list[Block]:
    """All code blocks of a page, as a Markdown parser sees them: indented ones too, with no language."""
    found: list[Block] = []
    notes: dict[str, str] = {}
    for token in MarkdownIt().parse(text):
        if token.type == "html_block":
            notes = dict(NOTE.findall(token.content))
            continue
        if token.type in ("fence", "code_block"):
            place, tolerance = f"{page}:{(token.map or [0])[0] + 1}", float(notes.get("tolerance", 0))
            needs, source = notes.get("needs"), notes.get("source")
            whole = notes.get("run") == "whole"
            found.append(Block(place, token.info.strip(), token.content, needs, source, whole, tolerance))
        notes = {}
    return found


def same(printed: str, promised: str, tolerance: float = 0.0) -> bool:
    """Whether both agree up to white space, and numbers up to the tolerance; ``...`` stands for anything.

    >>> same("ECE 0.051, 3", "ECE 0.05, 3", tolerance=0.01), same("ECE 0.08", "ECE 0.05", tolerance=0.01)
    (True, False)
    >>> same("a b c", "a ... c"), same("a b c", "a ... d"), same("0.51", "0.5")
    (True, False, False)
    """
    pieces = [piece for piece in PIECES.split(promised.strip()) if piece]
    match = re.fullmatch("".join(_pattern(piece, tolerance) for piece in pieces), printed.strip(), re.DOTALL)
    expected = [piece for piece in pieces if tolerance and re.fullmatch(NUMBER, piece)]
    return match is not None and all(
        math.isclose(float(value), float(wanted), rel_tol=0, abs_tol=tolerance + 1e-9)
        for value, wanted in zip(match.groups(), expected, strict=True)
    )


def _pattern(piece: str, tolerance: float) -> str:
    if piece == "...":
        return ".*?"
    if piece.isspace():
        return r"\s+"
    return f"({NUMBER})" if tolerance and re.fullmatch(NUMBER, piece) else re.escape(piece)
