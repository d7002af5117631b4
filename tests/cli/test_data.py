"""The data command: exit codes, messages, JSON."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tailormix.cli.data import app
from tailormix.data.files.location import missing
from tailormix.data.registry import DATASETS

run = CliRunner().invoke


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TAILORMIX_DATA", str(tmp_path))
    return tmp_path


def airfoil(root: Path) -> Path:
    """Write a file of the published size that is not the published one."""
    path = root / "airfoil" / "airfoil_self_noise.dat"
    path.parent.mkdir()
    path.write_bytes(bytes(58_481))
    return path


def test_list_says_what_is_there(root: Path) -> None:
    airfoil(root)
    (root / "exchange_rate").mkdir()
    (root / "exchange_rate" / "note.txt").write_text("")
    result = run(app, ["list", "--json"])
    assert result.exit_code == 0
    shown = json.loads(result.stdout)
    states = {row["name"]: row["files"] for row in shown["datasets"]}
    assert shown["root"] == str(root)
    assert states.keys() == DATASETS.keys()
    assert [states[name] for name in ("airfoil", "exchange-rate", "cifar10", "digits", "csv")] == [
        "present",
        "incomplete",
        "absent",
        "built in",
        "custom",
    ]


def test_list_is_a_table() -> None:
    result = run(app, ["list"])
    assert result.exit_code == 0
    assert all(name in result.stdout for name in DATASETS)


def test_verify_finds_a_foreign_file(root: Path) -> None:
    airfoil(root)
    for names in (["airfoil"], []):
        result = run(app, ["verify", *names])
        assert result.exit_code == 1
        assert "airfoil_self_noise.dat: expected 59984 bytes" in result.stderr
        assert "to fix it: tailormix data get airfoil" in result.stderr


def test_verify_json_reports_missing_files() -> None:
    result = run(app, ["verify", "exchange-rate", "--json"])
    assert result.exit_code == 1
    assert "missing file" in json.loads(result.stdout)["results"]["exchange-rate"]


def test_verify_of_nothing_is_well() -> None:
    assert run(app, ["verify"]).exit_code == 0


def test_get_goes_on_after_a_failure(monkeypatch: pytest.MonkeyPatch, root: Path) -> None:
    def fetch(name: str, folder: Path, progress: object) -> bool:
        if name == "airfoil":
            raise missing(folder / "x", "y", name)
        return name == "cifar10"

    monkeypatch.setattr("tailormix.data.files.download.get", fetch)
    result = run(app, ["get", "airfoil", "cifar10", "cifar100", "--json"])
    assert result.exit_code == 1
    assert json.loads(result.stdout)["results"] == {
        "airfoil": f"missing file {root / 'x'} (expected y); to fix it: tailormix data get airfoil",
        "cifar10": "fetched",
        "cifar100": "was there",
    }
    assert result.stderr.count("\n") == 1
    assert run(app, ["get", "cifar10"]).exit_code == 0


@pytest.mark.parametrize("command", ["get", "verify"])
@pytest.mark.parametrize(
    ("name", "message"), [("airfol", "did you mean 'airfoil'"), ("digits", "digits is built in")]
)
def test_wrong_names_are_wrong_use(
    command: str, name: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    result = run(app, [command, name])
    assert result.exit_code == 2
    assert message in result.stderr


def test_help_has_examples() -> None:
    for command in ("list", "get", "verify"):
        result = run(app, [command, "--help"])
        assert result.exit_code == 0
        assert f"Example: tailormix data {command}" in result.stdout
