"""Who is mixed with whom."""

import pytest
import torch
from tailormix.draws import Draws

from tailormix.batch import Batch, Pool
from tailormix.pairs import RandomPairs, SelfPairs


def draws(seed: int = 0) -> Draws:
    return Draws(torch.device("cpu"), torch.Generator().manual_seed(seed))


def batch(n: int, pool: Pool | None = None) -> Batch:
    return Batch(torch.rand(n, 2), torch.zeros(n, dtype=torch.long), pool=pool)


@pytest.mark.parametrize("n", [1, 2, 3, 128])
def test_random_pairs_are_a_permutation(n: int) -> None:
    partner = RandomPairs()(batch(n), draws())
    assert partner.sort().values.tolist() == list(range(n))


def test_random_pairs_from_the_pool() -> None:
    pool = Pool(torch.rand(1000, 2), torch.zeros(1000))
    words = RandomPairs("pool")
    assert words.pooled
    assert not RandomPairs().pooled
    partner = words(batch(500, pool), draws())
    assert partner.shape == (500,)
    assert bool((partner >= 0).all())
    assert bool((partner < 1000).all())
    assert partner.unique().numel() < 500  # with replacement: 500 of 1000 without a repeat has chance e^-150
    assert bool((partner >= 500).any())


def test_self_pairs() -> None:
    assert SelfPairs()(batch(4), draws()).tolist() == [0, 1, 2, 3]


def test_unknown_source() -> None:
    with pytest.raises(ValueError, match=r"unknown source 'pol'; did you mean 'pool'\?"):
        RandomPairs("pol")
