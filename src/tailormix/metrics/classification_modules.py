"""Classification metrics as torchmetrics classes: ``update(predictions, targets)``, ``compute()``."""

from __future__ import annotations

from typing import Any, final

import torch

from tailormix import checks
from tailormix.metrics.adaptive_calibration import adaptive_error
from tailormix.metrics.bins import NORMS, bin_sums, calibration_error, debiased_error
from tailormix.metrics.classwise_calibration import classwise_error, classwise_sums
from tailormix.metrics.inputs import Classified, classified
from tailormix.metrics.modules import KeptMetric, SummedMetric
from tailormix.metrics.rows import rows


class _Mean(SummedMetric):
    """The mean of one per-sample statistic, named by ``statistic``."""

    statistic: str

    def __init__(self, *, from_logits: bool = False, binary: str | None = None, **kwargs: Any) -> None:
        super().__init__((2,), **kwargs)
        self.options = {"from_logits": from_logits, "binary": binary}

    def update(self, predictions: torch.Tensor, targets: torch.Tensor) -> None:
        """Add a batch: predictions (n, C), targets (n,)."""
        values = getattr(rows(_given(self, predictions, targets)), self.statistic).double()
        self.sums = self.sums + torch.stack([values.sum(), values.new_tensor(float(len(values)))])

    def _value(self, sums: torch.Tensor) -> torch.Tensor:
        return sums[0] / sums[1]


class _Binned(SummedMetric):
    """A function of the (B, 3) sums of equal-width confidence bins."""

    def __init__(
        self, *, n_bins: int = 15, from_logits: bool = False, binary: str | None = None, **kwargs: Any
    ) -> None:
        super().__init__((checks.integer("n_bins", n_bins, at_least=1), 3), **kwargs)
        self.options = {"from_logits": from_logits, "binary": binary}

    def update(self, predictions: torch.Tensor, targets: torch.Tensor) -> None:
        """Add a batch: predictions (n, C), targets (n,)."""
        found = rows(_given(self, predictions, targets))
        self.sums = self.sums + bin_sums(found.confidence, found.event, len(self.sums))


def _given(metric: Any, predictions: torch.Tensor, targets: torch.Tensor) -> Classified:
    return classified(predictions, targets, **metric.options)


@final
class Accuracy(_Mean):
    """(1/n) Σ_i [argmax_c p_ic = y_i].

    >>> metric = Accuracy()
    >>> metric.update(torch.tensor([[0.2, 0.8], [0.6, 0.4]]), torch.tensor([1, 1]))
    >>> metric.compute()
    tensor(0.5000, dtype=torch.float64)
    """

    statistic = "hit"
    higher_is_better = True


@final
class NLL(_Mean):
    """−(1/n) Σ_i log p_{i,y_i}; see ``nll``."""

    statistic = "nll"


@final
class Brier(_Mean):
    """(1/n) Σ_i Σ_c (p_ic − [y_i = c])²; see ``brier``."""

    statistic = "brier"


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
class ClasswiseECE(SummedMetric):
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
        judged = 1 if binary == "positive" else checks.integer("num_classes", num_classes, at_least=1)
        super().__init__((judged, checks.integer("n_bins", n_bins, at_least=1), 3), **kwargs)
        self.options = {"from_logits": from_logits, "binary": binary}
        self.norm = checks.known("norm", norm, NORMS)

    def update(self, predictions: torch.Tensor, targets: torch.Tensor) -> None:
        """Add a batch: predictions (n, C), targets (n,)."""
        sums = classwise_sums(_given(self, predictions, targets), self.sums.shape[1])
        if len(sums) != len(self.sums):
            raise ValueError(f"predictions must have num_classes={len(self.sums)} columns, got {len(sums)}")
        self.sums = self.sums + sums

    def _value(self, sums: torch.Tensor) -> torch.Tensor:
        return classwise_error(sums, self.norm)


@final
class AECE(KeptMetric):
    """Σ_b (n_b/n) |acc_b − conf_b| over runs of equal length; see ``aece``.

    >>> metric = AECE(n_bins=1)
    >>> metric.update(torch.tensor([[0.25, 0.75], [0.25, 0.75]]), torch.tensor([1, 0]))
    >>> metric.compute()
    tensor(0.2500, dtype=torch.float64)
    """

    def __init__(
        self, *, n_bins: int = 15, from_logits: bool = False, binary: str | None = None, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.n_bins = checks.integer("n_bins", n_bins, at_least=1)
        self.options = {"from_logits": from_logits, "binary": binary}

    def update(self, predictions: torch.Tensor, targets: torch.Tensor) -> None:
        """Add a batch: predictions (n, C), targets (n,)."""
        found = rows(_given(self, predictions, targets))
        self.keep(found.confidence, found.event)

    def _value(self, first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
        return adaptive_error(first[:, 0], second[:, 0], self.n_bins)
