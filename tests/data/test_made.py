"""Loaders on made files of exactly the published format: sparse files are as large as the real ones."""

import gzip
import hashlib
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import PIL.Image
import pytest
import torch

from tailormix.data import DataError, load
from tailormix.data.images import CIFAR10_CLASSES
from tailormix.data.shifted import IMAGENET_A_NUMBERS as A_NUMBERS
from tailormix.data.shifted import IMAGENET_R_NUMBERS as R_NUMBERS


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
    (root / "cifar-100-binary" / "fine_label_names.txt").write_text(
        "\n".join(f"name{k}" for k in range(100)) + "\n"
    )


def corrupted(folder: Path, name: str, num_classes: int) -> None:
    """Write labels and one corruption; the first pixel of each row holds its severity, in red."""
    folder.mkdir()
    np.save(folder / "labels.npy", np.tile((np.arange(10_000) % num_classes).astype(np.uint8), 5))
    array = np.lib.format.open_memmap(folder / f"{name}.npy", "w+", np.uint8, (50_000, 32, 32, 3))
    array[:, 0, 0, 0] = np.repeat(np.arange(1, 6), 10_000)


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


def jpeg(path: Path, colour: int = 0, size: int = 64) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    PIL.Image.new("RGB", (size, size), (colour, 0, 0)).save(path, "JPEG")


def numbers(path: Path, table: np.ndarray, delimiter: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savetxt(path, table, "%.6g", delimiter)


def test_cifar10(tmp_path: Path) -> None:
    cifar10(tmp_path)
    splits = load("cifar10", root=tmp_path)
    assert [len(part) for part in (splits.train, splits.validation, splits.test)] == [45_000, 5_000, 10_000]
    assert splits.class_names == CIFAR10_CLASSES


def test_cifar10_label_out_of_range(tmp_path: Path) -> None:
    folder = cifar10(tmp_path)
    table = np.memmap(folder / "data_batch_2.bin", np.uint8, "r+", shape=(10_000, 3073))
    table[3, 0] = 10
    del table
    with pytest.raises(DataError, match=r"data_batch_2\.bin: expected 0 to 9, got 10 in row 3"):
        load("cifar10", root=tmp_path)


def test_cifar10_truncated_and_missing(tmp_path: Path) -> None:
    folder = cifar10(tmp_path)
    with (folder / "test_batch.bin").open("r+b") as file:
        file.truncate(1000)
    with pytest.raises(
        DataError, match=r"test_batch\.bin: expected 30730000 bytes.*, got 1000 bytes; .* data get cifar10"
    ):
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
    assert x[0, :, 5, 5].tolist() == pytest.approx(
        [-0.5071 / 0.2675, (1 - 0.4867) / 0.2565, -0.4408 / 0.2761], rel=1e-5
    )


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
    with pytest.raises(ValueError, match="severity must be <= 5, got 6"):
        load(name, root=tmp_path, corruption="fog", severity=6)
    with pytest.raises(ValueError, match="unknown corruption 'frog'; did you mean"):
        load(name, root=tmp_path, corruption="frog")


def test_cifar_c_wrong_array(tmp_path: Path) -> None:
    corrupted(tmp_path / "CIFAR-10-C", "fog", 10)
    np.save(tmp_path / "CIFAR-10-C" / "snow.npy", np.zeros((5, 32, 32, 3), np.uint8))
    with pytest.raises(
        DataError, match=r"snow\.npy: expected uint8 array .* got uint8 of shape \(5, 32, 32, 3\)"
    ):
        load("cifar10-c", root=tmp_path, corruption="snow")
    np.save(tmp_path / "CIFAR-10-C" / "frost.npy", np.array([object()]), allow_pickle=True)
    with pytest.raises(DataError, match=r"frost\.npy: expected uint8 array"):
        load("cifar10-c", root=tmp_path, corruption="frost")


def test_fashion_mnist_damage(tmp_path: Path) -> None:
    folder = fashion(tmp_path)
    assert len(load("fashion-mnist", root=tmp_path).train) == 54_000
    labels = folder / "t10k-labels-idx1-ubyte.gz"
    whole = labels.read_bytes()
    damage: list[tuple[Callable[[], object], str]] = [
        (lambda: labels.write_bytes(whole[:-9]), r"unreadable file .*data get fashion-mnist"),
        (
            lambda: idx(labels, np.zeros(9_999, np.uint8)),
            r"expected an IDX file of bytes of shape \(10000,\), got header",
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


def test_imagenet_layout(tmp_path: Path) -> None:
    for part, count in (("train", 25), ("val", 2)):
        for wnid in ("n02", "n01"):
            for k in range(count):
                jpeg(tmp_path / "mini" / part / wnid / f"{wnid}_{k}.JPEG", size=20)
    splits = load("imagenet", root=tmp_path, slice="mini", image_size=16)
    assert (splits.class_names, splits.name) == (("n01", "n02"), "imagenet (mini)")
    assert [len(part) for part in (splits.train, splits.validation, splits.test)] == [48, 2, 4]
    assert splits.test.targets.tolist() == [0, 0, 1, 1]
    assert splits.train.batch(torch.tensor([0, 1]))[0].shape == (2, 3, 16, 16)
    (tmp_path / "imagenet").symlink_to(tmp_path / "mini")
    with pytest.raises(DataError, match=r"expected 1000 class folders, got 2; .*data get imagenet"):
        load("imagenet", root=tmp_path)


@pytest.mark.parametrize(
    ("name", "listed", "digest"),
    [
        ("imagenet-r", R_NUMBERS, "a1d9a9ace3098120f5db861d97049116efe80683f4e48c65a62f9bd30fc3366a"),
        ("imagenet-a", A_NUMBERS, "973e8c3e530bf5dbd49999d046e74084ba5184ab98036b42b111d8dcdecf1015"),
    ],
)
def test_imagenet_variants_are_mapped_to_1000_outputs(
    tmp_path: Path, name: str, listed: tuple[int, ...], digest: str
) -> None:
    """Folders named by wnids whose order is that of the class numbers."""
    assert hashlib.sha256(",".join(map(str, listed)).encode()).hexdigest() == digest
    for number in listed:
        jpeg(tmp_path / "few" / f"n{number:08}" / "x.jpg", size=16)
    splits = load(name, root=tmp_path, slice="few", image_size=8)
    assert splits.test.targets.tolist() == list(listed)
    assert (splits.outputs, len(splits.train), splits.test.input_shape) == (1000, 0, (3, 8, 8))
    (tmp_path / name).symlink_to(tmp_path / "few")
    with pytest.raises(DataError, match=rf"images, got 200; .*data get {name}"):
        load(name, root=tmp_path)
    (tmp_path / "few" / "n99999999").mkdir()
    with pytest.raises(DataError, match="expected 200 class folders, got 201"):
        load(name, root=tmp_path, slice="few")


def test_airfoil(tmp_path: Path) -> None:
    table = np.random.default_rng(0).random((1503, 6))
    path = tmp_path / "airfoil" / "airfoil_self_noise.dat"
    numbers(path, table, "\t")
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))  # the owners' line ends
    splits = load("airfoil", root=tmp_path)
    np.testing.assert_allclose(splits.train.targets.numpy(), table[splits.train.ids, 5:], rtol=1e-5)
    path.write_text(path.read_text().replace("\t", ";"))
    with pytest.raises(
        DataError, match=r"airfoil_self_noise\.dat: expected 1503 rows of 6 numbers, got an unreadable"
    ):
        load("airfoil", root=tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda table: table[:-1], "expected 7588 rows of 8 numbers, got 7587 rows of 8"),
        (lambda table: np.where(table == table[5, 3], np.nan, table), "got nan in row 5, column 3"),
    ],
)
def test_exchange_rate_damage(
    tmp_path: Path, change: Callable[[np.ndarray], np.ndarray], message: str
) -> None:
    table = np.random.default_rng(0).random((7588, 8)).round(4)
    table[5, 3] = 7.0
    numbers(tmp_path / "exchange_rate" / "exchange_rate.txt.gz", table, ",")
    assert len(load("exchange-rate", root=tmp_path).train) == 4373
    numbers(tmp_path / "exchange_rate" / "exchange_rate.txt.gz", change(table), ",")
    with pytest.raises(DataError, match=message):
        load("exchange-rate", root=tmp_path)


def test_electricity(tmp_path: Path) -> None:
    """All 26 304 hours of 321 clients, each hour the same: client k uses k."""
    path = tmp_path / "electricity" / "electricity.txt.gz"
    path.parent.mkdir()
    line = ",".join(map(str, range(321))) + "\n"
    path.write_bytes(gzip.compress(line.encode() * 26_304, 1))
    splits = load("electricity", root=tmp_path)
    assert [len(part) for part in (splits.train, splits.validation, splits.test)] == [15_591, 5_261, 5_261]
    assert (int(splits.train.ids[0]), int(splits.test.ids[-1])) == (191, 26_303)
    assert splits.target_scale.tolist() == [1.0, *map(float, range(1, 321))]  # a client of zeros divides by 1
    assert splits.test.batch(torch.tensor([0]))[1][0].tolist() == [0.0] + [1.0] * 320
