"""An evaluation: what is measured, with intervals, and as a table."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from tailormix import checks
from tailormix.calibration.predictions import Predictions, allow_use
from tailormix.calibration.temperature import TemperatureScaling
from tailormix.calibration.variance import VarianceScaling
from tailormix.metrics.binning import ClasswiseTable
from tailormix.metrics.bootstrap import Interval, interval_from, limits, replicates
from tailormix.metrics.classification import identity, read
from tailormix.metrics.inputs import classified, regressed
from tailormix.metrics.registry import METRICS, metric_function, names_of
from tailormix.metrics.summary import from_rows
from tailormix.metrics.weighting import (
    grouped_table,
    resampling_groups,
    weighted_classification,
    weighted_metric,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tailormix.metrics.classification import Rows
    from tailormix.metrics.weighting import Weighted


class Progress(Protocol):
    """Told what is being done, how far it is, and of how much."""

    def __call__(self, task: str, done: int, total: int) -> object:
        """Show it."""


@dataclass(frozen=True)
class Settings:
    """How to evaluate: bins, bootstrap resamples (0: no intervals), their confidence, and the seed."""

    n_bins: int = 15
    resamples: int = 1000
    confidence: float = 0.95
    seed: int = 0
    binary: str | None = None

    def __post_init__(self) -> None:
        checks.integer("n_bins", self.n_bins, at_least=1)
        checks.integer("resamples", self.resamples, at_least=0)


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Every metric with its interval, which points it is about, and what the calibration was fitted on."""

    task: str
    samples: int
    split: str | None
    fingerprint: str
    before: dict[str, Interval]
    settings: Settings
    after: dict[str, Interval] | None = None
    calibration: dict[str, Any] | None = None
    imitates: str | None = None
    notes: tuple[str, ...] = ()
    rows: tuple[Rows, ...] = field(default=(), repr=False)
    spreads: tuple[Predictions, ...] = field(default=(), repr=False)

    def as_dict(self) -> dict[str, Any]:
        """Return everything but the per-sample data, for JSON."""
        stages = {"before": self.before, "after": self.after}
        return {
            "task": self.task,
            "samples": self.samples,
            "split": self.split,
            "fingerprint": self.fingerprint,
            "imitates": self.imitates,
            "n_bins": self.settings.n_bins,
            "resamples": self.settings.resamples,
            "calibration": self.calibration,
            "notes": list(self.notes),
        } | {
            stage: None if found is None else {name: _clean(one) for name, one in found.items()}
            for stage, found in stages.items()
        }


def _clean(one: Interval) -> dict[str, float | None]:
    """Return an interval for JSON, which has no NaN."""
    return {name: value if math.isfinite(value) else None for name, value in one.as_dict().items()}


def evaluate(
    predictions: Predictions,
    calibration: Predictions | None = None,
    *,
    settings: Settings | None = None,
    imitate: str | None = None,
    progress: Progress | None = None,
) -> Evaluation:
    """Measure predictions; with ``calibration``, fit temperature (variance scaling) there and measure again.

    Logits are read once, in chunks, for both measurements. Test points as calibration, or points that both
    sets share, raise ``LeakError`` unless ``imitate`` names what is being imitated.

    >>> import numpy as np
    >>> p = Predictions(targets=np.array([0, 1]), probabilities=np.eye(2))
    >>> evaluate(p, settings=Settings(resamples=0)).before["accuracy"].value
    1.0
    """
    settings = settings or Settings()
    measure = _classification if predictions.task == "classification" else _regression
    if calibration is None:
        return measure(predictions, None, settings, progress)
    if calibration.task != predictions.task:
        raise ValueError(
            f"calibration must be a {predictions.task} as the predictions are, got a {calibration.task}"
        )
    scaler: Any = TemperatureScaling() if predictions.task == "classification" else VarianceScaling()
    if predictions.task == "classification" and not (predictions.from_logits and calibration.from_logits):
        raise ValueError("temperature needs logits in both files, got probabilities")
    scaler.fit(calibration, imitate=imitate)
    allowed = allow_use(scaler.provenance, predictions, imitate)
    return measure(allowed, scaler, settings, progress)


def _classification(
    predictions: Predictions, scaler: TemperatureScaling | None, settings: Settings, progress: Progress | None
) -> Evaluation:
    given = classified(
        predictions.outputs, predictions.targets, from_logits=predictions.from_logits, binary=settings.binary
    )
    views = [identity] if scaler is None else [identity, scaler.transform]
    tables = [_table(len(given), given.num_classes, settings) for _ in views]
    found = read(given, views, tables, _told(progress, "reading", len(given)))
    groups = resampling_groups(len(given), seed=settings.seed)
    stages = []
    for rows, table in zip(found, tables, strict=True):
        sums = table.sums()[1:] if given.positive else table.sums()
        values = from_rows(rows, sums, n_bins=settings.n_bins)
        options: dict[str, Any] = {"n_bins": settings.n_bins, "table": table, "positive": given.positive}
        weighted = weighted_classification(rows, groups, **options) if settings.resamples else {}
        stages.append(_intervals(values, weighted, settings, progress))
    return _evaluation(predictions, stages, scaler, settings, rows=tuple(found))


def _table(n: int, classes: int, settings: Settings) -> ClasswiseTable:
    if settings.resamples == 0:
        return ClasswiseTable(classes, settings.n_bins)
    return grouped_table(n, classes, settings.n_bins, seed=settings.seed)


def _regression(
    predictions: Predictions, scaler: VarianceScaling | None, settings: Settings, progress: Progress | None
) -> Evaluation:
    views = [predictions]
    if scaler is not None:
        views.append(scaler.transform(predictions, imitate=predictions.imitates))
    stages, notes = [], []
    for view in views:
        values, weighted, undefined = _regression_stage(view, settings)
        stages.append(_intervals(values, weighted, settings, progress))
        notes += [note for note in undefined if note not in notes]
    return _evaluation(predictions, stages, scaler, settings, spreads=tuple(views), notes=tuple(notes))


def _regression_stage(
    view: Predictions, settings: Settings
) -> tuple[dict[str, float], dict[str, Weighted], list[str]]:
    """Return values, weighted forms and what is undefined here: a spread of 0 has no likelihood."""
    regressed(
        view.mean, view.targets, view.std
    )  # bad arrays raise here, so that below only values can be undefined
    values: dict[str, float] = {}
    weighted: dict[str, Weighted] = {}
    notes = []
    for name in names_of("regression"):
        arrays = tuple(getattr(view, array) for array in METRICS[name].arrays)
        options = {"n_bins": settings.n_bins} if "uce" in name or "ence" in name else {}
        try:
            values[name] = metric_function(name)(*arrays, **options)
        except ValueError as error:
            values[name] = math.nan
            notes.append(f"{name}: {error}")
            continue
        if settings.resamples:
            weighted[name] = weighted_metric(name, arrays, seed=settings.seed, **options)
    return values, weighted, notes


def _intervals(
    values: Mapping[str, float],
    weighted: Mapping[str, Weighted],
    settings: Settings,
    progress: Progress | None,
) -> dict[str, Interval]:
    total, done = len(weighted) * settings.resamples, 0

    def count(more: int) -> None:
        nonlocal done
        done += more
        if progress is not None:
            progress("bootstrap", done, total)

    drawn = replicates(weighted, settings.resamples, settings.seed, count) if weighted else {}
    return {
        name: interval_from(value, drawn[name], confidence=settings.confidence, bounds=limits(name))
        if name in drawn
        else Interval(value, math.nan, math.nan, settings.confidence)
        for name, value in values.items()
    }


def _told(progress: Progress | None, task: str, total: int) -> Callable[[int], object] | None:
    return None if progress is None else lambda done: progress(task, done, total)


def _evaluation(
    predictions: Predictions,
    stages: list[dict[str, Interval]],
    scaler: TemperatureScaling | VarianceScaling | None,
    settings: Settings,
    **more: Any,
) -> Evaluation:
    return Evaluation(
        predictions.task,
        len(predictions),
        predictions.split,
        predictions.fingerprint,
        stages[0],
        settings,
        after=stages[1] if scaler is not None else None,
        calibration=None if scaler is None else describe(scaler),
        imitates=predictions.imitates,
        **more,
    )


def describe(scaler: TemperatureScaling | VarianceScaling) -> dict[str, Any]:
    """Return what was fitted, how the search ended, and on which points."""
    facts = {
        name: value if not isinstance(value, float) or math.isfinite(value) else None
        for name, value in asdict(scaler.fitted).items()
    }
    return {"kind": scaler.kind, **facts, "fitted_on": scaler.provenance.as_dict()}


def table_rows(evaluation: Evaluation) -> list[dict[str, Any]]:
    """Return one row a metric: title, what it is, before, and after where there is one."""
    after = evaluation.after or {}
    return [
        {
            "title": METRICS[name].title + (" (%)" if METRICS[name].percent else ""),
            "summary": METRICS[name].summary,
            "before": number_text(one),
            "after": number_text(after[name]) if name in after else "",
        }
        for name, one in evaluation.before.items()
    ]


def number_text(one: Interval) -> str:
    """Return ``0.0423 [0.0310, 0.0502]``: value and interval with the decimals that the value needs.

    >>> from tailormix.metrics import Interval
    >>> number_text(Interval(0.04234, 0.00001, 0.0502))
    '0.0423 [0.0000, 0.0502]'
    >>> number_text(Interval(1234.5, float("nan"), float("nan")))
    '1234'
    """
    if math.isnan(one.value):
        return "undefined"
    decimals = decimals_of(one.value)
    text = f"{one.value:.{decimals}f}"
    if math.isfinite(one.low) and math.isfinite(one.high):
        text += f" [{one.low:.{decimals}f}, {one.high:.{decimals}f}]"
    return text


def decimals_of(value: float) -> int:
    """How many decimals show three digits of the value.

    >>> decimals_of(0.0423), decimals_of(123.4)
    (4, 0)
    """
    return 4 if value == 0 else min(6, max(0, 2 - math.floor(math.log10(abs(value)))))
