"""What the runs of a table found: collected, compared with the paper, and stored as a results file.

A results file is JSON: settings, each with columns and rows, and for each row in each column our values, the
paper's, ranks and paired tests.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tailormix.atomic import write_atomically
from tailormix.paper.planning import plan_runs
from tailormix.paper.statistics import holm, paired_test, ranks, standard_errors
from tailormix.reports.numbers import MeanStd
from tailormix.training import run_folder

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from tailormix.paper.planning import PlannedRun, RunPlan
    from tailormix.paper.tables import Column, Row, Table, TableSetting


SCHEMA = 1
#: methods that every other row is tested against
BASELINES = ("erm", "mixup")


@dataclass(frozen=True)
class SeedValues:
    """All seeds of one row in one setting: values in the table's units by column and seed.

    ``run`` is the name of the folder they come from, so that numbers of other experiments are never mixed in.
    """

    run: str
    values: Mapping[str, Mapping[int, float]]
    commits: tuple[str, ...] = ()
    versions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def seeds(self) -> list[int]:
        """Seeds of which anything is known."""
        return sorted({seed for by_seed in self.values.values() for seed in by_seed})

    def updated(self, newer: SeedValues) -> SeedValues:
        """With the seeds of ``newer``, whose numbers win; another experiment replaces all of it."""
        if self.run != newer.run:
            return newer
        return SeedValues(
            newer.run,
            {
                column: {**self.values.get(column, {}), **newer.values.get(column, {})}
                for column in dict.fromkeys((*self.values, *newer.values))
            },
            tuple(dict.fromkeys((*self.commits, *newer.commits))),
            {
                name: tuple(dict.fromkeys((*self.versions.get(name, ()), *newer.versions.get(name, ()))))
                for name in dict.fromkeys((*self.versions, *newer.versions))
            },
        )


#: by setting and row
Measured = dict[tuple[str, str], SeedValues]


def collect(table: Table, runs: Iterable[PlannedRun]) -> Measured:
    """The values of all finished runs among these."""
    found: Measured = {}
    for run in runs:
        if (result := run.result()) is None:
            continue
        record = run_folder.read_json(run.path / run_folder.EXPERIMENT) or {}
        values: dict[str, dict[int, float]] = {}
        for column in table.columns_of(run.setting):
            value = number_at(result, column.path)
            if value is not None:
                values[column.name] = {run.seed: value * column.scale}
        versions = {name: (version,) for name, version in record.get("versions", {}).items() if version}
        commits = (record["commit"],) if record.get("commit") else ()
        key, one = (run.setting, run.row), SeedValues(run.name, values, commits, versions)
        found[key] = found[key].updated(one) if key in found else one
    return found


def number_at(result: Mapping[str, Any], path: str) -> float | None:
    """The number at a dotted path; None where there is none, or it is not finite.

    >>> number_at({"test": {"before": {"ece": 0.1}}}, "test.before.ece")
    0.1
    >>> number_at({"test": {}}, "test.before.ece") is None
    True
    """
    found: Any = result
    for key in path.split("."):
        if not isinstance(found, dict) or key not in found:
            return None
        found = found[key]
    number = isinstance(found, (int, float)) and not isinstance(found, bool) and math.isfinite(found)
    return float(found) if number else None


def table_results(table: Table, measured: Measured, budget: str, protocol: str) -> dict[str, Any]:
    """The contents of a results file; a small budget never shows the paper's numbers."""
    with_paper = budget == "paper" and table.kind == "table"
    settings = [_setting(table, setting, measured, with_paper, budget) for setting in table.settings]
    versions: dict[str, set[str]] = {}
    for one in measured.values():
        for name, found in one.versions.items():
            versions.setdefault(name, set()).update(found)
    return {
        **header(table, budget, protocol),
        "commits": sorted({commit for one in measured.values() for commit in one.commits}),
        "versions": {name: sorted(versions[name]) for name in sorted(versions)},
        "settings": [setting for setting in settings if setting["rows"]],
    }


def header(table: Table, budget: str, protocol: str) -> dict[str, Any]:
    """The first keys of a results file."""
    return {
        "schema": SCHEMA,
        "table": table.name,
        "title": table.title,
        "kind": table.kind,
        "label": table.label,
        "section": table.section,
        "note": " ".join(table.note.split()),
        "budget": budget,
        "protocol": protocol,
        "repeats": table.repeats,
    }


def _setting(
    table: Table, setting: TableSetting, measured: Measured, with_paper: bool, budget: str
) -> dict[str, Any]:
    """A setting with the rows that ran and, beside the paper, those that it reports from others."""
    name = setting.name
    ran = {row.name: measured[name, row.name] for row in table.rows if (name, row.name) in measured}
    rows = [
        row
        for row in table.rows
        if row.name in ran or (with_paper and ran and row.reported and row.appears_in(name))
    ]
    columns = table.columns_of(name)
    repeats = table.repeats if with_paper else 0
    numbers = {column.name: _column(column, name, rows, ran, repeats) for column in columns}
    return {
        "name": name,
        "title": setting.title_for(budget),
        "columns": [
            {"name": c.name, "title": c.title, "better": c.better, "digits": c.digits}
            for c in columns
            if any(numbers[c.name].values())
        ],
        "baselines": _baselines(name, rows),
        "rows": [_row(row, ran.get(row.name), numbers) for row in rows],
    }


def _row(
    row: Row, ran: SeedValues | None, numbers: Mapping[str, Mapping[str, dict[str, Any]]]
) -> dict[str, Any]:
    return {
        "name": row.name,
        "title": row.title,
        "group": row.group,
        "reported": row.reported,
        **({} if ran is None else {"run": ran.run, "seeds": ran.seeds, "commits": list(ran.commits)}),
        "cells": {column: by_row[row.name] for column, by_row in numbers.items() if by_row[row.name]},
    }


def _baselines(setting: str, rows: Iterable[Row]) -> dict[str, str]:
    """The row of each baseline method: the one of its name, else the first that uses it."""
    found: dict[str, str] = {}
    for method in BASELINES:
        using = [
            row.name
            for row in rows
            if not row.reported and row.method_for(setting, "paper").get("name") == method
        ]
        if using:
            found[method] = method if method in using else using[0]
    return found


def _column(
    column: Column, setting: str, rows: list[Row], ran: Mapping[str, SeedValues], repeats: int
) -> dict[str, dict[str, Any]]:
    """One column's numbers by row: ours, ranks, tests, and the paper's if it had ``repeats`` runs, not 0."""
    numbers: dict[str, dict[str, Any]] = {}
    by_seed: dict[str, dict[int, float]] = {}
    for row in rows:
        found = ran[row.name].values.get(column.name, {}) if row.name in ran else {}
        by_seed[row.name] = {seed: found[seed] for seed in sorted(found)}
        ours = MeanStd.of(by_seed[row.name].values())
        number = numbers[row.name] = {}
        if ours.n:
            values = {str(seed): value for seed, value in by_seed[row.name].items()}
            number["ours"] = {"values": values, "n": ours.n, "mean": ours.mean, "std": ours.std}
        paper = row.values.get(setting, {}).get(column.name) if repeats else None
        if paper is not None:
            number["paper"] = {"mean": paper.mean, "std": paper.std}
            if ours.n:
                number["standard_errors"] = standard_errors(ours, paper.mean, paper.std, repeats)
    _add_ranks(numbers, rows, column.better)
    for method, baseline in _baselines(setting, rows).items():
        _add_tests(numbers, by_seed, method, baseline)
    return numbers


def _add_ranks(numbers: Mapping[str, dict[str, Any]], rows: list[Row], better: str) -> None:
    """Ranks among ours, among the paper's own, and among those it reports from others."""
    for key, group in (
        ("ours", rows),
        ("paper", [row for row in rows if not row.reported]),
        ("paper", [row for row in rows if row.reported]),
    ):
        means = {row.name: numbers[row.name][key]["mean"] for row in group if key in numbers[row.name]}
        for name, rank in ranks(means, better).items():
            numbers[name][key]["place"] = rank


def _add_tests(
    numbers: Mapping[str, dict[str, Any]],
    by_seed: Mapping[str, Mapping[int, float]],
    method: str,
    baseline: str,
) -> None:
    """Paired tests of every row against a baseline, corrected over the rows (Holm)."""
    found = {
        name: test
        for name, values in by_seed.items()
        if name != baseline and (test := paired_test(values, by_seed[baseline])) is not None
    }
    p_values = {name: test.p for name, test in found.items() if test.p is not None}
    corrected = dict(zip(p_values, holm(list(p_values.values())), strict=True))
    for name, test in found.items():
        numbers[name].setdefault("against", {})[method] = {
            "n": test.n,
            "difference": test.difference,
            "p": test.p,
            "p_holm": corrected.get(name),
        }


def file_stem(table: str, budget: str, protocol: str) -> str:
    """The name of a results file without its ending.

    >>> file_stem("regression", "paper", "paper"), file_stem("regression", "small", "released")
    ('regression', 'regression-small-released')
    """
    small = "-small" if budget == "small" else ""
    return table + small + ("-released" if protocol == "released" else "")


def write_results(results: Mapping[str, Any], path: Path) -> Path:
    """Write a results file, atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return write_atomically(path, json.dumps(results, indent=1, ensure_ascii=False, allow_nan=False) + "\n")


def read_results(path: Path) -> dict[str, Any]:
    """Read a results file; another format is refused."""
    try:
        results = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is not JSON: {error}") from error
    if not isinstance(results, dict) or results.get("schema") != SCHEMA:
        found = results.get("schema") if isinstance(results, dict) else type(results).__name__
        raise ValueError(f"{path} must be a results file of schema {SCHEMA}, got {found}")
    return results


def read_all_results(folder: Path) -> dict[str, dict[str, Any]]:
    """All results files of a folder by their stems, in the order of their names; there must be one."""
    paths = sorted(folder.glob("*.json"))
    if not paths:
        problem = "has no results files (*.json)" if folder.is_dir() else "is not a folder"
        raise ValueError(f"{folder} {problem}: tailormix reproduce NAME --results {folder} writes them")
    return {path.stem: read_results(path) for path in paths}


def stored_values(results: Mapping[str, Any]) -> Measured:
    """The values in a results file, to be updated with newer ones."""
    versions = {name: tuple(found) for name, found in results["versions"].items()}
    return {
        (setting["name"], row["name"]): SeedValues(
            row["run"],
            {
                column: {int(seed): value for seed, value in number["ours"]["values"].items()}
                for column, number in row["cells"].items()
                if "ours" in number
            },
            tuple(row["commits"]),
            versions,
        )
        for setting in results["settings"]
        for row in setting["rows"]
        if "run" in row
    }


def updated_results(plan: RunPlan, path: Path) -> dict[str, Any]:
    """The results file at ``path`` with all finished runs of the table, also those outside the plan."""
    measured = stored_values(read_results(path)) if path.is_file() else {}
    if plan.runs:
        whole = plan_runs(
            plan.table, plan.runs[0].out, seeds=plan.seeds, budget=plan.budget, protocol=plan.protocol
        )
        for key, newer in collect(plan.table, whole.runs).items():
            measured[key] = measured[key].updated(newer) if key in measured else newer
    known = {key: values for key, values in measured.items() if key in plan.table.cells()}
    return table_results(plan.table, known, plan.budget, plan.protocol)
