"""An evaluation: every metric with its interval, before and after calibration, and as a table."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

import torch

from tailormix import checks
from tailormix.calibration.predictions import Predictions, check_use
from tailormix.calibration.temperature import PRIOR, TemperatureScaling
from tailormix.calibration.variance import VarianceScaling
from tailormix.metrics.bootstrap import (
    Interval,
    SummedMetric,
    bootstrap,
    classification_sums,
    interval_from,
    regression_sums,
)
from tailormix.metrics.classification import all_metrics, sample_statistics
from tailormix.metrics.inputs import classification_inputs, regression_inputs
from tailormix.metrics.registry import METRICS
from tailormix.reports.classes import ClassResults, class_results
from tailormix.reports.numbers import FRACTIONS, interval_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tailormix.metrics.classification import SampleStatistics


class Progress(Protocol):
    """Is told what is being done, how far it is, and of how much."""

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
    """Every metric with its interval, which points it is about, and what the calibration was fitted on.

    For the diagrams, before and (if there is one) after calibration: ``statistics`` of each sample and
    results of all ``classes`` of a classifier, ``predictions`` of a regression.
    """

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
    statistics: tuple[SampleStatistics, ...] = field(default=(), repr=False)
    classes: tuple[ClassResults, ...] = field(default=(), repr=False)
    predictions: tuple[Predictions, ...] = field(default=(), repr=False)

    def as_dict(self) -> dict[str, Any]:
        """Return everything but the per-sample data, for JSON."""
        from tailormix.reports.verdict import verdict_sentences

        stages = {"before": self.before, "after": self.after}
        return (
            {
                "verdict": verdict_sentences(self),
                "task": self.task,
                "samples": self.samples,
                "split": self.split,
                "fingerprint": self.fingerprint,
                "imitates": self.imitates,
                "n_bins": self.settings.n_bins,
                "resamples": self.settings.resamples,
                "calibration": self.calibration,
                "notes": list(self.notes),
            }
            | {
                stage: None
                if found is None
                else {name: _finite(one.as_dict()) for name, one in found.items()}
                for stage, found in stages.items()
            }
            | self._classes_as_dict()
        )

    def _classes_as_dict(self) -> dict[str, Any]:
        """Results per class, and the confusion matrix where it is small."""
        if not self.classes:
            return {}
        first = self.classes[0]
        confusion = {"confusion": first.confusion.tolist()} if first.small else {}
        return {"classes": [asdict(row) for row in first.rows()], **confusion}


def evaluate(
    predictions: Predictions,
    calibration: Predictions | None = None,
    *,
    settings: Settings | None = None,
    imitate: str | None = None,
    class_names: Sequence[str] = (),
    progress: Progress | None = None,
) -> Evaluation:
    """Measure predictions; with ``calibration``, fit temperature (variance scaling) there and measure again.

    Test points as calibration, or points that both sets share, raise ``LeakError`` unless ``imitate`` names
    what is being imitated.

    >>> import numpy as np
    >>> p = Predictions(targets=np.array([0, 1]), probabilities=np.eye(2))
    >>> evaluate(p, settings=Settings(resamples=0)).before["accuracy"].value
    1.0
    """
    settings = settings or Settings()
    scaler: TemperatureScaling | VarianceScaling | None = None
    if calibration is not None:
        scaler = _fitted(predictions, calibration, imitate)
        predictions = check_use(scaler.provenance, predictions, imitate)
    if predictions.task == "classification":
        temperature = scaler.temperature if isinstance(scaler, TemperatureScaling) else None
        found = _classification(predictions, temperature, settings, class_names, progress)
    else:
        stages = [predictions]
        if scaler is not None:
            stages.append(scaler.transform(predictions, imitate=predictions.imitates))
        found = _regression(stages, settings, progress)
    return Evaluation(
        task=predictions.task,
        samples=len(predictions),
        split=predictions.split,
        fingerprint=predictions.fingerprint,
        settings=settings,
        calibration=None if scaler is None else _describe(scaler),
        imitates=predictions.imitates,
        **found,
    )


def _fitted(
    predictions: Predictions, calibration: Predictions, imitate: str | None
) -> TemperatureScaling | VarianceScaling:
    if calibration.task != predictions.task:
        raise ValueError(
            f"calibration must be a {predictions.task} as the predictions are, got a {calibration.task}"
        )
    if predictions.task == "regression":
        return VarianceScaling().fit(calibration, imitate=imitate)
    if not (predictions.from_logits and calibration.from_logits):
        raise ValueError("temperature needs logits in both files, got probabilities")
    return TemperatureScaling(prior=None if imitate else PRIOR).fit(calibration, imitate=imitate)


def _classification(
    predictions: Predictions,
    temperature: float | None,
    settings: Settings,
    class_names: Sequence[str],
    progress: Progress | None,
) -> dict[str, Any]:
    inputs = classification_inputs(
        predictions.outputs, predictions.targets, from_logits=predictions.from_logits, binary=settings.binary
    )
    stages = [inputs] if temperature is None else [inputs, replace(inputs, temperature=temperature)]
    statistics, intervals, notes = [], [], []
    for stage in stages:
        found = sample_statistics(stage, _told(progress, "reading", len(inputs)))
        values = all_metrics(stage, found, n_bins=settings.n_bins)
        metrics = classification_sums(stage, found, n_bins=settings.n_bins)
        statistics.append(found)
        if not math.isfinite(values["nll"]):
            row = int(found.nll.isinf().nonzero()[0])
            notes.append(f"NLL is infinite: row {row} gives its class the probability 0")
        intervals.append(_intervals(values, metrics, len(inputs), settings, progress))
    classes = [class_results(stage, class_names) for stage in stages]
    return _stages(intervals) | {
        "statistics": tuple(statistics),
        "classes": tuple(one for one in classes if one is not None),
        "notes": tuple(dict.fromkeys(notes)),
    }


def _regression(stages: list[Predictions], settings: Settings, progress: Progress | None) -> dict[str, Any]:
    intervals, notes = [], []
    for stage in stages:
        inputs = regression_inputs(stage.mean, stage.targets, stage.std)
        metrics = regression_sums(inputs, n_bins=settings.n_bins)
        values = {}
        for name in metrics:
            options = {"n_bins": settings.n_bins} if name.startswith(("uce", "ence", "qce")) else {}
            arrays = (getattr(stage, array) for array in METRICS[name].arrays)
            try:
                values[name] = METRICS[name].function(*arrays, **options)
            except ValueError as error:  # undefined, such as the likelihood where a predicted spread is 0
                values[name] = math.nan
                notes.append(f"{METRICS[name].title} is undefined: {error}")
        intervals.append(_intervals(values, metrics, len(inputs), settings, progress))
    return _stages(intervals) | {"predictions": tuple(stages), "notes": tuple(dict.fromkeys(notes))}


def _stages(intervals: list[dict[str, Interval]]) -> dict[str, Any]:
    return {"before": intervals[0], "after": intervals[1] if len(intervals) == 2 else None}


def _intervals(
    values: dict[str, float],
    metrics: dict[str, SummedMetric],
    n: int,
    settings: Settings,
    progress: Progress | None,
) -> dict[str, Interval]:
    """Return each value with its interval; NaN for both edges without resamples or where it is undefined."""
    drawn: dict[str, torch.Tensor] = {}
    if settings.resamples:
        defined = {name: metric for name, metric in metrics.items() if math.isfinite(values[name])}
        told = _told(progress, "bootstrap", settings.resamples)
        drawn = bootstrap(defined, n, settings.resamples, settings.seed, told)
    nothing = torch.empty(0)
    return {
        name: interval_from(
            value, drawn.get(name, nothing), confidence=settings.confidence, bounds=METRICS[name].bounds
        )
        for name, value in values.items()
    }


def _told(progress: Progress | None, task: str, total: int) -> Callable[[int], object] | None:
    return None if progress is None else lambda done: progress(task, done, total)


def _describe(scaler: TemperatureScaling | VarianceScaling) -> dict[str, Any]:
    """Return what was fitted, how the search ended, and on which points."""
    facts = {name: value for name, value in asdict(scaler.fitted).items() if name != "zero"}  # a list
    return {
        "kind": scaler.kind,
        **_finite(facts),
        "note": scaler.fitted.note,
        "fitted_on": scaler.provenance.as_dict(),
    }


def _finite(record: dict[str, Any]) -> dict[str, Any]:
    """Return a record for JSON, which has no NaN and no infinity: None stands for both."""
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in record.items()
    }


def table_rows(evaluation: Evaluation) -> list[dict[str, Any]]:
    """Return one row per metric: title, what it is, before, and after where there is one."""
    after = evaluation.after or {}
    return [
        {
            "title": METRICS[name].title + (" (%)" if METRICS[name].percent else ""),
            "summary": METRICS[name].summary,
            "before": interval_text(one, percent=name in FRACTIONS),
            "after": interval_text(after[name], percent=name in FRACTIONS) if name in after else "",
        }
        for name, one in evaluation.before.items()
    ]
