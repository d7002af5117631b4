"""Every number of the data files is the one that the paper prints, and no number of the paper is missing.

The source is no part of the project: these tests read the file that ``TAILORMIX_PAPER`` names, and are
skipped without it.
"""

import os
import re
from pathlib import Path

import pytest

from paper.data_files import FILES, TABLES, cells_of
from paper.latex import Key, Printed, Value, read_printed

#: a table that only holds other tables
ONLY_PARTS = "tab:full_efficiency"


@pytest.fixture(scope="module")
def paper() -> str:
    if not (path := os.environ.get("TAILORMIX_PAPER")):
        pytest.skip("TAILORMIX_PAPER does not name the paper's source")
    return Path(path).read_text(encoding="utf-8")


def differences(ours: dict[Key, Value], printed: dict[Key, Value]) -> list[str]:
    """What differs, cell by cell, in both directions."""
    places = dict.fromkeys((*printed, *ours))
    return [
        f"{' | '.join(place)}: {ours.get(place)} in the data file, {printed.get(place)} in the paper"
        for place in places
        if ours.get(place) != printed.get(place)
    ]


def printed_by(paper: str, name: str) -> Printed:
    titles = [setting["title"] for setting in FILES[name]["settings"].values()]
    return read_printed(paper, FILES[name]["label"], titles[0] if len(titles) == 1 else "")


@pytest.mark.parametrize("name", TABLES)
def test_every_number_in_its_order_and_what_others_reported(paper: str, name: str) -> None:
    """A dagger marks the rows that the paper took from others."""
    printed, ours = printed_by(paper, name), cells_of(FILES[name])
    assert differences(ours, printed.cells) == []
    assert [row["title"] for row in FILES[name]["rows"]] == printed.rows
    for part in ("block", "column"):
        assert order(ours, part) == order(printed.cells, part)
    reported = {row["title"] for row in FILES[name]["rows"] if row.get("reported", False)}
    assert reported == printed.reported


def order(cells: dict[Key, Value], part: str) -> list[str]:
    return list(dict.fromkeys(getattr(key, part) for key in cells))


def test_every_table_and_figure_has_a_file(paper: str) -> None:
    labels = set(re.findall(r"\\label\{((?:tab|subtab|fig):[^}]*)\}", paper)) - {ONLY_PARTS}
    ours = [file["label"] for file in FILES.values() if "label" in file]
    assert len(ours) == len(set(ours))
    assert {label for label in ours if not label.startswith("thm:")} == labels
    assert all(rf"\label{{{label}}}" in paper for label in ours)


def test_a_changed_paper_is_noticed(paper: str) -> None:
    changed = paper.replace(r"\textbf{1.609 {\footnotesize", r"\textbf{1.610 {\footnotesize")
    found = differences(cells_of(FILES["regression"]), printed_by(changed, "regression").cells)
    assert found == ["SK Mixup | Airfoil | MAPE: (1.609, 0.137) in the data file, (1.61, 0.137) in the paper"]
    missing = cells_of(FILES["regression"])
    del missing[Key("SK Mixup", "Airfoil", "MAPE")]
    assert len(differences(missing, printed_by(paper, "regression").cells)) == 1
