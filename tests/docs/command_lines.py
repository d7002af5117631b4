"""Runs the command lines of a page: ours on little work, the others as far as they change nothing."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tomllib
from importlib import metadata
from typing import TYPE_CHECKING

from packaging.requirements import Requirement

from docs.small_world import invoke, small_world
from helpers import ROOT
from tailormix.experiments.parallel import parse_seeds

if TYPE_CHECKING:
    from collections.abc import Iterator

#: options that are added to a command that would otherwise try everything: later ones count
LESS = {
    "reproduce": ["--seeds", "0"],
    "tune": ["--trials", "2", "--splits", "1"],
}
SEEDS = 2  # of a line that names more


def lines_of(text: str) -> list[list[str]]:
    """Command lines as words; comments and line continuations are taken away.

    >>> lines_of("make demo  # toys" + chr(10))
    [['make', 'demo']]
    """
    lines = text.replace("\\\n", " ").splitlines()
    return [words for words in (shlex.split(line, comments=True) for line in lines) if words]


def check(words: list[str]) -> str:
    """Run one command line in the present folder; what it printed, if it ran to its end."""
    program, *arguments = words
    if program not in PROGRAMS:
        raise AssertionError(f"no check for {program!r}: known are {', '.join(PROGRAMS)}")
    return PROGRAMS[program](arguments)


def _tailormix(arguments: list[str]) -> str:
    with small_world():
        result = invoke(_fewer(arguments))
    assert result.exit_code == 0, (arguments, result.output, result.exception)
    return result.stdout


def _fewer(arguments: list[str]) -> list[str]:
    """The same line with fewer seeds, settings and methods."""
    words = list(arguments)
    if "--seeds" in words:
        place = words.index("--seeds") + 1
        words[place] = ",".join(map(str, parse_seeds(words[place])[:SEEDS]))
    return words + LESS.get(words[0], [])


def _torchrun(arguments: list[str]) -> str:
    """Real processes for one epoch, which print their results once."""
    words = [*arguments, "--set", "epochs=1", "--set", "accelerator=cpu"]
    command = [sys.executable, "-m", "torch.distributed.run", *words]
    alone = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=alone, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("test after temperature: accuracy") == 1, done.stdout
    return done.stdout


def _make(arguments: list[str]) -> str:
    """Let make say what it would do; a target that it does not know fails."""
    command = ["make", "--dry-run", "--directory", str(ROOT), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip(), f"make {arguments} does nothing"
    return ""


def _pip(arguments: list[str]) -> str:
    """``pip install .`` or ``pip install ".[extra]"``: all that it would install is here, as asked for."""
    assert arguments[0] == "install", arguments
    for word in arguments[1:]:
        match = re.fullmatch(r"(?:\.|tailormix)(?:\[([\w,]+)\])?", word)
        assert match, word
        for wanted in set(_requirements(*(match[1] or "").split(","))):
            assert wanted.specifier.contains(metadata.version(wanted.name), prereleases=True), str(wanted)
    return ""


def _requirements(*extras: str) -> Iterator[Requirement]:
    """What the library needs with these extras, which may name others of its own."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    known = {"": project["dependencies"], **project["optional-dependencies"]}
    for extra in ("", *extras):
        assert extra in known, f"no extra {extra!r}: known are {', '.join(known)}"
        for wanted in map(Requirement, known[extra]):
            if wanted.name == project["name"]:
                yield from _requirements(*wanted.extras)
            else:
                yield wanted


PROGRAMS = {"tailormix": _tailormix, "torchrun": _torchrun, "make": _make, "pip": _pip}
