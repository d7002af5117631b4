"""The data files as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from paper.latex import Key, Value
from tailormix.paper.tables import NAMES, read_data

if TYPE_CHECKING:
    from collections.abc import Mapping

FILES: dict[str, dict[str, Any]] = {name: read_data(name) for name in NAMES}
TABLES = {name: file for name, file in FILES.items() if file["kind"] == "table"}


def cells_of(file: Mapping[str, Any]) -> dict[Key, Value]:
    """The paper's numbers of a file, by the titles that the paper prints."""
    cells = {}
    for row in file["rows"]:
        for setting, block in row.get("values", {}).items():
            for column, cell in block.items():
                title = file["columns"][column]["title"]  # without what only the data files say
                title = title.removesuffix(" (as published)").removesuffix(" (after TS)")
                key = Key(row["title"], file["settings"][setting]["title"], title)
                cells[key] = (cell[0], cell[1]) if isinstance(cell, list) else (cell, None)
    return cells
