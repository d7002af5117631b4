"""Remix: its three cases by hand, counting classes, and what it refuses."""

from __future__ import annotations

import pytest
import torch

from nets import Scripted, batch
from tailormix import Remix
from tailormix import coefficients as c


def targets_lam(lam: list[float], y: list[int], partner: list[int], **settings: object) -> list[float]:
    """λ of the targets, for given λ of the inputs: with α = 1 a coefficient is the uniform itself."""
    word = c.Remix(per="sample", **settings)
    plan = word(batch(torch.zeros(len(y), 1), y), torch.tensor(partner), Scripted(lam))
    assert plan.lam.tolist() == pytest.approx(lam)
    return plan.for_targets.lam.tolist()


def test_three_cases_by_hand() -> None:
    """Counts 30 and 10, κ = 3, t = 0.5: class 0 is three times as frequent as class 1, just enough.

    i    classes  N_i/N_j  λ    rule
    0    0 with 1    3     0.4  frequent, λ < t: the partner's label, 0
    1    0 with 1    3     0.6  frequent, but λ ≥ t: λ
    2    1 with 0   1/3    0.6  rare, 1-λ < t: its own label, 1
    3    1 with 0   1/3    0.4  rare, but 1-λ ≥ t: λ
    4    0 with 0    1     0.1  balanced: λ
    """
    found = targets_lam([0.4, 0.6, 0.6, 0.4, 0.1], [0, 0, 1, 1, 0], [2, 3, 0, 1, 0], counts=(30, 10))
    assert found == pytest.approx([0.0, 0.6, 1.0, 0.4, 0.1])


def test_just_below_kappa_nothing_changes() -> None:
    assert targets_lam([0.4, 0.6], [0, 1], [1, 0], counts=(29, 10)) == pytest.approx([0.4, 0.6])


def test_threshold_and_kappa_are_settings() -> None:
    """κ = 2, t = 0.2: λ = 0.1 < t gives 0, λ = 0.3 does not."""
    found = targets_lam([0.1, 0.3, 0.5], [0, 0, 1], [2, 2, 0], counts=(4, 2), kappa=2.0, threshold=0.2)
    assert found == pytest.approx([0.0, 0.3, 0.5])


def test_fit_counts_classes_unless_they_are_given() -> None:
    y = torch.tensor([0, 0, 0, 2])
    assert Remix().fit(torch.zeros(4, 1), y).coefficients.counts == (3, 0, 1)
    assert Remix(counts=(5, 5, 5)).fit(torch.zeros(4, 1), y).coefficients.counts == (5, 5, 5)


def test_soft_rows_count_like_class_indices() -> None:
    y = torch.tensor([0, 1, 0, 1])
    method = Remix(counts=(30, 10), per="sample", num_classes=2)
    x = torch.arange(4.0)[:, None]
    hard = method(x, y, generator=torch.Generator().manual_seed(0))
    soft = method(x, torch.nn.functional.one_hot(y, 2).float(), generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(hard, soft)


@pytest.mark.parametrize(
    ("method", "y", "message"),
    [
        (Remix(num_classes=2), torch.tensor([0, 1]), r"pass counts=, or call fit\(x, y\)"),
        (Remix(counts=(3, 1)), torch.tensor([0.5, 1.5]), "defined for classification, got real targets"),
        (Remix(counts=(3, 1)), torch.tensor([0, 2]), "counts must hold every class, got 2 for class 2"),
    ],
)
def test_errors(method: object, y: torch.Tensor, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        method.plan(torch.zeros(2, 1), y)


def test_bad_settings() -> None:
    for real in (torch.zeros(2), torch.zeros(2, 1), torch.tensor([[0.5, -3.0], [1.0, 2.0]])):
        with pytest.raises(ValueError, match="y must hold class indices or soft rows, got real targets"):
            Remix().fit(torch.zeros(2, 1), real)
    with pytest.raises(ValueError, match="counts must be >= 0"):
        Remix(counts=(-1, 2))
    with pytest.raises(ValueError, match="kappa must be > 0"):
        Remix(kappa=-1)
