"""``verbose=1``: a bar that moves on a terminal, plain lines elsewhere, and nothing without it."""

from __future__ import annotations

import contextlib
import os
import pty
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from integrations.sklearn.quick import REAL, X, Y, classifier, regressor

if TYPE_CHECKING:
    from collections.abc import Iterator

SHOWN, HIDDEN = "\x1b[?25h", "\x1b[?25l"  # the cursor


@contextlib.contextmanager
def terminal() -> Iterator[list[str]]:
    """Standard error is a terminal inside; afterwards the list holds all that was written to it."""
    inner, outer = pty.openpty()
    written, kept = [], sys.stderr

    def read() -> None:
        with contextlib.suppress(OSError):  # so Linux says that nobody holds the other end any more
            while piece := os.read(inner, 4096):
                written.append(piece.decode())

    reader = threading.Thread(target=read)
    reader.start()
    try:
        with os.fdopen(outer, "w", encoding="utf-8") as sys.stderr:
            yield written
    finally:
        sys.stderr = kept
        reader.join()
        os.close(inner)


@pytest.fixture(autouse=True)
def _plain_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """80 columns without colours."""
    for name, value in {"TERM": "xterm", "NO_COLOR": "1", "COLUMNS": "80"}.items():
        monkeypatch.setenv(name, value)
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)


def test_each_training_has_a_bar_with_its_losses_and_gives_the_cursor_back() -> None:
    with terminal() as written:
        classifier(verbose=1).fit(X, Y)
    text = "".join(written)
    assert text.startswith(HIDDEN)
    assert text.endswith(f"\r\n{SHOWN}")
    for line, name in zip(text.split("\r\n")[:-1], ("training", "refitting"), strict=True):
        assert f"{name} " in line
        assert " 3/3 " in line
    with terminal() as written:
        model = classifier(verbose=1, early_stopping=True).fit(X, Y)
    told = f"loss {model.loss_curve_[-1]:.4g} · validation loss {model.validation_curve_[-1]:.4g}"
    assert told in "".join(written)


def test_a_training_that_fails_gives_the_cursor_back() -> None:
    with terminal() as written, pytest.raises(ValueError, match="training diverged"):
        regressor(verbose=1, method="erm", learning_rate=1e18, max_iter=20).fit(X, REAL)
    assert "".join(written).endswith(f"\r\n{SHOWN}")


def test_a_terminal_that_cannot_draw_gets_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    with terminal() as written:
        classifier(verbose=1, refit=False).fit(X, Y)
    text = "".join(written)
    assert "\x1b" not in text
    assert all(f"epoch {epoch}/3 · loss" in text for epoch in (1, 3))


def test_elsewhere_lines_are_told_and_without_verbose_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    regressor(verbose=1, refit=False).fit(X, REAL)
    assert "epoch 3/3 · loss" in capsys.readouterr().err
    with terminal() as written:
        classifier().fit(X, Y)
    assert written == []
    classifier().fit(X, Y)
    assert capsys.readouterr() == ("", "")
