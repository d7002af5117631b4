"""Splits: disjoint, complete, stratified, seeded; batches from anywhere; and the fingerprint."""

import hashlib
import struct

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import StratifiedShuffleSplit

from tailormix.data import load
from tailormix.data.pixels import ImageTransform, normalisation
from tailormix.data.splits import MemorySplit, fingerprint, hold_out, share, three_ways, train_rows

labelled = st.lists(st.integers(0, 4), min_size=1, max_size=60).map(torch.tensor)


@given(labels=labelled, portion=st.floats(0, 1), seed=st.integers(0, 2**32), stratify=st.booleans())
def test_hold_out_cuts_in_two(labels: torch.Tensor, portion: float, seed: int, stratify: bool) -> None:
    n = len(labels)
    size = share("portion", portion, n)
    kept, held = hold_out(n, size, seed, labels if stratify else None)
    assert torch.cat([kept, held]).sort().values.tolist() == list(range(n))
    assert len(held) == size
    assert held.tolist() == sorted(held.tolist())


@given(labels=labelled, portion=st.floats(0, 1), seed=st.integers(0, 100))
def test_every_class_gives_its_share(labels: torch.Tensor, portion: float, seed: int) -> None:
    size = share("portion", portion, len(labels))
    _, held = hold_out(len(labels), size, seed, labels)
    exact = torch.bincount(labels, minlength=5) * size / len(labels)
    assert ((torch.bincount(labels[held], minlength=5) - exact).abs() < 1).all()


def test_counts_agree_with_scikit_learn() -> None:
    labels = torch.tensor([0] * 50 + [1] * 30 + [2] * 20)
    _, held = hold_out(100, 20, 0, labels)
    ((_, theirs),) = StratifiedShuffleSplit(1, test_size=20, random_state=0).split(labels, labels)
    assert torch.bincount(labels[held]).tolist() == torch.bincount(labels[theirs]).tolist() == [10, 6, 4]


@given(labels=labelled, validation=st.floats(0, 0.5), test=st.floats(0, 0.5), seed=st.integers(0, 100))
def test_three_ways_partition(labels: torch.Tensor, validation: float, test: float, seed: int) -> None:
    parts = three_ways(len(labels), seed, validation, test, labels)
    assert torch.cat(parts).sort().values.tolist() == list(range(len(labels)))


def test_limit_keeps_rows_out_of_both_parts() -> None:
    labels = torch.arange(1000) % 10
    kept, held = train_rows(labels, 0, 0.1, 200)
    assert (len(kept), len(held)) == (180, 20)
    assert not set(kept.tolist()) & set(held.tolist())
    assert torch.bincount(labels[kept]).tolist() == [18] * 10


def test_fingerprint_is_sha256_of_little_endian_numbers() -> None:
    expected = hashlib.sha256(struct.pack("<3q", 7, 0, 2**40)).hexdigest()
    assert fingerprint(torch.tensor([7, 0, 2**40])) == expected


def test_impossible_sizes() -> None:
    with pytest.raises(ValueError, match="size must be <= 5 rows, got 6"):
        hold_out(5, 6, 0)
    with pytest.raises(ValueError, match="size must be >= 0, got -1"):
        hold_out(5, -1, 0)
    with pytest.raises(ValueError, match="inputs, targets and ids must have equal lengths, got 2, 3 and 2"):
        MemorySplit(torch.zeros(2, 1), torch.zeros(3), torch.arange(2))


@pytest.mark.parametrize("augment", [False, True])
def test_batches_can_start_anywhere(augment: bool) -> None:
    images = torch.randint(256, (6, 3, 5, 7), dtype=torch.uint8, generator=torch.Generator().manual_seed(1))
    transform = ImageTransform(*normalisation([0.5] * 3, [0.2] * 3), pad=2, flip=True) if augment else None
    source = MemorySplit(images, torch.arange(6), torch.arange(100, 106), transform)
    plan = [(torch.tensor([k, 5 - k]), 10 + k) for k in range(4)]
    whole = list(source.batches(plan))
    for k, (x, y) in enumerate(source.batches(plan[2:])):
        assert torch.equal(x, whole[2 + k][0])
        assert torch.equal(y, whole[2 + k][1])
    assert torch.equal(whole[1][0], source.batch(plan[1][0], torch.Generator().manual_seed(11))[0])


def test_seeds_decide_and_are_recorded() -> None:
    first, again, other = (load("digits", seed=seed).fingerprints for seed in (1, 1, 2))
    assert first == again
    assert all(first[part] != other[part] for part in ("train", "validation", "test"))


def test_moving_moves_everything() -> None:
    splits = load("digits").to("meta")
    assert {part.targets.device.type for part in (splits.train, splits.validation, splits.test)} == {"meta"}
    assert splits.train.batch(torch.tensor([1]))[0].device.type == "meta"
