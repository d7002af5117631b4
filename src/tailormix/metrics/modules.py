"""The metrics as torchmetrics classes, thin over the functions.

Most hold float64 sums of a fixed size, which add up over ranks. The bins of AECE, UCE, ENCE and QCE depend on
all samples: these keep two numbers per entry and gather them.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, final

import torch
from torchmetrics import Metric

from tailormix import checks
from tailormix.metrics.binning import NORMS, bin_sums, calibration_error, classwise_error, debiased_error
from tailormix.metrics.classification import (
    adaptive_error,
    classwise_sums,
    risk_coverage_area,
    sample_statistics,
)
from tailormix.metrics.inputs import RegressionInputs, classification_inputs, regression_inputs
from tailormix.metrics.regression import (
    BIN_BY,
    SpreadBins,
    absolute_sums,
    coverage_sums,
    ence_error,
    gaussian_sums,
    mean_sums,
    pinball_sums,
    qce_error,
    ratio,
    relative_sums,
    squared_sums,
    two_row_reading,
    uce_error,
)

if TYPE_CHECKING:
    from collections.abc import Sequence


class _Base(Metric):
    full_state_update = False
    is_differentiable = False
    higher_is_better: bool | None = False

    def plot(self, val: Any = None, ax: Any = None) -> Any:
        """Plot one value, or a sequence of them; returns figure and axes."""
        return self._plot(val, ax)


class SumMetric(_Base):
    """A metric that is a function of float64 sums: its state has a fixed size and adds up over ranks."""

    sums: torch.Tensor

    def __init__(self, shape: tuple[int, ...], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.add_state("sums", torch.zeros(shape, dtype=torch.float64), dist_reduce_fx="sum")

    def compute(self) -> torch.Tensor:
        """Return the value over everything added, on all ranks, as a 0-d float64 tensor."""
        return self._value(self.sums)

    @abstractmethod
    def _value(self, sums: torch.Tensor) -> torch.Tensor:
        """Return the metric of the sums."""


class GatherMetric(_Base):
    """A metric whose bins depend on all samples: two numbers per entry are kept, and gathered over ranks."""

    first: list[torch.Tensor]
    second: list[torch.Tensor]
    outputs: torch.Tensor

    def __init__(self, n_bins: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.n_bins = checks.integer("n_bins", n_bins, at_least=1)
        self.add_state("first", [], dist_reduce_fx="cat")
        self.add_state("second", [], dist_reduce_fx="cat")
        self.add_state("outputs", torch.ones((), dtype=torch.long), dist_reduce_fx="max")
        self.set_dtype(torch.float64)  # a rank without samples must gather the type of the others

    def compute(self) -> torch.Tensor:
        """Return the value over everything added, on all ranks, as a 0-d float64 tensor."""
        first, second = (_joined(state).view(-1, int(self.outputs)) for state in (self.first, self.second))
        if first.numel() == 0:
            return first.new_full((), torch.nan)
        return self._value(first, second)

    def _append(self, first: torch.Tensor, second: torch.Tensor) -> None:
        """Keep two numbers for each entry of a batch, (n,) or (n, D)."""
        self.outputs = torch.full_like(self.outputs, first.numel() // len(first))
        self.first.append(first.double().reshape(-1))
        self.second.append(second.double().reshape(-1))

    @abstractmethod
    def _value(self, first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
        """Return the metric of all entries, (n, D) each."""


def _joined(state: Sequence[torch.Tensor] | torch.Tensor) -> torch.Tensor:
    """Return one tensor: torchmetrics hands over a list before ranks are synchronised, a tensor after."""
    if isinstance(state, torch.Tensor):
        return state
    return torch.cat(list(state)) if state else torch.empty(0, dtype=torch.float64)


class _MeanStatistic(SumMetric):
    """The mean of one per-sample statistic, named by ``statistic``."""

    statistic: str

    def __init__(self, *, from_logits: bool = False, binary: str | None = None, **kwargs: Any) -> None:
        super().__init__((2,), **kwargs)
        self.options: dict[str, Any] = {"from_logits": from_logits, "binary": binary}

    def update(self, predictions: torch.Tensor, targets: torch.Tensor) -> None:
        """Add a batch: predictions (n, C), targets (n,)."""
        found = sample_statistics(classification_inputs(predictions, targets, **self.options))
        self.sums = self.sums + mean_sums(getattr(found, self.statistic))

    def _value(self, sums: torch.Tensor) -> torch.Tensor:
        return ratio(sums)


@final
class Accuracy(_MeanStatistic):
    """(1/n) Σ_i [argmax_c p_ic = y_i].

    >>> metric = Accuracy()
    >>> metric.update(torch.tensor([[0.2, 0.8], [0.6, 0.4]]), torch.tensor([1, 1]))
    >>> metric.compute()
    tensor(0.5000, dtype=torch.float64)
    """

    statistic = "correct"
    higher_is_better = True


@final
class NLL(_MeanStatistic):
    """−(1/n) Σ_i log p_{i,y_i}; see ``nll``."""

    statistic = "nll"


@final
class Brier(_MeanStatistic):
    """(1/n) Σ_i Σ_c (p_ic − [y_i = c])²; see ``brier``."""

    statistic = "brier"


@final
class ConfidenceGap(_MeanStatistic):
    """(1/n) Σ_i (confidence_i − outcome_i); see ``gap``."""

    statistic = "gap"
    higher_is_better = None


class _Binned(SumMetric):
    """A function of the (B, 3) sums of equal-width confidence bins."""

    def __init__(
        self, *, n_bins: int = 15, from_logits: bool = False, binary: str | None = None, **kwargs: Any
    ) -> None:
        super().__init__((checks.integer("n_bins", n_bins, at_least=1), 3), **kwargs)
        self.options: dict[str, Any] = {"from_logits": from_logits, "binary": binary}

    def update(self, predictions: torch.Tensor, targets: torch.Tensor) -> None:
        """Add a batch: predictions (n, C), targets (n,)."""
        found = sample_statistics(classification_inputs(predictions, targets, **self.options))
        self.sums = self.sums + bin_sums(found.confidence, found.outcome, len(self.sums))


@final
class ECE(_Binned):
    """Σ_b (n_b/n) |acc_b − conf_b| from bin sums; see ``ece``.

    >>> metric = ECE(n_bins=10)
    >>> metric.update(torch.tensor([[0.25, 0.75], [0.25, 0.75]]), torch.tensor([1, 0]))
    >>> metric.compute()
    tensor(0.2500, dtype=torch.float64)
    """

    def __init__(self, *, norm: str = "l1", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.norm = checks.known("norm", norm, NORMS)

    def _value(self, sums: torch.Tensor) -> torch.Tensor:
        return calibration_error(sums, self.norm)


@final
class MCE(_Binned):
    """max_b |acc_b − conf_b| from bin sums; see ``mce``."""

    def _value(self, sums: torch.Tensor) -> torch.Tensor:
        return calibration_error(sums, "max")


@final
class DebiasedECE(_Binned):
    """√max(0, Σ_b (n_b/n) [(acc_b − conf_b)² − acc_b (1 − acc_b)/(n_b − 1)]); see ``debiased_ece``."""

    def _value(self, sums: torch.Tensor) -> torch.Tensor:
        return debiased_error(sums)


@final
class ClasswiseECE(SumMetric):
    """(1/C) Σ_c Σ_b (n_bc/n) |freq_bc − prob_bc| from (C, B, 3) sums; see ``classwise_ece``.

    >>> metric = ClasswiseECE(num_classes=2)
    >>> metric.update(torch.tensor([[0.0, 1.0]]), torch.tensor([1]))
    >>> metric.compute()
    tensor(0., dtype=torch.float64)
    """

    def __init__(
        self,
        num_classes: int,
        *,
        n_bins: int = 15,
        norm: str = "l1",
        from_logits: bool = False,
        binary: str | None = None,
        **kwargs: Any,
    ) -> None:
        classes = 1 if binary == "positive" else checks.integer("num_classes", num_classes, at_least=1)
        super().__init__((classes, checks.integer("n_bins", n_bins, at_least=1), 3), **kwargs)
        self.options: dict[str, Any] = {"from_logits": from_logits, "binary": binary}
        self.norm = checks.known("norm", norm, NORMS)

    def update(self, predictions: torch.Tensor, targets: torch.Tensor) -> None:
        """Add a batch: predictions (n, C), targets (n,)."""
        inputs = classification_inputs(predictions, targets, **self.options)
        sums = classwise_sums(inputs, self.sums.shape[1])
        if len(sums) != len(self.sums):
            raise ValueError(f"predictions must have num_classes={len(self.sums)} columns, got {len(sums)}")
        self.sums = self.sums + sums

    def _value(self, sums: torch.Tensor) -> torch.Tensor:
        return classwise_error(sums, self.norm)


@final
class AECE(GatherMetric):
    """Σ_b (n_b/n) |acc_b − conf_b| over bins of equal mass; see ``aece``.

    >>> metric = AECE(n_bins=1)
    >>> metric.update(torch.tensor([[0.25, 0.75], [0.25, 0.75]]), torch.tensor([1, 0]))
    >>> metric.compute()
    tensor(0.2500, dtype=torch.float64)
    """

    def __init__(
        self, *, n_bins: int = 15, from_logits: bool = False, binary: str | None = None, **kwargs: Any
    ) -> None:
        super().__init__(n_bins, **kwargs)
        self.options: dict[str, Any] = {"from_logits": from_logits, "binary": binary}

    def update(self, predictions: torch.Tensor, targets: torch.Tensor) -> None:
        """Add a batch: predictions (n, C), targets (n,)."""
        found = sample_statistics(classification_inputs(predictions, targets, **self.options))
        self._append(found.confidence, found.outcome)

    def _value(self, first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
        return adaptive_error(first[:, 0], second[:, 0], self.n_bins)


@final
class AURC(GatherMetric):
    """(1/n) Σ_i R_i over the samples from the surest on; see ``aurc``.

    >>> metric = AURC()
    >>> metric.update(torch.tensor([[0.1, 0.9], [0.4, 0.6]]), torch.tensor([1, 0]))
    >>> metric.compute()
    tensor(0.2500, dtype=torch.float64)
    """

    def __init__(self, *, from_logits: bool = False, binary: str | None = None, **kwargs: Any) -> None:
        super().__init__(1, **kwargs)
        self.options: dict[str, Any] = {"from_logits": from_logits, "binary": binary}

    def update(self, predictions: torch.Tensor, targets: torch.Tensor) -> None:
        """Add a batch: predictions (n, C), targets (n,)."""
        found = sample_statistics(classification_inputs(predictions, targets, **self.options))
        self._append(found.certainty, found.correct)

    def _value(self, first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
        return risk_coverage_area(first[:, 0], second[:, 0])


class _Ratio(SumMetric):
    """Σ a / Σ b of two sums."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__((2,), **kwargs)

    def _value(self, sums: torch.Tensor) -> torch.Tensor:
        return ratio(sums)


@final
class RMSE(SumMetric):
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
        self.sums = self.sums + squared_sums(regression_inputs(mean, targets))

    def _value(self, sums: torch.Tensor) -> torch.Tensor:
        return ratio(sums).sqrt()


@final
class MAE(_Ratio):
    """(1/N) Σ |y − μ|; see ``mae``."""

    def update(self, mean: torch.Tensor, targets: torch.Tensor) -> None:
        """Add a batch of (n,) or (n, D) arrays."""
        self.sums = self.sums + absolute_sums(regression_inputs(mean, targets))


@final
class MAPE(_Ratio):
    """100 · mean of |y − μ|/|y| where y ≠ 0; see ``mape``."""

    def update(self, mean: torch.Tensor, targets: torch.Tensor) -> None:
        """Add a batch of (n,) or (n, D) arrays."""
        self.sums = self.sums + relative_sums(regression_inputs(mean, targets))


@final
class GaussianNLL(_Ratio):
    """(1/N) Σ [½ log(2πσ²) + (y − μ)²/(2σ²)]; see ``gaussian_nll``."""

    def update(self, mean: torch.Tensor, std: torch.Tensor, targets: torch.Tensor) -> None:
        """Add a batch of (n,) or (n, D) arrays."""
        self.sums = self.sums + gaussian_sums(regression_inputs(mean, targets, std))


@final
class PinballLoss(_Ratio):
    """Mean of ρ_q(y − F⁻¹(q)) over q = 0.05 … 0.95; see ``pinball``."""

    def update(self, mean: torch.Tensor, std: torch.Tensor, targets: torch.Tensor) -> None:
        """Add a batch of (n,) or (n, D) arrays."""
        self.sums = self.sums + pinball_sums(regression_inputs(mean, targets, std))


@final
class Coverage(_Ratio):
    """Share of entries inside the central ``level`` interval; see ``coverage``."""

    higher_is_better = None

    def __init__(self, *, level: float = 0.95, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.level = level

    def update(self, mean: torch.Tensor, std: torch.Tensor, targets: torch.Tensor) -> None:
        """Add a batch of (n,) or (n, D) arrays."""
        self.sums = self.sums + coverage_sums(regression_inputs(mean, targets, std), self.level)


class _Spread(GatherMetric):
    """Keeps the predicted standard deviation and the error of every entry: the bins run from min to max."""

    bin_by_default: str
    as_published = False

    def __init__(self, *, n_bins: int = 15, bin_by: str | None = None, **kwargs: Any) -> None:
        super().__init__(n_bins, **kwargs)
        self.bin_by = checks.known("bin_by", bin_by or self.bin_by_default, BIN_BY)

    def update(self, mean: torch.Tensor, std: torch.Tensor, targets: torch.Tensor) -> None:
        """Add a batch of (n,) or (n, D) arrays."""
        inputs = regression_inputs(mean, targets, std)
        inputs = two_row_reading(inputs) if self.as_published else inputs
        self._append(inputs.std, inputs.error)

    def _value(self, first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
        inputs = RegressionInputs(torch.zeros_like(second), second, first)
        return self._error(SpreadBins(first, self.n_bins, self.bin_by).sums(inputs))

    @staticmethod
    @abstractmethod
    def _error(sums: torch.Tensor) -> torch.Tensor:
        """Return the metric of (D, B, 3) sums."""


@final
class UCE(_Spread):
    """Σ_b (n_b/n) |MSE_b − MV_b|; see ``uce``.

    >>> metric = UCE()
    >>> metric.update(torch.zeros(2), torch.ones(2), torch.full((2,), 2.0))
    >>> metric.compute()
    tensor(3., dtype=torch.float64)
    """

    bin_by_default = "variance"
    _error = staticmethod(uce_error)


@final
class ENCE(_Spread):
    """Mean over bins of |√MSE_b − √MV_b|/√MV_b; see ``ence``."""

    bin_by_default = "std"
    _error = staticmethod(ence_error)


@final
class QCE(GatherMetric):
    """Mean over q = 0.05 … 0.95 of Σ_b (n_b/n) |inside_b(q) − q|; see ``qce``."""

    def __init__(self, *, n_bins: int = 15, **kwargs: Any) -> None:
        super().__init__(n_bins, **kwargs)

    def update(self, mean: torch.Tensor, std: torch.Tensor, targets: torch.Tensor) -> None:
        """Add a batch of (n,) or (n, D) arrays."""
        inputs = regression_inputs(mean, targets, std)
        self._append(inputs.std, inputs.error)

    def _value(self, first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
        inputs = RegressionInputs(torch.zeros_like(second), second, first)
        return qce_error(SpreadBins(first, self.n_bins, "std").inside_sums(inputs))


@final
class UCEAsPublished(_Spread):
    """``UCE`` under the two-row reading; see ``uce_as_published``."""

    bin_by_default = "variance"
    as_published = True
    _error = staticmethod(uce_error)


@final
class ENCEAsPublished(_Spread):
    """``ENCE`` under the two-row reading; see ``ence_as_published``."""

    bin_by_default = "std"
    as_published = True
    _error = staticmethod(ence_error)
