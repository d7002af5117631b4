"""The command line: lists, wrong use, help, a start without torch, and what a base install can do."""

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.main import get_command

from cli.calling import call
from helpers import ROOT, run_python
from support_runs import make_run
from tailormix import METHODS
from tailormix.cli.errors import EXTRAS
from tailormix.cli.main import FAMILIES, app
from tailormix.experiments import read
from tailormix.experiments.running import run_experiment


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


def below(command: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """A command with the words that call it, and all commands of the group that it may be."""
    yield " ".join(words), command
    for name, each in getattr(command, "commands", {}).items():
        yield from below(each, (*words, name))


COMMANDS = dict(below(get_command(app)))


@pytest.mark.parametrize(("words", "command"), COMMANDS.items(), ids=COMMANDS)
def test_help_has_an_example_and_flags_without_a_type(words: str, command: Any) -> None:
    done = call(*words.split(), "--help")
    assert done.exit_code == 0
    assert f"Example: tailormix {words}" in " ".join(done.stdout.split())
    assert "bool" not in done.stdout
    assert "..." not in done.stdout.partition("Commands:")[2]  # whole sentences
    hidden = [option for each in command.params if getattr(each, "hidden", False) for option in each.opts]
    assert not [option for option in hidden if option in done.stdout]


@pytest.mark.parametrize("words", ["", "data"])
def test_without_a_command_there_is_help_and_two(words: str) -> None:
    done = call(*words.split())
    assert done.exit_code == 2
    assert done.output == call(*words.split(), "--help").stdout


def test_version() -> None:
    done = call("--version")
    assert (done.exit_code, done.stdout) == (0, f"tailormix {metadata.version('tailormix')}\n")


BASE = """
import json, sys
from importlib.machinery import PathFinder
from tailormix.cli.errors import EXTRAS

find = PathFinder.find_spec
PathFinder.find_spec = lambda name, *where: None if name.partition(".")[0] in EXTRAS else find(name, *where)
from cli.calling import call
for line in json.loads(sys.argv[1]):
    done = call(*line.split())
    print(json.dumps([line, done.exit_code, done.stderr]))
"""
#: every command, and the extra that it needs: none where the base is enough
NEEDS = {
    **{f"list {family}": "" for family in FAMILIES},
    "data list": "",
    "data verify": "",
    "data get airfoil": "train",
    "evaluate test.npz --resamples 0": "",
    "evaluate test.npz --calibration val.npz --resamples 0": "",
    "evaluate test.npz --resamples 0 --html page.html": "reports",
    "evaluate test.npz --resamples 0 --diagrams pictures": "reports",
    "train moons": "train",
    "train moons --seeds 0-1": "train",
    "tune moons": "tune",
    "reproduce regression --dry-run": "",
    "reproduce regression --finished": "",
    "reproduce density": "reports",
    "report run": "reports",
    "predict trained new.npz": "",
    "export trained model.onnx": "export",
}


def test_a_base_install_answers_or_names_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every package that an extra brings is hidden, in one process that runs all commands."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TAILORMIX_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "tests"), prepend=os.pathsep)
    for scale, name in enumerate(("test", "val"), start=1):
        np.savez(tmp_path / f"{name}.npz", logits=scale * np.eye(3), targets=np.array([0, 1, 0]), split=name)
    make_run(tmp_path / "run")
    run_experiment(read("moons", ["epochs=1", "batch=500"]), tmp_path / "trained")
    np.savez(tmp_path / "new.npz", x=np.zeros((2, 2)))
    command = [sys.executable, "-c", BASE, json.dumps([*NEEDS])]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for line, code, said in map(json.loads, done.stdout.splitlines()):
        if extra := NEEDS[line]:
            assert code == 2, f"{line}: {said}"
            assert said.endswith(f': pip install "tailormix[{extra}]"\n'), f"{line}: {said}"
            assert "Traceback" not in said
        else:
            assert (code, "error" in said) == (0, False), f"{line}: {said}"


def test_the_extras_are_those_of_the_project() -> None:
    """Every package that an extra for users brings is known by the name it is imported by."""
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    imported = {"pillow": "PIL", "scikit-learn": "sklearn"}
    found = {}
    for extra in reversed(declared):  # the smaller extras come first in the file
        names = [re.split("[>\\[]", line)[0] for line in declared[extra]]
        if extra not in ("all", "docs", "dev", "sklearn"):
            found |= {imported.get(name, name.replace("-", "_")): extra for name in names}
    del found["tailormix"]
    assert found == EXTRAS


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
