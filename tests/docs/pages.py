"""Pages of the documentation as lists of code blocks, and the notes that stand in comments above them."""

from __future__ import annotations

import re
import runpy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from markdown_it import MarkdownIt

from helpers import ROOT

if TYPE_CHECKING:
    from pathlib import Path

NOTE = re.compile(r"<!-- (needs|tolerance): (\S+) -->")
#: what the tests know how to check; a block in any other language fails
LANGUAGES = ("python", "console", "text", "toml")


@dataclass(frozen=True)
class Block:
    """A fenced block.

    Attributes:
        page: path from the root.
        line: of its fence.
        language: its info string.
        text: what is inside.
        needs: a module that it imports and the library does not bring (``<!-- needs: timm -->`` above it).
        tolerance: by how much printed numbers may differ (``<!-- tolerance: 0.1 -->`` above it).

    """

    page: str
    line: int
    language: str
    text: str
    needs: str | None = None
    tolerance: float = 0.0

    @property
    def place(self) -> str:
        """Where it is."""
        return f"{self.page}:{self.line}"


def pages() -> list[Path]:
    """All pages that are written by hand."""
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
        elif token.type in ("fence", "code_block"):
            line = (token.map or [0])[0] + 1
            tolerance = float(notes.get("tolerance", 0))
            language = token.info.strip()
            found.append(Block(page, line, language, token.content, notes.get("needs"), tolerance))
        if token.type != "html_block":
            notes = {}
    return found


def blocks_on(page: Path) -> list[Block]:
    """All code blocks of a file."""
    return blocks_of(page.read_text(encoding="utf-8"), name_of(page))


def script(name: str) -> dict[str, Any]:
    """What a Python file beside the pages defines."""
    return runpy.run_path(str(ROOT / "docs" / f"{name}.py"))
