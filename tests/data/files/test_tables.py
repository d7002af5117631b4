"""Text files, Parquet, data frames, columns and rows become tables; what cannot be read is named."""

import csv
import io
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tailormix.data import DataError
from tailormix.data.files.tables import read_table


def written(tmp_path: Path, text: str, name: str = "user.csv", encoding: str = "utf-8") -> Path:
    (tmp_path / name).write_bytes(text.encode(encoding))
    return tmp_path / name


def cells(path: Path, **options: Any) -> dict[str, list[Any]]:
    return {name: list(column.cells) for name, column in read_table(path, **options).columns.items()}


PLAIN = {"a": ["1", "2"], "b": ["x y", "ü"]}


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_delimiters_are_found_and_can_be_given(tmp_path: Path, delimiter: str) -> None:
    path = written(tmp_path, "a,b\n1,x y\n\n2,ü\n".replace(",", delimiter))
    assert cells(path) == PLAIN
    assert cells(path, delimiter=delimiter) == PLAIN


def test_the_delimiter_is_not_what_stands_inside_quotes_or_numbers(tmp_path: Path) -> None:
    text = 'name;size;note\n"Doe; John";1,5;"said ""no"""\n"Poe\nEdgar";2,5;a|b\n'
    table = read_table(written(tmp_path, text))
    assert list(table.columns["name"].cells) == ["Doe; John", "Poe\nEdgar"]
    assert list(table.columns["note"].cells) == ['said "no"', "a|b"]
    assert table.columns["size"].numbers().tolist() == [1.5, 2.5]
    assert table.notes == ("user.csv: numbers have decimal commas (decimal=. to change it)",)


@pytest.mark.parametrize(
    ("text", "options", "numbers"),
    [
        ("a;b\n1,5;x\n2;y\n", {}, [1.5, 2.0]),
        ("a;b\n1.5;x\n2;y\n", {}, [1.5, 2.0]),
        ("a|b\n1,5|x\n2|y\n", {"decimal": ","}, [1.5, 2.0]),
        ("a|b\n1,5|x\n2|y\n", {}, [1.5, 2.0]),
        ("a\tb\n1,5\t3.6\n2\t3.5\n", {}, [1.5, 2.0]),  # of each column by itself
        ("a,b\n1e3,x\n-.5,y\n", {}, [1000.0, -0.5]),
    ],
)
def test_decimal_commas(tmp_path: Path, text: str, options: dict[str, Any], numbers: list[float]) -> None:
    assert read_table(written(tmp_path, text), **options).columns["a"].numbers().tolist() == numbers


@pytest.mark.parametrize(
    ("encoding", "given", "note"),
    [
        ("utf-8", None, False),
        ("utf-8-sig", None, False),
        ("utf-8-sig", "utf-8", False),
        ("utf-16", None, False),
        ("cp1252", None, True),
        ("latin-1", "latin-1", False),
        ("utf-16-le", "utf-16-le", False),
    ],
)
def test_encodings(tmp_path: Path, encoding: str, given: str | None, note: bool) -> None:
    path = written(tmp_path, "a,b\n1,x y\n2,ü\n", encoding=encoding)
    assert cells(path, encoding=given) == PLAIN
    told = ("user.csv: not UTF-8, read as cp1252 (encoding=... to change it)",) if note else ()
    assert read_table(path, encoding=given).notes == told


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("", {}, "user.csv: expected a table, got an empty file"),
        ("\n \n", {}, "got empty lines only"),
        ("a,b\n", {}, "expected rows below the header, got none"),
        ("a,b\n1,2\n\n3\n", {}, "line 4: expected 2 cells as in the header, got 1"),
        ('a,b\n"x\ny",2\n1,2,3\n', {}, "line 4: expected 2 cells as in the header, got 3"),
        ('a,b\n1,2\n"x,4\n5,6\n', {}, "expected a table, got line 3: unexpected end of data"),
        ("a,a\n1,2\n", {}, "expected different names, got column 'a' twice"),
        ("a,\n1,2\n", {}, "expected names in line 1, got column 2 without a name"),
        ("5.1,3,setosa\n4.9,2,setosa\n", {}, "expected the names of the columns in line 1, got numbers: 5.1"),
        ("1,2\n3,4\n", {}, "expected the names of the columns in line 1, got numbers: 1, 2"),
        ("a,b\n1,\0\n", {}, "expected text, got a binary file"),
        ("a,b\n1,ü\n", {"encoding": "ascii"}, "expected text in ascii, got 'ascii' codec can't decode"),
        ("a,b\n1,2\n", {"encoding": "klingon"}, "unknown encoding 'klingon'"),
        ("a,b\n1,2\n", {"delimiter": ",,"}, "delimiter must be one character, got ',,'"),
        ("a,b\n1,2\n", {"decimal": "'"}, "decimal must be"),
    ],
)
def test_unusable_text(tmp_path: Path, text: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        read_table(written(tmp_path, text), **options)
    assert "\n" not in str(caught.value)


def test_what_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="expected a table, got no such file"):
        read_table(tmp_path / "absent.csv")
    with pytest.raises(DataError, match="expected a table, got a folder"):
        read_table(tmp_path)
    with pytest.raises(TypeError, match="a table must be a file, a data frame, columns or rows by name"):
        read_table([1, 2])


NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\0\r\ufeff"), min_size=1).map(str.strip)
WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\0\r\ufeff"), max_size=8).map(str.strip)


@given(
    st.lists(NAMES.map("x{}".format), min_size=2, max_size=4, unique=True).flatmap(
        lambda names: st.tuples(
            st.just(names), st.lists(st.lists(WORDS, min_size=len(names), max_size=len(names)), min_size=1)
        )
    ),
    st.sampled_from([",", ";", "\t", "|"]),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_was_written_is_read(tmp_path: Path, table: tuple[list[str], list[list[str]]], cut: str) -> None:
    """Python's own writer, everything quoted: cells come back as text, words for missing ones as None."""
    names, rows = table
    file = io.StringIO()
    csv.writer(file, delimiter=cut, quoting=csv.QUOTE_ALL).writerows([names, *rows])
    found = read_table(written(tmp_path, file.getvalue()), delimiter=cut)
    assert list(found.columns) == [name.strip() for name in names]
    for column, expected in zip(found.columns.values(), zip(*rows, strict=True), strict=True):
        gone = {"", "na", "n/a", "#n/a", "<na>", "nan", "null", "none", "?"}
        assert list(column.cells) == [None if word.lower() in gone else word for word in expected]


@given(st.lists(st.floats(-1e150, 1e150), min_size=1), st.sampled_from([".", ","]))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_numbers_keep_every_bit(tmp_path: Path, numbers: list[float], decimal: str) -> None:
    rows = "".join(f"{number!r}|0\n".replace(".", decimal) for number in numbers)
    path = written(tmp_path, f"a|b\n{rows}")
    assert read_table(path, decimal=decimal).columns["a"].numbers().tolist() == numbers


FRAME = pd.DataFrame({"n": [1.5, None, 3.0], "w": ["red", None, "blue"], "t": [True, False, None]})
KINDS = {"n": "number", "w": "category", "t": "boolean"}


@pytest.mark.parametrize(
    "source",
    [
        FRAME,
        FRAME.convert_dtypes(),
        FRAME.to_dict("list"),
        FRAME.to_dict("records"),
        {name: FRAME[name].to_numpy() for name in FRAME},
    ],
)
def test_frames_columns_and_rows_are_alike(source: Any) -> None:
    table = read_table(source)
    assert {name: column.kind for name, column in table.columns.items()} == KINDS
    np.testing.assert_array_equal(table.columns["n"].numbers(), [1.5, np.nan, 3.0])
    np.testing.assert_array_equal(table.columns["t"].booleans(), [1, 0, np.nan])
    assert table.columns["w"].words() == ["red", None, "blue"]
    assert len(table[[0, 2]]) == 2


def test_frames_and_columns_that_cannot_be_read() -> None:
    with pytest.raises(DataError, match="the data frame: expected different names, got column 'n' twice"):
        read_table(pd.concat([FRAME, FRAME], axis=1))
    with pytest.raises(DataError, match="expected columns of one length, got a 1, b 2"):
        read_table({"a": [1], "b": [1, 2]})
    with pytest.raises(DataError, match="column 'd': expected numbers or words, got dates or times"):
        read_table({"d": np.array(["2020-01-01"], dtype="datetime64[D]")})


def test_parquet_without_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    path = written(tmp_path, "PAR1", "user.parquet")
    with pytest.raises(DataError, match=r"user.parquet: Parquet needs a package more: pip install pyarrow"):
        read_table(path)


def test_parquet(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    path = tmp_path / "user.parquet"
    FRAME.assign(k=[1, 2, 3], c=pd.Categorical(["x", None, "y"])).to_parquet(path)
    table = read_table(path)
    kinds = {name: column.kind for name, column in table.columns.items()}
    assert kinds == {**KINDS, "k": "number", "c": "category"}
    assert table.columns["k"].whole
    assert table.columns["c"].words() == ["x", None, "y"]
    np.testing.assert_array_equal(table.columns["n"].numbers(), [1.5, np.nan, 3.0])
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(DataError, match=r"user\.parquet: expected a Parquet file"):
        read_table(path)
