"""Turns tables, references and examples of docstrings into Markdown for the site."""

from __future__ import annotations

import re
from typing import Any

import griffe

ROLE = re.compile(r":(?:attr|class|data|func|meth|mod):`~?([^`]+)`")
RULE = re.compile(r"=+(?: +=+)+")


def markdown(text: str) -> str:
    """The text with roles as code, simple tables as tables with bars, and examples as blocks.

    >>> markdown("see :func:`tailormix.warp`")
    'see `tailormix.warp`'
    """
    paragraphs = ROLE.sub(r"`\1`", text).split("\n\n")
    return "\n\n".join(_fenced(_table(part) if RULE.match(part) else part) for part in paragraphs)


def _fenced(paragraph: str) -> str:
    """An example as a block of code."""
    return f"```pycon\n{paragraph.rstrip()}\n```" if paragraph.startswith(">>> ") else paragraph


def _table(paragraph: str) -> str:
    """A simple table; one without a heading gets an empty one, which Markdown needs."""
    lines = paragraph.splitlines()
    starts = [match.start() for match in re.finditer("=+", lines[0])]
    rules = [number for number, line in enumerate(lines) if RULE.fullmatch(line.strip())]
    heading, body = (lines[1], lines[3:-1]) if len(rules) == 3 else ("", lines[1:-1])
    rows = [_row(heading, starts), "|" + "---|" * len(starts), *(_row(line, starts) for line in body)]
    return "\n".join(rows)


def _row(line: str, starts: list[int]) -> str:
    ends = [*starts[1:], len(line)]
    cells = (line[start:end].strip() for start, end in zip(starts, ends, strict=True))
    return "| " + " | ".join(cells) + " |"


class Docstrings(griffe.Extension):
    """Rewrites every docstring before it is parsed."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrite the docstring of ``obj``, if it has one."""
        if obj.docstring is not None:
            obj.docstring.value = markdown(obj.docstring.value)
