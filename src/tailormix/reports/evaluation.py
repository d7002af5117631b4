"""The record of an evaluation: every metric with its interval, and where it came from."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from tailormix import checks

if TYPE_CHECKING:
    from tailormix.metrics.resampling import Interval
    from tailormix.metrics.rows import Rows
    from tailormix.predictions import Predictions


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
