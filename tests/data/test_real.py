"""Loaders on the published files."""

import hashlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from tailormix.data import DataError, DataSplits, load
from tailormix.data.files.verify import state, verify
from tailormix.data.registry import published_files

Real = Callable[[str], Path]


def histogram(splits: DataSplits, channel: int) -> torch.Tensor:
    """Return how often each of the 256 values occurs in the training and validation images."""
    chunks = [
        chunk[:, channel].flatten()
        for part in (splits.train, splits.validation)
        for chunk in part.inputs.split(5000)
    ]
    return torch.stack([torch.bincount(chunk, minlength=256) for chunk in chunks]).sum(0)


@pytest.fixture(scope="module")
def cifar10(real: Real) -> DataSplits:
    return load("cifar10", root=real("cifar-10-batches-bin"))


def test_cifar10_statistics(cifar10: DataSplits) -> None:
    """Published statistics of the training images, and class counts."""
    counts = torch.stack([histogram(cifar10, channel) for channel in range(3)]).double()
    values, total = torch.arange(256).double() / 255, 50_000 * 1024
    mean = counts @ values / total
    std = (counts @ values**2 / total - mean**2).sqrt()
    expected_mean = torch.tensor([0.49139968, 0.48215841, 0.44653091], dtype=torch.float64)
    expected_std = torch.tensor([0.24703223, 0.24348513, 0.26158784], dtype=torch.float64)
    torch.testing.assert_close(mean, expected_mean, atol=1e-8, rtol=0)
    torch.testing.assert_close(std, expected_std, atol=1e-8, rtol=0)
    for split, each in ((cifar10.train, 4500), (cifar10.validation, 500), (cifar10.test, 1000)):
        assert torch.bincount(split.targets).tolist() == [each] * 10


def test_cifar10_evaluation_batch_is_the_normalised_file(cifar10: DataSplits, real: Real) -> None:
    folder = real("cifar-10-batches-bin") / "cifar-10-batches-bin"
    digest = hashlib.sha1((folder / "test_batch.bin").read_bytes()).hexdigest()
    assert digest == "67eb016db431130d61cd03c7ad570b013799c88c"  # as published
    record = np.fromfile(folder / "test_batch.bin", np.uint8, 3073)
    x, y = cifar10.test.batch(torch.tensor([0]))
    mean, std = np.array([[0.4914, 0.4822, 0.4465], [0.2023, 0.1994, 0.2010]]).reshape(2, 3, 1, 1)
    expected = (record[1:].reshape(3, 32, 32) / 255 - mean) / std
    assert cifar10.class_names[int(y)] == cifar10.class_names[record[0]] == "cat"
    np.testing.assert_allclose(x[0].numpy(), expected, atol=1e-6)


def test_cifar10_splits(cifar10: DataSplits, real: Real) -> None:
    ids = torch.cat([split.ids for split in (cifar10.train, cifar10.validation, cifar10.test)])
    assert ids.sort().values.tolist() == list(range(60_000))
    root = real("cifar-10-batches-bin")
    small = load("cifar10", root=root, seed=1, limit=1000, validation=0.2)
    assert torch.bincount(small.train.targets).tolist() == [80] * 10
    assert small.fingerprints["train"] != cifar10.fingerprints["train"]
    assert small.fingerprints["test"] == cifar10.fingerprints["test"]


def test_fashion_mnist(real: Real) -> None:
    splits = load("fashion-mnist", root=real("fashion-mnist"), validation=0.0)
    assert torch.bincount(splits.train.targets).tolist() == [6000] * 10
    assert torch.bincount(splits.test.targets).tolist() == [1000] * 10
    assert len(splits.validation) == 0
    assert [splits.class_names[int(y)] for y in splits.test.targets[:2]] == ["Ankle boot", "Pullover"]
    x, _ = splits.test.batch(torch.arange(100))
    assert (x.min().item(), x.max().item()) == pytest.approx((-1.0, 1.0))


def test_airfoil_is_clean(real: Real) -> None:
    splits = load("airfoil", root=real("airfoil"))
    parts = (splits.train, splits.validation, splits.test)
    assert [len(part) for part in parts] == [1003, 300, 200]
    assert torch.cat([part.ids for part in parts]).sort().values.tolist() == list(range(1503))
    targets = torch.cat([part.targets for part in parts])
    assert (targets.min().item(), targets.max().item()) == pytest.approx((103.38, 140.987))
    assert (targets.mean().item(), targets.std().item()) == pytest.approx((124.836, 6.899), abs=2e-3)
    assert splits.train.inputs.amin(0).tolist() == [0.0] * 5
    assert splits.train.inputs.amax(0).tolist() == [1.0] * 5


def test_airfoil_as_published(real: Real) -> None:
    """Rows of numpy's global generator after seeding; features scaled over all rows."""
    root = real("airfoil")
    table = np.loadtxt(root / "airfoil" / "airfoil_self_noise.dat")
    table = table[np.random.RandomState(3).permutation(1503)]
    x = (table[:, :5] - table[:, :5].min(0)) / np.ptp(table[:, :5], axis=0)
    splits = load("airfoil", root=root, seed=3, protocol="as-published")
    parts = (splits.train, splits.validation, splits.test)
    for part, rows in zip(parts, (slice(0, 1003), slice(1003, 1303), slice(1303, 1503)), strict=True):
        got, y = part.batch(torch.arange(len(part)))
        np.testing.assert_allclose(got.numpy(), x[rows], atol=1e-6)
        np.testing.assert_allclose(y.numpy(), table[rows, 5:], rtol=1e-6)


def test_exchange_rate(real: Real) -> None:
    root = real("exchange_rate")
    table = np.loadtxt(root / "exchange_rate" / "exchange_rate.txt.gz", delimiter=",")
    splits = load("exchange-rate", root=root, protocol="as-published")
    maxima = [1.102536, 2.109, 1.091524, 1.374079, 0.237954, 0.013202, 0.882379, 0.832556]
    torch.testing.assert_close(splits.target_scale, torch.tensor(maxima))
    ranges = ((splits.train, 179, 4551), (splits.validation, 4552, 6069), (splits.test, 6070, 7587))
    for part, first, last in ranges:
        assert part.ids.tolist() == list(range(first, last + 1))
        x, y = part.batch(torch.tensor([0]))
        np.testing.assert_allclose(x[0].numpy(), table[first - 12 - 167 : first - 11] / maxima, rtol=1e-6)
        np.testing.assert_allclose(y[0].numpy(), table[first] / maxima, rtol=1e-6)
    clean = load("exchange-rate", root=root).target_scale  # knows no later row
    np.testing.assert_allclose(clean.numpy(), np.abs(table[:4552]).max(0), rtol=1e-6)


def test_electricity_slice_is_read_and_never_taken_for_the_whole(real: Real, tmp_path: Path) -> None:
    root = real("electricity-slice")
    splits = load("electricity", root=root, slice="electricity-slice")
    assert [len(part) for part in (splits.train, splits.validation, splits.test)] == [15591, 5261, 5261]
    assert (splits.input_shape, splits.outputs) == ((168, 2), 2)
    assert splits.name == "electricity (electricity-slice)"
    (tmp_path / "electricity").symlink_to(root / "electricity-slice")
    with pytest.raises(DataError, match="expected 26304 rows of 321 numbers, got 26304 rows of 2"):
        load("electricity", root=tmp_path)
    (problem,) = verify("electricity", tmp_path)
    assert "sha256:3c4c069588198c1f" in str(problem)


def test_tiny_imagenet_slice_is_read_and_never_taken_for_the_whole(real: Real, tmp_path: Path) -> None:
    root = real("tiny-imagenet-10")
    splits = load("tiny-imagenet", root=root, slice="tiny-imagenet-10")
    for part, each in ((splits.train, 450), (splits.validation, 50), (splits.test, 50)):
        assert torch.bincount(part.targets).tolist() == [each] * 10
    x, _ = splits.train.batch(torch.arange(8), torch.Generator().manual_seed(0))
    assert x.shape == (8, 3, 64, 64)
    (tmp_path / "tiny-imagenet-200").symlink_to(root / "tiny-imagenet-10")
    with pytest.raises(DataError, match=r"wnids.txt: expected 200 lines, got 10; .*data get tiny-imagenet"):
        load("tiny-imagenet", root=tmp_path)


@pytest.mark.parametrize("name", ["cifar10", "fashion-mnist", "airfoil", "exchange-rate"])
def test_real_files_verify(real: Real, name: str) -> None:
    root = real(published_files(name).folder)
    assert verify(name, root) == []
    assert state(name, root) == "present"
