"""Label-density pairs (C-Mixup): probabilities against the definition and scikit-learn, and memory."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from scipy import stats
from sklearn.neighbors import KernelDensity
from tailormix.draws import Draws
from torch.utils._python_dispatch import TorchDispatchMode

from nets import Scripted, batch, seeded
from tailormix import CMixup
from tailormix.batch import Pool
from tailormix.pairs import LabelDensity, density

CPU = torch.device("cpu")


def drawn(labels: torch.Tensor, row: int, bandwidth: float, times: int) -> torch.Tensor:
    """Partners of many copies of one training sample, drawn from the whole training set."""
    y = labels[row].expand(times, *labels.shape[1:])
    data = batch(torch.zeros(times, 1), y, pool=Pool(torch.zeros(len(labels), 1), labels))
    return LabelDensity(bandwidth)(data, Draws(CPU, seeded()))


def test_weights_by_hand() -> None:
    """Labels 0 and 2 with h = 1: exp(0) = 1 and exp(-4/2) = e⁻²; with h = 2: exp(-4/8) = e^-½."""
    points, labels = torch.tensor([[0.0]]), torch.tensor([[0.0], [2.0]])
    torch.testing.assert_close(
        density(points, labels, 1.0), torch.tensor([[1.0, math.exp(-2)]], dtype=torch.float64)
    )
    torch.testing.assert_close(
        density(points, labels, 2.0), torch.tensor([[1.0, math.exp(-0.5)]], dtype=torch.float64)
    )


@pytest.mark.parametrize("shape", [(6,), (6, 1), (6, 3)])
def test_frequencies_follow_the_definition(shape: tuple[int, ...]) -> None:
    labels = torch.randn(shape, generator=seeded(1))
    gap = (labels.reshape(6, -1) - labels[2].reshape(1, -1)).square().sum(1).double()
    weight = (-gap / (2 * 0.8**2)).exp().numpy()
    counts = torch.bincount(drawn(labels, 2, 0.8, 20_000), minlength=6).numpy()
    assert stats.chisquare(counts, 20_000 * weight / weight.sum()).pvalue > 1e-3


def test_raw_decibels_with_a_narrow_bandwidth_equal_kernel_density() -> None:
    """The published way: one KernelDensity a training point, scored on all labels."""
    rng = np.random.default_rng(0)
    labels = np.round(rng.normal(125, 7, 200), 3)
    labels[50:100] = labels[:50] + rng.choice([0, 0.004, 0.013], 50)
    rows = torch.from_numpy(labels.astype(np.float32))[:, None].double()
    ours = density(rows[:20], rows, 0.01).numpy()
    for i in range(20):
        kernel = KernelDensity(kernel="gaussian", bandwidth=0.01).fit(rows[i : i + 1].numpy())
        theirs = np.exp(kernel.score_samples(rows.numpy()))
        np.testing.assert_allclose(ours[i] / ours[i].sum(), theirs / theirs.sum(), rtol=1e-9, atol=1e-25)


def test_raw_decibels_are_drawn_in_full_precision() -> None:
    """In float32, 120.004 and 120.014 differ by one bandwidth of 0.01: weights 1 and e^-½ from the first."""
    labels = torch.tensor([120.004, 120.014, 126.0])
    gap = float(labels[1].double() - labels[0].double())
    weight = np.array([1.0, math.exp(-((gap / 0.01) ** 2) / 2)])
    counts = torch.bincount(drawn(labels, 0, 0.01, 20_000), minlength=3).numpy()
    assert counts[2] == 0
    assert stats.chisquare(counts[:2], 20_000 * weight / weight.sum()).pvalue > 1e-3


def test_a_label_far_from_all_others_takes_the_nearest() -> None:
    """exp(-10⁸/2) underflows to 0 for everybody; relative to the nearest one it does not."""
    labels = torch.tensor([0.0, 1.0, 2.0])
    data = batch(torch.zeros(4, 1), torch.full((4,), 1e4), pool=Pool(torch.zeros(3, 1), labels))
    assert LabelDensity(1.0)(data, Draws(CPU)).tolist() == [2, 2, 2, 2]


def test_what_has_no_weight_is_never_drawn() -> None:
    """Weights 0, 0, 1 (underflowed) and a uniform draw of exactly 0: still the third."""
    data = batch(
        torch.zeros(1, 1), torch.tensor([5.0]), pool=Pool(torch.zeros(3, 1), torch.tensor([0.0, 1.0, 5.0]))
    )
    assert LabelDensity(1e-3)(data, Scripted([0.0])).tolist() == [2]


class Largest(TorchDispatchMode):
    """Keeps the greatest number of entries of any tensor that is made."""

    entries = 0

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = function(*args, **(kwargs or {}))
        for value in result if isinstance(result, (tuple, list)) else (result,):
            if isinstance(value, torch.Tensor):
                self.entries = max(self.entries, value.numel())
        return result


def test_no_table_of_all_pairs_is_ever_formed() -> None:
    n, size = 8, 3000
    x, y = torch.randn(size, 2), torch.randn(size)
    with Largest() as largest:
        method = CMixup(bandwidth=0.1).fit(x, y)
        method.loss(torch.nn.Sequential(torch.nn.Linear(2, 1), torch.nn.Flatten(0)), x[:n], y[:n])
    assert n * size <= largest.entries <= 2 * n * size


def test_partners_within_the_batch_need_no_pool() -> None:
    y = torch.tensor([0.0, 0.0, 9.0, 9.0])
    partner = CMixup(bandwidth=0.1, partners="batch").plan(torch.zeros(4, 1), y).partner
    assert set(partner[:2].tolist()) <= {0, 1}
    assert set(partner[2:].tolist()) <= {2, 3}


def test_errors() -> None:
    with pytest.raises(ValueError, match=r"call fit\(x, y\)"):
        CMixup().plan(torch.zeros(2, 1), torch.zeros(2))
    with pytest.raises(ValueError, match="need real targets, got class labels"):
        CMixup(partners="batch").plan(torch.zeros(2, 1), torch.tensor([0, 1]))
    with pytest.raises(ValueError, match="bandwidth must be > 0, got 0"):
        CMixup(bandwidth=0)
    with pytest.raises(ValueError, match="did you mean 'pool'"):
        CMixup(partners="pol")
