"""Checks the command lines of a page: quick ones are run, the others are parsed by what would run them."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import typer.main
from typer.testing import CliRunner

from helpers import ROOT
from tailormix.cli import app

#: files and folders that command lines of pages name without making them
STAND_INS = ("test.npz", "val.npz", "mine.toml", "runs")


def lines_of(text: str) -> list[list[str]]:
    """Command lines as words; comments and line continuations are taken away.

    >>> lines_of("make demo  # toys" + chr(10))
    [['make', 'demo']]
    """
    lines = text.replace("\\\n", " ").splitlines()
    return [words for words in (shlex.split(line, comments=True) for line in lines) if words]


def check(words: list[str]) -> str:
    """Run or parse one command line in the present folder; what it printed, if it ran."""
    program, *arguments = words
    if program not in PROGRAMS:
        raise AssertionError(f"no check for {program!r}: known are {', '.join(PROGRAMS)}")
    return PROGRAMS[program](arguments)


def _tailormix(arguments: list[str]) -> str:
    if not _quick(arguments):
        _parse(arguments)
        return ""
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, (arguments, result.output, result.exception)
    return result.stdout


def _quick(arguments: list[str]) -> bool:
    """Lists, help, one epoch, dry runs, and whatever reads files that the page itself has made."""
    command, *rest = arguments
    if command == "list" or {"--help", "--dry-run"} & set(rest) or arguments[:2] == ["data", "list"]:
        return True
    if command == "train":
        return "epochs=1" in rest
    return command in ("evaluate", "report") and Path(rest[0]).exists()


def _parse(arguments: list[str]) -> None:
    """Let the command read its own options, without running it. Wrong ones raise."""
    command: Any = typer.main.get_command(app)
    words = list(arguments)
    while hasattr(command, "commands"):
        name = words.pop(0)
        assert name in command.commands, f"no command {name!r}: known are {', '.join(command.commands)}"
        command = command.commands[name]
    made = [Path(name) for name in STAND_INS if name in words and not Path(name).exists()]
    for path in made:
        path.touch() if path.suffix else path.mkdir()
    command.make_context(command.name, words)
    for path in made:
        path.unlink() if path.suffix else path.rmdir()


def _make(arguments: list[str]) -> str:
    targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert set(arguments) <= set(targets), (arguments, targets)
    return ""


def _pip(arguments: list[str]) -> str:
    """``pip install .`` or ``pip install ".[extra]"``, with extras that exist."""
    assert arguments[0] == "install", arguments
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for word in arguments[1:]:
        match = re.fullmatch(r"(?:\.|tailormix)(?:\[([\w,]+)\])?", word)
        assert match, word
        wanted = set((match[1] or "").split(",")) - {""}
        assert wanted <= set(extras["optional-dependencies"]), word
    return ""


def _python(arguments: list[str]) -> str:
    """A script of ours that exists (examples have tests of their own), or a module of ours."""
    name = arguments[1].replace(".", "/") if arguments[0] == "-m" else arguments[0]
    paths = (ROOT / name, ROOT / f"{name}.py", ROOT / name / "__main__.py", ROOT / "src" / f"{name}.py")
    assert any(path.is_file() for path in paths), arguments
    return ""


PROGRAMS = {"tailormix": _tailormix, "make": _make, "pip": _pip, "python": _python}
