"""Cross-entropy and the losses that reshape it sample by sample: LS, FL, FLSD, ECP, MbLS."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.special
import scipy.stats
import sklearn.metrics
import torch
from torch.nn import functional

from tailormix.losses import CPC, FLSD, CrossEntropy, EntropyPenalty, FocalLoss, LabelSmoothing, MbLS

# softmax of these is (1/4, 3/4) and (1/10, 9/10)
LOGITS = torch.tensor([[0.0, math.log(3)], [0.0, math.log(9)]], dtype=torch.float64)
LOG2, LOG3, LOG10 = math.log(2), math.log(3), math.log(10)


def close(actual: torch.Tensor, *expected: float) -> None:
    torch.testing.assert_close(actual, torch.tensor(expected, dtype=torch.float64))


def batch() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    draws = torch.Generator().manual_seed(1)
    logits = torch.randn(7, 5, generator=draws, dtype=torch.float64) * 3
    rows = torch.rand(7, 5, generator=draws, dtype=torch.float64)
    return logits, torch.randint(5, (7,), generator=draws), rows / rows.sum(1, keepdim=True)


def test_cross_entropy_by_hand() -> None:
    """-log(1/4) = 2 log 2; -log(9/10) = log 10 - 2 log 3; half of each class: (2 log 2 + log(4/3)) / 2."""
    close(CrossEntropy()(LOGITS, torch.tensor([0, 1])), 2 * LOG2, LOG10 - 2 * LOG3)
    close(CrossEntropy()(LOGITS[:1], torch.tensor([[0.5, 0.5]])), (2 * LOG2 + math.log(4 / 3)) / 2)


def test_cross_entropy_against_scikit_learn() -> None:
    logits, y, _ = batch()
    outside = sklearn.metrics.log_loss(y.numpy(), logits.softmax(1).numpy(), labels=range(5))
    assert CrossEntropy()(logits, y).mean().item() == pytest.approx(outside)


def test_label_smoothing_by_hand() -> None:
    """α = 0.2, p = (1/4, 3/4), y = 0: 0.8·log 4 + 0.2·(log 4 + log(4/3))/2."""
    expected = 0.8 * math.log(4) + 0.1 * (math.log(4) + math.log(4 / 3))
    close(LabelSmoothing(alpha=0.2)(LOGITS[:1], torch.tensor([0])), expected)


@pytest.mark.parametrize("alpha", [0.05, 0.3, 1.0])
def test_label_smoothing_against_torch(alpha: float) -> None:
    logits, y, rows = batch()
    for targets in (y, rows):
        outside = functional.cross_entropy(logits, targets, label_smoothing=alpha, reduction="none")
        torch.testing.assert_close(LabelSmoothing(alpha)(logits, targets), outside)


def test_focal_by_hand() -> None:
    """γ = 3: p_y = 1/4 gives (3/4)³·log 4, p_y = 9/10 gives (1/10)³·log(10/9).

    The row (1/2, 1/2) with p = (1/4, 3/4): ½·(3/4)³·log 4 + ½·(1/4)³·log(4/3).
    """
    close(FocalLoss()(LOGITS, torch.tensor([0, 1])), 27 / 64 * math.log(4), 1e-3 * math.log(10 / 9))
    expected = 27 / 128 * math.log(4) + 1 / 128 * math.log(4 / 3)
    close(FocalLoss()(LOGITS[:1], torch.tensor([[0.5, 0.5]])), expected)


def test_flsd_by_hand() -> None:
    """p_y = 1/10 < 0.2: γ = 5, (9/10)⁵·log 10. p_y = 1/4 and 9/10: γ = 3 as in focal loss."""
    close(FLSD()(LOGITS[1:], torch.tensor([0])), 0.9**5 * LOG10)
    y = torch.tensor([0, 1])
    torch.testing.assert_close(FLSD()(LOGITS, y), FocalLoss(3.0)(LOGITS, y))


def test_flsd_threshold_belongs_to_the_upper_side() -> None:
    """p_y = 1/2 exactly with threshold 1/2: γ = 1, so ½·log 2, and not γ = 2."""
    loss = FLSD(gamma=1.0, gamma_unsure=2.0, threshold=0.5)
    close(loss(torch.zeros(1, 2, dtype=torch.float64), torch.tensor([0])), LOG2 / 2)


def test_flsd_exponent_carries_no_gradient() -> None:
    """Away from the threshold the gradient is that of focal loss with the exponent held fixed."""
    grads = []
    for loss in (FLSD(), FocalLoss(gamma=5.0)):
        logits = LOGITS[1:].clone().requires_grad_()
        loss(logits, torch.tensor([0])).sum().backward()
        grads.append(logits.grad)
    assert torch.equal(grads[0], grads[1])


@pytest.mark.parametrize("gamma", [0.0, 0.5, 1.0, 3.0])
def test_focal_is_smooth_where_the_prediction_is_sure(gamma: float) -> None:
    """p_y = 1 exactly: 0^γ has an infinite slope for γ < 1, which must not become NaN."""
    logits = torch.tensor([[1e4, -1e4], [0.0, 17.5]], requires_grad=True)
    loss = FocalLoss(gamma)(logits, torch.tensor([0, 1]))
    loss.sum().backward()
    assert loss.tolist() == pytest.approx([0.0, 0.0], abs=1e-6)
    assert logits.grad is not None
    assert logits.grad.isfinite().all()


def test_entropy_penalty_by_hand() -> None:
    """α = 0.1, p = (1/4, 3/4), y = 1: H = ¼·log 4 + ¾·log(4/3); loss = log(4/3) - 0.1·H.

    Averaged over the two classes the entropy is H/2.
    """
    entropy = math.log(4) / 4 + 3 / 4 * math.log(4 / 3)
    close(EntropyPenalty()(LOGITS[:1], torch.tensor([1])), math.log(4 / 3) - 0.1 * entropy)
    close(EntropyPenalty(class_mean=True)(LOGITS[:1], torch.tensor([1])), math.log(4 / 3) - 0.05 * entropy)


def test_entropy_penalty_against_scipy() -> None:
    logits, y, _ = batch()
    entropy = scipy.stats.entropy(scipy.special.softmax(logits.numpy(), axis=1), axis=1)
    expected = functional.cross_entropy(logits, y, reduction="none") - 0.7 * torch.from_numpy(entropy)
    torch.testing.assert_close(EntropyPenalty(alpha=0.7)(logits, y), expected)


def test_mbls_by_hand() -> None:
    """Logits (14, 3, 0), m = 10: gaps 0, 11, 14, beyond the margin 0, 1, 4; mean 5/3, times α = 0.1."""
    logits = torch.tensor([[14.0, 3.0, 0.0]], dtype=torch.float64)
    expected = math.log(1 + math.exp(-11) + math.exp(-14)) + 0.1 * 5 / 3
    close(MbLS()(logits, torch.tensor([0])), expected)


def test_mbls_against_numpy() -> None:
    logits, _, rows = batch()
    gap = logits.numpy().max(1, keepdims=True) - logits.numpy()
    penalty = torch.from_numpy(np.maximum(0, gap - 1.5).mean(1))
    expected = functional.cross_entropy(logits, rows, reduction="none") + 0.3 * penalty
    torch.testing.assert_close(MbLS(alpha=0.3, margin=1.5)(logits, rows), expected)


@pytest.mark.parametrize(
    "loss",
    [
        CrossEntropy(),
        FocalLoss(gamma=0.0),
        FLSD(gamma=0.0, gamma_unsure=0.0),
        LabelSmoothing(alpha=0.0),
        EntropyPenalty(alpha=0.0),
        MbLS(margin=1e9),
        MbLS(alpha=0.0),
        CPC(discrimination=0.0, exclusion=0.0),
    ],
)
def test_limits_are_cross_entropy(loss: torch.nn.Module) -> None:
    logits, y, rows = batch()
    for targets in (y, rows):
        outside = functional.cross_entropy(logits, targets, reduction="none")
        torch.testing.assert_close(loss(logits, targets), outside)
