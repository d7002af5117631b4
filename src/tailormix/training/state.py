"""Everything about a run that changes while it trains."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor

    from tailormix.data.access.record import Task


@dataclass
class State:
    """Where a run is and what it has seen.

    Attributes:
        epoch: epochs finished.
        step: steps finished in the epoch under way.
        loss: sum over those steps of the mean loss.
        seconds: time spent in those steps.
        history: one row for each finished epoch.
        best_epoch: the epoch (from 1) whose weights are kept; 0 before the first.
        best_score: its score on the validation split, larger is better.
        best_weights: those weights.

    """

    epoch: int = 0
    step: int = 0
    loss: float = 0.0
    seconds: float = 0.0
    history: list[dict[str, Any]] = field(default_factory=list)
    best_epoch: int = 0
    best_score: float | None = None
    best_weights: dict[str, Tensor] = field(default_factory=dict)

    def facts(self) -> dict[str, Any]:
        """All but the weights, for JSON."""
        return {key: value for key, value in vars(self).items() if key != "best_weights"}


def is_better(score: float | None, best: float | None, task: Task) -> bool:
    """Whether an epoch takes the place of the best one so far.

    Without a validation split (``score`` None) the latest epoch is kept. Equal scores keep the earlier epoch
    for classes, where accuracy has many ties, and the later one for regression, as the released code does.

    >>> is_better(0.5, 0.5, "classification"), is_better(-0.5, -0.5, "regression")
    (False, True)
    """
    if score is None or best is None:
        return True
    return score >= best if task == "regression" else score > best
