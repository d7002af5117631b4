"""Rows held out: how many, of which classes, and when there are too few."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailormix.sklearn.splitting import held_out


@given(st.lists(st.integers(0, 4), min_size=40, max_size=200), st.floats(0.15, 0.5), st.integers(0, 99))
def test_classes_keep_their_shares(labels: list[int], fraction: float, seed: int) -> None:
    """Rows in the order of their classes, each step-th taken: at most one row more or less than the share."""
    y = np.array(labels)
    mask = held_out(y, fraction, np.random.RandomState(seed), classes=5)
    assert mask.sum() == round(fraction * len(y))
    counts, held = np.bincount(y, minlength=5), np.bincount(y[mask], minlength=5)
    shared = np.where(counts > 1, counts, 0)
    assert (np.abs(held - shared * mask.sum() / shared.sum()) <= 1 + 1e-9).all()
    assert (held < np.maximum(counts, 1)).all()


def test_the_only_row_of_a_class_is_trained_on() -> None:
    y = np.array([0] * 10 + [1] * 10 + [2])
    for seed in range(20):
        assert not held_out(y, 0.5, np.random.RandomState(seed), classes=3)[-1]


def test_real_targets_are_held_out_over_their_range() -> None:
    """100 sorted targets, a fifth held out: one of each five neighbours."""
    y = np.arange(100.0)[:, None]
    mask = held_out(y, 0.2, np.random.RandomState(0), classes=None)
    assert (mask.reshape(20, 5).sum(1) == 1).all()


def test_one_seed_one_split() -> None:
    y = np.arange(50) % 3
    one, same, other = (held_out(y, 0.2, np.random.RandomState(seed), classes=3) for seed in (1, 1, 2))
    assert (one == same).all()
    assert (one != other).any()


@pytest.mark.parametrize(("rows", "classes"), [(12, 3), (4, None)])
def test_too_few_rows_say_so(rows: int, classes: int | None) -> None:
    """A fifth of 12 rows is 2, for 3 classes; a fifth of 4 rows is 1."""
    y = np.arange(rows) % 3 if classes else np.arange(float(rows))[:, None]
    with pytest.raises(ValueError, match=rf"n_samples={rows} leaves \d rows for validation"):
        held_out(y, 0.2, np.random.RandomState(0), classes=classes)
