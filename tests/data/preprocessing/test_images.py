"""Images from files, folders and arrays, brought to one shape."""

from pathlib import Path

import numpy as np
import PIL.Image
import pytest
import torch

from tailormix.data import DataError
from tailormix.data.preprocessing import ImagePreprocessing
from tailormix.data.preprocessing.images import photographs

RED = ImagePreprocessing((3, 4, 4), [0.0] * 3, [1.0] * 3)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Class folders of pure colours, as large as needed, larger, and not square; a text file beside them."""
    for name, colour, size in (("a", "red", (4, 4)), ("b", "blue", (8, 8)), ("b", "lime", (12, 4))):
        (tmp_path / name).mkdir(exist_ok=True)
        PIL.Image.new("RGB", size, colour).save(tmp_path / name / f"{colour}.png")
    (tmp_path / "notes.txt").write_text("no image")
    return tmp_path


def test_folders_lists_and_files(folder: Path) -> None:
    """Class folders in order, images in order; a folder of images; a list; one file."""
    red, blue, lime = (
        torch.tensor(rgb).view(3, 1, 1).expand(3, 4, 4) for rgb in ([255, 0, 0], [0, 0, 255], [0, 255, 0])
    )
    assert torch.equal(RED.read(folder), torch.stack([red, blue, lime]))
    assert torch.equal(RED.read(str(folder / "b")), torch.stack([blue, lime]))
    assert torch.equal(
        RED.read([folder / "b" / "lime.png", folder / "a" / "red.png"]), torch.stack([lime, red])
    )
    assert torch.equal(RED.read(folder / "a" / "red.png"), red[None])
    assert RED(red[None].byte()).amax() == 1


def test_channels_and_scales(folder: Path, tmp_path: Path) -> None:
    """Grey by the weights of ITU-R 601: 0.299 · 255 = 76; a scale from 0 to 16: 76 · 16 / 255 = 4.8, so 5."""
    grey = ImagePreprocessing((1, 2, 2), [0.5], [0.5])
    assert grey.read(folder / "a").unique().tolist() == [76]
    assert ImagePreprocessing((1, 2, 2), [0.5], [0.5], maximum=16).read(folder / "a").unique().tolist() == [5]
    assert ImagePreprocessing((4, 2, 2), [0.5] * 4, [0.5] * 4).read(folder / "a")[0, 3].unique().tolist() == [
        255
    ]
    with pytest.raises(DataError, match=r"red\.png: images of 2 channels are read from arrays only"):
        ImagePreprocessing((2, 2, 2), [0.5] * 2, [0.5] * 2).read(folder / "a")


def test_photographs_are_enlarged_before_they_are_cut(tmp_path: Path) -> None:
    """ImageNet's central crop of 224 from 256: a frame of 16 pixels is gone."""
    pixels = np.full((256, 256, 3), 255, np.uint8)
    pixels[:16], pixels[-16:], pixels[:, :16], pixels[:, -16:] = 0, 0, 0, 0
    PIL.Image.fromarray(pixels).save(tmp_path / "framed.png")
    preprocessing = photographs(224)
    images = preprocessing.read(tmp_path / "framed.png")
    assert images.unique().tolist() == [255]
    mean, std = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])
    np.testing.assert_allclose(preprocessing(images)[0, :, 0, 0], (1 - mean) / std, rtol=1e-6)


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (lambda path: path.write_bytes(b"text"), r"x\.png: expected an image, got: cannot identify"),
        (lambda path: path.touch(), r"x\.png: expected an image or a folder of images, got an empty file"),
        (lambda path: path.mkdir(), r"x\.png: expected images, or folders of images, got none"),
        (
            lambda path: path.unlink(missing_ok=True),
            r"x\.png: expected an image or a folder of images, got no such file",
        ),
        (
            lambda path: PIL.Image.fromarray(np.zeros((4, 4), np.uint16)).save(path),
            r"x\.png: expected 8 bits per channel, got an image of mode I;16",
        ),
    ],
)
def test_what_is_no_image_is_named(tmp_path: Path, write, message: str) -> None:
    write(tmp_path / "x.png")
    with pytest.raises(DataError, match=message):
        RED.read(tmp_path / "x.png")


def test_arrays_of_another_kind(tmp_path: Path) -> None:
    with pytest.raises(
        DataError, match=r"inputs: expected uint8 images of shape \(n, 3, 4, 4\), got float64"
    ):
        RED.read(np.zeros((2, 3, 4, 4)))
    np.save(tmp_path / "x.npy", np.zeros((2, 4, 4, 3), np.uint8))
    with pytest.raises(
        DataError, match=r"x\.npy: expected uint8 images .*, got uint8 of shape \(2, 4, 4, 3\)"
    ):
        RED.read(tmp_path / "x.npy")


def test_it_can_be_exported() -> None:
    images = torch.randint(0, 256, (2, 3, 4, 4), dtype=torch.uint8)
    program = torch.export.export(RED, (images,), dynamic_shapes=({0: torch.export.Dim("rows")},))
    many = images.repeat(3, 1, 1, 1)
    assert torch.equal(program.module()(many), RED(many))
