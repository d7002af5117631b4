"""The page of a study: how every method compares with plain training, over all data sets and on each."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tailormix.data.corrupt import CORRUPTIONS
from tailormix.reports.numbers import NONE, markdown_table
from tailormix.studies.summary import (
    RANKED,
    RELATIVE,
    Effect,
    Values,
    comparable,
    compares,
    coverage,
    over_data_sets,
    ranked,
    win_rate,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tailormix.studies.study import Study

    Rows = Sequence[Mapping[str, str]]


@dataclass(frozen=True)
class Column:
    """A metric as a column: of a row (``ours``), less one of plain training (``theirs``) in comparisons."""

    title: str
    ours: str
    theirs: str
    scale: float = 100.0
    digits: int = 2


@dataclass(frozen=True)
class Section:
    """Columns that belong together, shown where any of them has values.

    ``detail``: differences alone are shown, of rows that have them for all runs; of several data sets on
    each alone.
    """

    title: str
    columns: tuple[Column, ...]
    text: str = ""
    detail: bool = False


T = "T is the temperature, fitted on clean validation rows; columns with T have candidates chosen with T."
SECTIONS = (
    Section(
        "Test rows",
        (
            Column("accuracy", "accuracy", "accuracy"),
            Column("ECE", "ece", "ece"),
            Column("ECE, against baseline + T", "ece", "ts_ece"),
            Column("NLL", "nll", "nll", 1, 3),
            Column("NLL, against baseline + T", "nll", "ts_nll", 1, 3),
            Column("accuracy, both + T", "ts_accuracy", "ts_accuracy"),
            Column("NLL, both + T", "ts_nll", "ts_nll", 1, 3),
            Column("AURC, both + T", "ts_aurc", "ts_aurc"),
        ),
        f"{T} Accuracy, ECE and AURC in points of 100.",
    ),
    Section(
        "Corrupted test images",
        (
            Column("accuracy", "corrupted_accuracy", "corrupted_accuracy"),
            Column("ECE", "corrupted_ece", "corrupted_ece"),
            Column("ECE, against baseline + T", "corrupted_ece", "corrupted_ts_ece"),
            Column("ECE, both + T", "corrupted_ts_ece", "corrupted_ts_ece"),
            Column("NLL, both + T", "corrupted_ts_nll", "corrupted_ts_nll", 1, 3),
        ),
        f"Means over all corruptions and severities. {T}",
    ),
    *(
        Section(
            f"{title} by kind of corruption",
            tuple(Column(kind, f"{kind}_{metric}", f"{kind}_{metric}") for kind in CORRUPTIONS),
            "Means over severities.",
            detail=True,
        )
        for title, metric in (("Accuracy", "accuracy"), ("ECE with T", "ts_ece"))
    ),
    Section(
        "Rows beyond the training data",
        (
            Column("accuracy", "covariate_accuracy", "covariate_accuracy"),
            Column("ECE", "covariate_ece", "covariate_ece"),
            Column("ECE, both + T", "covariate_ts_ece", "covariate_ts_ece"),
            Column("NLL, both + T", "covariate_ts_nll", "covariate_ts_nll", 1, 3),
        ),
        f"Test rows from one end of the first principal component, of which no row was trained on. {T}",
    ),
    Section(
        "Unknown inputs",
        (
            Column("AUROC", "unknown_auroc", "unknown_auroc"),
            Column("AUROC, both + T", "unknown_ts_auroc", "unknown_ts_auroc"),
            Column("FPR at 95 % recall", "unknown_fpr95", "unknown_fpr95"),
            Column("FPR, both + T", "unknown_ts_fpr95", "unknown_ts_fpr95"),
        ),
        f"How well low confidence finds inputs of classes that were never trained on. {T}",
    ),
    Section(
        "Real targets",
        (
            Column("RMSE", "rmse", "rmse", 1, 3),
            Column("NLL, both scaled", "vs_gaussian_nll", "vs_gaussian_nll", 1, 3),
            Column("ENCE", "ence", "ence"),
            Column("ENCE, both scaled", "vs_ence", "vs_ence"),
            Column("QCE, both scaled", "vs_qce", "vs_qce"),
            Column("coverage of 95 %, both scaled", "vs_coverage", "vs_coverage"),
        ),
        "Scaled: with variance scaling, fitted on validation rows. RMSE as a share (difference of "
        "logarithms), ENCE, QCE and coverage in points of 100.",
    ),
    Section(
        "Gap and Brier score",
        (
            Column("gap", "gap", "gap"),
            Column("gap, both + T", "ts_gap", "ts_gap"),
            Column("Brier", "brier", "brier"),
            Column("Brier, both + T", "ts_brier", "ts_brier"),
        ),
        f"The gap is mean confidence less accuracy: above 0 is over-confident. {T} All in points of 100.",
    ),
)
#: data sets up to which each has tables of its own on the page
MOST_TABLES = 8
#: cells without results up to which the page names them
MOST_MISSING = 8


def study_page(study: Study, rows: Rows) -> str:
    """The whole page as Markdown."""
    done = {(row["data"], row["row"]) for row in rows}
    seeds = sorted({int(row["seed"]) for row in rows})
    cells = f"{len(done)} of {len(study.data) * len(study.rows)} cells are there"
    missing = [f"`{data}/{row}`" for data in study.data for row in study.rows if (data, row) not in done]
    if 0 < len(missing) <= MOST_MISSING:
        cells += f", and {', '.join(missing)} not yet"
    made = (
        f"Made by `tailormix results` from [`{study.name}.csv`]({study.name}.csv), which "
        f"`tailormix study {study.name} --results docs/results` writes; do not edit. "
        f"{len(study.data)} data sets, {len(study.rows)} rows, {len(seeds)} seeds; {cells}. "
    )
    if study.budget > 1 and any(row.get("ts_nll") for row in rows):
        where, reach = "For every seed", ""
        if study.search_seeds is not None:
            where = "On the first seed" if study.search_seeds == 1 else f"On {study.search_seeds} seeds"
            reach = ", for all seeds"
        made += (
            f"{where}, every row chooses among at most {study.budget} candidates by validation NLL{reach}: "
            "without a temperature for what is measured without one, with a temperature for the rest."
        )
    baseline = study.rows[study.baseline].title.lower()
    head = [f"# {study.title}", "", made.rstrip(), "", *([study.note.strip(), ""] if study.note else [])]
    images = [
        *(
            (f"![Differences from {baseline}: {study.title}]({study.name}.png)", "")
            if compares(study, rows)
            else ()
        ),
        *(
            (f"![Mean ranks: {study.title}]({study.name}-ranks.png)", "")
            if any(ranked(study, rows, metric) for metric in RANKED)
            else ()
        ),
    ]
    return "\n".join([*head, *images, study_tables(study, rows), ""])


def study_tables(study: Study, rows: Rows) -> str:
    """Comparisons with the baseline, where it has been run, and values: over all data sets and on each."""
    found = _sections(study, rows)
    data_sets = [data for data in study.data if any(row["data"] == data for row in rows)]
    each = len(data_sets) <= MOST_TABLES
    lines: list[str] = []
    for section in found if _has_baseline(study, rows) else ():
        if section.detail and each and len(data_sets) > 1:
            continue  # shown below, on each data set
        lines += [
            f"## {section.title}",
            "",
            f"{section.text} {_against(study)}",
            "",
            *_compared(study, rows, section),
            "",
        ]
    for data in data_sets if each else ():
        here = [row for row in rows if row["data"] == data]
        lines += [f"## {data}", "", *_values(study, here, data, found), ""]
        if len(data_sets) > 1 and _has_baseline(study, here):
            baseline = study.rows[study.baseline].title.lower()
            lines += [f"Differences from {baseline} on {data}, with 95 % t intervals over seeds:", ""]
            for section in _sections(study, here):
                lines += [f"*{section.title}*", "", *_compared(study, here, section), ""]
    return "\n".join(lines).rstrip()


def _sections(study: Study, rows: Rows) -> list[Section]:
    """Those with values; details where every run of the baseline has them, to compare with."""
    return [
        section
        for section in SECTIONS
        if (
            _has_detail(rows, study.baseline, section)
            if section.detail
            else any(_has(rows, column.ours) for column in section.columns)
        )
    ]


def _has_detail(rows: Rows, name: str, section: Section) -> bool:
    """Whether every run of the row ``name`` has the metric of the section by kind."""
    kinds = [column.ours for column in section.columns if _has(rows, column.ours)]
    metric = section.columns[0].ours.partition("_")[2]
    runs = [row for row in rows if row["row"] == name and row.get(metric)]
    return bool(kinds and runs) and all(row.get(kind) for row in runs for kind in kinds)


def _has_baseline(study: Study, rows: Rows) -> bool:
    return any(row["row"] == study.baseline for row in rows)


def _against(study: Study) -> str:
    return (
        f"Differences from {study.rows[study.baseline].title.lower()}: mean over data sets of paired "
        "differences, with a 95 % t interval (over data sets where there are ten or more, else over seeds); "
        "**bold** where it leaves out 0."
    )


def _compared(study: Study, rows: Rows, section: Section) -> list[str]:
    """One line per row: its differences from the baseline."""
    columns = _columns(study, rows, section)
    by = next((name for name in RANKED if any(column.ours == name for column in columns)), None)
    values = {name: comparable(rows, name) for column in columns for name in (column.ours, column.theirs)}
    names = [name for name in study.rows if any(row["row"] == name for row in rows)]
    if section.detail:
        names = [name for name in names if _has_detail(rows, name, section)]
    order = None if by is None else ranked(study, rows, by)
    header = ["", *(column.title + ", %" * (column.ours in RELATIVE) for column in columns)]
    header += [] if by is None else ["wins"]
    header += [] if order is None else ["mean rank"]
    body = []
    for name in names:
        cells = [study.rows[name].title + coverage(values[columns[0].ours], name)]
        for column in columns:
            same = name == study.baseline and column.ours == column.theirs
            effect = over_data_sets(values[column.ours], name, values[column.theirs], study.baseline)
            scale = (100, 1) if column.ours in RELATIVE else (column.scale, column.digits)
            cells.append("0" if same and effect.n else effect_text(effect, *scale))
        if by is not None:
            wins = win_rate(values[by], name, values[by], study.baseline)
            cells.append(NONE if name == study.baseline else share_text(wins))
        if order is not None:
            cells.append(f"{order.ranks[name]:.1f}" if name in order.ranks else NONE)
        body.append(cells)
    if order is None:
        return markdown_table(header, body)
    note = (
        f"Wins and ranks are by `{by}`; intervals of wins are a bootstrap over data sets. On "
        f"{order.data_sets} data sets two rows differ (Nemenyi, 5 %) if their mean ranks are more than "
        f"{order.critical_difference:.2f} apart; Friedman p = {order.friedman_p:.2g}."
    )
    return [*markdown_table(header, body), "", note]


def _values(study: Study, here: Rows, data: str, sections: Iterable[Section]) -> list[str]:
    """Mean ± standard deviation over seeds of every metric on one data set, of its rows ``here``."""
    columns: dict[str, Column] = {}
    for section in (each for each in sections if not each.detail):
        for column in _columns(study, here, section):
            for name in (column.ours, column.theirs):
                if _has(here, name):
                    columns.setdefault(name, column)
    names = [name for name in study.rows if any(row["row"] == name for row in here)]
    body = []
    for name in names:
        cells = [study.rows[name].title]
        for metric, column in columns.items():
            cells.append(spread_text(Values(here, metric).mean(data, name), column.scale, column.digits))
        body.append(cells)
    return markdown_table(["", *(f"`{name}`" for name in columns)], body)


def _columns(study: Study, rows: Rows, section: Section) -> list[Column]:
    """The columns that have values; without a search, accuracy is the same with and without temperature."""
    same = ("ts_accuracy",) if study.budget == 1 else ()
    return [column for column in section.columns if column.ours not in same and _has(rows, column.ours)]


def _has(rows: Iterable[Mapping[str, str]], metric: str) -> bool:
    return any(row.get(metric) for row in rows)


def effect_text(effect: Effect, scale: float = 1, digits: int = 2) -> str:
    """``−0.12 [−0.20, −0.04]``, bold where the interval leaves out 0.

    >>> effect_text(Effect(-0.12, -0.2, -0.04, 5)), effect_text(Effect(0.1, -0.1, 0.3, 5))
    ('**−0.12 [−0.20, −0.04]**', '+0.10 [−0.10, +0.30]')
    """
    if not effect.n:
        return NONE
    text = _signed(scale * effect.mean, digits)
    if math.isnan(effect.low):
        return text
    text += f" [{_signed(scale * effect.low, digits)}, {_signed(scale * effect.high, digits)}]"
    return f"**{text}**" if effect.decided else text


def share_text(effect: Effect) -> str:
    """``55 % [41, 69]``.

    >>> share_text(Effect(0.55, 0.41, 0.69, 20)), share_text(Effect(0.5, math.nan, math.nan, 2))
    ('55 % [41, 69]', '50 %')
    """
    if not effect.n:
        return NONE
    text = f"{100 * effect.mean:.0f} %"
    return text if math.isnan(effect.low) else f"{text} [{100 * effect.low:.0f}, {100 * effect.high:.0f}]"


def spread_text(effect: Effect, scale: float = 1, digits: int = 2) -> str:
    """``0.12 ± 0.03``."""
    if not effect.n:
        return NONE
    text = f"{scale * effect.mean:.{digits}f}".replace("-", "−")
    spread = scale * (effect.high - effect.mean)
    return text if math.isnan(spread) else f"{text} ± {spread:.{digits}f}"


def _signed(value: float, digits: int) -> str:
    return f"{value:+.{digits}f}".replace("-", "−")
