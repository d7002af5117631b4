"""Evaluations as rows of text, for the terminal and the page."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from tailormix.metrics.catalogue import METRICS

if TYPE_CHECKING:
    from tailormix.metrics.resampling import Interval
    from tailormix.reports.evaluation import Evaluation


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
