"""``torch.compile(Step(model, method))`` for every method: the same losses, gradients and statistics."""

from __future__ import annotations

import contextlib
import copy

import pytest
import torch
from torch import nn

from contract.cases import ALL, CASES, Case, data
from tailormix import SKMixup, SKRegMixup, Step

EVERY = [case for case in ALL if not case.settings]


@torch.compiler.disable
def unknown_to_compilers() -> None:
    """What a graph cannot hold."""


class Net(nn.Module):
    """Two stages with BatchNorm; the graph may break between them."""

    stages = ("first", "second")

    def __init__(self, outputs: int = 3, *, breaks: bool = False) -> None:
        super().__init__()
        self.breaks = breaks
        with torch.random.fork_rng():
            torch.manual_seed(0)
            self.first = nn.Sequential(nn.Flatten(), nn.Linear(192, 7), nn.BatchNorm1d(7), nn.Tanh())
            self.second = nn.Sequential(nn.Linear(7, 5), nn.BatchNorm1d(5), nn.Tanh())
            self.head = nn.Linear(5, outputs)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = self.first(x)
        if self.breaks:
            unknown_to_compilers()
        return self.head(self.second(hidden))


@pytest.fixture(autouse=True)
def _fresh() -> None:
    torch.compiler.reset()


def compare(step: Step, targets: str = "indices", sizes: tuple[int, ...] = (6, 6)) -> Step:
    """Batches through the step as it is and compiled, with the same draws; returns the compiled one."""
    other = copy.deepcopy(step)
    compiled = torch.compile(other, backend="aot_eager")
    for seed, n in enumerate(sizes):
        x, y, _ = data(n, targets=targets, seed=seed)
        losses = []
        for form in (step, compiled):
            torch.manual_seed(seed)
            losses.append(form(x, y))
            losses[-1].backward()
        torch.testing.assert_close(*losses)
    gradients, others = ([p.grad for p in each.parameters()] for each in (step, other))
    torch.testing.assert_close(gradients, others, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(dict(step.named_buffers()), dict(other.named_buffers()))
    return compiled


@pytest.mark.parametrize("case", EVERY, ids=str)
def test_a_compiled_step_is_the_step_and_learns_from_no_wrong_label(case: Case) -> None:
    """A label out of range is an error, or makes the loss NaN."""
    targets = "indices" if case in CASES else "column"
    compiled = compare(Step(Net(3 if case in CASES else 1), case.method(targets)), targets)
    if targets == "indices":
        x, y, _ = data(6)
        for label in (3, -1, -100):
            y[2] = label
            with contextlib.suppress(ValueError, IndexError):
                assert compiled(x, y).isnan()


def test_a_step_that_takes_embeddings_from_its_clean_pass() -> None:
    compare(Step(Net(), SKRegMixup(extra_pass=False)))


@pytest.mark.filterwarnings("ignore:The .grad attribute:UserWarning")  # torch warns where a graph breaks
def test_a_model_that_breaks_the_graph_and_batches_of_several_sizes() -> None:
    compare(Step(Net(breaks=True), SKMixup()), sizes=(6, 5, 4))
