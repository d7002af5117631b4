"""Crops, flips and normalisation against numpy; files that are decoded, by workers that change nothing."""

from pathlib import Path

import numpy as np
import PIL.Image
import PIL.ImageEnhance
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tailormix.data import DataError, DataSplits, load
from tailormix.data.pixels import (
    DRAWS,
    IMAGENET_MEAN_STD,
    Augmentation,
    Decoder,
    ImageTransform,
    central_crop,
    crop,
    crop_box,
    file_split,
    normalisation,
    open_image,
    read_images,
    relight,
)

MEAN, STD = (0.5, 0.4, 0.3), (0.2, 0.3, 0.4)


def images(n: int = 6) -> torch.Tensor:
    return torch.randint(256, (n, 3, 5, 7), dtype=torch.uint8, generator=torch.Generator().manual_seed(1))


def test_crop_is_numpy_padding_and_slicing() -> None:
    x, top, left = images(), torch.tensor([0, 1, 2, 3, 4, 2]), torch.tensor([4, 3, 2, 1, 0, 2])
    padded = np.pad(x.numpy(), ((0, 0), (0, 0), (2, 2), (2, 2)))
    expected = np.stack(
        [padded[k, :, t : t + 5, u : u + 7] for k, (t, u) in enumerate(zip(top, left, strict=True))]
    )
    assert (crop(x, top, left, 2).numpy() == expected).all()


def test_normalisation_is_the_formula() -> None:
    x = images()
    mean, std = (torch.tensor(values).double()[:, None, None] for values in (MEAN, STD))
    expected = (x.double() / 255 - mean) / std
    torch.testing.assert_close(ImageTransform(*normalisation(MEAN, STD))(x), expected.float())


def test_every_augmented_image_is_a_shifted_or_mirrored_one(generator: torch.Generator) -> None:
    constants = normalisation(MEAN, STD)
    x = ImageTransform(*constants, pad=1, flip=True)(images(1).expand(200, -1, -1, -1), generator)
    shifts = torch.cartesian_prod(torch.arange(3), torch.arange(3))
    shifted = crop(images(1).expand(9, -1, -1, -1), shifts[:, 0], shifts[:, 1], 1)
    allowed = ImageTransform(*constants)(torch.cat([shifted, shifted.flip(3)])).flatten(1)
    equal = (x.flatten(1)[:, None] == allowed).all(2)
    assert equal.any(1).all()
    assert equal.any(0).all()  # all 18 variants come up in 200 draws


def test_equal_generators_give_equal_bits_and_no_value_is_read() -> None:
    """The global generator stays as it is; on the meta device reading a value would raise."""
    augment, x = ImageTransform(*normalisation(MEAN, STD), pad=2, flip=True, jitter=0.4), images()
    before = torch.get_rng_state()
    first, again, other = (augment(x, torch.Generator().manual_seed(s)) for s in (1, 1, 2))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert torch.equal(torch.get_rng_state(), before)
    assert augment.to("meta")(x.to("meta")).shape == (6, 3, 5, 7)


def test_jitter_is_pillows_brightness_and_contrast() -> None:
    """Of grey images; pillow cuts off decimals after each of the two, and rounds the mean."""
    x = torch.randint(256, (20, 1, 6, 5), dtype=torch.uint8, generator=torch.Generator().manual_seed(3))
    brightness, contrast = torch.rand(2, 20, 1, 1, 1, generator=torch.Generator().manual_seed(4)) + 0.5
    for image, dark, flat, found in zip(
        x, brightness, contrast, relight(x, brightness, contrast), strict=True
    ):
        picture = PIL.ImageEnhance.Brightness(PIL.Image.fromarray(image[0].numpy())).enhance(dark.item())
        expected = np.asarray(PIL.ImageEnhance.Contrast(picture).enhance(flat.item()))
        np.testing.assert_allclose(found[0].numpy(), expected, atol=3)


def test_jitter_draws_factors_of_each_image_from_its_range(generator: torch.Generator) -> None:
    """Of an image of one value only its brightness changes; contrast moves the rest around the mean."""
    flat = torch.full((2000, 1, 2, 2), 100, dtype=torch.uint8)
    lit = ImageTransform(*normalisation([0.0], [1.0]), jitter=0.4)(flat, generator)[:, 0, 0, 0] * 2.55
    assert 0.6 <= lit.min() < 0.61
    assert 1.39 < lit.max() <= 1.4
    pair = torch.tensor([[[[80, 120]]]], dtype=torch.uint8).expand(2000, -1, -1, -1)
    x = ImageTransform(*normalisation([0.0], [1.0]), jitter=0.4)(pair, generator)[:, 0, 0]
    ratio = (x[:, 1] - x[:, 0]) / (x[:, 1] + x[:, 0]) * 5  # contrast alone
    assert 0.6 - 1e-5 <= ratio.min() < 0.61
    assert 1.39 < ratio.max() <= 1.4 + 1e-5


@pytest.fixture
def pictures(tmp_path: Path) -> DataSplits:
    """Three classes of ten noisy images of different sizes; one of them is grey."""
    draw = np.random.default_rng(0)
    for label in ("a", "b", "c"):
        (tmp_path / label).mkdir()
        for k in range(10):
            pixels = draw.integers(0, 256, (20 + k, 30 - k, 3), dtype=np.uint8)
            PIL.Image.fromarray(pixels).save(tmp_path / label / f"{k}.png")
    PIL.Image.fromarray(np.zeros((16, 16), np.uint8)).save(tmp_path / "a" / "0.png")
    return load("folder", path=tmp_path, image_size=16, augment="crop-flip-jitter")


def test_folder_splits(pictures: DataSplits) -> None:
    assert [len(part) for part in (pictures.train, pictures.validation, pictures.test)] == [21, 3, 6]
    assert (pictures.class_names, pictures.outputs, pictures.input_shape) == (("a", "b", "c"), 3, (3, 16, 16))
    for part, each in ((pictures.train, 7), (pictures.validation, 1), (pictures.test, 2)):
        assert torch.bincount(part.targets).tolist() == [each] * 3
    paths = [path for part in (pictures.train, pictures.validation, pictures.test) for path in part.paths]
    assert len(set(paths)) == 30


def test_workers_change_nothing(pictures: DataSplits) -> None:
    plan = [(torch.tensor([k, 20 - k, k]), 100 + k) for k in range(5)]
    before = torch.get_rng_state()
    alone = list(pictures.train.batches(plan))
    helped = list(pictures.train.batches(plan, workers=2))
    assert len(alone) == len(helped) == 5
    for k in range(5):
        direct = pictures.train.batch(plan[k][0], torch.Generator().manual_seed(plan[k][1]))
        for x, y in (alone[k], helped[k]):
            assert torch.equal(x, direct[0])
            assert torch.equal(y, direct[1])
    assert not torch.equal(alone[1][0][0], alone[1][0][2])  # one image, two draws
    first, again = (pictures.test.batch(torch.arange(6))[0] for _ in range(2))
    assert torch.equal(first, again)  # evaluation draws nothing
    assert torch.equal(torch.get_rng_state(), before)


@given(
    st.integers(1, 500), st.integers(1, 500), st.lists(st.floats(0, 0.999), min_size=DRAWS, max_size=DRAWS)
)
def test_crops_stay_inside(image_width: int, image_height: int, draws: list[float]) -> None:
    width, height, left, top = crop_box(image_width, image_height, draws)
    assert 1 <= width <= image_width
    assert 1 <= height <= image_height
    assert 0 <= left <= image_width - width
    assert 0 <= top <= image_height - height


@pytest.mark.parametrize(
    ("augment", "size", "expected"),
    [
        ("crop", 32, range(8, 40)),
        ("crop-flip", 32, range(39, 7, -1)),
        (True, 32, range(39, 7, -1)),
        ("flip", 56, range(59, 3, -1)),
        ("jitter", 56, range(4, 60)),
        (False, 56, range(4, 60)),
    ],
)
def test_crops_and_flips_of_a_ramp(tmp_path: Path, augment: bool | str, size: int, expected: range) -> None:
    """Of 64 x 64 pixels, at random area 0.08 + 0.92 · u = 0.25 and shape 1, 32 x 32 at ⌊u · 33⌋.

    Else the central 56 x 56; flipped below 0.5.
    """
    path = tmp_path / "ramp.png"
    PIL.Image.fromarray(np.tile(np.arange(64, dtype=np.uint8), (64, 1))).save(path)
    draws = [(0.25 - 0.08) / 0.92, 0.5] * 10 + [0.25, 0.9, 0.3]
    decoder = Decoder(size, Augmentation.named(augment))
    assert decoder(str(path), draws)[0, 0].tolist() == list(expected)
    not_flipped = decoder(str(path), [*draws[:-1], 0.7])[0, 0].tolist()
    assert not_flipped == sorted(expected)


def test_files_are_jittered_one_by_one(tmp_path: Path) -> None:
    """Of images of one value only the brightness changes, by a factor from 0.6 to 1.4."""
    paths = tuple(str(tmp_path / f"{k}.png") for k in range(40))
    for path in paths:
        PIL.Image.new("RGB", (16, 16), (100, 100, 100)).save(path)
    split = file_split((paths, torch.arange(40) % 2), torch.arange(40), 16, Augmentation.named("jitter"))
    x, _ = split.batch(torch.arange(40), torch.Generator().manual_seed(0))
    scale, shift = normalisation(*IMAGENET_MEAN_STD)
    levels = ((x - shift) / scale).round()
    assert (levels == levels[:, :1, :1, :1]).all()
    assert len(levels[:, 0, 0, 0].unique()) > 20
    assert 60 <= levels.min() < 70
    assert 130 < levels.max() <= 140


@pytest.mark.parametrize(("wrong", "kind"), [("crop+flip", ValueError), ("", ValueError), (0.4, TypeError)])
def test_an_augmentation_that_is_not_known_is_refused(wrong: str | float, kind: type[Exception]) -> None:
    with pytest.raises(kind, match="augment"):
        Augmentation.named(wrong)


def test_central_crop_keeps_the_middle() -> None:
    """At 8 x 16 and size 7 the shorter side stays 8: columns 4 or 5 to 11."""
    ramp = PIL.Image.fromarray(np.tile(np.arange(16, dtype=np.uint8), (8, 1)))
    assert np.asarray(central_crop(ramp, 7, 7, 256 / 224))[0].tolist() in (
        list(range(4, 11)),
        list(range(5, 12)),
    )


def test_unusable_images_are_named(pictures: DataSplits, tmp_path: Path) -> None:
    """No image, a truncated one, and one of a wrong shape."""
    Path(pictures.test.paths[2]).write_bytes(b"no image")
    with pytest.raises(DataError, match=r"wrong file .*\.png: expected an image, got: cannot identify"):
        pictures.test.batch(torch.tensor([2]))
    path = tmp_path / "a.jpeg"
    PIL.Image.new("RGB", (64, 60)).save(path)
    with pytest.raises(DataError, match=r"a\.jpeg: expected 64 x 64 pixels, got 60 x 64"):
        read_images([str(path)], (3, 64, 64), exact=True)
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(DataError, match=r"a\.jpeg: expected an image"):
        open_image(str(path))


@pytest.mark.parametrize("workers", [0, 1])
def test_workers_tell_of_bad_images_in_one_line(pictures: DataSplits, workers: int) -> None:
    path = Path(pictures.test.paths[2])
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(DataError, match=r"wrong file .*\.png: expected an image, got: .*truncated") as caught:
        list(pictures.test.batches([(torch.tensor([2]), 0)], workers=workers))
    assert "\n" not in str(caught.value)


def test_files_that_are_no_images_are_found_before_training(pictures: DataSplits) -> None:
    path = Path(pictures.train.paths[0])
    path.write_text("no image")
    with pytest.raises(DataError, match=rf"wrong file {path}: expected an image, got: cannot identify"):
        load("folder", path=path.parent.parent)


def test_unusable_folders(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"expected a folder of class folders, got no such folder"):
        load("folder", path=tmp_path / "absent")
    with pytest.raises(DataError, match=r"expected two class folders or more, got none"):
        load("folder", path=tmp_path)
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    with pytest.raises(DataError, match=r"cannot use .*a: expected images, got none"):
        load("folder", path=tmp_path)
