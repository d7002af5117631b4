"""Preprocessing of tables against scikit-learn's, and what it learns from which rows."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from tailormix.data import DataError
from tailormix.data.preprocessing import TablePreprocessing, load_preprocessing, save_preprocessing

RANDOM = np.random.default_rng(0)
CITIES = RANDOM.choice(["Oslo", "Rome", "Lima", "Cairo", "Delhi"], 200, p=[0.4, 0.3, 0.15, 0.1, 0.05])
FRAME = pd.DataFrame(
    {
        "size": np.where(RANDOM.random(200) < 0.1, np.nan, RANDOM.normal(70, 20, 200)),
        "city": np.where(RANDOM.random(200) < 0.1, None, CITIES),
        "rooms": RANDOM.integers(1, 6, 200),
        "sold": RANDOM.random(200) < 0.3,
        "age": np.where(np.arange(200) < 120, 5.0 + np.arange(200), np.nan),  # never missing below row 120
    }
)
TRAINING = np.arange(0, 120)


def outputs(preprocessing: TablePreprocessing, source: Any) -> np.ndarray:
    return preprocessing.encode(preprocessing.read(source)).numpy()


def columns(preprocessing: TablePreprocessing, prefix: str) -> list[int]:
    return [k for k, name in enumerate(preprocessing.output_names()) if name.startswith(prefix)]


@pytest.fixture(scope="module")
def fitted() -> TablePreprocessing:
    return TablePreprocessing.fit(FRAME, TRAINING)


def test_numbers_are_those_of_scikit_learn(fitted: TablePreprocessing) -> None:
    """Its scaler leaves missing values out, its imputer gives the median and an indicator."""
    names = ["size", "rooms", "age"]
    numbers = FRAME[names].to_numpy(float)
    imputer = SimpleImputer(strategy="median", add_indicator=True).fit(numbers[TRAINING])
    filled = imputer.transform(numbers)
    expected = StandardScaler().fit(numbers[TRAINING]).transform(filled[:, :3])
    found = outputs(fitted, FRAME)
    np.testing.assert_allclose(found[:, [0, 1, 3]], expected, rtol=1e-12)
    assert fitted.output_names()[-1] == "size is missing"  # age was known in every row of training
    np.testing.assert_array_equal(found[:, -1], filled[:, 3])


@pytest.mark.parametrize("most", [32, 4, 3, 2])
def test_categories_are_those_of_scikit_learn(most: int) -> None:
    """Rare ones and unknown ones together, and unknown ones all zeros where there are no rare ones."""
    known = pd.DataFrame({"city": np.repeat(["Oslo", "Rome", "Lima", "Cairo", "Delhi"], [9, 7, 5, 3, 1])})
    encoder = OneHotEncoder(
        handle_unknown="infrequent_if_exist", max_categories=most, sparse_output=False
    ).fit(known)
    preprocessing = TablePreprocessing.fit(known, max_categories=most)
    new = pd.DataFrame({"city": ["Oslo", "Rome", "Lima", "Cairo", "Delhi", "Atlantis"]})
    np.testing.assert_array_equal(outputs(preprocessing, new), encoder.transform(new))


def test_as_many_categories_as_allowed_are_all_kept() -> None:
    names = TablePreprocessing.fit({"c": ["a", "b", "c"]}, max_categories=3).output_names()
    assert names == ["c=a", "c=b", "c=c"]


def test_missing_categories_have_a_column_where_training_rows_had_them(fitted: TablePreprocessing) -> None:
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False).fit(FRAME[["city"]][:120])
    found = outputs(fitted, FRAME)[:, columns(fitted, "city")]
    np.testing.assert_array_equal(found, encoder.transform(FRAME[["city"]]))
    plain = TablePreprocessing.fit({"c": ["a", "b", None]}, [0, 1])
    assert outputs(plain, {"c": [None, "z", "b"]}).tolist() == [[0, 0], [0, 0], [0, 1]]
    crowded = TablePreprocessing.fit({"c": [*"aaabbc", None]}, range(6), max_categories=2)
    assert crowded.output_names() == ["c=a", "c is another"]
    assert outputs(crowded, {"c": ["a", "b", "z", None]}).tolist() == [[1, 0], [0, 1], [0, 1], [0, 1]]


def test_truth_values_are_0_and_1_and_missing_ones_the_most_frequent() -> None:
    preprocessing = TablePreprocessing.fit({"t": ["yes", "no", "Yes", "", "no"]}, range(4))
    assert outputs(preprocessing, {"t": ["no", "yes", None]}).tolist() == [[0, 0], [1, 0], [1, 1]]
    assert outputs(preprocessing, {"t": [False, True, None]}).tolist() == [[0, 0], [1, 0], [1, 1]]


def test_rows_that_are_not_trained_on_change_nothing(fitted: TablePreprocessing) -> None:
    """Other numbers, categories and gaps in the other rows: every fact and every buffer is the same."""
    other = FRAME.copy()
    other.loc[120:, "size"] = 1e9
    other.loc[120:, "city"] = "Atlantis"
    other.loc[120:, "rooms"] = -3
    other.loc[120:, "sold"] = True
    other.loc[120:, "age"] = 0.5
    again = TablePreprocessing.fit(other, TRAINING)
    assert again.facts() == fitted.facts()
    for name, tensor in fitted.state_dict().items():
        assert torch.equal(again.state_dict()[name], tensor)


def test_facts_say_what_was_learned(fitted: TablePreprocessing) -> None:
    facts = {column["name"]: column for column in fitted.facts()["columns"]}
    kinds = {name: column["kind"] for name, column in facts.items()}
    assert kinds == {
        "size": "number",
        "city": "category",
        "rooms": "number",
        "sold": "boolean",
        "age": "number",
    }
    assert facts["size"]["missing"] == pytest.approx(FRAME["size"][:120].isna().mean())
    assert list(facts["city"]["categories"]) == ["Cairo", "Delhi", "Lima", "Oslo", "Rome"]


def test_columns_are_found_by_name(fitted: TablePreprocessing, tmp_path) -> None:
    """In any order, with others between them, from a frame or a file; an array has them in order."""
    expected = outputs(fitted, FRAME)
    shuffled = FRAME.assign(price=1.0, id=range(200))[["id", "age", "sold", "price", "city", "size", "rooms"]]
    np.testing.assert_array_equal(outputs(fitted, shuffled), expected)
    shuffled.to_csv(tmp_path / "new.csv", index=False)
    np.testing.assert_array_equal(outputs(fitted, tmp_path / "new.csv"), expected)
    np.testing.assert_array_equal(outputs(fitted, FRAME.to_dict("records")), expected)
    np.testing.assert_array_equal(outputs(fitted, FRAME.astype(object).to_numpy()), expected)
    np.testing.assert_array_equal(outputs(fitted, FRAME.astype(object).to_numpy().tolist()), expected)
    with pytest.raises(
        DataError, match="the data frame: expected columns 'size', 'age', got city, rooms, sold"
    ):
        fitted.read(FRAME.drop(columns=["size", "age"]))
    with pytest.raises(DataError, match=r"cannot use inputs: expected shape \(n, 5\), got \(3, 2\)"):
        fitted.read(np.zeros((3, 2)))
    with pytest.raises(DataError, match="row 1, column 'rooms': expected a number, got 'many'"):
        fitted.read(FRAME[:2].assign(rooms=["2", "many"]))


def test_constant_and_empty_columns() -> None:
    """A constant is 0, even where its mean is not exact; a column without values is 0, and told to be so."""
    table = {"a": [0.1] * 10, "b": [None] * 10, "c": [1e12] * 10}
    preprocessing = TablePreprocessing.fit(table)
    assert np.abs(outputs(preprocessing, table)[:, [0, 2]]).max() < 1e-3
    assert preprocessing.spread.tolist() == [1, 1, 1]
    assert outputs(preprocessing, table)[:, [1, 3]].tolist() == [[0, 1]] * 10


def test_saved_and_exported_it_gives_the_same_bits(fitted: TablePreprocessing, tmp_path) -> None:
    raw = fitted.read(FRAME)
    loaded = load_preprocessing(save_preprocessing(tmp_path / "table.safetensors", fitted))
    assert torch.equal(loaded.read(FRAME).nan_to_num(nan=-9), raw.nan_to_num(nan=-9))
    program = torch.export.export(loaded, (raw[:2],), dynamic_shapes=({0: torch.export.Dim("rows")},))
    for part in (raw, raw[:1]):
        expected = fitted(part)
        assert expected.dtype == torch.float32
        assert torch.equal(loaded(part), expected)
        assert torch.equal(program.module()(part), expected)


@given(
    arrays.arrays(
        float,
        st.tuples(st.integers(1, 30), st.integers(1, 3)),
        elements=st.one_of(st.floats(-1e6, 1e6), st.just(np.nan)),
    ),
    st.integers(0, 30),
)
def test_further_rows_are_merged_as_if_they_had_been_there(rows: np.ndarray, cut: int) -> None:
    """Means and variances after two parts are those of all rows, without what is missing."""
    parts = [part for part in (rows[:cut], rows[cut:]) if len(part)]
    preprocessing = TablePreprocessing.fit(parts[0])
    for part in parts[1:]:
        preprocessing = preprocessing.updated(part)
    known = ~np.isnan(rows).all(axis=0)
    mean, variance = np.nanmean(rows[:, known], axis=0), np.nanvar(rows[:, known], axis=0)
    np.testing.assert_allclose(preprocessing.centre[known], mean, rtol=1e-9, atol=1e-6)
    np.testing.assert_allclose(preprocessing.variance[known], variance, rtol=1e-6, atol=1e-3)
    assert preprocessing.count.tolist() == (~np.isnan(rows)).sum(axis=0).tolist()


def test_damaged_files_are_named(fitted: TablePreprocessing, tmp_path) -> None:
    path = save_preprocessing(tmp_path / "table.safetensors", fitted)
    contents = path.read_bytes()
    for wrong in (b"", contents[:100], contents.replace(b'"kind":"table"', b'"kind":"tabel"', 1)):
        path.write_bytes(wrong)
        with pytest.raises(DataError, match=r"table\.safetensors: expected a saved preprocessing, got"):
            load_preprocessing(path)
