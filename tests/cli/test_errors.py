"""Errors of commands: one line, and exit codes by whose turn it is."""

import pytest
import typer

from tailormix.cli.errors import TRACEBACK, one_line_errors
from tailormix.data import DataError
from tailormix.training import CheckpointError, Interrupted, NonFiniteLoss, RunError


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (ValueError("epochs must be >= 1"), 2, "error: epochs must be >= 1"),
        (DataError("missing file a.bin"), 2, "error: missing file a.bin"),
        (RunError("choose another --out"), 2, "error: choose another --out"),
        (ImportError("pip install ray"), 2, "error: pip install ray"),
        (
            ModuleNotFoundError(name="PIL.Image"),
            2,
            'error: the package PIL is missing: pip install "tailormix[train]"',
        ),
        (typer.BadParameter("no such table"), 2, "error: no such table"),
        (typer.BadParameter("too few", param_hint="--jobs"), 2, "error: Invalid value for --jobs: too few"),
        (PermissionError(13, "Permission denied", "runs"), 1, "error: runs: Permission denied"),
        (OSError(28, "No space left on device"), 1, "error: [Errno 28] No space left on device"),
        (RuntimeError("several\n  lines"), 1, "error: several lines"),
        (CheckpointError("cannot write"), 1, "error: cannot write"),
        (NonFiniteLoss("in step 3"), 1, "error: in step 3"),
        (ZeroDivisionError("division"), 1, f"error: ZeroDivisionError: division ({TRACEBACK}=1 shows where)"),
        (ValueError(), 2, f"error: ValueError: ({TRACEBACK}=1 shows where)"),
        (KeyboardInterrupt(), 130, "stopped"),
        (Interrupted("stopped in epoch 2", 15), 143, "stopped in epoch 2"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else None,
)
def test_every_error_is_one_line_and_an_exit_code(
    error: BaseException, code: int, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(typer.Exit) as raised, one_line_errors():
        raise error
    assert raised.value.exit_code == code
    assert capsys.readouterr().err == f"{line}\n"


@pytest.mark.parametrize("error", [typer.Exit(5), typer.Abort(), BrokenPipeError()])
def test_what_typer_answers_itself_passes(error: Exception) -> None:
    with pytest.raises(type(error)) as raised, one_line_errors():
        raise error
    assert raised.value is error


def test_a_traceback_is_there_for_those_who_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(TRACEBACK, "1")
    with pytest.raises(ValueError, match="bad"), one_line_errors():
        raise ValueError("bad")
