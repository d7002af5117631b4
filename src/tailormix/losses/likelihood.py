"""Cross-entropy and its kin: label smoothing, the entropy penalty and MbLS."""

from __future__ import annotations

from typing import TYPE_CHECKING, final

from torch import nn

from tailormix import checks
from tailormix.losses.targets import check_inputs, cross_entropy, expected_value

if TYPE_CHECKING:
    import torch


@final
class CrossEntropy(nn.Module):
    """L_i = -Σ_c t_c log p_c, for indices and rows alike.

    Shapes: logits (n, C); targets (n,) or (n, C); result (n,).

    >>> import torch
    >>> CrossEntropy()(torch.zeros(2, 4), torch.tensor([0, 3]))
    tensor([1.3863, 1.3863])
    """

    def forward(self, logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """Return the loss of each sample."""
        return cross_entropy(*check_inputs(logits, targets))


@final
class LabelSmoothing(nn.Module):
    """L_i = (1 - α) · (-Σ_c t_c log p_c) + α · mean_c(-log p_c), with α in [0, 1].

    Linear in the target, so rows (n, C) need no further rule; the same value as
    ``torch.nn.functional.cross_entropy(..., label_smoothing=α)``. α = 0 is cross-entropy.
    Published by Szegedy et al. 2016; Müller et al. 2019.
    Shapes: logits (n, C); targets (n,) or (n, C); result (n,).

    >>> import torch
    >>> LabelSmoothing(alpha=0.5)(torch.tensor([[0.0, 20.0]]), torch.tensor([1]))
    tensor([5.])
    """

    def __init__(self, alpha: float = 0.05) -> None:
        super().__init__()
        self.alpha = checks.fraction("alpha", alpha)

    def forward(self, logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """Return the loss of each sample."""
        logits, targets = check_inputs(logits, targets)
        surprise = -logits.log_softmax(1)
        return (1 - self.alpha) * expected_value(surprise, targets) + self.alpha * surprise.mean(1)


@final
class EntropyPenalty(nn.Module):
    """L_i = -Σ_c t_c log p_c - α · H_i, with H_i = -Σ_c p_c log p_c.

    The code behind the published tables averages the entropy over the classes instead of summing it, that is
    α/C for α; ``class_mean=True`` repeats that. The penalty does not look at the target, so rows need no
    rule. The loss can be negative (by α log C at most). α = 0 is cross-entropy.
    Published by Pereyra et al. 2017.
    Shapes: logits (n, C); targets (n,) or (n, C); result (n,).

    >>> import torch
    >>> EntropyPenalty(alpha=0.5)(torch.zeros(1, 2), torch.tensor([0]))  # log 2 - 0.5 log 2
    tensor([0.3466])
    """

    def __init__(self, alpha: float = 0.1, class_mean: bool = False) -> None:
        super().__init__()
        self.alpha = checks.non_negative("alpha", alpha)
        self.class_mean = checks.boolean("class_mean", class_mean)

    def forward(self, logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """Return the loss of each sample."""
        logits, targets = check_inputs(logits, targets)
        log_p = logits.log_softmax(1)
        terms = -log_p.exp() * log_p
        entropy = terms.mean(1) if self.class_mean else terms.sum(1)
        return expected_value(-log_p, targets) - self.alpha * entropy


@final
class MbLS(nn.Module):
    """L_i = -Σ_c t_c log p_c + α · mean_c max(0, max_k z_k - z_c - m), with m the ``margin``.

    The penalty does not look at the target, so rows need no rule. α = 0 or a huge margin is cross-entropy.
    Published by Liu et al. 2022.
    Shapes: logits (n, C); targets (n,) or (n, C); result (n,).

    >>> import torch
    >>> MbLS(alpha=1.0, margin=10.0)(torch.tensor([[30.0, 0.0]]), torch.tensor([0]))  # (0 + 20) / 2
    tensor([10.])
    """

    def __init__(self, alpha: float = 0.1, margin: float = 10.0) -> None:
        super().__init__()
        self.alpha = checks.non_negative("alpha", alpha)
        self.margin = checks.non_negative("margin", margin)

    def forward(self, logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """Return the loss of each sample."""
        logits, targets = check_inputs(logits, targets)
        gap = logits.amax(1, keepdim=True) - logits
        return cross_entropy(logits, targets) + self.alpha * (gap - self.margin).relu().mean(1)
