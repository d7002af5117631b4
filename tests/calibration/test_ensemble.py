"""Ensembles of predictions."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from tailormix.calibration.ensemble import disagreement, ensemble
from tailormix.calibration.predictions import Predictions
from tailormix.metrics import nll


def classifiers(seed, members=3, n=20, classes=4):
    draw = torch.Generator().manual_seed(seed)
    targets = torch.randint(classes, (n,), generator=draw)
    return [
        Predictions(
            targets=targets,
            logits=3 * torch.randn(n, classes, generator=draw),
            ids=torch.arange(n),
            split="test",
        )
        for _ in range(members)
    ]


@given(seed=st.integers(0, 10_000), members=st.integers(2, 6))
def test_the_nll_is_never_above_the_mean_of_the_members(seed, members):
    each = classifiers(seed, members)
    together = ensemble(each)
    alone = np.mean([nll(p.logits, p.targets, from_logits=True) for p in each])
    assert nll(together.logits, together.targets, from_logits=True) <= alone + 1e-9


def test_probabilities_are_averaged():
    each = classifiers(0)
    mean = torch.stack([p.logits.double().softmax(1) for p in each]).mean(0)
    torch.testing.assert_close(ensemble(each).logits.exp(), mean)
    of_probabilities = [
        Predictions(targets=p.targets, probabilities=p.logits.double().softmax(1)) for p in each
    ]
    torch.testing.assert_close(ensemble(of_probabilities).logits.exp(), mean)


def test_gaussians_are_mixed():
    """Mean and variance of a mixture, compared with draws of it."""
    members = [
        Predictions(targets=np.zeros(1), mean=np.array([mean]), std=np.array([std]))
        for mean, std in ((-1.0, 0.5), (2.0, 1.0), (0.0, 0.1))
    ]
    found = ensemble(members)
    draws = np.concatenate(
        [norm.rvs(m.mean[0], m.std[0], size=200_000, random_state=k) for k, m in enumerate(members)]
    )
    assert float(found.mean[0]) == pytest.approx(draws.mean(), abs=0.01)
    assert float(found.std[0]) == pytest.approx(draws.std(), abs=0.01)
    assert disagreement(members) == pytest.approx(np.std([-1.0, 2.0, 0.0]))


def test_members_that_do_not_fit_together_are_named():
    one, other = classifiers(0, members=2)
    with pytest.raises(ValueError, match="two members or more, got 1"):
        ensemble([one])
    with pytest.raises(ValueError, match="number 2 classification of shape"):
        ensemble([one, Predictions(targets=other.targets, logits=other.logits[:, :2])])
    with pytest.raises(ValueError, match="of one split, got 'test' and 'validation'"):
        ensemble([one, Predictions(targets=other.targets, logits=other.logits, split="validation")])
    moved = Predictions(targets=one.targets, logits=other.logits, ids=torch.arange(20) + 1, split="test")
    with pytest.raises(ValueError, match=r"same rows, but those of number 2 differ.*data\.split_seed=0"):
        ensemble([one, moved])
