"""Is the confidence of a model deserved? A judgement by a stated criterion, in one sentence.

A model is *too sure* where its mean confidence lies above the 95 % Wilson interval of its accuracy, and *too
modest* where it lies below. Inside that interval it is well calibrated, as far as so many samples can tell,
unless its ECE is larger than that of 95 % of calibrated models with the same confidences: such a model is
right on average only. A regression is evaluated by the share of targets inside its 95 % intervals.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tailormix.metrics.regression import coverage
from tailormix.reports.curves import BAND, reliability_from, wilson

if TYPE_CHECKING:
    from tailormix.metrics.inputs import Array
    from tailormix.reports.curves import ReliabilityCurve
    from tailormix.reports.evaluation import Evaluation

SURE, MODEST, GOOD = "too sure", "too modest", "well calibrated"
ON_AVERAGE = "right on average, but not at every confidence"
DRAWS = 1000


@dataclass(frozen=True)
class Verdict:
    """A judgement, and the share that came true beside the share that was promised.

    >>> print(Verdict("too sure", 0.843, 0.91, 1000))
    Too sure: 84.3 % right, 91.0 % confident.
    """

    judgement: str
    observed: float
    promised: float
    samples: int
    template: str = "{observed} right, {promised} confident"

    def __str__(self) -> str:
        """Return one sentence."""
        text = self.text
        return text[0].upper() + text[1:]

    @property
    def text(self) -> str:
        """The sentence for the middle of another one."""
        told = f"{GOOD}, as far as {self.samples:,} {'sample' if self.samples == 1 else 'samples'} can tell"
        judgement = told if self.judgement == GOOD else self.judgement
        shares = {"observed": self.observed, "promised": self.promised}
        decimals = 1 if self.judgement == GOOD or round(1000 * (self.observed - self.promised)) else 2
        numbers = self.template.format(**{name: f"{100 * x:.{decimals}f} %" for name, x in shares.items()})
        return f"{judgement}: {numbers}."


def verdict_on_classes(curve: ReliabilityCurve) -> Verdict:
    """Judge a classifier by its reliability.

    >>> from tailormix.reports import reliability_curve
    >>> p = np.tile([0.05, 0.95], (100, 1))
    >>> print(verdict_on_classes(reliability_curve(p, np.arange(100) % 5 > 0)))
    Too sure: 80.0 % right, 95.0 % confident.
    """
    promised, observed = curve.mean_confidence, curve.mean_accuracy
    samples = max(1, round(float(curve.count.sum()) / curve.seeds))
    low, high = wilson(observed * samples, samples)
    judgement = SURE if promised > high else MODEST if promised < low else GOOD
    if judgement == GOOD and _error(curve) > _largest_chance_error(curve):
        judgement = ON_AVERAGE
    if not curve.positive:
        return Verdict(judgement, observed, promised, samples)
    judgement = {SURE: "probabilities too high", MODEST: "probabilities too low"}.get(judgement, judgement)
    return Verdict(judgement, observed, promised, samples, "class 1 came in {observed}, predicted {promised}")


def verdict_on_spread(mean: Array, std: Array, targets: Array, *, seeds: int = 1) -> Verdict | None:
    """Judge a regression by how many targets lie inside its 95 % intervals; None if it predicts no spread.

    Outputs of the same row, and rows of several ``seeds``, are not independent: the interval of the share is
    that of the rows of one seed.

    >>> print(verdict_on_spread(np.zeros(200), np.ones(200), np.full(200, 3.0)))
    Too sure: its 95 % intervals hold 0.0 % of the targets.
    """
    if not bool(np.asarray(std).any()):
        return None
    samples, observed = max(1, round(len(targets) / seeds)), coverage(mean, std, targets)
    low, high = wilson(observed * samples, samples)
    judgement = SURE if high < BAND else MODEST if low > BAND else GOOD
    return Verdict(judgement, observed, BAND, samples, "its 95 % intervals hold {observed} of the targets")


def verdicts(evaluation: Evaluation) -> list[Verdict]:
    """The verdicts before and, where there is one, after calibration; none on a regression without spread."""
    if evaluation.task == "regression":
        views = evaluation.predictions
        found = [verdict_on_spread(view.mean, view.std, view.targets) for view in views]
        return [one for one in found if one is not None]
    positive = evaluation.settings.binary == "positive"
    curves = [
        reliability_from(one, n_bins=evaluation.settings.n_bins, positive=positive)
        for one in evaluation.statistics
    ]
    return [verdict_on_classes(curve) for curve in curves]


def verdict_sentences(evaluation: Evaluation) -> list[str]:
    """The verdicts as sentences, for a page or a terminal.

    >>> from tailormix.calibration.predictions import Predictions
    >>> from tailormix.reports import Settings, evaluate
    >>> p = Predictions(targets=np.arange(100) % 2, probabilities=np.tile([0.9, 0.1], (100, 1)))
    >>> verdict_sentences(evaluate(p, settings=Settings(resamples=0)))
    ['Too sure: 50.0 % right, 90.0 % confident.']
    """
    found = verdicts(evaluation)
    kind = (evaluation.calibration or {}).get("kind", "")
    return [
        str(one) if number == 0 else f"After {kind} scaling, {one.text}" for number, one in enumerate(found)
    ]


def _error(curve: ReliabilityCurve) -> float:
    gap = np.abs(curve.accuracy - curve.confidence)
    return float(np.nansum(curve.count * gap) / curve.count.sum())


def _largest_chance_error(curve: ReliabilityCurve) -> float:
    """The ECE that 95 % of calibrated models with these confidences stay below."""
    full = curve.count > 0
    points, chance = curve.points[full], curve.confidence[full].clip(0, 1)
    drawn = np.random.default_rng(0).binomial(points.astype(int), chance, (DRAWS, len(points)))
    errors = (np.abs(drawn / points - chance) * (curve.count[full] / curve.count.sum())).sum(1)
    return float(np.quantile(errors, BAND))
