"""The page of a study: how every method compares with plain training, over all data sets and on each."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tailormix.data.corrupt import CORRUPTIONS
from tailormix.reports.numbers import NONE, markdown_table
from tailormix.studies.raw import BY_KIND, after_calibration
from tailormix.studies.study import STUDIES
from tailormix.studies.summary import (
    GROUPS,
    LIGHT,
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
    with_groups,
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


#: metrics of classes as columns: title, scale and digits
METRICS = {
    "accuracy": ("accuracy", 100, 2),
    "ece": ("ECE", 100, 2),
    "nll": ("NLL", 1, 3),
    "brier": ("Brier", 100, 2),
    "aurc": ("AURC", 100, 2),
    "gap": ("gap", 100, 2),
    "auroc": ("AUROC", 100, 2),
    "fpr95": ("FPR at 95 % recall", 100, 2),
}


def _metrics(prefix: str, *names: str) -> tuple[Column, ...]:
    return tuple(
        Column(METRICS[name][0], f"{prefix}{name}", f"{prefix}{name}", *METRICS[name][1:]) for name in names
    )


def _with_and_without(
    title: str, text: str, part: str, names: Sequence[str], against: Sequence[str] = ()
) -> tuple[Section, Section]:
    """A section with a temperature and one without, so that all columns of a table are of one network.

    ``against`` are metrics without a temperature that are compared with those of the baseline with one.
    """
    beside = tuple(
        Column(
            f"{METRICS[name][0]}, against baseline + T",
            f"{part}{name}",
            f"{part}ts_{name}",
            *METRICS[name][1:],
        )
        for name in against
    )
    without = _metrics(part, *(name for name in names if name != "aurc"))
    return (
        Section(f"{title} with T", _metrics(f"{part}ts_", *names), f"{text} {WITH_T}"),
        Section(f"{title} without T", (*without, *beside), f"{text} {WITHOUT_T}"),
    )


WITH_T = (
    "All rows have a temperature T, fitted on clean validation rows, and candidates are those chosen with it."
)
WITHOUT_T = "Nothing is calibrated after training; candidates are those chosen so."
SECTIONS = (
    *_with_and_without(
        "Test rows",
        "All in points of 100, but NLL; the gap is mean confidence less accuracy, above 0 over-confident.",
        "",
        ("accuracy", "ece", "nll", "brier", "aurc", "gap"),
        ("ece", "nll"),
    ),
    *_with_and_without(
        "Corrupted test images",
        "Means over all corruptions and severities.",
        "corrupted_",
        ("accuracy", "ece", "nll"),
        ("ece",),
    ),
    Section(
        "Light and other corruptions with T",
        tuple(
            Column(f"{group}: {METRICS[name][0]}", f"{group}_ts_{name}", f"{group}_ts_{name}")
            for group in GROUPS
            for name in BY_KIND
        ),
        f"Light: {', '.join(LIGHT)}. Means over kinds and severities.",
        detail=True,
    ),
    *(
        Section(
            f"{title} with T by kind of corruption",
            tuple(Column(kind, f"{kind}_ts_{name}", f"{kind}_ts_{name}") for kind in CORRUPTIONS),
            "Means over severities.",
            detail=True,
        )
        for name, title in zip(BY_KIND, ("Accuracy", "ECE"), strict=True)
    ),
    *_with_and_without(
        "Rows beyond the training data",
        "Test rows from one end of the first principal component, of which no row was trained on.",
        "covariate_",
        ("accuracy", "ece", "nll"),
    ),
    *_with_and_without(
        "Unknown inputs",
        "How well low confidence finds inputs of classes that were never trained on.",
        "unknown_",
        ("auroc", "fpr95"),
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
)
#: columns of rows that are compared with another row than the baseline
PAIRED = (
    *_metrics("ts_", "accuracy", "ece", "nll"),
    *(
        Column(f"{title}: {METRICS[name][0]}", f"{part}_ts_{name}", f"{part}_ts_{name}")
        for part, title in (("corrupted", "corrupted"), ("covariate", "beyond"))
        for name in ("accuracy", "ece")
    ),
    Column("unknown: AUROC", "unknown_ts_auroc", "unknown_ts_auroc"),
    Column("RMSE", "rmse", "rmse", 1, 3),
    Column("NLL, both scaled", "vs_gaussian_nll", "vs_gaussian_nll", 1, 3),
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
    shipped = study.name in STUDIES
    command = f"{study.name} --results docs/results" if shipped else f"{study.name}.toml --results FOLDER"
    made = (
        f"Made by `tailormix results` from [`{study.name}.csv`]({study.name}.csv), which "
        f"`tailormix study {command}` writes; do not edit. "
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
            f"{_other_budgets(study, rows)}"
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


def _other_budgets(study: Study, rows: Rows) -> str:
    """What to say of rows of the table that have more or fewer candidates than the study gives them."""
    tried = Counter((row["data"], row["row"], int(row["seed"])) for row in rows)
    found = []
    for name, row in study.rows.items():
        seeds = study.shared_search(row)
        counts = {
            count
            for (_, one, seed), count in tried.items()
            if one == name and (seeds is None or seed in seeds)
        }
        if row.search and counts - {len(row.candidates(study.budget))}:
            found.append(f"`{name}` ({' or '.join(map(str, sorted(counts)))})")
    return f" **Not so: {', '.join(found)}.**" if found else ""


def study_tables(study: Study, rows: Rows) -> str:
    """Comparisons with the baseline, where it has been run, and values: over all data sets and on each."""
    rows = with_groups(rows)
    data_sets = [data for data in study.data if any(row["data"] == data for row in rows)]
    each = len(data_sets) <= MOST_TABLES
    lines: list[str] = []
    if _has_baseline(study, rows):
        for section in _sections(study, rows):
            if section.detail and each and len(data_sets) > 1:
                continue  # shown below, on each data set
            text = f"{section.text} {_against(study)}"
            lines += [f"## {section.title}", "", text, "", *_compared(study, rows, section), ""]
    if pairs := _pairs(study, rows):
        text = f"Differences between two rows, both calibrated on validation rows: {INTERVALS}"
        lines += ["## One method against another", "", text, "", *_paired(study, rows, pairs), ""]
    for data in data_sets if each else ():
        here = [row for row in rows if row["data"] == data]
        sections = _sections(study, here)
        lines += [f"## {data}", "", *_values(study, here, data, sections)]
        if len(data_sets) > 1 and _has_baseline(study, here):
            baseline = study.rows[study.baseline].title.lower()
            lines += [f"Differences from {baseline} on {data}, with 95 % t intervals over seeds:", ""]
            for section in sections:
                lines += [f"*{section.title}*", "", *_compared(study, here, section), ""]
        if len(data_sets) > 1 and (pairs := _pairs(study, here)):
            lines += ["*One method against another*", "", *_paired(study, here, pairs), ""]
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


INTERVALS = (
    "means over data sets of paired differences, with 95 % t intervals (over data sets where there are ten "
    "or more, else over seeds); **bold** where they leave out 0."
)


def _against(study: Study) -> str:
    return f"Differences from {study.rows[study.baseline].title.lower()}: {INTERVALS}"


def _pairs(study: Study, rows: Rows) -> list[tuple[str, str]]:
    """Rows with results that are compared with another one."""
    there = {row["row"] for row in rows}
    return [
        (name, row.compare)
        for name, row in study.rows.items()
        if row.compare is not None and {name, row.compare} <= there
    ]


def _paired(study: Study, rows: Rows, pairs: Sequence[tuple[str, str]]) -> list[str]:
    """One line per pair of rows: the first less the second."""
    columns = _columns(rows, PAIRED)
    values = {column.ours: comparable(rows, column.ours) for column in columns}
    body = []
    for name, other in pairs:
        effects = (over_data_sets(values[one.ours], name, values[one.ours], other) for one in columns)
        cells = (_effect_cell(effect, column) for effect, column in zip(effects, columns, strict=True))
        title = f"{study.rows[name].title}, less {study.rows[other].title}"
        body.append([title + coverage(values[columns[0].ours], name, other), *cells])
    return markdown_table(["", *map(_heading, columns)], body)


def _heading(column: Column) -> str:
    return column.title + ", %" * (column.ours in RELATIVE)


def _effect_cell(effect: Effect, column: Column) -> str:
    return effect_text(effect, *((100, 1) if column.ours in RELATIVE else (column.scale, column.digits)))


def _compared(study: Study, rows: Rows, section: Section) -> list[str]:
    """One line per row: its differences from the baseline."""
    columns = _columns(rows, section.columns)
    by = next((name for name in RANKED if any(column.ours == name for column in columns)), None)
    values = {name: comparable(rows, name) for column in columns for name in (column.ours, column.theirs)}
    names = [name for name in study.rows if any(values[one.ours].has(name) for one in columns)]
    if section.detail:
        names = [name for name in names if _has_detail(rows, name, section)]
    order = None if by is None else ranked(study, rows, by)
    header = ["", *map(_heading, columns)]
    header += [f"wins by {one.title}" for one in columns if one.ours == by]
    header += [] if order is None else ["mean rank"]
    body = []
    for name in names:
        cells = [study.rows[name].title + coverage(values[columns[0].ours], name)]
        for column in columns:
            same = name == study.baseline and column.ours == column.theirs
            effect = over_data_sets(values[column.ours], name, values[column.theirs], study.baseline)
            cells.append("0" if same and effect.n else _effect_cell(effect, column))
        if by is not None:
            wins = win_rate(values[by], name, values[by], study.baseline)
            cells.append(NONE if name == study.baseline else share_text(wins))
        if order is not None:
            cells.append(f"{order.ranks[name]:.1f}" if name in order.ranks else NONE)
        body.append(cells)
    if order is None:
        return markdown_table(header, body)
    note = (
        f"Ranks are by `{by}` too; intervals of wins are a bootstrap over data sets. On "
        f"{order.data_sets} data sets two rows differ (Nemenyi, 5 %) if their mean ranks are more than "
        f"{order.critical_difference:.2f} apart; Friedman p = {order.friedman_p:.2g}."
    )
    return [*markdown_table(header, body), "", note]


def _values(study: Study, here: Rows, data: str, sections: Iterable[Section]) -> list[str]:
    """Mean ± standard deviation over seeds of every metric on one data set: with calibration, and without."""
    columns: dict[str, Column] = {}
    for section in (each for each in sections if not each.detail):
        for column in _columns(here, section.columns):
            for name in (column.ours, column.theirs):
                if _has(here, name):
                    columns.setdefault(name, column)
    lines: list[str] = []
    for calibrated in (True, False):
        chosen = {name: one for name, one in columns.items() if after_calibration(name) is calibrated}
        values = {name: Values(here, name) for name in chosen}
        body = [
            [
                study.rows[row].title,
                *(
                    spread_text(values[name].mean(data, row), one.scale, one.digits)
                    for name, one in chosen.items()
                ),
            ]
            for row in study.rows
            if any(found.has(row) for found in values.values())
        ]
        lines += [*markdown_table(["", *(f"`{name}`" for name in chosen)], body), ""] if body else []
    return lines


def _columns(rows: Rows, columns: Iterable[Column]) -> list[Column]:
    """The columns that have values."""
    return [column for column in columns if _has(rows, column.ours)]


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
    value = 0.0 if abs(value) < 1e-9 else value  # the sign of a rounding error says nothing
    return f"{value:+.{digits}f}".replace("-", "−")
