"""A small reader of LaTeX tables: from a label to every number, by row, block and column as printed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


class Key(NamedTuple):
    """Where a number stands: title of its row, of its block of columns, and of its column."""

    row: str
    block: str
    column: str


Value = tuple[float, float | None]  # mean, and standard deviation where there is one


@dataclass(frozen=True)
class Printed:
    """The numbers of a table, and the rows that carry a dagger."""

    cells: dict[Key, Value]
    reported: frozenset[str]

    @property
    def rows(self) -> list[str]:
        """Titles in the order of the table; those of a second block of rows are not repeated."""
        return list(dict.fromkeys(key.row for key in self.cells))


ENVIRONMENTS = ("table*", "table", "subtable")
#: heads of leading columns: those that name the block, and those that make up the row's title
BLOCKS = ("Dataset", "Arch.")
TITLES = ("Methods", "Method", "Quantile of Distance", "Distance", "Warping")
SYMBOLS = ("α", "τ_std", "α_low", "α_high")
#: heads above blocks that say nothing about the columns
GROUPS = ("ID", "OOD")
NOTHING = "--"
NUMBER = r"\d+(?:\.\d+)?"

_WRAPPERS = (
    r"\\(?:textbf|underline|emph|bf|text)\s*\{([^{}]*)\}",
    r"\{\\(?:footnotesize|tiny|small)\s+([^{}]*)\}",
    r"\\multirow\{\d+\}\{\*\}\{([^{}]*)\}",
    r"_\{([^{}]*)\}",
)
_DROPPED = (
    r"\\begin\{minipage\}\{[^{}]*\}",
    r"\\end\{minipage\}",
    r"\(\$\\(?:up|down)arrow\$\)",
    r"\\%",
    r"\$",
    r"\^\\dagger",
)
_SIGNS = {r"\pm": "±", r"\alpha": "α", r"\tau": "τ"}
_RULES = r"\\(?:top|mid|bottom)rule|\\cmidrule(?:\([lr]+\))?\{[\d-]+\}"


def clean(text: str) -> str:
    r"""Plain text of a cell; LaTeX that this reader does not know is an error, not a guess.

    >>> clean(r"\bf{2.10\% {\footnotesize $\pm$ 0.78}}"), clean(r"$\tau_{\text{std}}$"), clean(r"ECE")
    ('2.10 ± 0.78', 'τ_std', 'ECE')
    """
    for pattern in _DROPPED:
        text = re.sub(pattern, "", text)
    before = ""
    while before != text:
        before = text
        for pattern in _WRAPPERS:
            text = re.sub(pattern, lambda found: found[0][0] * (found[0][0] == "_") + found[1], text)
    for sign, letter in _SIGNS.items():
        text = text.replace(sign, letter)
    if re.search(r"[\\{}]", text):
        raise ValueError(f"LaTeX left over in a cell: {text!r}")
    return " ".join(text.replace("(Ours)", "").split())


def number(text: str) -> Value:
    """Mean and deviation of a cleaned cell.

    >>> number("1.5 ± 0.25"), number("43")
    ((1.5, 0.25), (43.0, None))
    """
    found = re.fullmatch(rf"({NUMBER})(?: ± ({NUMBER}))?", text)
    if found is None:
        raise ValueError(f"a cell must be a number, or two with ± between them, got {text!r}")
    return float(found[1]), float(found[2]) if found[2] else None


def tabular(source: str, label: str) -> str:
    """What stands inside the tabular of the table with this label."""
    place = source.index(rf"\label{{{label}}}")
    begin, name = max((source.rfind(rf"\begin{{{name}}}", 0, place), name) for name in ENVIRONMENTS)
    table = source[begin : source.index(rf"\end{{{name}}}", place)]
    found = re.search(r"\\begin\{tabular\}\{(?:[^{}]|\{[^{}]*\})*\}(.*?)\\end\{tabular\}", table, re.DOTALL)
    if found is None:
        raise ValueError(f"there is no tabular in the table {label}")
    return found[1]


def lines_of(text: str) -> Iterator[list[str]]:
    """The cells of each line, as they are written."""
    for line in re.split(r"\\\\", re.sub(_RULES, "", text)):
        if line.strip():
            yield [cell.strip() for cell in re.split(r"(?<!\\)&", line)]


def spread_out(line: list[str]) -> list[tuple[str, bool]]:
    """A line of heads with each multicolumn over all its columns: (text, whether it spans several)."""
    spread = []
    for cell in line:
        found = re.fullmatch(r"\\multicolumn\{(\d+)\}\{[^{}]*\}\{(.*)\}", cell)
        count, text = (int(found[1]), found[2]) if found else (1, cell)
        spread += [(clean(text), count > 1)] * count
    return spread


def heads_of(text: str) -> list[tuple[str, str]]:
    """(block, column) of every column; the block is empty where no head spans several columns."""
    stacked = zip(*(spread_out(line) for line in lines_of(text)), strict=True)
    heads = []
    for stack in stacked:
        above = " ".join(text for text, wide in stack if wide and text not in GROUPS)
        heads.append((above, " ".join(text for text, wide in stack if text and not wide)))
    return heads


def read_printed(source: str, label: str, only_block: str = "") -> Printed:
    """Every number of the table with this label.

    A table without blocks has the one block ``only_block``. A column that stands before the blocks (batches
    in memory) belongs to each of them.
    """
    head, body = tabular(source, label).split(r"\midrule", 1)
    heads = heads_of(head)
    leading = [column for _, column in heads if column in (*BLOCKS, *TITLES, *SYMBOLS)]
    blocks = [block for block, _ in groupby(block for block, _ in heads if block)] or [only_block]
    above = [""] * len(leading)
    cells: dict[Key, Value] = {}
    reported = set()
    for line in lines_of(body):
        if len(line) != len(heads):
            raise ValueError(f"{label}: a line of {len(line)} cells under {len(heads)} heads: {line}")
        above = [clean(cell) or old for cell, old in zip(line, above, strict=False)]
        named = dict(zip(leading, above, strict=True))
        row, own = title_of(named), " ".join(named[head] for head in BLOCKS if head in named)
        if r"\dagger" in line[0]:
            reported.add(row)
        for (block, column), cell in zip(heads[len(leading) :], line[len(leading) :], strict=True):
            title = f"{block} {column}".strip() if own else column
            for one in [own] if own else [block] if block else blocks:
                put(cells, Key(row, one, title), number(clean(cell)))
    return Printed(cells, frozenset(reported))


def title_of(named: Mapping[str, str]) -> str:
    """A row's title of its leading cells.

    >>> title_of({"Dataset": "CIFAR10", "Methods": "Mixup", "α": "0.5", "τ_std": "--"})
    'Mixup, α = 0.5'
    """
    said = {head: text for head, text in named.items() if text != NOTHING and head not in BLOCKS}
    return ", ".join(f"{head} = {text}" if head in SYMBOLS else text for head, text in said.items())


def put(cells: dict[Key, Value], key: Key, value: Value) -> None:
    """Keep a number; two numbers at one place mean that the reader took two rows or columns for one."""
    if key in cells:
        raise ValueError(f"two numbers for {key}")
    cells[key] = value
