"""Passes and memory, counted: against values worked by hand, and against what the methods list."""

import pytest
import torch
from torch import nn

from tailormix.benching.costs import cost
from tailormix.benching.measuring import measure
from tailormix.benching.problems import CLASSIFICATION, REGRESSION, chosen, fitted, images, series, step
from tailormix.benching.timing import CLOCKS, race
from tailormix.methods import METHODS

CPU = torch.device("cpu")
N = 6


def test_saved_bytes_by_hand() -> None:
    """A linear layer keeps its input (5 × 3), the square its own (5 × 2): 25 floats; weights do not count."""
    model, x = nn.Linear(3, 2), torch.randn(5, 3)
    found = cost(model, lambda: model(x).square().sum().backward(), CPU)
    assert (found.graded, found.free, found.memory) == (5, 0, 4 * 25)


def test_what_is_saved_twice_counts_once() -> None:
    """Both layers keep the same input (5 × 3); the product keeps its two factors (5 × 2 each)."""
    model, other, x = nn.Linear(3, 2), nn.Linear(3, 2), torch.randn(5, 3)
    both = nn.ModuleList([model, other])
    found = cost(both, lambda: (model(x) * other(x)).sum().backward(), CPU)
    assert found.memory == 4 * (15 + 10 + 10)


def test_passes_without_gradient_are_told_apart() -> None:
    model, x = nn.Linear(3, 2), torch.randn(5, 3)

    def once() -> None:
        with torch.no_grad():
            model(x[:2])
        model(x).sum().backward()

    assert cost(model, once, CPU).free == 2
    assert not model._forward_pre_hooks


def listed(passes: str) -> tuple[int, int]:
    """Batches with and without gradient in a text like ``n + 3n`` or ``n + n without gradient``."""
    terms = passes.removesuffix(" without gradient").split(" + ")
    counts = [int(term.removesuffix("n") or 1) for term in terms]
    free = counts.pop() if passes.endswith("without gradient") else 0
    return sum(counts), free


@pytest.mark.parametrize("name", CLASSIFICATION)
def test_images_take_the_listed_passes(name: str) -> None:
    problem = images("resnet8", N, side=4)
    found = cost(problem.model, step(problem, fitted(problem, name)), CPU)
    assert (found.graded / N, found.free / N) == listed(METHODS[name].passes)
    assert found.memory > 0


@pytest.mark.parametrize("name", REGRESSION)
def test_series_need_no_pass_for_distances(name: str) -> None:
    """Distances of labels: SK Mixup forwards what Mixup does."""
    problem = series(N, rows=20, window=30, width=2)
    found = cost(problem.model, step(problem, fitted(problem, name)), CPU)
    assert (found.graded / N, found.free) == (2 if "regmixup" in name else 1, 0)


def test_a_batch_does_not_count_as_the_training_set_it_is_from() -> None:
    small, large = (series(N, rows=rows, window=30, width=2) for rows in (20, 2000))
    sizes = [cost(p.model, step(p, fitted(p, "erm")), CPU).memory for p in (small, large)]
    assert sizes[0] == sizes[1]


def test_every_method_is_measured_somewhere() -> None:
    assert {*CLASSIFICATION, *REGRESSION} == set(METHODS)


def test_rows_are_ratios_of_one_run() -> None:
    problem = images("resnet8", N, side=4)
    assert chosen(problem, ["sk-mixup", "c-mixup"]) == ("erm", "mixup", "sk-mixup")
    rows = {row["method"]: row for row in measure(problem, ["regmixup"], seconds=0.0)}
    assert list(rows) == ["erm", "mixup", "regmixup"]
    row = rows["regmixup"]
    assert row["time to mixup"] == pytest.approx(row["seconds"] / rows["mixup"]["seconds"])
    assert row["memory to mixup"] == pytest.approx(2.0, abs=0.1)
    assert rows["mixup"]["memory to mixup"] == rows["erm"]["time to erm"] == 1.0


def test_weights_stay_as_they_are() -> None:
    problem = images("resnet8", N, side=4)
    before = [p.clone() for p in problem.model.parameters()]
    step(problem, fitted(problem, "mixup"))()
    for old, new in zip(before, problem.model.parameters(), strict=True):
        torch.testing.assert_close(old, new, rtol=0, atol=1e-9)
        assert new.grad is None


@pytest.mark.parametrize("clock", CLOCKS)
def test_a_race_times_everybody(clock: str) -> None:
    calls: list[str] = []
    found = race({"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}, seconds=0.0, clock=clock)
    assert calls.count("a") == calls.count("b") >= 5
    assert all(0 <= timing.best <= timing.median for timing in found.values())
