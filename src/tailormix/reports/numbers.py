"""Numbers as text, with the digits that their intervals or deviations leave, and tables of them."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tailormix.metrics.bootstrap import Interval

#: metrics between 0 and 1 that are shown in percent
FRACTIONS = (
    *("accuracy", "ece", "aece", "classwise_ece", "debiased_ece", "mce", "gap", "aurc"),
    *("ence", "ence_as_published", "qce", "coverage"),
)
NONE = "—"


@dataclass(frozen=True)
class MeanStd:
    """Mean and sample standard deviation of n values; one value has no deviation.

    >>> MeanStd.of([1.0, 2.0, 3.0]), MeanStd.of([1.0])
    (MeanStd(mean=2.0, std=1.0, n=3), MeanStd(mean=1.0, std=None, n=1))
    """

    mean: float
    std: float | None
    n: int

    @staticmethod
    def of(values: Iterable[float]) -> MeanStd:
        """Of these values; without any, or with one that is not finite, the mean is NaN."""
        given = [float(value) for value in values]
        if not all(map(math.isfinite, given)) or not given:
            return MeanStd(math.nan, None, len(given))
        return MeanStd(
            statistics.fmean(given), statistics.stdev(given) if len(given) > 1 else None, len(given)
        )

    def as_dict(self) -> dict[str, float | int | None]:
        """For JSON, which has no NaN."""
        return {"mean": self.mean if math.isfinite(self.mean) else None, "std": self.std, "n": self.n}


def interval_text(one: Interval, *, percent: bool = False) -> str:
    """``0.042 [0.031, 0.050]``: value and interval with two digits of the interval's length.

    >>> from tailormix.metrics import Interval
    >>> interval_text(Interval(0.04234, 0.00001, 0.0502))
    '0.042 [0.000, 0.050]'
    >>> interval_text(Interval(0.8431, 0.81, 0.88), percent=True)
    '84.3 % [81.0, 88.0]'
    >>> interval_text(Interval(1234.5, float("nan"), float("nan")))
    '1234'
    """
    if math.isnan(one.value):
        return "undefined"
    factor, sign = (100, " %") if percent else (1, "")
    value, low, high = (factor * x for x in (one.value, one.low, one.high))
    bounded = math.isfinite(low) and math.isfinite(high)
    decimals = decimals_of(value, high - low if bounded else None, percent=percent)
    text = f"{value:.{decimals}f}{sign}"
    return f"{text} [{low:.{decimals}f}, {high:.{decimals}f}]" if bounded else text


def mean_text(number: MeanStd, factor: float = 1, decimals: int | None = None) -> str:
    """``95.31 ± 0.42``; without a deviation for one seed, — where there is no number.

    >>> mean_text(MeanStd(0.9531, 0.0042, 3), 100), mean_text(MeanStd(1.25, None, 1))
    ('95.31 ± 0.42', '1.25')
    """
    if math.isnan(number.mean):
        return NONE
    if decimals is None:
        decimals = column_decimals([number], factor)
    text = f"{factor * number.mean:.{decimals}f}"
    return text if number.std is None else f"{text} ± {factor * number.std:.{decimals}f}"


def column_decimals(numbers: Sequence[MeanStd], factor: float = 1, *, percent: bool = False) -> int:
    """Decimals for all numbers of a column: two digits of the largest deviation, outliers aside.

    >>> column_decimals([MeanStd(0.93, 0.004, 3), MeanStd(0.95, 0.034, 3)], 100, percent=True)
    1
    """
    means = [abs(factor * one.mean) for one in numbers if math.isfinite(one.mean)]
    deviations = [factor * one.std for one in numbers if one.std]
    value = statistics.median(means) if means else 0.0
    largest = min(max(deviations), 10 * statistics.median(deviations)) if deviations else None
    return decimals_of(value, largest, percent=percent)


def decimals_of(value: float, deviation: float | None = None, *, percent: bool = False) -> int:
    """How many decimals show two digits of the deviation or, without one, three digits of the value.

    Percentages have two decimals at most, and one without a deviation.

    >>> decimals_of(0.0423), decimals_of(123.4), decimals_of(123.4, 0.25)
    (4, 0, 2)
    >>> decimals_of(84.3, 11.0, percent=True), decimals_of(84.3, 0.02, percent=True)
    (0, 2)
    """
    if deviation and math.isfinite(deviation):
        decimals = 1 - math.floor(math.log10(abs(deviation)))
    elif percent or value == 0 or not math.isfinite(value):
        decimals = 1
    else:
        decimals = 2 - math.floor(math.log10(abs(value)))
    return min(2 if percent else 6, max(0, decimals))


def markdown_table(header: Sequence[str], body: Iterable[Sequence[str]]) -> list[str]:
    """Lines of a table.

    >>> markdown_table(["a", "b"], [["1", "2"]])
    ['| a | b |', '|---|---|', '| 1 | 2 |']
    """
    rows = [header, *body]
    texts = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return [texts[0], "|" + "---|" * len(header), *texts[1:]]
