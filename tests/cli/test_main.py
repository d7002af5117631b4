"""The command line: lists, wrong use, help, and a start without torch."""

import json
from pathlib import Path

import numpy as np
import pytest

from cli.calling import call, told
from helpers import run_python
from tailormix import METHODS


def test_list_methods() -> None:
    done = call("list", "methods")
    assert done.exit_code == 0
    for name, entry in METHODS.items():
        assert name in done.stdout
        assert entry.section.split()[0] in done.stdout
    rows = json.loads(call("list", "methods", "--json").stdout)
    assert [row["name"] for row in rows] == list(METHODS)
    assert next(row for row in rows if row["name"] == "sk-mixup")["defaults"]["tau_std"] == 0.25
    assert all(row["what"] for row in rows)


WRONG = [
    ("lst", "No such command"),
    ("list", "Missing argument"),
    ("list metods", "did you mean 'methods'"),
    ("list methods --jsn", "No such option"),
    ("train moon", "did you mean 'moons'"),
    ("train moons --set epoch=1", "did you mean 'epochs'"),
    ("train moons --seeds x", "seeds must be numbers and ranges"),
    ("train moons --engine slurm", "Known: local"),
    ("train moons --jobs 0", "greater than or equal to 1"),
    ("tune moon", "did you mean 'moons'"),
    ("tune moons --over method.tau_sdt=1,2", "did you mean 'tau_std'"),
    ("tune moons --over method.tau_std=2..1", "a range must rise"),
    ("tune moons --set method=erm", "method erm has no tau_std"),
    ("tune moons --splits x", "splits must be a number up to 10"),
    ("tune moons --objective rmse", "unknown objective 'rmse'"),
    ("tune moons --pruner prune", "unknown pruner 'prune'"),
    ("reproduce regresion", "did you mean 'regression'"),
    ("reproduce regression --rows airfoi", "did you mean 'airfoil'"),
    ("reproduce regression --rows airfoil/sk-mixp", "did you mean 'airfoil/sk-mixup'"),
    ("reproduce regression --seeds 9-0", "seeds must be numbers"),
    ("reproduce regression --budget tiny", "Known: paper, small"),
    ("reproduce regression --protocol relased", "did you mean 'released'"),
    ("reproduce regression --engine slurm", "Known: local"),
    ("report", "Missing argument"),
    ("report no/such/folder", "no/such/folder"),
    ("report . -o no/such/folder/r.html", "no/such/folder"),
    ("report .", "no run in it"),
    ("evaluate", "Missing argument"),
    ("evaluate missing.npz", "missing.npz"),
    ("evaluate {file} --bins 0", "greater than or equal to 1"),
    ("evaluate {file} --imitate nothing", "nothing"),
    ("evaluate {file} --binary both", "both"),
    ("evaluate {file} --html no/such/folder/r.html", "no/such/folder"),
    ("evaluate {file} --unknown", "No such option"),
    *[(f"data {command} airfol", "did you mean 'airfoil'") for command in ("get", "verify")],
    *[(f"data {command} digits", "digits is built in") for command in ("get", "verify")],
]


@pytest.mark.parametrize(("line", "message"), WRONG)
def test_wrong_use_is_two_and_writes_nothing(
    line: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    np.savez(tmp_path / "test.npz", logits=np.zeros((3, 2)), targets=np.array([0, 1, 0]))
    done = call(*line.format(file="../test.npz").split(), COLUMNS="300")
    assert done.exit_code == 2, done.output
    assert message in told(done)
    assert list(Path.cwd().iterdir()) == []


@pytest.mark.parametrize(
    ("command", "example"),
    [
        ("list", "tailormix list methods"),
        ("evaluate", "tailormix evaluate test.npz --calibration val.npz"),
        ("tune", "Example: tailormix tune digits-mlp"),
        *[(f"data {command}", f"Example: tailormix data {command}") for command in ("list", "get", "verify")],
    ],
)
def test_help_has_an_example(command: str, example: str) -> None:
    done = call(*command.split(), "--help")
    assert done.exit_code == 0
    assert example in " ".join(done.stdout.split())
    assert "--worker" not in done.stdout


def test_help_needs_no_torch() -> None:
    """Importing torch takes seconds."""
    code = """
import sys
import tailormix
assert tailormix.__version__ and "SKMixup" in dir(tailormix)
from typer.testing import CliRunner
from tailormix.cli.main import app
for arguments in (["--help"], ["list", "--help"], ["data", "--help"]):
    assert CliRunner().invoke(app, arguments).exit_code == 0
heavy = [name for name in ("torch", "scipy", "numpy", "sklearn", "matplotlib") if name in sys.modules]
print("heavy:", heavy)
"""
    assert run_python(code).strip() == "heavy: []"
