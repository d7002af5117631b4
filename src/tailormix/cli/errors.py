"""Errors of a command: one line on standard error, and an exit code that says whose turn it is.

2 stands for wrong use or wrong data, 1 for work that failed, and 128 + n for a command that signal n stopped.
"""

from __future__ import annotations

import contextlib
import os
import signal
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from collections.abc import Iterator


WRONG_USE, FAILED = 2, 1
#: shows where an error came from: for those who write plug-ins, and for reports of bugs
TRACEBACK = "TAILORMIX_TRACEBACK"


@contextlib.contextmanager
def one_line_errors() -> Iterator[None]:
    """Inside, every error ends the command with one line and :func:`exit_code`; no traceback.

    As a decorator, ``@one_line_errors()``, it does so for a whole command.
    """
    try:
        yield
    except (KeyboardInterrupt, Exception) as error:
        told_by_typer = hasattr(error, "exit_code") or isinstance(error, typer.Abort)
        if told_by_typer or isinstance(error, BrokenPipeError) or os.environ.get(TRACEBACK):
            raise
        typer.echo(error_line(error), err=True)
        raise typer.Exit(exit_code(error)) from error


def exit_code(error: BaseException) -> int:
    """The exit code of a command that this error ends.

    >>> exit_code(ValueError()), exit_code(OSError()), exit_code(KeyboardInterrupt())
    (2, 1, 130)
    """
    if isinstance(error, KeyboardInterrupt):
        return 128 + int(getattr(error, "signal", signal.SIGINT))
    return WRONG_USE if isinstance(error, (ValueError, TypeError, ImportError)) else FAILED


def error_line(error: BaseException) -> str:
    """What is said of an error, in one line; a type that nobody foresaw is named, and how to see more.

    >>> error_line(ValueError("epochs must be >= 1, got 0")), error_line(KeyboardInterrupt())
    ('error: epochs must be >= 1, got 0', 'stopped')
    >>> error_line(KeyError("x"))
    "error: KeyError: 'x' (TAILORMIX_TRACEBACK=1 shows where)"
    """
    text = " ".join(str(error).split())
    if isinstance(error, KeyboardInterrupt):
        return text or "stopped"
    if text and isinstance(error, (ValueError, TypeError, ImportError, OSError, RuntimeError)):
        return f"error: {text}"
    words = ("error:", f"{type(error).__name__}:", text, f"({TRACEBACK}=1 shows where)")
    return " ".join(word for word in words if word)
