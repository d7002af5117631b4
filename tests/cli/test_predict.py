"""``tailormix predict`` from outside: tables, arrays, images; files, formats and exit codes."""

import csv
import io
import sys
from pathlib import Path

import numpy as np
import pytest

import tailormix
from cli.calling import call, told
from support_trained import COLOURS, X, train_arrays, train_images, train_table, write_table


@pytest.fixture(scope="module")
def fruits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train_table(tmp_path_factory.mktemp("fruits"))


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return train_arrays(tmp_path_factory.mktemp("pairs"), "pairs", "fcn3")


def rows_of(text: str, delimiter: str = ",") -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text), delimiter=delimiter))


def test_a_new_table_gets_a_column_for_each_class(fruits: Path, tmp_path: Path) -> None:
    write_table(tmp_path / "new.csv", 9, fruit=False)
    done = call("predict", fruits, tmp_path / "new.csv", "-o", tmp_path / "out.csv")
    assert (done.exit_code, done.stdout) == (0, f"9 rows: {tmp_path / 'out.csv'}\n"), done.stderr
    expected = tailormix.load_run(fruits).predict_proba(tmp_path / "new.csv")
    found = rows_of((tmp_path / "out.csv").read_text())
    assert list(found[0]) == ["row", "prediction", "confidence", "apple", "pear, ripe"]
    assert [row["row"] for row in found] == [str(number) for number in range(9)]
    given = np.array([[float(row["apple"]), float(row["pear, ripe"])] for row in found])
    np.testing.assert_allclose(given, expected, atol=1e-6)
    assert [row["prediction"] for row in found] == [("apple", "pear, ripe")[k] for k in expected.argmax(1)]
    np.testing.assert_allclose([float(row["confidence"]) for row in found], expected.max(1), atol=1e-6)


def test_columns_are_kept_and_answers_are_printed(fruits: Path, tmp_path: Path) -> None:
    write_table(tmp_path / "new.csv", 2, fruit=False)
    done = call("predict", fruits, tmp_path / "new.csv", "--keep", "id", "--keep", "size", "--raw")
    assert done.exit_code == 0, done.stderr
    found = rows_of(done.stdout)
    assert [(row["id"], row["size"]) for row in found] == [("n0", f"{X[0, 0]:.3f}"), ("n1", f"{X[1, 0]:.3f}")]
    raw = tailormix.load_run(fruits).predict_proba(tmp_path / "new.csv", calibrated=False)
    np.testing.assert_allclose([float(row["apple"]) for row in found], raw[:, 0], atol=1e-6)


def test_words_that_no_training_row_had_are_told(fruits: Path, tmp_path: Path) -> None:
    write_table(tmp_path / "new.csv", 6, fruit=False)
    rows = (tmp_path / "new.csv").read_text()
    assert call("predict", fruits, tmp_path / "new.csv").stderr == ""
    (tmp_path / "new.csv").write_text(rows.replace(COLOURS[1], "mauve"))
    done = call("predict", fruits, tmp_path / "new.csv")
    assert done.exit_code == 0
    assert done.stderr == "note: column 'colour': 2 of 6 rows have a word that no training row had\n"


def test_values_come_with_their_interval(pairs: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "new.npy", X[:7])
    done = call("predict", pairs, tmp_path / "new.npy", "-o", tmp_path / "out.tsv", "--coverage", "0.5")
    assert done.exit_code == 0, done.stderr
    expected = tailormix.load_run(pairs).predict_interval(X[:7], 0.5)
    found = rows_of((tmp_path / "out.tsv").read_text(), "\t")
    for name, values in expected._asdict().items():
        given = [[float(row[f"{name} 0"]), float(row[f"{name} 1"])] for row in found]
        np.testing.assert_allclose(given, values, rtol=1e-5)


def test_arrays_go_into_one_file(fruits: Path, tmp_path: Path) -> None:
    write_table(tmp_path / "new.csv", 4, fruit=False)
    done = call("predict", fruits, tmp_path / "new.csv", "--keep", "colour", "-o", tmp_path / "out.npz")
    assert done.exit_code == 0, done.stderr
    with np.load(tmp_path / "out.npz", allow_pickle=False) as found:
        assert found["colour"].tolist() == ["", "green", "red", "blue"]
        assert found["classes"].tolist() == ["apple", "pear, ripe"]
        assert found["probabilities"].shape == (4, 2)


def test_images_are_named_by_their_files(tmp_path: Path) -> None:
    run = train_images(tmp_path)
    done = call("predict", run, tmp_path / "images")
    assert done.exit_code == 0, done.stderr
    found = rows_of(done.stdout)
    assert len(found) == 40
    assert (found[0]["file"], found[-1]["file"]) == ("dark/00.png", "light/19.png")
    one = rows_of(call("predict", run, tmp_path / "images" / "light" / "19.png").stdout)
    assert [row["file"] for row in one] == ["19.png"]
    assert float(one[0]["light"]) == pytest.approx(float(found[-1]["light"]), abs=1e-5)


def test_a_file_is_overwritten_only_by_force(fruits: Path, tmp_path: Path) -> None:
    write_table(tmp_path / "new.csv", 2, fruit=False)
    (tmp_path / "out.csv").write_text("mine")
    command = ("predict", fruits, tmp_path / "new.csv", "-o", tmp_path / "out.csv")
    refused = call(*command)
    assert refused.exit_code == 2
    assert "out.csv exists: choose another name, or --force to overwrite it" in told(refused)
    assert (tmp_path / "out.csv").read_text() == "mine"
    assert call(*command, "--force").exit_code == 0
    assert (tmp_path / "out.csv").read_text().startswith("row,prediction")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["no-run", "new.csv"], "no-run is not the folder of a run"),
        (["RUN", "none.csv"], "none.csv: expected a table, got no such file"),
        (["RUN", "short.csv"], "expected columns 'colour', 'ripe', got size, other"),
        (
            ["RUN", "new.csv", "-o", "out.xls"],
            "the file must end in .csv, .tsv, .npz, .parquet, got 'out.xls'",
        ),
        (["RUN", "new.csv", "-o", "none/out.csv"], "the file must be in a folder that exists, got none"),
        (["RUN", "new.csv", "--keep", "ids"], "unknown column of --keep 'ids'; did you mean 'id'?"),
        (
            ["RUN", "new.csv", "-o", "out.parquet"],
            "writing .parquet needs a package more: pip install pyarrow",
        ),
        (["RUN", "new.csv", "--model", "my.py:Net"], "its model is mlp, no plug-in"),
    ],
)
def test_what_is_wrong_is_one_line(
    arguments: list[str], said: str, fruits: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    write_table(tmp_path / "new.csv", 2, fruit=False)
    (tmp_path / "short.csv").write_text("size,other\n1,2\n")
    done = call("predict", *[str(fruits) if word == "RUN" else word for word in arguments])
    assert (done.exit_code, done.stdout) == (2, "")
    assert said in told(done)
    assert done.stderr.count("\n") == 1
