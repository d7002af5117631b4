"""All metrics of a set of predictions with intervals, before and after calibration on another split."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from tailormix.metrics import summaries
from tailormix.metrics.catalogue import METRICS, metric_function, names_of
from tailormix.metrics.classwise import ClasswiseTable
from tailormix.metrics.groups import resampling_groups
from tailormix.metrics.inputs import classified
from tailormix.metrics.intervals import limits
from tailormix.metrics.regressed import regressed
from tailormix.metrics.resampling import Interval, interval_from, replicates
from tailormix.metrics.reweighting import grouped_table, weighted_metric
from tailormix.metrics.rows import identity, read
from tailormix.metrics.weighted_classification import weighted_classification
from tailormix.posthoc.temperature import TemperatureScaling
from tailormix.posthoc.variance import VarianceScaling
from tailormix.predictions import Predictions, allow_use
from tailormix.reports.evaluation import Evaluation, Progress, Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tailormix.metrics.weighted import Weighted


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
        values = summaries.from_rows(rows, sums, n_bins=settings.n_bins)
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
