"""Raw rows through the preprocessing are the inputs of the splits, bit by bit, also after saving."""

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import PIL.Image
import pytest
import torch
from sklearn import datasets

from tailormix.data import DataSplits, load
from tailormix.data.images import image_splits
from tailormix.data.preprocessing import load_preprocessing, save_preprocessing
from tailormix.data.series import WindowSplit

RANDOM = np.random.default_rng(0)
Case = tuple[DataSplits, Any]


def moons(folder: Path) -> Case:
    return load("moons", n=50), datasets.make_moons(50, noise=0.15, random_state=0)[0]


def circles(folder: Path) -> Case:
    return load("circles", n=50), datasets.make_circles(50, noise=0.1, factor=0.5, random_state=0)[0]


def digits(folder: Path) -> Case:
    return load("digits", augment=False), datasets.load_digits().images.astype(np.uint8)[:, None]


def airfoil(folder: Path, protocol: str = "clean") -> Case:
    table = RANDOM.random((1503, 6)).round(6)
    (folder / "airfoil").mkdir()
    np.savetxt(folder / "airfoil" / "airfoil_self_noise.dat", table, "%.6f", "\t")
    return load("airfoil", root=folder, protocol=protocol), table[:, :5]


def airfoil_as_published(folder: Path) -> Case:
    return airfoil(folder, "as-published")


def exchange_rate(folder: Path) -> Case:
    values = RANDOM.random((7588, 8)).round(4)
    (folder / "exchange_rate").mkdir()
    with gzip.open(folder / "exchange_rate" / "exchange_rate.txt.gz", "wt", compresslevel=1) as file:
        np.savetxt(file, values, "%.4f", ",")
    splits = load("exchange-rate", root=folder, window=3, horizon=2)
    raw = np.full((7588, 3, 8), 0.0)  # the window of target row t ends two rows before it
    raw[4:] = np.stack([values[t - 4 : t - 1] for t in range(4, 7588)])
    return splits, raw


def images_with_a_test_set(folder: Path) -> Case:
    """As CIFAR, Fashion-MNIST and Tiny-ImageNet are split; ids of test rows follow those of the others."""
    images = torch.from_numpy(RANDOM.integers(0, 256, (60, 3, 6, 6), dtype=np.uint8))
    train, test = (images[:40], torch.arange(40) % 2), (images[40:], torch.arange(20) % 2)
    mean_std = ((0.5, 0.4, 0.3), (0.2, 0.2, 0.3))
    return image_splits("made", train, test, ("a", "b"), mean_std, 0, 0.25, None, False), images


def npz_images(folder: Path) -> Case:
    x = RANDOM.integers(0, 256, (40, 2, 4, 5), dtype=np.uint8)
    np.savez(folder / "user.npz", x=x, y=np.arange(40) % 2)
    return load("npz", path=folder / "user.npz"), folder / "user.npz"


def npz_numbers(folder: Path) -> Case:
    np.savez(
        folder / "user.npz", x=RANDOM.integers(0, 60_000, (40, 2, 3)).astype(np.uint16), y=RANDOM.random(40)
    )
    return load("npz", path=folder / "user.npz"), folder / "user.npz"


def table(folder: Path) -> Case:
    rows = [
        f"{k},{k * 0.37:.2f},{'NA' if k % 5 == 0 else 'abc'[k % 3]},{k % 7 == 0},{k / 3}" for k in range(60)
    ]
    (folder / "user.csv").write_text("\n".join(["id,size,kind,flag,y", *rows]))
    return load("table", path=folder / "user.csv"), folder / "user.csv"


def class_folders(folder: Path) -> Case:
    for label in ("a", "b"):
        (folder / label).mkdir()
        for k in range(10):
            pixels = RANDOM.integers(0, 256, (20 + k, 30 - k, 3), dtype=np.uint8)
            PIL.Image.fromarray(pixels).save(folder / label / f"{k}.png")
    return load("folder", path=folder, image_size=16, augment=False), folder


CASES = (
    moons,
    circles,
    digits,
    airfoil,
    airfoil_as_published,
    exchange_rate,
    images_with_a_test_set,
    npz_images,
    npz_numbers,
    table,
    class_folders,
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_raw_rows_become_the_inputs(case: Any, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    splits, source = case(tmp_path / "data")
    path = save_preprocessing(tmp_path / "preprocessing.safetensors", splits.preprocessing)
    for preprocessing in (splits.preprocessing, load_preprocessing(path)):
        raw = preprocessing.read(source)
        assert raw.dtype == (torch.uint8 if preprocessing.kind == "image" else torch.float64)
        for split in (splits.train, splits.validation, splits.test):
            rows = torch.arange(len(split))[:: 50 if isinstance(split, WindowSplit) else 1]
            if len(rows):
                x, _ = split.batch(rows)
                assert torch.equal(preprocessing(raw[split.ids[rows]]), x)
