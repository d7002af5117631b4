"""Every number of the data files is the one that the paper prints, and no number of the paper is missing.

The source is no part of the project: these tests read the file that ``TAILORMIX_PAPER`` names, and are
skipped without it.
"""

import os
import re
from pathlib import Path

import pytest

from paper.data_files import FILES, TABLES, cells_of
from paper.latex import Key, Value, clean, number, read_printed

#: a table that only holds other tables
ONLY_PARTS = "tab:full_efficiency"

SMALL = r"""
\begin{table}[t]
\caption{Something else. \label{tab:other}}
\begin{tabular}{c} A & B \\ \midrule 1 & 2 \\ \end{tabular}
\end{table}
\begin{table*}[t]
\label{tab:small}
\resizebox{0.9\linewidth}{!}{%
\begin{tabular}{@{}lcc|cc@{}}
\toprule
\multirow{2}{*}{Methods} & \multirow{2}{*}{$\alpha$} & Batch
 & \multicolumn{2}{c|}{First} & \multicolumn{2}{c}{Second} \\
 & & in memory & ECE ($\downarrow$) & UCE & ECE ($\downarrow$) & UCE \\
\midrule
LS$^\dagger$ & -- & 1 & 1 & \textbf{2} & \underline{3.5} & 4 \\
\cmidrule{2-5}
\multirow{2}{*}{SK \emph{(Ours)}} & 0.5 & 2 & \bf{5.10\% {\footnotesize $\pm$ 0.1}} & 6 & 7 & 8 \\
& 1 & 2 & 9 & 10 & 11 & 12.0 $\pm$ 3 \\
\bottomrule
\end{tabular}}
\end{table*}
"""


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


def printed_by(paper: str, name: str) -> dict[Key, Value]:
    return read_printed(paper, FILES[name]["label"], only_block(name)).cells


def only_block(name: str) -> str:
    titles = [setting["title"] for setting in FILES[name]["settings"].values()]
    return titles[0] if len(titles) == 1 else ""


def test_reader_by_hand() -> None:
    """The rows are LS (reported), SK with α 0.5 and SK with α 1, whose name stands in the row above."""
    printed = read_printed(SMALL, "tab:small")
    assert printed.rows == ["LS", "SK, α = 0.5", "SK, α = 1"]
    assert printed.reported == {"LS"}
    assert len(printed.cells) == 3 * 2 * 3
    assert printed.cells["LS", "Second", "ECE"] == (3.5, None)
    assert printed.cells["SK, α = 0.5", "First", "ECE"] == (5.1, 0.1)
    assert printed.cells["SK, α = 1", "Second", "UCE"] == (12.0, 3.0)
    assert printed.cells["SK, α = 1", "First", "Batch in memory"] == (2.0, None)


@pytest.mark.parametrize("cell", ["", "1 2", "1 ± ", "-- ± 2", "n/a"])
def test_reader_refuses_what_is_no_number(cell: str) -> None:
    with pytest.raises(ValueError, match="must be a number"):
        number(cell)


def test_reader_refuses_unknown_latex() -> None:
    with pytest.raises(ValueError, match="left over"):
        clean(r"\textsc{1.0}")


def test_reader_refuses_a_short_line() -> None:
    with pytest.raises(ValueError, match="6 cells under 7 heads"):
        read_printed(SMALL.replace("& 1 & 2 & 9 &", "& 1 & 2 &"), "tab:small")


@pytest.mark.parametrize("name", TABLES)
def test_every_number(paper: str, name: str) -> None:
    assert differences(cells_of(FILES[name]), printed_by(paper, name)) == []


@pytest.mark.parametrize("name", TABLES)
def test_rows_and_columns_keep_their_order(paper: str, name: str) -> None:
    printed = read_printed(paper, FILES[name]["label"], only_block(name))
    assert [row["title"] for row in FILES[name]["rows"]] == printed.rows
    ours = cells_of(FILES[name])
    assert list(dict.fromkeys(key.block for key in ours)) == list(
        dict.fromkeys(key.block for key in printed.cells)
    )
    assert list(dict.fromkeys(key.column for key in ours)) == list(
        dict.fromkeys(key.column for key in printed.cells)
    )


@pytest.mark.parametrize("name", TABLES)
def test_daggers_mark_what_others_reported(paper: str, name: str) -> None:
    reported = {row["title"] for row in FILES[name]["rows"] if row.get("reported", False)}
    assert reported == read_printed(paper, FILES[name]["label"], only_block(name)).reported


def test_every_table_and_figure_has_a_file(paper: str) -> None:
    labels = set(re.findall(r"\\label\{((?:tab|subtab|fig):[^}]*)\}", paper)) - {ONLY_PARTS}
    ours = [file["label"] for file in FILES.values() if "label" in file]
    assert len(ours) == len(set(ours))
    assert {label for label in ours if not label.startswith("thm:")} == labels
    assert all(rf"\label{{{label}}}" in paper for label in ours)


@pytest.mark.parametrize("name", TABLES)
def test_any_changed_number_is_noticed(paper: str, name: str) -> None:
    """One cell changed, one without its deviation, one missing, one too many: each is one difference."""
    printed, ours = printed_by(paper, name), cells_of(FILES[name])
    for place, (mean, std) in ours.items():
        assert len(differences({**ours, place: (mean + 0.01, std)}, printed)) == 1
        if std is not None:
            assert len(differences({**ours, place: (mean, None)}, printed)) == 1
        missing = {key: value for key, value in ours.items() if key != place}
        assert len(differences(missing, printed)) == 1
    assert len(differences({**ours, Key("no", "such", "cell"): (1.0, None)}, printed)) == 1


def test_a_changed_paper_is_noticed(paper: str) -> None:
    changed = paper.replace(r"\textbf{1.609 {\footnotesize", r"\textbf{1.610 {\footnotesize")
    found = differences(cells_of(FILES["regression"]), printed_by(changed, "regression"))
    assert found == ["SK Mixup | Airfoil | MAPE: (1.609, 0.137) in the data file, (1.61, 0.137) in the paper"]
