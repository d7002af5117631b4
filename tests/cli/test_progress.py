"""What is said of runs that did not end well, and the exit code."""

from pathlib import Path

import pytest
import typer

from tailormix.cli.progress import list_failures
from tailormix.experiments.parallel import NOT_STARTED, STOPPED, Job, JobResult


def ended(code: int, message: str) -> JobResult:
    return JobResult(Job(("moons", "--seeds", "0"), Path("runs/seed-0")), code, message)


@pytest.mark.parametrize(
    ("results", "code"),
    [
        ([ended(2, "error: no such column"), ended(2, "error: no such column")], 2),
        ([ended(2, "error: no such column"), ended(1, "error: disk full")], 1),
        ([ended(-9, "")], 1),
        ([ended(143, "stopped by somebody else")], 1),
        ([ended(-2, STOPPED), ended(-2, NOT_STARTED), ended(1, "error: disk full")], 130),
        ([ended(-15, NOT_STARTED)], 143),
    ],
    ids=["wrong use", "mixed", "killed", "stopped alone", "Ctrl-C", "SIGTERM"],
)
def test_runs_that_failed_and_runs_that_were_stopped(
    results: list[JobResult], code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(typer.Exit) as raised:
        list_failures(results)
    assert raised.value.exit_code == code
    stopped = sum(result.stopped for result in results)
    said = capsys.readouterr().err
    assert said.count("again: tailormix train moons --seeds 0") == len(results) - stopped
    assert (f"stopped with {stopped} runs unfinished: the same command resumes them" in said) == (stopped > 0)


def test_nothing_failed_is_nothing_said(capsys: pytest.CaptureFixture[str]) -> None:
    list_failures([])
    assert capsys.readouterr().err == ""
