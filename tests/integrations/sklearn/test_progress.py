"""``verbose=1``: a bar that moves on a terminal, plain lines elsewhere, and nothing without it."""

from __future__ import annotations

from typing import Any

import pytest

from integrations.sklearn.quick import REAL, X, Y, classifier, regressor
from integrations.sklearn.terminal import Screen, terminal
from tailormix.integrations.sklearn import network

SHOWN, HIDDEN = "\x1b[?25h", "\x1b[?25l"  # the cursor


@pytest.fixture(autouse=True)
def _plain_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """80 columns without colours: the part of the bar that is still to come is not drawn then."""
    for name, value in {"TERM": "xterm", "NO_COLOR": "1", "COLUMNS": "80"}.items():
        monkeypatch.setenv(name, value)
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)


def watched(monkeypatch: pytest.MonkeyPatch, screen: Screen, epochs: int) -> None:
    """Each epoch waits until the bar shows those before it: the bar refreshes at its own pace."""
    real, done = network.train_epoch, iter(range(epochs))

    def slow(*arguments: Any) -> Any:
        screen.wait_for(f" {next(done)}/{epochs} ")
        return real(*arguments)

    monkeypatch.setattr(network, "train_epoch", slow)


@pytest.mark.parametrize(("make", "y"), [(classifier, Y), (regressor, REAL)])
def test_the_bar_grows_with_the_epochs(make: Any, y: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """40 columns: of 4 epochs each draws 10 more, beside its number and its loss."""
    with terminal() as screen:
        watched(monkeypatch, screen, 4)
        model = make(verbose=1, refit=False, max_iter=4).fit(X, y)
    frames = screen.frames()
    ends = [next(f for f in reversed(frames) if f" {epoch}/4 " in f"{f} ") for epoch in range(5)]
    assert frames.index(ends[0]) < frames.index(ends[1]) < frames.index(ends[2]) < frames.index(ends[3])
    assert [frame.count("━") for frame in ends] == [0, 10, 20, 30, 40]
    assert all(frame.startswith("training ") for frame in ends)
    losses = [f"loss {loss:.4g}" for loss in model.loss_curve_]
    assert [frame[frame.index("loss") :] for frame in ends[1:]] == losses
    assert frames[-1] == ends[-1]


def test_the_line_is_ended_and_the_cursor_given_back() -> None:
    with terminal() as screen:
        classifier(verbose=1, refit=False).fit(X, Y)
    assert screen.written.startswith(HIDDEN)
    assert screen.written.endswith(f"\r\n{SHOWN}")
    assert screen.written.count("\n") == 1


def test_a_training_that_fails_gives_the_cursor_back() -> None:
    with terminal() as screen, pytest.raises(ValueError, match="training diverged"):
        regressor(verbose=1, method="erm", learning_rate=1e18, max_iter=20).fit(X, REAL)
    assert screen.written.endswith(f"\r\n{SHOWN}")


def test_a_second_training_has_a_bar_of_its_own() -> None:
    with terminal() as screen:
        classifier(verbose=1).fit(X, Y)
    finished = [frame for frame in screen.frames() if " 3/3 " in frame]
    assert [frame.split(" ━")[0] for frame in finished] == ["training", "refitting"]
    assert screen.written.count("\n") == 2


def test_early_stopping_tells_both_losses() -> None:
    with terminal() as screen:
        model = classifier(verbose=1, early_stopping=True).fit(X, Y)
    told = f"loss {model.loss_curve_[-1]:.4g} · validation loss {model.validation_curve_[-1]:.4g}"
    assert screen.frames()[-1].endswith(told)


def test_a_terminal_that_cannot_draw_gets_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    with terminal() as screen:
        classifier(verbose=1, refit=False).fit(X, Y)
    assert "\x1b" not in screen.written
    assert "epoch 1/3 · loss" in screen.written
    assert "epoch 3/3 · loss" in screen.written


def test_elsewhere_lines_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    classifier(verbose=1, refit=False).fit(X, Y)
    assert "epoch 3/3 · loss" in capsys.readouterr().err
    classifier().fit(X, Y)
    assert capsys.readouterr() == ("", "")


def test_without_verbose_a_terminal_stays_empty() -> None:
    with terminal() as screen:
        classifier().fit(X, Y)
    assert screen.written == ""
