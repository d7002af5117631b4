"""Every example runs on small settings, learns something, and prints plausible numbers."""

from __future__ import annotations

import re
import runpy
from typing import TYPE_CHECKING

import pytest

from helpers import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable

    Run = Callable[..., list[tuple[float, ...]]]

EXAMPLES = ROOT / "examples"
SCORES = re.compile(r"accuracy (\S+)  ECE (\S+)  NLL (\S+)$", re.MULTILINE)

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*does not have many workers"),
    pytest.mark.filterwarnings("ignore:.*LeafSpec:FutureWarning"),  # Lightning's own use of torch
]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run an example and return its lines of accuracy, ECE and NLL."""
    monkeypatch.syspath_prepend(EXAMPLES)
    for name in ("PL_GLOBAL_SEED", "PL_SEED_WORKERS"):
        monkeypatch.setenv(name, "0")  # so that what seed_everything sets is undone

    def scores(name: str, *arguments: str) -> list[tuple[float, ...]]:
        runpy.run_path(str(EXAMPLES / f"{name}.py"))["main"](list(arguments))
        found = [tuple(map(float, line)) for line in SCORES.findall(capsys.readouterr().out)]
        for accuracy, ece, nll in found:
            assert 0 <= accuracy <= 1
            assert 0 <= ece <= 1
            assert 0 < nll < 5
        return found

    return scores


def test_the_plain_loop_is_complete_and_short(run: Run) -> None:
    trained, scaled = run("plain_loop", "--epochs", "3")
    assert trained[0] > 0.7
    assert scaled[0] == trained[0]  # a temperature changes no prediction
    assert scaled[2] <= trained[2]
    assert len((EXAMPLES / "plain_loop.py").read_text(encoding="utf-8").splitlines()) <= 50


def test_lightning_mixes_alike_in_the_step_and_in_the_callback(run: Run) -> None:
    (step,), (callback,) = (run("lightning_module", "--epochs", "3", *how) for how in ((), ("--callback",)))
    (other,) = run("lightning_module", "--epochs", "3", "--method", "rankmixup")
    assert step == callback != other
    assert step[0] > 0.6


def test_the_loop_in_the_style_of_timm_switches_mixing_off(run: Run) -> None:
    scores = run("timm_style", "--epochs", "2", "--mixup-off-epoch", "1")
    assert len(scores) == 2
    assert scores[-1][0] > 0.7


@pytest.mark.parametrize("how", [[], ["--after"]])
def test_mixing_in_and_after_the_loader(run: Run, how: list[str]) -> None:
    ((accuracy, _, _),) = run("torchvision_collate", "--epochs", "1", *how)
    assert accuracy > 0.5


@pytest.mark.parametrize("method", ["sk-mixup", "mit-l"])
def test_text_of_hugging_face(run: Run, method: str) -> None:
    ((accuracy, _, _),) = run("huggingface_text", "--epochs", "5", "--reviews", "300", "--method", method)
    assert accuracy > 0.6


def test_the_estimators(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(EXAMPLES / "estimators.py"))["main"](["--rows", "40", "--epochs", "2"])
    printed = capsys.readouterr().out
    assert re.search(r"wine: .*tau_std.*temperature \d", printed)
    assert re.search(r"diabetes: rmse [\d.]+, coverage [\d.]+", printed)
