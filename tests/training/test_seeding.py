"""Which rows make which step."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tailormix.training import Sampler
from tailormix.training.seeding import Stream, derive


@given(rows=st.integers(1, 60), batch=st.integers(1, 20), ranks=st.integers(1, 4), drop=st.booleans())
def test_ranks_share_every_global_batch_without_overlap(
    rows: int, batch: int, ranks: int, drop: bool
) -> None:
    if batch < ranks or (rows < batch and (drop or rows < ranks)):
        with pytest.raises(ValueError, match="batch must be"):
            Sampler(rows, batch, 0, drop, 0, ranks)
        return
    samplers = [Sampler(rows, batch, 0, drop, rank, ranks) for rank in range(ranks)]
    plans = [sampler.plan(3) for sampler in samplers]
    whole = samplers[0].batches(3)
    for step, parts in enumerate(zip(*plans, strict=True)):
        assert torch.equal(torch.cat([part for part, _ in parts]), whole[step])
        assert max(len(part) for part, _ in parts) - min(len(part) for part, _ in parts) <= 1
        assert len({seed for _, seed in parts}) == ranks
        weights = [sampler.weight(step) for sampler in samplers]
        assert weights == pytest.approx([len(part) * ranks / len(whole[step]) for part, _ in parts])
    seen = torch.cat(whole)
    assert len(seen.unique()) == len(seen) >= rows - (batch - 1 if drop else ranks - 1)


def test_a_plan_from_the_middle_is_the_end_of_the_whole_plan() -> None:
    sampler = Sampler(23, 5, 7)
    for (rows, seed), (again, same) in zip(sampler.plan(2)[3:], sampler.plan(2, 3), strict=True):
        assert torch.equal(rows, again)
        assert seed == same


def test_epochs_and_seeds_have_their_own_orders() -> None:
    orders = [Sampler(50, 5, seed).order(epoch) for seed in (0, 1) for epoch in (0, 1)]
    assert len({tuple(order.tolist()) for order in orders}) == 4


def test_streams_and_positions_never_share_a_seed() -> None:
    found = {derive(seed, stream, at) for seed in range(3) for stream in Stream for at in range(3)}
    assert len(found) == 3 * len(Stream) * 3
    assert all(0 <= value < 2**63 for value in found)
