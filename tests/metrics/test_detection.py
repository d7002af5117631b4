"""Detection of unknown inputs against scikit-learn."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score, roc_curve

from tailormix.metrics.detection import auroc, fpr95

scores = st.lists(st.integers(0, 20).map(lambda k: k / 20), min_size=1, max_size=30)


@given(scores, scores)
def test_auroc_is_scikit_learns_ties_included(known: list[float], unknown: list[float]) -> None:
    labels = [1] * len(known) + [0] * len(unknown)
    assert auroc(np.array(known), np.array(unknown)) == pytest.approx(roc_auc_score(labels, known + unknown))


def test_fpr95_is_on_scikit_learns_curve() -> None:
    random = np.random.default_rng(0)
    known, unknown = random.normal(1, 1, 2000), random.normal(0, 1, 1000)
    fpr, tpr, _ = roc_curve([1] * 2000 + [0] * 1000, np.concatenate([known, unknown]))
    assert fpr95(known, unknown) == pytest.approx(fpr[np.searchsorted(tpr, 0.95)], abs=5e-3)


@pytest.mark.parametrize("bad", [np.array([]), np.array([np.nan]), np.ones((2, 2))])
def test_scores_that_are_none(bad: np.ndarray) -> None:
    with pytest.raises(ValueError, match=r"unknown must hold one finite score per input, \(n,\), got shape"):
        auroc(np.ones(3), bad)
