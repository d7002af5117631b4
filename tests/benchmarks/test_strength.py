"""The study of rules for automatic strength: the default rule is the library's, and runs are not repeated."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from benchmarks.strength import DATA, RULES, Loop, Rule, read_rows

from benchmarks import strength, strength_regression, strength_tables
from tailormix import AutoStrength, Mixup


def answers(gap: float, n: int = 200) -> tuple[torch.Tensor, torch.Tensor]:
    """Logits of n rows that are 80 % sure, and labels of which a share of 0.8 - gap is right."""
    logits = torch.tensor([[math.log(4.0), 0.0]]).expand(n, 2).double()
    return logits, (torch.arange(n) >= (0.8 - gap) * n - 1e-6).long()


def strengths(rule: Rule, *gaps: float) -> list[float]:
    loop = Loop(rule)
    for each in gaps:
        loop.observe(*answers(each))
    return [*loop.history, float(loop.value)]


def test_the_chosen_rule_is_that_of_the_library() -> None:
    auto, gaps = AutoStrength(Mixup()), (-0.1, -0.1, 0.15, 0.2, 0.1)
    found = [auto.strength, *(auto.observe(*answers(each)) for each in gaps)]
    assert strengths(RULES["start 1"], *gaps) == pytest.approx(found)


@pytest.mark.parametrize(
    ("rule", "moves"),
    [
        (Rule(), (-0.4, 0.4, 0.8)),
        (Rule(gain=0), (0, 0, 0)),
        (Rule(warmup=2), (0, 0, 0.8)),
        (Rule(hold=True), (0, 0.4, 0.8)),
        (Rule(low=0.05), (0, 0.4, 0.8)),
        (Rule(clip=0.5), (-0.4, 0.4, 0.5)),
        (Rule(decay=1.0), (-0.2, 0.4 / 3, 0.2)),
        (Rule(memory=0.5), (-0.4, 0.0, 0.4)),
        (Rule(proportional=True), (-0.4, 0.8, 0.4)),
    ],
)
def test_moves_of_log_strength_by_hand(rule: Rule, moves: tuple[float, ...]) -> None:
    """For gaps of -0.1, 0.1 and 0.2."""
    found = np.diff(np.log(strengths(rule, -0.1, 0.1, 0.2)))
    assert found == pytest.approx(moves, abs=1e-5)


@pytest.mark.parametrize("signal", strength.SIGNALS)
def test_every_signal_is_above_0_where_the_model_is_too_sure(signal: str) -> None:
    measure = strength.SIGNALS[signal]
    assert measure(*answers(0.2)) > 0 > measure(*answers(-0.15))


def test_known_runs_are_not_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strength, "EPOCHS", 2)
    monkeypatch.setenv("TAILORMIX_DATA", str(tmp_path))
    folder, draw = tmp_path / "keel", np.random.default_rng(0)
    folder.mkdir()
    rows = [
        f"{a:.2f}, {'uvw'[k % 3]}, {'yes' if a > 0 else 'no'}" for k, a in enumerate(draw.normal(size=80))
    ]
    (folder / "pima.dat").write_text("\n".join(rows) + "\n")
    out = tmp_path / "out.csv"

    def run(rules: str) -> list[str]:
        strength.main(out, data="pima", methods="mixup,sk-mixup", rules=rules, seeds=2)
        return out.read_text().splitlines()

    first = run("prototype;fixed 1")
    assert len(first) == 1 + 2 * (1 + 2 * 2)
    assert run("prototype;start 1;fixed 1")[: len(first)] == first
    monkeypatch.setattr(strength, "train", None)  # would fail
    assert len(run("prototype;start 1;fixed 1")) == 1 + 2 * (1 + 2 * 3)
    study = strength_tables.Study(read_rows(out))
    assert strength_tables.all_rules(study).count("\n") == 4
    assert "| erm |  | 1 |" in strength_tables.against_erm(study, DATA)


def test_squared_errors_can_steer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Targets are noise that dropout cannot predict: the strength grows, unless it is fixed."""
    monkeypatch.setattr(strength, "EPOCHS", 2)
    torch.manual_seed(0)
    parts = [(torch.randn(40, 3), torch.randn(40, 1)) for _ in range(3)]
    rules = {"fixed": (0.05, 0.0), "auto": (0.05, 0.5)}
    fixed, auto = strength_regression.train(parts, "mixup", rules, 0)
    assert float(fixed["last"]) < float(auto["last"])
    assert float(auto["ratio"]) > 0
    rows = [{"data": "a", "method": "mixup", "split": "0", **row} for row in (fixed, auto)]
    plain = {**rows[0], "method": "erm", "rule": "erm"}
    assert (
        strength_regression.table([plain, *rows]).count("\n") == 2
    )  # rules that are not the study's are left out
