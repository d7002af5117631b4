"""Checks the command lines of a page: all are parsed, and those that need little time and no network run."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import torch
import typer
from torch.distributed.run import get_args_parser
from typer.testing import CliRunner

from helpers import ROOT
from tailormix.calibration.predictions import Predictions, save_predictions
from tailormix.cli.main import app
from tailormix.data.registry import DATASETS
from tailormix.experiments import read

# What is added to a command that is run, so that it does little; of an option given twice, the last counts.
LESS = {
    "evaluate": ["--resamples", "20"],
    "list": [],
    "reproduce": ["--dry-run"],
    "results": [],
    "train": ["--set", "epochs=1", "--seeds", "0", "--jobs", "1"],
}


def lines_of(text: str) -> list[list[str]]:
    """Command lines as lists of words, without comments.

    >>> lines_of("make demo  # toys" + chr(10))
    [['make', 'demo']]
    """
    lines = text.replace("\\\n", " ").splitlines()
    return [words for words in (shlex.split(line, comments=True) for line in lines) if words]


def check(words: list[str], *, whole: bool = False) -> str:
    """Check one command line in the current folder; returns what it printed, if it was run.

    ``whole`` runs a command of tailormix as it is, whatever it does.
    """
    program, *arguments = words
    if whole:
        assert program == "tailormix", words
        return _call(arguments)
    if program not in PROGRAMS:
        raise AssertionError(f"no check for {program!r}: known are {', '.join(PROGRAMS)}")
    return PROGRAMS[program](arguments)


def _tailormix(arguments: list[str]) -> str:
    command, words = typer.main.get_command(app), arguments
    while hasattr(command, "commands"):
        assert words[0] in command.commands, f"no command {words[0]!r}"
        command, words = command.commands[words[0]], words[1:]
    options = command.make_context(command.name, list(words)).params
    if arguments[0] == "train":
        experiment = read(options["experiment"], options["settings"] or [])
        known = DATASETS.get(experiment.data.name)
        if known is not None and known.source == "published":
            return ""
    if arguments[0] not in LESS:
        return ""
    _make_files()
    return _call([*arguments, *LESS[arguments[0]]])


def _call(arguments: list[str]) -> str:
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, (arguments, result.output, result.exception)
    return result.stdout


def _make_files() -> None:
    """Predictions and results that a page only names."""
    assert Path.cwd() != ROOT, "files would be written into the repository: change the folder first"
    if not Path("results").exists():
        Path("results").mkdir()
        for name in ("regression.json", "bank.csv"):  # of all results a table and a study
            shutil.copy(ROOT / "docs" / "results" / name, "results")
    for number, split in enumerate(("val", "test")):
        if not Path(f"{split}.npz").exists():
            logits = 3 * torch.randn(40, 3, generator=torch.Generator().manual_seed(number))
            ids = torch.arange(40) + 40 * number
            saved = Predictions(logits=logits, targets=logits.argmax(1), ids=ids, split=split)
            save_predictions(f"{split}.npz", saved)


def _torchrun(arguments: list[str]) -> str:
    """Options of torchrun that exist, and a command of ours; ``training/test_ranks.py`` runs one."""
    options = get_args_parser().parse_args(arguments)
    assert (options.module, options.training_script) == (True, "tailormix"), arguments
    return _tailormix(options.training_script_args)


def _make(arguments: list[str]) -> str:
    """Let make say what it would do; it fails for an unknown target."""
    assert _run(["make", "--dry-run", "--directory", str(ROOT), *arguments]).strip()
    return ""


def _pip(arguments: list[str]) -> str:
    """``pip install .`` or ``pip install ".[extra]"``, with an extra that exists."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    match = re.fullmatch(r"install \.(?:\[([\w,]+)\])?", " ".join(arguments))
    assert match, arguments
    assert set((match[1] or "all").split(",")) <= set(extras), arguments
    return ""


def _python(arguments: list[str]) -> str:
    """``python -m benchmarks NAME ...``: asked for help, it accepts the name and the options before."""
    _run([sys.executable, *arguments, "--help"], cwd=ROOT)
    return ""


def _run(command: list[str], cwd: Path | None = None) -> str:
    alone = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        command, cwd=cwd, env=alone, capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, (command, done.stderr)
    return done.stdout


PROGRAMS = {"tailormix": _tailormix, "torchrun": _torchrun, "make": _make, "pip": _pip, "python": _python}
