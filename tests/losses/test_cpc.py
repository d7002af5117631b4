"""CPC against hand-worked values and torch's binary cross-entropy, pair by pair."""

from __future__ import annotations

import math

import pytest
import torch
from torch.nn import functional

from tailormix.losses import CPC

LOG2 = math.log(2)


def reference(z: torch.Tensor, y: int, discrimination: float, exclusion: float) -> torch.Tensor:
    """Write the definition as loops: targets 1 for right against wrong, ½ for wrong against wrong."""
    wrong = [c for c in range(len(z)) if c != y]
    count = len(wrong)
    one = z.new_ones(())
    bdc = sum(functional.binary_cross_entropy_with_logits(z[y] - z[j], one) for j in wrong) / count
    bec = sum(functional.binary_cross_entropy_with_logits(z[j] - z[k], one) for j in wrong for k in wrong) / 2
    bec = bec / (count * (count - 1)) if count > 1 else 0.0
    return functional.cross_entropy(z, torch.tensor(y)) + discrimination * bdc + exclusion * bec


def test_by_hand() -> None:
    """Logits (log 3, 0, 0), y = 0, C = 3. CE = log(5/3).

    BDC: σ(log 3) = 3/4 twice, mean log(4/3). BEC: four ordered pairs (j = k included) with σ(0) = 1/2:
    ½·4·log 2 / (2·1) = log 2. Logits 0, t = (½, ½, 0): CE = log 3, BDC = log 2, BEC = log 2 for either class.
    """
    logits = torch.tensor([[math.log(3), 0.0, 0.0]], dtype=torch.float64)
    expected = math.log(5 / 3) + 0.1 * math.log(4 / 3) + LOG2
    assert CPC()(logits, torch.tensor([0])).item() == pytest.approx(expected)
    mixed = CPC()(torch.zeros(1, 3, dtype=torch.float64), torch.tensor([[0.5, 0.5, 0.0]]))
    assert mixed.item() == pytest.approx(math.log(3) + 0.1 * LOG2 + LOG2)


@pytest.mark.parametrize("classes", [2, 3, 6])
def test_against_loops(classes: int) -> None:
    draws = torch.Generator().manual_seed(classes)
    logits = torch.randn(5, classes, generator=draws, dtype=torch.float64) * 2
    y = torch.randint(classes, (5,), generator=draws)
    expected = [reference(z, int(c), 0.3, 0.7) for z, c in zip(logits, y, strict=True)]
    torch.testing.assert_close(CPC(discrimination=0.3, exclusion=0.7)(logits, y), torch.stack(expected))


def test_a_huge_right_logit_does_not_drown_the_wrong_ones() -> None:
    """Logits (1e4, 0, log 3), y = 0: BEC = ½·(2 log 2 + log(4/3) + log 4) / 2 to single precision."""
    logits = torch.tensor([[1e4, 0.0, math.log(3)]])
    expected = (2 * LOG2 + math.log(4 / 3) + math.log(4)) / 4
    assert CPC()(logits, torch.tensor([0])).item() == pytest.approx(expected, rel=1e-6)
