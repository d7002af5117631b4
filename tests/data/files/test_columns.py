"""What a column holds, and what is told about a cell that does not fit."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from tailormix.data import DataError
from tailormix.data.files.columns import Column


def column(cells: Any) -> Column:
    return Column.of("c", cells, "my.csv", rows=range(2, len(cells) + 2), unit="line")


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["1", "2.5", "-3e4", "", "NA"], "number"),
        (["yes", "No", "?"], "boolean"),
        (["TRUE", "false"], "boolean"),
        (["red", "blue"], "category"),
        (["1", "2", "3", "x"], "category"),
        (["1_000", "2_000"], "category"),
        ([0, 1], "number"),
        ([True, False], "boolean"),
        (pd.Series([1, 2], dtype="category"), "category"),
        (["", "N/A", "null", "None", "NaN", "n/a"], "number"),
    ],
)
def test_kinds(cells: Any, kind: str) -> None:
    assert column(cells).kind == kind


def test_one_word_among_numbers_is_likely_to_be_a_mistake() -> None:
    """19 of 20 are numbers: an error; 8 of 10 are: categories."""
    cells = [str(k) for k in range(20)]
    cells[7] = "1o"
    told = "line 9, column 'c': expected a number as in 19 of 20 rows .or say that it .*, got '1o'"
    with pytest.raises(DataError, match=told):
        _ = column(cells).kind
    assert column([*cells[:8], "x", "y"]).kind == "category"


@pytest.mark.parametrize(
    ("cells", "method", "message"),
    [
        (["1", "x"], "numbers", "my.csv: line 3, column 'c': expected a number, got 'x'"),
        (["1", "-inf"], "numbers", "line 3, column 'c': expected a finite number, got '-inf'"),
        (["1", "-1e200"], "numbers", "line 3, column 'c': expected a number below 1e150, got '-1e200'"),
        ([1.0, np.inf], "numbers", "line 3, column 'c': expected a finite number, got inf"),
        (["yes", "perhaps"], "booleans", "line 3, column 'c': expected true or false.*, got 'perhaps'"),
        ([0.0, 2.0], "booleans", "line 3, column 'c': expected true or false.*, got 2.0"),
        ([[1, 2], [3, 4]], "numbers", "column 'c': expected one value per row, got 2 axes"),
        ([1j, 2j], "numbers", "column 'c': expected numbers or words, got complex numbers"),
    ],
)
def test_wrong_cells_are_named(cells: Any, method: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        getattr(column(cells), method)()


@pytest.mark.parametrize(
    ("cells", "whole"),
    [(["1", "-2"], True), (["1.0"], False), ([1.0], False), (np.array([1], np.uint16), True)],
)
def test_whole_numbers(cells: Any, whole: bool) -> None:
    assert column(cells).whole == whole


def test_words_of_numbers_are_the_same_from_files_and_frames() -> None:
    expected = ["1", "2", None]
    assert column(["1", "2", ""]).words() == column([1.0, 2.0, np.nan]).words() == expected
    assert column(pd.array([1, 2, None], dtype="Int64")).words() == expected
