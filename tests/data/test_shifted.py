"""Shifted test sets, from files of exactly the published format and size; most of them are sparse."""

import hashlib
from pathlib import Path

import numpy as np
import PIL.Image
import pytest

from tailormix.data import DataError, load
from tailormix.data.shifted import IMAGENET_A_NUMBERS, IMAGENET_R_NUMBERS


def corrupted(folder: Path, name: str, num_classes: int) -> None:
    """Write labels and one corruption; the first pixel of each row holds its severity, in red."""
    folder.mkdir()
    np.save(folder / "labels.npy", np.tile((np.arange(10_000) % num_classes).astype(np.uint8), 5))
    array = np.lib.format.open_memmap(folder / f"{name}.npy", "w+", np.uint8, (50_000, 32, 32, 3))
    array[:, 0, 0, 0] = np.repeat(np.arange(1, 6), 10_000)


@pytest.mark.parametrize(
    ("name", "folder", "classes"), [("cifar10-c", "CIFAR-10-C", 10), ("cifar100-c", "CIFAR-100-C", 100)]
)
def test_cifar_c(tmp_path: Path, name: str, folder: str, classes: int) -> None:
    corrupted(tmp_path / folder, "fog", classes)
    splits = load(name, root=tmp_path, corruption="fog", severity=4)
    assert [len(part) for part in (splits.train, splits.validation, splits.test)] == [0, 0, 10_000]
    assert splits.test.inputs[[0, 9999], 0, 0, 0].tolist() == [4, 4]
    assert splits.test.targets[:12].tolist() == [k % classes for k in range(12)]
    assert splits.outputs == classes
    with pytest.raises(DataError, match=rf"missing file .*snow\.npy .*data get {name}"):
        load(name, root=tmp_path, corruption="snow")


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"corruption": "fog", "severity": 6}, ValueError, "severity must be <= 5, got 6"),
        ({"corruption": "frog"}, ValueError, "unknown corruption 'frog'; did you mean"),
        ({"corruption": "snow"}, DataError, r"snow\.npy: expected uint8 array .* got uint8 of shape \(5, 32"),
        ({"corruption": "frost"}, DataError, r"frost\.npy: expected uint8 array"),
    ],
)
def test_cifar_c_refuses(tmp_path: Path, options: dict[str, object], error: type, message: str) -> None:
    corrupted(tmp_path / "CIFAR-10-C", "fog", 10)
    np.save(tmp_path / "CIFAR-10-C" / "snow.npy", np.zeros((5, 32, 32, 3), np.uint8))
    np.save(tmp_path / "CIFAR-10-C" / "frost.npy", np.array([object()]), allow_pickle=True)
    with pytest.raises(error, match=message):
        load("cifar10-c", root=tmp_path, **options)


R_DIGEST = "a1d9a9ace3098120f5db861d97049116efe80683f4e48c65a62f9bd30fc3366a"
A_DIGEST = "973e8c3e530bf5dbd49999d046e74084ba5184ab98036b42b111d8dcdecf1015"


@pytest.mark.parametrize(
    ("name", "listed", "digest"),
    [("imagenet-r", IMAGENET_R_NUMBERS, R_DIGEST), ("imagenet-a", IMAGENET_A_NUMBERS, A_DIGEST)],
)
def test_imagenet_variants_are_mapped_to_1000_outputs(
    tmp_path: Path, name: str, listed: tuple[int, ...], digest: str
) -> None:
    """Folders named by wnids whose order is that of the class numbers."""
    assert hashlib.sha256(",".join(map(str, listed)).encode()).hexdigest() == digest
    for number in listed:
        folder = tmp_path / "few" / f"n{number:08}"
        folder.mkdir(parents=True)
        PIL.Image.new("RGB", (16, 16)).save(folder / "x.jpg")
    splits = load(name, root=tmp_path, slice="few", image_size=8)
    assert splits.test.targets.tolist() == list(listed)
    assert (splits.outputs, len(splits.train), splits.test.input_shape) == (1000, 0, (3, 8, 8))
    (tmp_path / name).symlink_to(tmp_path / "few")
    with pytest.raises(DataError, match=rf"images, got 200; .*data get {name}"):
        load(name, root=tmp_path)
    (tmp_path / "few" / "n99999999").mkdir()
    with pytest.raises(DataError, match="expected 200 class folders, got 201"):
        load(name, root=tmp_path, slice="few")
