"""The data command: exit codes, messages, JSON."""

import json
from pathlib import Path

import pytest

from cli.calling import call
from tailormix.data.files.location import missing
from tailormix.data.registry import DATASETS


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
    result = call("data", "list", "--json")
    assert result.exit_code == 0
    shown = json.loads(result.stdout)
    states = {row["name"]: row["files"] for row in shown["datasets"]}
    assert shown["root"] == str(root)
    assert states.keys() == DATASETS.keys()
    names, expected = (
        "airfoil exchange-rate cifar10 digits table",
        "present,incomplete,absent,built in,custom",
    )
    assert [states[name] for name in names.split()] == expected.split(",")
    table = call("data", "list")
    assert table.exit_code == 0
    assert all(name in table.stdout for name in DATASETS)


def test_verify_finds_a_foreign_file(root: Path) -> None:
    airfoil(root)
    for names in (["airfoil"], []):
        result = call("data", "verify", *names)
        assert result.exit_code == 1
        assert "airfoil_self_noise.dat: expected 59984 bytes" in result.stderr
        assert "to fix it: tailormix data get airfoil" in result.stderr


def test_verify_reports_missing_files_of_what_was_asked_for() -> None:
    result = call("data", "verify", "exchange-rate", "--json")
    assert result.exit_code == 1
    assert "missing file" in json.loads(result.stdout)["results"]["exchange-rate"]
    assert call("data", "verify").exit_code == 0


@pytest.mark.parametrize(
    ("manifest", "reason"),
    [
        ("{", "Expecting property name"),
        ("[" * 100_000, "maximum recursion depth"),
        ("[1]", "expected an object, got list"),
        ('{"a": {"b": [1, 2]}}', """expected the size and the SHA-256 of 'a', got {"b": [1, 2]}"""),
        ('{"a": [1, [2]]}', "expected the size and the SHA-256 of 'a', got [1, [2]]"),
    ],
)
def test_a_manifest_that_is_none_is_named(manifest: str, reason: str, root: Path) -> None:
    (root / "CIFAR-10-C").mkdir()
    (root / "CIFAR-10-C" / ".tailormix.json").write_text(manifest)
    result = call("data", "verify", "cifar10-c")
    assert result.exit_code == 1
    told = result.stderr.split(f"cannot read {root / 'CIFAR-10-C' / '.tailormix.json'}: ")[1]
    assert told.startswith(reason)
    assert told.endswith("to fix it: remove it\n")


def test_the_root_must_be_a_folder(root: Path) -> None:
    (root / "file").touch()
    for words in (["list"], ["verify"], ["get", "airfoil"]):
        result = call("data", *words, "--root", root / "file")
        assert result.exit_code == 2
        assert result.stderr.startswith("error: Invalid value for '--root'")


def test_get_goes_on_after_a_failure(monkeypatch: pytest.MonkeyPatch, root: Path) -> None:
    def fetch(name: str, folder: Path, progress: object) -> bool:
        if name == "airfoil":
            raise missing(folder / "x", "y", name)
        return name == "cifar10"

    monkeypatch.setattr("tailormix.data.files.download.get", fetch)
    result = call("data", "get", "airfoil", "cifar10", "cifar100", "--json")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["results"] == {
        "airfoil": f"missing file {root / 'x'} (expected y); to fix it: tailormix data get airfoil",
        "cifar10": "fetched",
        "cifar100": "was there",
    }
    assert result.stderr.count("\n") == 1
    assert call("data", "get", "cifar10").exit_code == 0
