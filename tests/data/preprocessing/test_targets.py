"""Classes or real values: what is decided, what is told, and what is asked."""

from typing import Any

import numpy as np
import pytest
import torch

from tailormix.data import DataError
from tailormix.data.files.columns import Column
from tailormix.data.preprocessing.targets import array_targets, column_targets

FLOATS = np.array([0.0, 1.0, 2.0] * 4)


def column(cells: Any, task: Any = "auto"):
    return column_targets(Column.of("y", cells, "my.csv", rows=range(2, len(cells) + 2), unit="line"), task)


@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.uint64, np.int32])
def test_whole_numbers_of_any_type_are_classes_with_a_note(kind: Any) -> None:
    found = array_targets(np.array([3, 7, 7, 3, 12, 12], dtype=kind), "auto", "a.npz, array y")
    assert (found.class_names, found.values.tolist()) == (("3", "7", "12"), [0, 1, 1, 0, 2, 2])
    assert found.values.dtype == torch.int64
    told = "a.npz, array y: whole numbers, taken for 3 classes: 3, 7, 12 (task=regression to change it)"
    assert found.notes == (told,)
    assert column(["3", "7", "7", "3", "12", "12"]).class_names == ("3", "7", "12")


@pytest.mark.parametrize(
    "y",
    [
        FLOATS,
        np.arange(50),  # each but once
        np.repeat(np.arange(5, 40), 2),  # many, and not 0, 1, ...
        np.eye(3, dtype=int),
        FLOATS[:, None],
    ],
)
def test_whole_numbers_that_may_be_either_are_asked_about(y: np.ndarray) -> None:
    with pytest.raises(DataError, match="y: expected task=classification or task=regression, got"):
        array_targets(y, "auto", "y")
    real = array_targets(y, "regression", "y")
    assert (real.task, real.notes) == ("regression", ())
    np.testing.assert_array_equal(real.values.numpy(), y.reshape(len(y), -1))


def test_many_classes_from_0_on_are_classes() -> None:
    assert len(array_targets(np.tile(np.arange(100), 2), "auto", "y").class_names) == 100


def test_floats_are_classes_if_asked_for() -> None:
    found = array_targets(FLOATS, "classification", "y")
    assert (found.class_names, found.notes) == (("0", "1", "2"), ())
    assert column(["1.0", "2.0", "2.0"], "classification").class_names == ("1.0", "2.0")


@pytest.mark.parametrize(
    ("cells", "names"),
    [
        (["red", "blue", "red"], ("blue", "red")),
        (["10", "9", "x", "9"], ("10", "9", "x")),
        (["yes", "no", "no"], ("no", "yes")),
        ([True, False, False], ("False", "True")),
    ],
)
def test_words_and_truth_values_are_classes(cells: list[Any], names: tuple[str, ...]) -> None:
    assert column(cells).class_names == names


def test_real_values_are_standardised_by_the_training_rows() -> None:
    """Rows 0 and 1 hold 10 and 14: centre 12, spread 2; a constant keeps its distance."""
    found = array_targets(np.array([[10.0, 5.5], [14.0, 5.5], [20.0, 6.5]]), "auto", "y")
    values, units = found.scaled(torch.tensor([0, 1]))
    assert [tensor.tolist() for tensor in units] == [[12, 5.5], [2, 1]]
    assert values.tolist() == [[-1, 0], [1, 0], [4, 1]]
    assert array_targets(np.array([0, 0, 1, 1]), "auto", "y").scaled(torch.tensor([0]))[1] is None


@pytest.mark.parametrize(
    ("y", "task", "message"),
    [
        (np.array([0.5, np.nan]), "auto", "y: expected finite numbers, got nan in row 1"),
        (np.array(["a", "b"]), "auto", "expected real numbers or truth values, got <U1"),
        (np.zeros(6, int), "auto", "expected two classes or more, got one: 0"),
        (np.arange(6), "classification", "expected classes with several rows, got another in each row"),
        (np.array([0.5, 1.0]), "classification", "expected one class number per row, got fractions"),
        (np.zeros((6, 2)), "classification", r"expected one class number per row, got shape \(6, 2\)"),
        (np.zeros(6), "regresion", "did you mean 'regression'"),
    ],
)
def test_arrays_that_are_no_targets(y: np.ndarray, task: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        array_targets(y, task, "y")


@pytest.mark.parametrize(
    ("cells", "task", "message"),
    [
        (
            ["1", "", "2", "NA"],
            "auto",
            r"line 3, column 'y': expected a target in every row \(2 without: lines 3, 5",
        ),
        (["a", "a"], "auto", "my.csv, column 'y': expected two classes or more, got one: a"),
        (["1", "a"], "regression", "line 3, column 'y': expected a number, got 'a'"),
        (["1.5", "inf"], "auto", "line 3, column 'y': expected a finite number, got 'inf'"),
    ],
)
def test_columns_that_are_no_targets(cells: list[str], task: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        column(cells, task)
