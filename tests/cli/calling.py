"""Calls of the command line in this process."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from typer.testing import CliRunner

from tailormix.cli.main import app

if TYPE_CHECKING:
    from click.testing import Result

PLAIN = {"COLUMNS": "160", "TERM": "dumb", "NO_COLOR": "1"}


def call(*arguments: object, **environment: str) -> Result:
    """``tailormix ARGUMENTS`` on a wide terminal without colours."""
    return CliRunner(env={**PLAIN, **environment}).invoke(app, [str(argument) for argument in arguments])


def told(done: Result) -> str:
    """What was said on standard error, in one line and without frames."""
    return " ".join(re.sub("[│╭╮╰╯─]", " ", done.stderr).split())
