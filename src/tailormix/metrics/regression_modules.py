"""Regression metrics as torchmetrics classes: ``update(mean, targets)`` or ``update(mean, std, targets)``."""

from __future__ import annotations

from typing import Any, final

import torch

from tailormix import checks
from tailormix.metrics.as_published import two_row_reading
from tailormix.metrics.gaussian import coverage_parts, gaussian_parts
from tailormix.metrics.modules import KeptMetric, SummedMetric
from tailormix.metrics.point_errors import absolute_parts, relative_parts, squared_parts
from tailormix.metrics.regressed import Regressed, regressed
from tailormix.metrics.variance_calibration import BIN_BY, ence_error, spread_sums, uce_error


class _Ratio(SummedMetric):
    """Σ a / Σ b of two numbers a sample."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__((2,), **kwargs)

    def _value(self, sums: torch.Tensor) -> torch.Tensor:
        return sums[0] / sums[1]


@final
class RMSE(SummedMetric):
    """√((1/N) Σ (y − μ)²); see ``rmse``.

    >>> metric = RMSE()
    >>> metric.update(torch.zeros(2), torch.full((2,), 3.0))
    >>> metric.compute()
    tensor(3., dtype=torch.float64)
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__((2,), **kwargs)

    def update(self, mean: torch.Tensor, targets: torch.Tensor) -> None:
        """Add a batch of (n,) or (n, D) arrays."""
        self.sums = self.sums + squared_parts(regressed(mean, targets)).sum(0)

    def _value(self, sums: torch.Tensor) -> torch.Tensor:
        return (sums[0] / sums[1]).sqrt()


@final
class MAE(_Ratio):
    """(1/N) Σ |y − μ|; see ``mae``."""

    def update(self, mean: torch.Tensor, targets: torch.Tensor) -> None:
        """Add a batch of (n,) or (n, D) arrays."""
        self.sums = self.sums + absolute_parts(regressed(mean, targets)).sum(0)


@final
class MAPE(_Ratio):
    """100 · mean of |y − μ|/|y| where y ≠ 0; see ``mape``."""

    def update(self, mean: torch.Tensor, targets: torch.Tensor) -> None:
        """Add a batch of (n,) or (n, D) arrays."""
        self.sums = self.sums + relative_parts(regressed(mean, targets)).sum(0)


@final
class GaussianNLL(_Ratio):
    """(1/N) Σ [½ log(2πσ²) + (y − μ)²/(2σ²)]; see ``gaussian_nll``."""

    def update(self, mean: torch.Tensor, std: torch.Tensor, targets: torch.Tensor) -> None:
        """Add a batch of (n,) or (n, D) arrays."""
        self.sums = self.sums + gaussian_parts(regressed(mean, targets, std)).sum(0)


@final
class Coverage(_Ratio):
    """Share of entries inside the central ``level`` interval; see ``coverage``."""

    higher_is_better = None

    def __init__(self, *, level: float = 0.95, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.level = level

    def update(self, mean: torch.Tensor, std: torch.Tensor, targets: torch.Tensor) -> None:
        """Add a batch of (n,) or (n, D) arrays."""
        self.sums = self.sums + coverage_parts(regressed(mean, targets, std), self.level).sum(0)


class _Spread(KeptMetric):
    """Keeps the predicted standard deviation and the error of every entry: the bins run from min to max."""

    bin_by_default: str

    def __init__(self, *, n_bins: int = 15, bin_by: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.n_bins = checks.integer("n_bins", n_bins, at_least=1)
        self.bin_by = checks.known("bin_by", bin_by or self.bin_by_default, BIN_BY)

    def _sums(self, std: torch.Tensor, error: torch.Tensor) -> torch.Tensor:
        return spread_sums(Regressed(torch.zeros_like(error), error, std), self.n_bins, self.bin_by)


def _spread_and_error(
    mean: torch.Tensor, std: torch.Tensor, targets: torch.Tensor, *, as_published: bool = False
) -> tuple[torch.Tensor, torch.Tensor]:
    if as_published:
        mean, std, targets = two_row_reading(mean, std, targets)
    given = regressed(mean, targets, std)
    return given.spread, given.error


@final
class UCE(_Spread):
    """Σ_b (n_b/n) |MSE_b − MV_b|; see ``uce``.

    >>> metric = UCE()
    >>> metric.update(torch.zeros(2), torch.ones(2), torch.full((2,), 2.0))
    >>> metric.compute()
    tensor(3., dtype=torch.float64)
    """

    bin_by_default = "variance"

    def update(self, mean: torch.Tensor, std: torch.Tensor, targets: torch.Tensor) -> None:
        """Add a batch of (n,) or (n, D) arrays."""
        self.keep(*_spread_and_error(mean, std, targets))

    def _value(self, first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
        return uce_error(self._sums(first, second))


@final
class ENCE(_Spread):
    """Mean over bins of |√MSE_b − √MV_b|/√MV_b; see ``ence``."""

    bin_by_default = "std"

    def update(self, mean: torch.Tensor, std: torch.Tensor, targets: torch.Tensor) -> None:
        """Add a batch of (n,) or (n, D) arrays."""
        self.keep(*_spread_and_error(mean, std, targets))

    def _value(self, first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
        return ence_error(self._sums(first, second))


@final
class UCEAsPublished(_Spread):
    """``UCE`` under the two-row reading; see ``uce_as_published``."""

    bin_by_default = "variance"

    def update(self, mean: torch.Tensor, std: torch.Tensor, targets: torch.Tensor) -> None:
        """Add a batch of (n,) or (n, D) arrays."""
        self.keep(*_spread_and_error(mean, std, targets, as_published=True))

    def _value(self, first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
        return uce_error(self._sums(first, second))


@final
class ENCEAsPublished(_Spread):
    """``ENCE`` under the two-row reading; see ``ence_as_published``."""

    bin_by_default = "std"

    def update(self, mean: torch.Tensor, std: torch.Tensor, targets: torch.Tensor) -> None:
        """Add a batch of (n,) or (n, D) arrays."""
        self.keep(*_spread_and_error(mean, std, targets, as_published=True))

    def _value(self, first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
        return ence_error(self._sums(first, second))
