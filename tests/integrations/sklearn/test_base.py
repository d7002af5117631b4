"""Rows held out: how many, and of which classes."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tailormix.integrations.sklearn.base import held_out


@given(st.lists(st.integers(0, 4), min_size=4, max_size=200), st.floats(0.01, 0.5), st.integers(0, 99))
def test_classes_keep_their_shares(labels: list[int], fraction: float, seed: int) -> None:
    """Rows in the order of their classes, each step-th taken: at most one row more or less than the share.

    As many rows as the fraction says, or one for each class of two rows or more, but half of them at most;
    of every class some row is left to train on.
    """
    y = np.array(labels)
    counts = np.bincount(y, minlength=5)
    shared = np.where(counts > 1, counts, 0)
    least = max(2, int((shared > 0).sum()))
    assume(shared.sum() >= 4)
    mask = held_out(y, fraction, np.random.RandomState(seed), classes=5)
    held = np.bincount(y[mask], minlength=5)
    assert mask.sum() == min(max(round(fraction * shared.sum()), least), shared.sum() // 2)
    assert (np.abs(held - shared * mask.sum() / shared.sum()) <= 1 + 1e-9).all()
    assert (held < np.maximum(counts, 1)).all()


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


@pytest.mark.parametrize("rows", [4, 6, 12])
def test_a_small_share_grows_to_what_is_needed(rows: int) -> None:
    """A hundredth of them is no row at all: 2 are held out, one of each class or half of the range."""
    y = np.arange(rows) % 2
    assert sorted(y[held_out(y, 0.01, np.random.RandomState(0), classes=2)]) == [0, 1]
    mask = held_out(np.arange(rows)[:, None], 0.01, np.random.RandomState(0), classes=None)
    assert mask.reshape(2, -1).sum(1).tolist() == [1, 1]
