"""Mixing that sets its own strength."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from tailormix import METHODS, CutMix, Mixup, SKMixup, Step, TwoBeta, build_method
from tailormix.strength import AutoStrength, confidence_gap

WITHOUT = {"erm", "two-beta", "mit-l", "mit-a"}  # no strength, or two, or a margin that limits it


class Small(nn.Module):
    """Two layers, so that there are embeddings and a hidden layer to mix at."""

    embedding_layer, stages = "head", ("hidden",)

    def __init__(self, y):
        super().__init__()
        self.hidden, self.head = nn.Linear(192, 4), nn.Linear(4, y.shape[1] if y.dim() > 1 else 2)

    def forward(self, x):
        return self.head(self.hidden(x.flatten(1)).relu())


def answers(confidence, right, n=100):
    """Logits of n rows that are all ``confidence`` sure, and labels of which a share is right."""
    logits = torch.tensor([[math.log(confidence / (1 - confidence)), 0.0]]).expand(n, 2)
    return logits, (torch.arange(n) >= right * n).long()


def test_the_gap_is_confidence_less_accuracy():
    assert confidence_gap(*answers(0.9, 0.7)) == pytest.approx(0.2)
    assert confidence_gap(*answers(0.6, 0.7)) == pytest.approx(-0.1)


def test_a_step_by_hand():
    """Log s grows by 4 · (0.9 - 0.7) = 0.8."""
    auto = AutoStrength(Mixup(), start=0.05, gain=4.0)
    assert auto.observe(*answers(0.9, 0.7)) == pytest.approx(0.05 * math.exp(0.8))
    assert auto.strength == pytest.approx(0.05 * math.exp(0.8))


@given(confidence=st.floats(0.5, 0.99), right=st.integers(0, 100), start=st.floats(0.01, 4.0))
def test_too_sure_mixes_more_and_too_modest_less_within_bounds(confidence, right, start):
    auto = AutoStrength(SKMixup(), start=start, bounds=(0.01, 4.0))
    before, gap = auto.strength, confidence_gap(*answers(confidence, right / 100))
    after = auto.observe(*answers(confidence, right / 100))
    assert 0.01 * (1 - 1e-6) <= after <= 4.0
    assert (after - before) * gap >= -1e-6 * abs(before)


def problem(name):
    """A method of that name with automatic strength from 0.001 on, and a batch for it."""
    options = (
        {"counts": (1.0, 1.0)} if name == "remix" else {"partners": "batch"} if name == "c-mixup" else {}
    )
    real = name == "c-mixup"  # which needs real targets
    auto = AutoStrength(build_method(name, num_classes=None if real else 2, **options), start=1e-3)
    x, y = torch.rand(64, 3, 8, 8), torch.arange(64) % 2
    return auto, x, y[:, None].float() if real else y


@pytest.mark.parametrize("name", sorted(METHODS.keys() - WITHOUT))
def test_every_method_with_a_strength_uses_the_current_value(name):
    torch.manual_seed(0)
    auto, x, y = problem(name)
    points, generator = torch.rand(64, 4), torch.Generator().manual_seed(0)
    weak = auto.method.plan(x, y, points, generator=generator)
    for _ in range(40):
        auto.observe(*answers(0.95, 0.5))
    strong = auto.method.plan(x, y, points, generator=generator)
    assert auto.strength == 8.0

    def mixing(plan):  # how far coefficients are from 0 and 1
        lam = plan.for_targets.lam if name == "mixup-to" else plan.lam
        return float((lam * (1 - lam)).mean())

    assert mixing(weak) < 0.05 < mixing(strong)


@pytest.mark.parametrize("name", sorted(WITHOUT))
def test_methods_without_a_strength_say_so(name):
    with pytest.raises(ValueError, match="has no strength that could be set automatically"):
        AutoStrength(build_method(name))


def test_the_state_can_be_saved_and_loaded():
    auto, other = AutoStrength(Mixup()), AutoStrength(Mixup())
    auto.observe(*answers(0.9, 0.5))
    other.load_state_dict(auto.state_dict())
    assert other.strength == auto.strength
    assert other.observe(*answers(0.8, 0.7)) == auto.observe(*answers(0.8, 0.7))


@pytest.mark.parametrize("name", sorted(METHODS.keys() - WITHOUT))
def test_a_compiled_step_sees_a_new_strength_without_compiling_again(name):
    torch.manual_seed(0)
    torch.compiler.reset()
    auto, x, y = problem(name)
    step = torch.compile(Step(Small(y), auto.method), backend="eager")

    def loss():
        torch.manual_seed(1)
        return float(step(x, y).detach())

    before = loss()
    with torch.compiler.set_stance("fail_on_recompile"):
        assert loss() == before
        for _ in range(40):
            auto.observe(*answers(0.95, 0.5))
        assert loss() != before


@pytest.mark.parametrize(("right", "bound"), [(0.0, 8.0), (1.0, 1e-3)])
def test_any_gain_stays_within_bounds(right, bound):
    assert AutoStrength(Mixup(), gain=1e6).observe(*answers(0.7, right)) == pytest.approx(bound)


def test_bad_settings_are_named():
    with pytest.raises(ValueError, match="start must lie within bounds"):
        AutoStrength(Mixup(), start=9.0)
    with pytest.raises(ValueError, match="gain must be >= 0"):
        AutoStrength(Mixup(), gain=-1.0)
    with pytest.raises(ValueError, match="needs validation rows, got none"):
        AutoStrength(Mixup()).observe(torch.zeros(0, 2), torch.zeros(0, dtype=torch.int64))
    with pytest.raises(ValueError, match="logits must be finite"):
        AutoStrength(Mixup()).observe(torch.full((4, 2), torch.nan), torch.zeros(4, dtype=torch.int64))
    with pytest.raises(ValueError, match=r"logits \(n, C\) and class indices \(n,\)"):
        AutoStrength(Mixup()).observe(torch.zeros(4, 1), torch.zeros(4, 1))
    assert CutMix().coefficients.strength == "alpha"
    assert not hasattr(TwoBeta().coefficients, "strength")
