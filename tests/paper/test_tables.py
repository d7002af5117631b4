"""Reading tables: layers of a cell's experiment, budgets, protocols, and what is wrong with a file."""

from pathlib import Path

import pytest

from small_table import TABLE, write_table
from tailormix.paper.tables import Table, Value, read_table


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return read_table(write_table(tmp_path))


def test_layers_of_a_cell(table: Table) -> None:
    paper = table.experiment("plain", "mixup-half")
    assert paper.method.flat() == {"name": "mixup", "alpha": 0.5}
    assert (paper.training.epochs, paper.training.imitate) == (1, "")
    assert table.experiment("large", "mixup-half").method.options == {"alpha": 1.0}
    released = table.experiment("plain", "mixup-half", protocol="released")
    assert (released.training.epochs, released.training.imitate) == (2, "released-protocol")
    assert released.method.options == {"alpha": 0.5, "partners": "pool"}
    assert released.model.options == {"hidden": [8]}


def test_small_takes_the_shipped_settings_and_the_rows_method(table: Table) -> None:
    small = table.experiment("plain", "mixup-half", budget="small")
    assert (small.training.epochs, small.training.batch) == (200, 64)
    assert small.model.options == {}
    assert small.method.flat() == {"name": "mixup", "alpha": 0.5}
    with pytest.raises(ValueError, match="setting large of made has no small version"):
        table.experiment("large", "mixup-half", budget="small")


def test_values_and_rows_without_runs(table: Table) -> None:
    assert table.row("erm").values["plain"] == {"accuracy": Value(80.0, 2.0), "ece": Value(5.0)}
    assert [row.name for row in table.rows if row.runs_in("large")] == ["mixup-half"]
    with pytest.raises(ValueError, match="row others of made has nothing to run in plain"):
        table.experiment("plain", "others")
    assert [column.digits for column in table.columns_of("plain")] == [1, 3]
    assert [column.digits for column in table.columns_of("large")] == [1, 2]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('kind = "table"', 'kind = "tabel"', "did you mean 'table'"),
        ("repeats = 3", "repeat = 3", "did you mean 'repeats'"),
        ("digits = 1", "digit = 1", "did you mean 'digits'"),
        ("hours = 0.5", "hour = 0.5", "did you mean 'hours'"),
        ("epochs = 1\n", "epoch = 1\n", "did you mean 'epochs'"),
        ("reported = true", "reporte = true", "did you mean 'reported'"),
        ("[rows.methods.plain]", "[rows.methods.plan]", "did you mean 'plain'"),
        ("ece = 5.0", "ecee = 5.0", "did you mean 'ece'"),
        ("ece = 5.0", "ece = [5.0]", "a cell must be a number or"),
        ('name = "others"', 'name = "erm"', "erm twice"),
        ('path = "test.before.ece"', "", "column ece needs the key path"),
        ('better = "higher"', 'better = "hihger"', "did you mean 'higher'"),
        ('device = "a100"', 'device = "h100"', "did you mean 'a100'"),
    ],
)
def test_a_wrong_file_names_what_is_wrong(old: str, new: str, said: str, tmp_path: Path) -> None:
    assert old in TABLE
    with pytest.raises((ValueError, TypeError), match=said):
        read_table(write_table(tmp_path, TABLE.replace(old, new)))


def test_a_file_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="there is no table file"):
        read_table(tmp_path / "none.toml")
    with pytest.raises(ValueError, match="cannot read the table file"):
        read_table(write_table(tmp_path, "title ="))
