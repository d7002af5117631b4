"""Errors of a command: one line on standard error, and an exit code that says whose turn it is.

2 stands for wrong use or wrong data, 1 for work that failed, and 128 + n for a command that signal n stopped.
"""

from __future__ import annotations

import contextlib
import os
import signal
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperGroup

if TYPE_CHECKING:
    from collections.abc import Iterator


WRONG_USE, FAILED = 2, 1
#: shows where an error came from: for those who write plug-ins, and for reports of bugs
TRACEBACK = "TAILORMIX_TRACEBACK"
#: the extra that brings a package, by the name it is imported by
EXTRAS = {
    "jinja2": "reports",
    "matplotlib": "reports",
    "filelock": "train",
    "joblib": "train",
    "lightning_fabric": "train",
    "PIL": "train",
    "pooch": "train",
    "sklearn": "train",
    "tomli_w": "train",
    "optuna": "tune",
    "onnx": "export",
    "onnxscript": "export",
    "catboost": "study",
    "xgboost": "study",
    "accelerate": "huggingface",
    "transformers": "huggingface",
    "lightning": "lightning",
    "timm": "timm",
    "torchvision": "torchvision",
}
#: what typer raises when a command line is wrong
UsageError: Any = typer.BadParameter.__base__


class Commands(TyperGroup):
    """All commands of the program: whatever goes wrong in them, or in their arguments, is one line."""

    def make_context(self, *arguments: Any, **options: Any) -> Any:
        """Read the arguments before the name of the command."""
        with one_line_errors():
            return super().make_context(*arguments, **options)

    def invoke(self, ctx: Any) -> Any:
        """Read the arguments of the command, and run it."""
        with one_line_errors():
            return super().invoke(ctx)


@contextlib.contextmanager
def one_line_errors() -> Iterator[None]:
    """Inside, every error ends the command with one line and :func:`exit_code`; no traceback."""
    try:
        yield
    except (KeyboardInterrupt, Exception) as error:
        if isinstance(error, (typer.Exit, typer.Abort, BrokenPipeError)) or _is_help(error):
            raise  # typer answers these itself
        if os.environ.get(TRACEBACK) and not isinstance(error, UsageError):
            raise
        typer.echo(error_line(error), err=True)
        raise typer.Exit(exit_code(error)) from error


def _is_help(error: BaseException) -> bool:
    """Whether this stands for the help of a command that was called without arguments."""
    return isinstance(error, UsageError) and error.ctx is not None and error.message == error.ctx.get_help()


def exit_code(error: BaseException) -> int:
    """The exit code of a command that this error ends.

    >>> exit_code(ValueError()), exit_code(OSError()), exit_code(KeyboardInterrupt())
    (2, 1, 130)
    """
    if isinstance(error, KeyboardInterrupt):
        return 128 + int(getattr(error, "signal", signal.SIGINT))
    return WRONG_USE if isinstance(error, (ValueError, TypeError, ImportError, UsageError)) else FAILED


def error_line(error: BaseException) -> str:
    """What is said of an error, in one line; a type that nobody foresaw is named, and how to see more.

    >>> error_line(ValueError("epochs must be >= 1, got 0")), error_line(KeyboardInterrupt())
    ('error: epochs must be >= 1, got 0', 'stopped')
    >>> error_line(KeyError("x"))
    "error: KeyError: 'x' (TAILORMIX_TRACEBACK=1 shows where)"
    """
    text = " ".join(_text(error).split())
    if isinstance(error, KeyboardInterrupt):
        return text or "stopped"
    if text and isinstance(error, (ValueError, TypeError, ImportError, OSError, RuntimeError, UsageError)):
        return f"error: {text}"
    words = ("error:", f"{type(error).__name__}:", text, f"({TRACEBACK}=1 shows where)")
    return " ".join(word for word in words if word)


def _text(error: BaseException) -> str:
    if isinstance(error, ImportError):
        return install_hint(error)
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    if not isinstance(error, UsageError):
        return str(error)
    if isinstance(error, typer.BadParameter) and error.param is None and error.param_hint is None:
        return str(error.message)  # a command's own check
    text = error.format_message()
    if error.ctx is None:
        return str(text)
    return f"{text}{'' if text.endswith(('.', '?')) else '.'} See: {error.ctx.command_path} --help"


def install_hint(error: ImportError) -> str:
    """Which package is missing, and the command that installs it.

    >>> install_hint(ModuleNotFoundError("No module named 'sklearn.svm'", name="sklearn.svm"))
    'the package sklearn is missing: pip install "tailormix[train]"'
    """
    package = (error.name or "").partition(".")[0]
    if package not in EXTRAS:
        return str(error)
    return f'the package {package} is missing: pip install "tailormix[{EXTRAS[package]}]"'
