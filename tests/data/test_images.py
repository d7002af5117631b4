"""Images in memory, from files of exactly the published format and size; most of them are sparse."""

import gzip
import os
import struct
from pathlib import Path

import numpy as np
import PIL.Image
import pytest
import torch
from sklearn.datasets import load_digits

from tailormix.data import DataError, load
from tailormix.data.images import CIFAR10_CLASSES, image_splits


def records(path: Path, count: int, label_bytes: int) -> np.memmap:
    path.parent.mkdir(parents=True, exist_ok=True)
    return np.memmap(path, np.uint8, "w+", shape=(count, label_bytes + 3072))


def cifar10(root: Path) -> Path:
    folder = root / "cifar-10-batches-bin"
    for name in [f"data_batch_{k}" for k in range(1, 6)] + ["test_batch"]:
        records(folder / f"{name}.bin", 10_000, 1)[:, 0] = np.arange(10_000) % 10
    return folder


def cifar100(root: Path) -> None:
    """Coarse byte, fine byte, pixels; the first training image is pure green."""
    for name, count in (("train", 50_000), ("test", 10_000)):
        table = records(root / "cifar-100-binary" / f"{name}.bin", count, 2)
        table[:, 0] = 19
        table[:, 1] = np.arange(count) % 100
        table[0, 2 + 1024 : 2 + 2048] = 255
    names = "".join(f"name{k}\n" for k in range(100))
    (root / "cifar-100-binary" / "fine_label_names.txt").write_text(names)


def idx(path: Path, array: np.ndarray) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    header = struct.pack(f">{1 + array.ndim}i", 2048 + array.ndim, *array.shape)
    path.write_bytes(gzip.compress(header + array.tobytes(), 1))


def fashion(root: Path) -> Path:
    folder = root / "fashion-mnist"
    for part, count in (("train", 60_000), ("t10k", 10_000)):
        idx(folder / f"{part}-images-idx3-ubyte.gz", np.zeros((count, 28, 28), np.uint8))
        idx(folder / f"{part}-labels-idx1-ubyte.gz", (np.arange(count) % 10).astype(np.uint8))
    return folder


def jpeg(path: Path, colour: int = 0) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    PIL.Image.new("RGB", (64, 64), (colour, 0, 0)).save(path, "JPEG")


def test_cifar10(tmp_path: Path) -> None:
    """Whole, then with a label out of range, a truncated and a missing file."""
    folder = cifar10(tmp_path)
    splits = load("cifar10", root=tmp_path)
    assert [len(part) for part in (splits.train, splits.validation, splits.test)] == [45_000, 5_000, 10_000]
    assert splits.class_names == CIFAR10_CLASSES
    table = np.memmap(folder / "data_batch_2.bin", np.uint8, "r+", shape=(10_000, 3073))
    table[3, 0] = 10
    table.flush()
    with pytest.raises(DataError, match=r"data_batch_2\.bin: expected 0 to 9, got 10 in row 3"):
        load("cifar10", root=tmp_path)
    table[3, 0] = 3
    table.flush()
    os.truncate(folder / "test_batch.bin", 1000)
    with pytest.raises(DataError, match=r"test_batch\.bin: expected 30730000 bytes.*, got 1000 bytes; .*get"):
        load("cifar10", root=tmp_path)
    (folder / "data_batch_1.bin").unlink()
    with pytest.raises(DataError, match=r"missing file .*data_batch_1\.bin .*tailormix data get cifar10"):
        load("cifar10", root=tmp_path)


def test_cifar100_reads_the_fine_label(tmp_path: Path) -> None:
    cifar100(tmp_path)
    splits = load("cifar100", root=tmp_path, validation=0.0, augment=False)
    assert torch.bincount(splits.train.targets).tolist() == [500] * 100
    assert splits.class_names[2] == "name2"
    x, y = splits.train.batch(torch.tensor([0, 7]))
    assert y.tolist() == [0, 7]
    green = [-0.5071 / 0.2675, (1 - 0.4867) / 0.2565, -0.4408 / 0.2761]
    assert x[0, :, 5, 5].tolist() == pytest.approx(green, rel=1e-5)


def test_fashion_mnist_damage(tmp_path: Path) -> None:
    folder = fashion(tmp_path)
    assert len(load("fashion-mnist", root=tmp_path).train) == 54_000
    labels = folder / "t10k-labels-idx1-ubyte.gz"
    whole = labels.read_bytes()
    damage = [
        (lambda: labels.write_bytes(whole[:-9]), r"unreadable file .*data get fashion-mnist"),
        (
            lambda: idx(labels, np.zeros(9, np.uint8)),
            r"expected an IDX file .* of shape \(10000,\), got header",
        ),
        (lambda: idx(labels, np.full(10_000, 200, np.uint8)), "expected 0 to 9, got 200 in row 0"),
        (labels.unlink, "missing file .*t10k-labels"),
    ]
    for break_it, message in damage:
        break_it()
        with pytest.raises(DataError, match=message):
            load("fashion-mnist", root=tmp_path)


def test_tiny_imagenet_layout(tmp_path: Path) -> None:
    """Two classes in the order of wnids.txt, which is not the alphabetical one."""
    folder = tmp_path / "tiny-2"
    wnids = ["n02", "n01"]
    for label, wnid in enumerate(wnids):
        jpeg(folder / "train" / wnid / "images" / f"{wnid}_0.JPEG", 250 * label)
        data = (folder / "train" / wnid / "images" / f"{wnid}_0.JPEG").read_bytes()
        for k in range(1, 500):
            (folder / "train" / wnid / "images" / f"{wnid}_{k}.JPEG").write_bytes(data)
    lines = [f"val_{k}.JPEG\t{wnids[k % 2]}\t0\t0\t9\t9" for k in range(100)]
    for k in range(100):
        jpeg(folder / "val" / "images" / f"val_{k}.JPEG", 250 * (k % 2))
    (folder / "val" / "val_annotations.txt").write_text("\n".join(lines) + "\n")
    (folder / "wnids.txt").write_text("n02\nn01\n")
    splits = load("tiny-imagenet", root=tmp_path, slice="tiny-2", augment=False)
    assert splits.class_names == ("n02", "n01")
    for part in (splits.train, splits.test):
        assert ((part.inputs[:, 0].float().mean(dim=(1, 2)) > 100).long() == part.targets).all()
    (folder / "train" / "n01" / "images" / "n01_3.JPEG").unlink()
    with pytest.raises(DataError, match=r"n01.images: expected 500 images, got 499"):
        load("tiny-imagenet", root=tmp_path, slice="tiny-2")


def test_named_augmentations_change_training_images_alone() -> None:
    """Images of grey levels 100 and 120: flips keep both, jitter moves them; other parts are as read."""
    part = torch.tensor([100, 120], dtype=torch.uint8).expand(40, 1, 2, 2), torch.arange(40) % 2
    grey = ((0.0,), (1 / 255,))
    for augment, jittered in (("flip", False), ("flip-jitter", True)):
        splits = image_splits("grey", part, part, ("a", "b"), grey, 0, 0.25, None, augment)
        for one, changed in ((splits.train, jittered), (splits.validation, False), (splits.test, False)):
            x, _ = one.batch(torch.arange(len(one)), torch.Generator().manual_seed(0))
            levels = x.sort(dim=3).values
            same = torch.isclose(levels, torch.tensor([100.0, 120.0]), atol=1e-2).all()
            assert bool(same) is not changed
            assert x.min() > 57  # 0.6 · (110 - 1.4 · 10) = 57.6
    with pytest.raises(ValueError, match="unknown augment 'flips'; did you mean 'flip'"):
        image_splits("grey", part, part, ("a", "b"), grey, 0, 0.25, None, "flips")


def test_digits_are_scikit_learns() -> None:
    with pytest.raises(TypeError, match="augment of digits must be true or false, got 'flip'"):
        load("digits", augment="flip")
    splits = load("digits", augment=False)
    images = load_digits().images
    np.testing.assert_array_equal(splits.test.inputs[:, 0].numpy(), images[splits.test.ids])
    x, _ = splits.train.batch(torch.arange(len(splits.train)))
    assert (x.mean().item(), x.std().item()) == pytest.approx((0.0, 1.0), abs=1e-5)
