"""Passes and memory against values worked by hand, and the command that measures all methods."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from benchmarks.__main__ import app
from benchmarks.costs import METHODS_OF, count, images, measure, series, training_step
from benchmarks.paper_costs import cost_page
from torch import nn
from typer.testing import CliRunner

from tailormix.methods import METHODS

CPU = torch.device("cpu")
N = 6


def test_saved_bytes_by_hand() -> None:
    """A linear layer saves its input (5 × 3), the square its own (5 × 2): 25 floats; weights do not count."""
    model, x = nn.Linear(3, 2), torch.randn(5, 3)
    found = count(model, lambda: model(x).square().sum().backward(), CPU)
    assert (found.with_gradient, found.without_gradient, found.memory) == (5, 0, 4 * 25)


def test_what_is_saved_twice_counts_once() -> None:
    """Both layers save the same input (5 × 3); the product saves its two factors (5 × 2 each)."""
    model, other, x = nn.Linear(3, 2), nn.Linear(3, 2), torch.randn(5, 3)
    both = nn.ModuleList([model, other])
    found = count(both, lambda: (model(x) * other(x)).sum().backward(), CPU)
    assert found.memory == 4 * (15 + 10 + 10)


def test_passes_without_gradient_are_told_apart() -> None:
    model, x = nn.Linear(3, 2), torch.randn(5, 3)

    def step() -> None:
        with torch.no_grad():
            model(x[:2])
        model(x).sum().backward()

    assert count(model, step, CPU).without_gradient == 2
    assert count(model, step, CPU).without_gradient == 2  # the first count left no hook behind


@pytest.mark.parametrize("name", METHODS_OF["regression"])
def test_series_need_no_pass_for_distances(name: str) -> None:
    """Distances of labels: SK Mixup forwards what Mixup does."""
    problem = series(N, rows=20, window=30, width=2)
    before = [p.clone() for p in problem.model.parameters()]
    found = count(problem.model, training_step(problem, name), CPU)
    assert (found.with_gradient / N, found.without_gradient) == (2 if "regmixup" in name else 1, 0)
    for old, new in zip(before, problem.model.parameters(), strict=True):  # nothing is learnt meanwhile
        torch.testing.assert_close(old, new, rtol=0, atol=1e-9)


def test_a_batch_does_not_count_as_the_training_set_it_is_from() -> None:
    small, large = (series(N, rows=rows, window=30, width=2) for rows in (20, 2000))
    sizes = [count(p.model, training_step(p, "erm"), CPU).memory for p in (small, large)]
    assert sizes[0] == sizes[1]


def test_every_method_is_measured_somewhere() -> None:
    assert {name for names in METHODS_OF.values() for name in names} == set(METHODS)


def test_rows_are_ratios_of_one_run() -> None:
    measured = measure(images("resnet8", N, side=4), ["regmixup", "c-mixup"], seconds=0.0)
    rows = {row["method"]: row for row in measured}
    assert list(rows) == ["erm", "mixup", "regmixup"]
    row = rows["regmixup"]
    assert row["time to mixup"] == pytest.approx(row["seconds"] / rows["mixup"]["seconds"])
    assert row["memory to mixup"] == pytest.approx(2.0, abs=0.1)
    assert rows["mixup"]["memory to mixup"] == rows["erm"]["time to erm"] == 1.0


def call(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["costs", *arguments], env={"COLUMNS": "160"})


def test_the_command_shows_and_writes_tables_and_claims(tmp_path: Path) -> None:
    out, page = tmp_path / "costs.json", tmp_path / "costs.md"
    methods = ["--methods", "sk-mixup,mit-a,rankmixup,c-mixup"]
    quick = ["--quick", "--batch", "6", "--device", "cpu"]
    done = call(*quick, *methods, "--out", str(out), "--page", str(page))
    assert done.exit_code == 0, done.stderr
    assert "classification: a step of resnet8, batch 6×3×8×8" in done.stdout
    assert "regression: a step of lstnet-skip" in done.stdout
    assert "SK Mixup is about 3× faster than RankMixup" in done.stdout
    found = json.loads(out.read_text())
    names = [row["method"] for row in found["classification"]]
    assert names == ["erm", "mixup", "rankmixup", "mit-a", "sk-mixup"]
    assert [row["method"] for row in found["regression"]] == ["erm", "mixup", "c-mixup", "sk-mixup"]
    assert len(found["claims"]) == 7
    assert all(isinstance(claim["agrees"], bool) for claim in found["claims"])
    assert found["settings"]["quick"] is True
    assert found["settings"]["memory"] == "saved for the gradient"
    assert page.read_text(encoding="utf-8") == cost_page(found)


def test_json_for_machines() -> None:
    done = call("--quick", "--methods", "erm", "--clock", "cpu", "--json")
    assert done.exit_code == 0
    found = json.loads(done.stdout)
    assert found["claims"] == []
    assert found["settings"]["clock"] == "cpu"
    assert found["classification"][0]["samples with gradient"] == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--methods", "mixp"], "did you mean 'mixup'"),
        (["--model", "resnet9"], "did you mean 'resnet8'"),
        (["--model", "mlp", "--device", "tpu"], "unknown device 'tpu'"),
        (["--clock", "sun"], "unknown clock 'sun'"),
        (["--out", "nowhere/bench.json", "--quick"], "folder nowhere does not exist"),
    ],
)
def test_wrong_use_is_two(arguments: list[str], message: str) -> None:
    done = call(*arguments)
    assert done.exit_code == 2
    assert message in " ".join(done.stderr.replace("│", " ").split())
