"""Augmentation, memory and window splits against plain loops and numpy."""

import numpy as np
import pytest
import torch
from numpy.lib.stride_tricks import sliding_window_view

from tailormix.data.augment import ImageTransform, crop, normalisation
from tailormix.data.series import WindowSplit, series_splits
from tailormix.data.splits import MemorySplit
from tailormix.data.tables import scale_columns

MEAN, STD = (0.5, 0.4, 0.3), (0.2, 0.3, 0.4)


def images(n: int = 6) -> torch.Tensor:
    return torch.randint(256, (n, 3, 5, 7), dtype=torch.uint8, generator=torch.Generator().manual_seed(1))


def split(**options: object) -> MemorySplit:
    transform = ImageTransform(*normalisation(MEAN, STD), **options)
    return MemorySplit(images(), torch.arange(6), torch.arange(100, 106), transform)


def test_crop_is_numpy_padding_and_slicing() -> None:
    x, top, left = images(), torch.tensor([0, 1, 2, 3, 4, 2]), torch.tensor([4, 3, 2, 1, 0, 2])
    padded = np.pad(x.numpy(), ((0, 0), (0, 0), (2, 2), (2, 2)))
    expected = np.stack(
        [padded[k, :, t : t + 5, u : u + 7] for k, (t, u) in enumerate(zip(top, left, strict=True))]
    )
    assert (crop(x, top, left, 2).numpy() == expected).all()


def test_normalisation_is_the_formula() -> None:
    x = images()
    expected = (x.double() / 255 - torch.tensor(MEAN).double()[:, None, None]) / torch.tensor(STD).double()[
        :, None, None
    ]
    torch.testing.assert_close(split().batch(torch.arange(6))[0], expected.float())


def test_every_augmented_image_is_a_shifted_or_mirrored_one(generator: torch.Generator) -> None:
    source = split(pad=1, flip=True)
    plain = ImageTransform(*normalisation(MEAN, STD))
    x, _ = source.batch(torch.zeros(200, dtype=torch.long), generator)
    shifts = torch.cartesian_prod(torch.arange(3), torch.arange(3))
    shifted = crop(images()[:1].expand(9, -1, -1, -1), shifts[:, 0], shifts[:, 1], 1)
    allowed = plain(torch.cat([shifted, shifted.flip(3)])).flatten(1)
    equal = (x.flatten(1)[:, None] == allowed).all(2)
    assert equal.any(1).all()
    assert equal.any(0).all()  # all 18 variants come up in 200 draws


def test_equal_generators_give_equal_bits_and_leave_the_global_one_alone() -> None:
    source, indices = split(pad=2, flip=True), torch.tensor([5, 0, 0, 3])
    before = torch.get_rng_state()
    first, again, other = (source.batch(indices, torch.Generator().manual_seed(s))[0] for s in (1, 1, 2))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert torch.equal(torch.get_rng_state(), before)


def test_batches_can_start_anywhere() -> None:
    source = split(pad=2, flip=True)
    plan = [(torch.tensor([k, 5 - k]), 10 + k) for k in range(4)]
    whole = list(source.batches(plan))
    for k, (x, y) in enumerate(source.batches(plan[2:])):
        assert torch.equal(x, whole[2 + k][0])
        assert torch.equal(y, whole[2 + k][1])
    assert torch.equal(whole[1][0], source.batch(plan[1][0], torch.Generator().manual_seed(11))[0])


def test_batch_looks_at_no_value() -> None:
    """On the meta device any look at a value raises: so none synchronises a real device."""
    moved = split(pad=2, flip=True).to("meta")
    assert moved.batch(torch.tensor([0, 1]))[0].shape == (2, 3, 5, 7)
    windows = WindowSplit(torch.zeros(30, 2), torch.arange(10, 30), 4, 2).to("meta")
    assert windows.batch(torch.tensor([0, 1]))[0].shape == (2, 4, 2)


def test_lengths_must_agree() -> None:
    with pytest.raises(ValueError, match="inputs, targets and ids must be equally many, got 2, 3 and 2"):
        MemorySplit(torch.zeros(2, 1), torch.zeros(3), torch.arange(2))


def test_windows_are_numpy_sliding_windows(generator: torch.Generator) -> None:
    values = torch.randn(40, 3, generator=generator)
    source = WindowSplit(values, torch.arange(9, 40), window=6, horizon=4)
    x, y = source.batch(torch.arange(len(source)))
    expected = sliding_window_view(values.numpy(), 6, axis=0).transpose(0, 2, 1)[:31]
    np.testing.assert_array_equal(x.numpy(), expected)
    torch.testing.assert_close(y, values[9:])
    torch.testing.assert_close(source.targets, values[9:])


def test_windows_share_the_values() -> None:
    splits = series_splits("s", torch.rand(100, 2, dtype=torch.float64) + 1, 5, 2, "clean")
    pointers = {part.values.data_ptr() for part in (splits.train, splits.validation, splits.test)}
    assert len(pointers) == 1


def test_windows_never_start_before_the_series() -> None:
    with pytest.raises(ValueError, match=r"ids must be >= window \+ horizon - 1 = 9, got 8"):
        WindowSplit(torch.zeros(40, 3), torch.arange(8, 40), window=6, horizon=4)


def test_series_shorter_than_its_window() -> None:
    with pytest.raises(ValueError, match=r"window \+ horizon must be <= 12 training rows, got 14"):
        series_splits("s", torch.ones(20, 1), 10, 4, "clean")


def test_scaling_uses_the_named_rows_and_survives_constants() -> None:
    features = torch.tensor([[0.0, 5.0], [2.0, 5.0], [100.0, 9.0]])
    scaled = scale_columns(features, torch.tensor([0, 1]), "standard")
    assert scaled.tolist() == [[-1.0, 0.0], [1.0, 0.0], [99.0, 4.0]]


@pytest.mark.parametrize("size", [2, 3, 16, 40])
def test_small_batches_are_the_same_from_anywhere_in_an_epoch(size: int) -> None:
    """Also where they begin in memory, on which the rounding of matrix products depends."""
    rows = MemorySplit(torch.rand(90, 5), torch.rand(90, 1), torch.arange(90))
    plan = [
        (indices, 0) for indices in torch.randperm(90, generator=torch.Generator().manual_seed(0)).split(size)
    ]
    whole = list(rows.batches(plan))
    assert len(whole) == len(plan)
    for first in range(len(plan)):
        rest = list(rows.batches(iter(plan[first:])))
        for (x, y), (same_x, same_y), (indices, _) in zip(rest, whole[first:], plan[first:], strict=True):
            assert torch.equal(x, same_x)
            assert torch.equal(y, same_y)
            assert torch.equal(x, rows.inputs[indices])
            assert {each.data_ptr() % 64 for each in (x, y, same_x, same_y)} == {0}


@pytest.mark.parametrize(("size", "pieces"), [(16, 1), (15, 5)])
def test_batches_are_cut_from_one_piece_where_that_is_safe(size: int, pieces: int) -> None:
    rows = MemorySplit(torch.rand(64, 5), torch.rand(64, 1), torch.arange(64))
    found = list(rows.batches([(indices, 0) for indices in torch.arange(64).split(size)]))
    assert len({x.untyped_storage().data_ptr() for x, _ in found}) == pieces
