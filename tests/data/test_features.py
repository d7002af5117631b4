"""Files of features: parts, limits, shots, and what is wrong with a file."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tailormix.data import DataError, DataSplits, load
from tailormix.data.preprocessing.saving import load_preprocessing, save_preprocessing


def write(path: Path, *, validation: bool = True, **changes: Any) -> Path:
    """120 training rows of three classes, 30 of validation, 30 of test, 12 unknown and 9 noisy ones."""
    sizes = {"train": 120, "validation": 30 * validation, "test": 30, "unknown": 12, "gaussian-noise-3": 9}
    part = np.repeat(list(sizes), list(sizes.values()))
    y = np.arange(len(part)) % 3
    y[part == "unknown"] = -1
    x = np.random.default_rng(0).normal(size=(len(part), 4)) * [1, 2, 3, 4] + y[:, None]
    arrays = {"x": x.astype(np.float16), "y": y, "part": part, "id": 1000 + np.arange(len(part))}
    arrays |= {"class_names": np.array(["a", "b", "c"]), **changes}
    np.savez(path, **{name: array for name, array in arrays.items() if array is not None})
    return path


def sizes(splits: DataSplits) -> list[int]:
    return [len(splits.train), len(splits.validation), len(splits.test)]


def test_parts_of_the_file(tmp_path: Path) -> None:
    path = write(tmp_path / "f.npz")
    splits = load("features", path=path)
    assert sizes(splits) == [120, 30, 30]
    assert splits.class_names == ("a", "b", "c")
    assert list(splits.shifts) == ["unknown", "gaussian-noise-3"]
    assert set(splits.shifts["unknown"].targets.tolist()) == {-1}
    x, _ = splits.train.batch(torch.arange(120))
    torch.testing.assert_close(x.mean(0), torch.zeros(4), atol=1e-5, rtol=0)
    torch.testing.assert_close(x.std(0, correction=0), torch.ones(4), atol=1e-5, rtol=0)
    noisy = splits.to("cpu").shifts["gaussian-noise-3"]
    (batch,) = noisy.batches([(torch.arange(9), 0)])
    assert splits.preprocessing is not None
    with np.load(path) as file:
        raw = splits.preprocessing.read(file["x"][-9:])
    torch.testing.assert_close(batch[0], splits.preprocessing(raw))
    assert noisy.ids.tolist() == list(range(1192, 1201))


def test_shares_that_leave_no_rows_are_told(tmp_path: Path) -> None:
    part = np.array(["train"] * 201)
    path = write(tmp_path / "f.npz", part=part, y=np.arange(201) % 3)
    assert sizes(load("features", path=path, test=0.0)) == [161, 40, 0]
    with pytest.raises(DataError, match=r"rows left for the part 'train', got 201 rows in all, with valid"):
        load("features", path=path, test=0.5, validation=0.999)


def test_features_of_another_model_are_refused(tmp_path: Path) -> None:
    """Weights and the pixels that they saw count, the model's name does not; other files are trusted."""

    def made(name: str, **facts: Any) -> Path:
        return write(tmp_path / f"{name}.npz", source=np.array(json.dumps({"model": name, **facts})))

    first = made("first", **{"weights sha256": "aaa", "size": 96})
    scale = load("features", path=first).preprocessing
    assert scale is not None
    save_preprocessing(tmp_path / "run.safetensors", scale)
    scale = load_preprocessing(tmp_path / "run.safetensors")
    same = made("renamed", **{"weights sha256": "aaa", "size": 96})
    for path in (first, same, write(tmp_path / "unknown.npz")):
        assert len(scale.read(path)) == 201
    expected = r"expected features made by first at 96 pixels \(weights aaa\), got those of "
    for facts, told in (
        ({"weights sha256": "bbb", "size": 96}, r"other at 96 pixels \(weights bbb\)"),
        ({"weights sha256": "aaa", "size": 224}, r"other at 224 pixels \(weights aaa\)"),
    ):
        with pytest.raises(DataError, match=expected + told):
            scale.read(made("other", **facts))
    assert scale.read(write(tmp_path / "odd.npz", source=np.array("by hand"))).shape == (201, 4)


def test_a_name_is_looked_up_in_the_folder_of_features(tmp_path: Path) -> None:
    (tmp_path / "features").mkdir()
    write(tmp_path / "features" / "digits.npz")
    for name in ("digits", "digits.npz"):
        assert load("features", root=tmp_path, path=name).name == "features (digits)"
    with pytest.raises(DataError, match=r"expected a file of features, here or in .*features, got no such"):
        load("features", root=tmp_path, path="digts")


def test_validation_and_test_are_cut_where_the_file_has_none(tmp_path: Path) -> None:
    path = write(tmp_path / "f.npz", validation=False)
    splits = load("features", path=path, validation=0.25)
    assert sizes(splits) == [90, 30, 30]
    assert torch.bincount(splits.validation.targets).tolist() == [10, 10, 10]
    assert sizes(load("features", path=path, validation=0.2, limit=50)) == [40, 10, 30]
    alone = write(
        tmp_path / "g.npz", x=np.eye(60, 5), y=np.arange(60) % 2, part=np.repeat("train", 60), id=None
    )
    assert sizes(load("features", path=alone, validation=0.25, test=0.2)) == [36, 12, 12]


def test_limit_and_shots(tmp_path: Path) -> None:
    path = write(tmp_path / "f.npz")
    assert sizes(load("features", path=path, limit=60)) == [60, 30, 30]
    few = load("features", path=path, shots=7, seed=1)
    assert torch.bincount(few.train.targets).tolist() == [7, 7, 7]
    assert torch.bincount(few.validation.targets).tolist() == [7, 7, 7]
    assert sizes(load("features", path=path, shots=7, validation_shots=2)) == [21, 6, 30]
    assert few.fingerprints["train"] != load("features", path=path, shots=7, seed=2).fingerprints["train"]
    bare = load("features", path=write(tmp_path / "g.npz", validation=False), shots=20)
    assert sizes(bare) == [60, 60, 30]
    assert not set(bare.train.ids.tolist()) & set(bare.validation.ids.tolist())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"shots": 41}, "shots must be <= 40, the rows left of class 0, got 41"),
        ({"shots": 5, "limit": 5}, "limit and shots exclude each other, got 5 and 5"),
        ({"validation_shots": 5}, "validation_shots goes with shots, got 5 alone"),
        ({"shots": 0}, "shots must be >= 1, got 0"),
    ],
)
def test_wrong_options(tmp_path: Path, options: dict[str, int], message: str) -> None:
    path = write(tmp_path / "f.npz")
    with pytest.raises(ValueError, match=message):
        load("features", path=path, **options)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"x": np.zeros(201)}, r"expected x \(n, d\) of real numbers"),
        ({"y": np.zeros(201)}, "expected y of whole numbers, got float64"),
        ({"y": np.full(201, 3)}, "expected classes 0 to 2, or -1 for none, got 3 to 3"),
        ({"y": np.r_[-1, np.zeros(200, int)]}, "a class in every row of the part 'train', got 1 of 120 rows"),
        (
            {"part": np.repeat("test", 201), "y": np.zeros(201, int)},
            "expected rows with a class, in the part 'train', got test",
        ),
        (
            {"y": np.r_[np.ones(120, int), np.arange(81) % 3]},
            "expected two classes or more in the part 'train', got 'b' alone",
        ),
        ({"part": None}, "expected arrays named x and y and part"),
        ({"x": np.full((201, 2), np.nan)}, "expected finite numbers"),
    ],
)
def test_wrong_files(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    path = write(tmp_path / "f.npz", **changes)
    with pytest.raises(DataError, match=message):
        load("features", path=path)
