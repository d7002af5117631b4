"""Arrays and tables of the user."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tailormix.data import DataError, load


def saved(path: Path, **arrays: np.ndarray) -> Path:
    np.savez(path / "user.npz", **arrays)
    return path / "user.npz"


def test_npz_classes(tmp_path: Path) -> None:
    x = np.random.default_rng(0).normal(3, 2, (100, 4))
    splits = load("npz", path=saved(tmp_path, x=x, y=np.arange(100) % 5))
    assert (splits.task, splits.num_classes, splits.input_shape) == ("classification", 5, (4,))
    assert [len(part) for part in (splits.train, splits.validation, splits.test)] == [70, 10, 20]
    assert torch.bincount(splits.test.targets).tolist() == [4] * 5
    torch.testing.assert_close(splits.train.inputs.mean(0), torch.zeros(4), atol=1e-6, rtol=0)
    torch.testing.assert_close(splits.train.inputs.std(0, correction=0), torch.ones(4))


@pytest.mark.parametrize("shape", [(60,), (60, 1), (60, 3)])
def test_npz_regression(tmp_path: Path, shape: tuple[int, ...]) -> None:
    y = np.random.default_rng(0).random(shape)
    splits = load("npz", path=saved(tmp_path, x=np.ones((60, 2, 3)), y=y))
    outputs = 1 if len(shape) == 1 else shape[1]
    assert (splits.task, splits.num_classes) == ("regression", None)
    assert (splits.outputs, splits.input_shape) == (outputs, (6,))
    centre, spread = splits.target_units
    torch.testing.assert_close(splits.train.targets.mean(0), torch.zeros(outputs), atol=1e-6, rtol=0)
    torch.testing.assert_close(splits.train.targets.std(0, correction=0), torch.ones(outputs))
    for split in (splits.train, splits.validation, splits.test):
        targets = split.targets.double() * spread + centre
        np.testing.assert_allclose(targets.numpy(), y.reshape(60, -1)[split.ids], rtol=1e-5)


def test_npz_images(tmp_path: Path) -> None:
    x = np.random.default_rng(0).integers(0, 256, (50, 3, 6, 6), dtype=np.uint8)
    splits = load("npz", path=saved(tmp_path, x=x, y=np.arange(50) % 2))
    batch, _ = splits.train.batch(torch.arange(len(splits.train)))
    assert batch.shape[1:] == splits.input_shape == (3, 6, 6)
    torch.testing.assert_close(batch.mean(dim=(0, 2, 3)), torch.zeros(3), atol=1e-5, rtol=0)
    torch.testing.assert_close(batch.std(dim=(0, 2, 3), correction=0), torch.ones(3))


def test_npz_truth_values_are_classes_and_whole_numbers_can_be_regression(tmp_path: Path) -> None:
    splits = load("npz", path=saved(tmp_path, x=np.ones((20, 1)), y=np.arange(20) % 2 == 0))
    assert (splits.task, splits.class_names) == ("classification", ("False", "True"))
    splits = load("npz", path=saved(tmp_path, x=np.ones((20, 1)), y=np.arange(20)), task="regression")
    assert (splits.task, splits.train.targets.dtype) == ("regression", torch.float32)


X, Y = np.ones((5, 2)), np.array([0, 0, 0, 1, 1])


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"x": X}, "expected arrays named x and y"),
        ({"x": X, "y": np.zeros(4)}, r"expected x of shape \(n, ...\) and y of as many rows"),
        ({"x": np.ones(5), "y": np.zeros(5)}, r"expected x of shape \(n, ...\)"),
        ({"x": X * np.nan, "y": Y}, "array x: expected finite numbers, got nan in row 0, column 0"),
        ({"x": np.full((5, 2), "a"), "y": Y}, "expected x of real numbers"),
        ({"x": np.ones((5, 8, 8, 3), np.uint8), "y": Y}, r"shape \(n, channels, height, width\)"),
        ({"x": X, "y": np.zeros(5, int)}, "expected two classes or more, got one: 0"),
        (
            {"x": np.array([[object()]]), "y": np.zeros(1)},
            "expected plain arrays, got an array of Python obj",
        ),
    ],
)
def test_npz_bad_arrays(tmp_path: Path, arrays: dict[str, np.ndarray], message: str) -> None:
    with pytest.raises(DataError, match=message):
        load("npz", path=saved(tmp_path, **arrays))


@pytest.mark.parametrize("contents", [b"", b"PK\x03\x04 broken", b"text", None])
def test_npz_foreign_or_missing_file(tmp_path: Path, contents: bytes | None) -> None:
    if contents is not None:
        (tmp_path / "user.npz").write_bytes(contents)
    with pytest.raises(DataError, match=r"cannot use .*user\.npz: expected an \.npz file of plain arrays"):
        load("npz", path=tmp_path / "user.npz")


def table(tmp_path: Path, text: str) -> Path:
    (tmp_path / "user.csv").write_text(text)
    return tmp_path / "user.csv"


def test_table_words_are_classes(tmp_path: Path) -> None:
    rows = "\n".join(f"{'red' if k % 2 else 'blue'},{k},{k * k}" for k in range(40))
    splits = load("table", path=table(tmp_path, f"colour,a,b\n{rows}\n"), target="colour")
    assert (splits.class_names, splits.input_shape) == (("blue", "red"), (2,))
    assert (splits.train.targets == splits.train.ids % 2).all()


def test_table_last_column_is_the_default_target(tmp_path: Path) -> None:
    rows = "\n".join(f"{k},{k / 8}" for k in range(40))
    splits = load("table", path=table(tmp_path, f"a,b\n{rows}\n"), validation=0.25, test=0.25)
    assert splits.task == "regression"
    assert [len(part) for part in (splits.train, splits.validation, splits.test)] == [20, 10, 10]
    centre, spread = splits.target_units
    torch.testing.assert_close(splits.test.targets[:, 0] * spread + centre, splits.test.ids.double() / 8)


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("a,b\n1,2\n3\n", {}, "line 3: expected 2 cells as in the header, got 1"),
        ("a,b\n", {}, "expected rows below the header, got none"),
        ("", {}, "got an empty file"),
        ("a,b\n1,2\n", {"target": "c"}, "unknown target 'c'. Known: a, b"),
        ("a,b\ninf,0.5\n2,0.5\n", {}, "line 2, column 'a': expected a finite number, got 'inf'"),
        ("a,b\n1,1\n2,2\n", {"task": "clasification"}, "unknown task .*did you mean 'classification'"),
        ("a,b\n1,red\n2,blue\n", {"task": "regression"}, "line 2, column 'b': expected a number, got 'red'"),
        ("a,b\n1,inf\n2,3\n", {}, "line 2, column 'b': expected a finite number"),
        ("a,b\n1,250\n2,300\n", {}, "expected task=classification or task=regression, got whole"),
        ("a,b\n1,0.5\n2,0.5\n", {"test": 1.0}, "expected rows left for training"),
    ],
)
def test_table_bad_tables(tmp_path: Path, text: str, options: dict[str, Any], message: str) -> None:
    error = ValueError if message.startswith("unknown") else DataError
    with pytest.raises(error, match=message):
        load("table", path=table(tmp_path, text), **options)
