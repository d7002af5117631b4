"""The command line: lists, exit codes, and a start without torch."""

import json

import pytest
from typer.testing import CliRunner

from helpers import run_python
from tailormix import METHODS
from tailormix.cli.main import app


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, list(arguments), env={"COLUMNS": "200", "TERM": "dumb", "NO_COLOR": "1"})
    return result.exit_code, result.output


def test_list_methods() -> None:
    code, output = run("list", "methods")
    assert code == 0
    for name, entry in METHODS.items():
        assert name in output
        assert entry.section.split()[0] in output


def test_list_methods_for_machines() -> None:
    code, output = run("list", "methods", "--json")
    assert code == 0
    rows = json.loads(output)
    assert [row["name"] for row in rows] == list(METHODS)
    kernel = next(row for row in rows if row["name"] == "sk-mixup")
    assert kernel["defaults"]["tau_std"] == 0.25
    assert all(row["what"].endswith((".", ")", "]")) or row["what"] for row in rows)


@pytest.mark.parametrize("arguments", [("list", "metods"), ("list",), ("lst",), ("list", "methods", "--jsn")])
def test_wrong_use_exits_with_two(arguments: tuple[str, ...]) -> None:
    assert run(*arguments)[0] == 2


def test_an_unknown_family_gets_the_closest_name() -> None:
    assert "did you mean 'methods'?" in run("list", "metods")[1].replace("\n", " ")


def test_help_shows_an_example() -> None:
    code, output = run("list", "--help")
    assert code == 0
    assert "tailormix list methods" in output


def test_nothing_here_needs_torch() -> None:
    """Importing torch takes seconds: help must come without it."""
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
