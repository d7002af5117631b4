"""Folds against scikit-learn's; the test rows are in none of them."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import KFold, StratifiedKFold

from tailormix.data import DataSplits, load
from tailormix.data.pixels import Augmentation, file_split
from tailormix.data.registry import fold_splits, series_fold, stratified_fold, table_fold
from tailormix.data.series import series_splits


def ids_of(splits: DataSplits) -> tuple[set[int], set[int]]:
    return set(splits.train.ids.tolist()), set(splits.validation.ids.tolist())


@pytest.mark.parametrize("name", ["moons", "digits"])
def test_ten_folds_share_out_the_rows_and_leave_the_test_rows_alone(name: str) -> None:
    whole = load(name, seed=3)
    held: list[int] = []
    for number in range(1, 11):
        splits = load(name, seed=3, fold=f"{number}/10")
        train, validation = ids_of(splits)
        assert len(splits.test) == 0
        assert splits.input_shape == whole.input_shape
        assert train.isdisjoint(validation)
        assert train | validation == set.union(*ids_of(whole))
        assert (train | validation).isdisjoint(whole.test.ids.tolist())
        held += validation
    assert sorted(held) == sorted(set.union(*ids_of(whole)))


def test_rows_keep_their_inputs_and_targets_and_training_rows_their_augmentation() -> None:
    whole, part = load("digits"), load("digits", fold="2/10")
    rows = {
        i: (image, target)
        for half in (whole.train, whole.validation)
        for i, image, target in zip(half.ids.tolist(), half.inputs, half.targets, strict=True)
    }
    for half in (part.train, part.validation):
        for i, image, target in zip(half.ids.tolist(), half.inputs, half.targets, strict=True):
            assert torch.equal(image, rows[i][0])
            assert target == rows[i][1]
    assert part.train.transform.pad == whole.train.transform.pad == 1
    assert part.validation.transform.pad == 0


@given(
    labels=st.lists(st.integers(0, 3), min_size=10, max_size=60).map(torch.tensor), seed=st.integers(0, 99)
)
def test_every_fold_has_its_share_of_every_class(labels: torch.Tensor, seed: int) -> None:
    """As scikit-learn's stratified folds: sizes and class counts differ by one at most."""
    folds = [stratified_fold(labels, number, 5, seed)[1] for number in range(1, 6)]
    counts = torch.stack([torch.bincount(labels[fold], minlength=4) for fold in folds])
    assert (counts.amax(0) - counts.amin(0) <= 1).all()
    sizes = counts.sum(1)
    assert sizes.max() - sizes.min() <= 1


def test_stratified_counts_are_scikit_learns() -> None:
    labels = torch.tensor([0] * 50 + [1] * 30 + [2] * 20)
    theirs = [torch.bincount(labels[held]).tolist() for _, held in StratifiedKFold(10).split(labels, labels)]
    ours = [torch.bincount(labels[stratified_fold(labels, k, 10, 0)[1]]).tolist() for k in range(1, 11)]
    assert ours == theirs == [[5, 3, 2]] * 10


def test_tables_are_five_folds_of_the_shuffled_rows() -> None:
    """1303 rows that are no test rows: the first 1003 outside the fold train, the other 300 validate."""
    order = torch.randperm(1303, generator=torch.Generator().manual_seed(7)).numpy()
    for number, (others, held) in enumerate(KFold(5).split(order), start=1):
        kept, rest = table_fold(1303, number, 5, 1003, seed=7)
        assert kept.tolist() == order[others[:1003]].tolist()
        assert rest.tolist() == order[others[1003:]].tolist() + order[held].tolist()
        assert len(rest) == 300


def test_series_are_four_folds_of_the_training_windows() -> None:
    values = torch.rand(300, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    whole = series_splits("test", values, 8, 2, "clean")
    for number, (others, _) in enumerate(KFold(4).split(np.arange(len(whole.train))), start=1):
        part = fold_splits(whole, f"{number}/4", seed=0)
        cut = 2 * len(others) // 3
        assert part.train.ids.tolist() == whole.train.ids[others[:cut]].tolist()
        assert part.validation.ids.tolist() == whole.train.ids[others[cut:]].tolist()
        assert len(part.test) == 0
    assert [len(part) for part in series_fold(4373, 1, 4)] == [2186, 1093]


def test_streamed_files_are_taken_by_path() -> None:
    files = tuple(f"{k}.png" for k in range(20)), torch.arange(20) % 2
    rows = torch.arange(20).split([12, 4, 4])
    parts = [file_split(files, one, 8, Augmentation(crop=k == 0)) for k, one in enumerate(rows)]
    part = fold_splits(DataSplits("test", "classification", *parts, 2), "1/4", seed=0)
    for split in (part.train, part.validation):
        assert list(split.paths) == [f"{row}.png" for row in split.ids.tolist()]
    assert (len(part.train), len(part.validation), len(part.test)) == (12, 4, 0)
    assert part.train.decoder.augment.crop
    assert not part.validation.decoder.augment.crop


@pytest.mark.parametrize("wrong", ["0/4", "5/4", "1/1", "1", "a/b", "1/4/2", 3, "1/401"])
def test_wrong_folds(wrong: str) -> None:
    many = wrong == "1/401"
    message = "fold must have K <= 400, the rows to share out" if many else "fold must be like 1/10"
    with pytest.raises(ValueError, match=message):
        load("moons", fold=wrong)
