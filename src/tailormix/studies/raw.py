"""Raw results: one CSV row per run, with settings, versions and every metric, for anyone to rank again."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any

from tailormix.atomic import write_atomically
from tailormix.calibration.ensemble import disagreement, ensemble
from tailormix.calibration.predictions import load_predictions
from tailormix.experiments.record import read_record
from tailormix.experiments.shifts import shifted_predictions
from tailormix.studies.running import choose, is_measured, result_of, validation_nll
from tailormix.training.evaluating import FILES, STAGES, by_kind, calibrated_metrics, shift_metrics

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from tailormix.studies.study import Row, Run, Study

    #: a run as text, by column
    RawRow = dict[str, str]

FACTS = ("data", "row", "seed", "candidate", "chosen", "ts_chosen", "validation_nll", "validation_ts_nll")
CLASSIFICATION = ("accuracy", "gap", "ece", "nll", "brier", "aurc")
REGRESSION = ("rmse", "gaussian_nll", "coverage", "ence", "qce")
DETECTION = ("auroc", "fpr95")
METRICS = (*CLASSIFICATION, *REGRESSION, *DETECTION)
#: of these every kind of corruption has its own columns, as the mean over severities
BY_KIND = ("accuracy", "ece")
#: stages of a result, and the prefix of their columns
PREFIXES = dict(zip(STAGES, ("", "ts_", "vs_"), strict=True))
LAST = (
    "temperature",
    "strength",
    "disagreement",
    "selected_by",
    "seconds",
    "run",
    "commit",
    "torch",
    "tailormix",
)
#: columns that hold no number
TEXTS = ("data", "row", "candidate", "selected_by", "run", "commit", "torch", "tailormix")


def collect(
    study: Study, cells: Sequence[tuple[str, Row]], out: Path, seeds: Sequence[int]
) -> list[dict[str, Any]]:
    """A row for every finished run of the cells. Test metrics are those of chosen candidates alone.

    Metrics without a temperature are those of the lowest validation NLL without one, metrics with a
    temperature those of the lowest validation NLL with one. A run whose folder is missing has its line of the
    CSV file. Until a search is finished, what the file says of a seed stays as it is.
    """
    rows: list[dict[str, Any]] = []
    known = {_cell(line) for line in study.earlier}
    for data, row in cells:
        if row.ensemble is not None:
            rows += _ensembles(study, data, row, out, seeds)
            continue
        plain, scaled = (choose(study, data, row, out, seeds, scaled=after) for after in (False, True))
        for seed in seeds:
            best, ts_best = plain.get(seed), scaled.get(seed)
            found = (
                best is not None
                and ts_best is not None
                and is_measured(study, best, scaled=False)
                and is_measured(study, ts_best, scaled=True)
            )
            if not found and (data, row.name, str(seed)) in known:
                continue
            for run in study.runs(data, row, out, [seed]):
                chosen, ts_chosen = found and run == best, found and run == ts_best
                if (result := result_of(run)) is not None:
                    rows.append(describe(run, result, chosen=chosen, ts_chosen=ts_chosen))
                elif (line := study.line(run)) is not None:
                    rows.append(_line_again(run, line, chosen=chosen, ts_chosen=ts_chosen))
    return rows


def describe(run: Run, result: Mapping[str, Any], *, chosen: bool, ts_chosen: bool) -> dict[str, Any]:
    """The facts of a run, and the metrics that it was chosen for.

    ``selected_by`` is the split that chose the candidate and fitted the temperature.
    """
    record = read_record(run.path)
    versions = record.get("versions", {})
    strengths = result.get("strength", {}).get("per epoch", [None])
    return {
        "data": run.data,
        "row": run.row.name,
        "seed": run.seed,
        "candidate": _candidate(run),
        "chosen": int(chosen),
        "ts_chosen": int(ts_chosen),
        "validation_nll": validation_nll(result, scaled=False),
        "validation_ts_nll": validation_nll(result, scaled=True),
        **{
            name: value
            for name, value in metrics_of(result).items()
            if (ts_chosen if after_calibration(name) else chosen)
        },
        "temperature": result.get("temperature", result.get("variance", {})).get("value"),
        "strength": strengths[-1],
        "disagreement": result.get("disagreement"),
        "selected_by": "validation",
        "seconds": result.get("seconds_total"),
        "run": run.path.parent.name,
        "commit": record.get("commit"),
        "torch": versions.get("torch"),
        "tailormix": versions.get("tailormix"),
    }


def _line_again(run: Run, line: Mapping[str, str], *, chosen: bool, ts_chosen: bool) -> dict[str, Any]:
    """A line of the CSV file, with the metrics that the run is chosen for now."""
    numbers = {name: float(value) if value else None for name, value in line.items() if name not in TEXTS}
    facts = {
        "seed": run.seed,
        "candidate": _candidate(run),
        "chosen": int(chosen),
        "ts_chosen": int(ts_chosen),
    }
    others = [
        name
        for name in line
        if name not in (*FACTS, *LAST) and not (ts_chosen if after_calibration(name) else chosen)
    ]
    return {**line, **numbers, **facts, **dict.fromkeys(others)}


def _candidate(run: Run) -> str:
    return json.dumps(run.candidate) if run.candidate else ""


def metrics_of(result: Mapping[str, Any]) -> dict[str, float]:
    """The metrics on the test split and on every shifted part, by column.

    >>> metrics_of({"test": {"before": {"ece": 0.1}, "after temperature": {"ece": 0.02}}})
    {'ece': 0.1, 'ts_ece': 0.02}
    >>> metrics_of({"test": {}, "shifts": {"corrupted": {"before": {"ece": 0.3}}}})
    {'corrupted_ece': 0.3}
    >>> parts = {"jpeg-1": {"before": {"ece": 0.1}}, "jpeg-5": {"before": {"ece": 0.4}}}
    >>> metrics_of({"test": {}, "shifts": {"corrupted": {"parts": parts}}})
    {'jpeg_ece': 0.25}
    """
    found: dict[str, float] = {}
    for part, stages in (("", result["test"]), *result.get("shifts", {}).items()):
        for stage, prefix in PREFIXES.items():
            for name, value in stages.get(stage, {}).items():
                if name in METRICS:
                    found[f"{part}_{prefix}{name}" if part else f"{prefix}{name}"] = value
        for kind, means in by_kind(stages.get("parts", {})).items():
            for stage, prefix in PREFIXES.items():
                values = means.get(stage, {})
                found |= {f"{kind}_{prefix}{name}": values[name] for name in BY_KIND if name in values}
    return found


def after_calibration(metric: str) -> bool:
    """Whether a column is measured after temperature or variance scaling.

    >>> after_calibration("corrupted_ts_ece"), after_calibration("corrupted_ece")
    (True, False)
    """
    return any(part in ("ts", "vs") for part in metric.split("_"))


def _ensembles(study: Study, data: str, row: Row, out: Path, seeds: Sequence[int]) -> list[dict[str, Any]]:
    """A row for every seed whose members are finished: their averaged answers, calibrated anew.

    They are of the candidate that is chosen with a temperature: where another may be chosen without one, they
    have no metrics without one, which would not compare with those of other rows.
    """
    rows, base = [], study.rows[str(row.ensemble)]
    searched = len(base.candidates(study.budget)) > 1
    for run in choose(study, data, base, out, seeds, scaled=True).values():
        members = study.members(row, run)
        results = [result for member in members if (result := result_of(member)) is not None]
        if len(results) < len(members):
            continue
        answers = {
            name: [load_predictions(member.path / file, split=name) for member in members]
            for name, file in FILES.items()
        }
        averaged = {name: ensemble(each) for name, each in answers.items()}
        metrics, calibrator = calibrated_metrics(averaged, run.experiment.training)
        if "shifts" in results[0]:
            each = [
                shifted_predictions(m.experiment, m.path, r) for m, r in zip(members, results, strict=True)
            ]
            shifted = {name: ensemble([found[name] for found in each]) for name in each[0]}
            metrics["shifts"] = shift_metrics(shifted, averaged["test"], calibrator)
        facts = {
            "disagreement": disagreement(answers["test"]),
            "seconds_total": sum(result["seconds_total"] for result in results),
        }
        chosen = not searched or answers["test"][0].task == "regression"
        rows.append({**describe(run, {**metrics, **facts}, chosen=chosen, ts_chosen=True), "row": row.name})
    return rows


def write_csv(rows: Sequence[Mapping[str, Any]], path: Path) -> Path:
    """Write the rows, atomically; numbers with six digits."""
    names = dict.fromkeys(name for row in rows for name in row)
    metrics = sorted((name for name in names if name not in (*FACTS, *LAST)), key=_place)
    text = io.StringIO()
    writer = csv.DictWriter(text, (*FACTS, *metrics, *LAST), lineterminator="\n")
    writer.writeheader()
    writer.writerows(
        sorted(as_text(rows), key=lambda row: (row["data"], row["row"], int(row["seed"]), row["candidate"]))
    )
    return write_atomically(path, text.getvalue())


def as_text(rows: Sequence[Mapping[str, Any]]) -> list[RawRow]:
    """The rows as a file would give them."""
    return [{name: str(_text(value)) for name, value in row.items()} for row in rows]


def read_csv(path: Path) -> list[RawRow]:
    """The rows of a file; one that no study has written is refused."""
    with path.open(encoding="utf-8", newline="") as file:
        try:
            reader = csv.DictReader(file)
            names, rows = reader.fieldnames or (), list(reader)
        except (UnicodeDecodeError, csv.Error) as error:
            raise ValueError(f"{path} must hold results of a study: {error}") from error
    if missing := [name for name in (*FACTS, *LAST) if name not in names]:
        raise ValueError(f"{path} must hold results of a study, but has no column {missing[0]!r}")
    for number, row in enumerate(rows, start=1):
        if None in row or None in row.values():
            raise ValueError(f"{path}, row {number}: expected {len(names)} cells")
        try:
            json.loads(row["candidate"] or "{}")
        except ValueError:
            raise ValueError(
                f"{path}, row {number}, candidate: expected JSON, got {row['candidate']!r}"
            ) from None
        for name in (name for name in names if name not in TEXTS and row[name]):
            try:
                float(row[name])
            except ValueError:
                raise ValueError(
                    f"{path}, row {number}, {name}: expected a number, got {row[name]!r}"
                ) from None
    return rows


def update_csv(rows: Sequence[Mapping[str, Any]], path: Path) -> Path:
    """Write into a file that may hold other rows: those of the same data set, row and seed are replaced.

    Calls that end at the same time wait for one another, so that no row is lost.
    """
    from filelock import FileLock

    new = {_cell(row) for row in rows}
    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(path.parent / ".lock"):
        kept: Iterable[Mapping[str, Any]] = read_csv(path) if path.is_file() else []
        return write_csv([*(row for row in kept if _cell(row) not in new), *rows], path)


def _cell(row: Mapping[str, Any]) -> tuple[str, str, str]:
    return str(row["data"]), str(row["row"]), str(row["seed"])


def _place(name: str) -> tuple[str, bool, int]:
    """Clean test metrics first, then those of each part; before calibration first."""
    metric = next(each for each in sorted(METRICS, key=len, reverse=True) if name.endswith(each))
    part = name.removesuffix(metric).removesuffix("ts_").removesuffix("vs_")
    return part, after_calibration(name), METRICS.index(metric)


def _text(value: Any) -> Any:
    return "" if value is None else f"{value:.6g}" if isinstance(value, float) else value
