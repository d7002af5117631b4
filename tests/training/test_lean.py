"""Optimisers without their decorators: the same numbers as torch's own, and no compiler is imported."""

import pickle
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn, optim

from helpers import run_python
from tailormix.training import OPTIMISERS, build_optimiser
from tailormix.training.checkpoint import load_optimiser, optimiser_tensors
from tailormix.training.lean import lean

KINDS = [(record.attribute, dict(record.defaults)) for record in OPTIMISERS.values()]


def net() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))


def walk(make: Any, options: dict[str, Any], model: nn.Module, steps: int = 3) -> Any:
    """Some steps towards 0 with a fixed batch; the optimiser."""
    optimiser = make(model.parameters(), **options)
    x = torch.linspace(-1, 1, 15).view(5, 3)
    for _ in range(steps):
        optimiser.zero_grad()
        model(x).square().mean().backward()
        optimiser.step()
    return optimiser


@pytest.mark.parametrize(("name", "options"), KINDS)
@pytest.mark.parametrize("fused", [True, False])
def test_steps_are_those_of_torch_to_the_last_bit(name: str, options: dict[str, Any], fused: bool) -> None:
    base, ours, theirs = getattr(optim, name), net(), net()
    options |= {"fused": fused, "lr": 0.1}
    mine, torchs = walk(lean(base), options, ours), walk(base, options, theirs)
    for a, b in zip(ours.parameters(), theirs.parameters(), strict=True):
        assert torch.equal(a, b)
    assert not torch.equal(next(ours.parameters()), next(net().parameters()))
    assert isinstance(mine, base)
    assert list(mine.state_dict()["state"]) == list(torchs.state_dict()["state"])
    assert all(
        not p.requires_grad for values in mine.state.values() for p in values.values() if p is not None
    )


def test_its_state_can_go_on_in_torchs_own_and_back() -> None:
    """Two steps, then one: with a change of hands in between nothing differs."""
    alone, handed = net(), net()
    walk(optim.Adam, {"lr": 0.1}, alone)
    first = walk(lean(optim.Adam), {"lr": 0.1}, handed, steps=2)

    def going_on(parameters: Any, **options: Any) -> Any:
        optimiser = optim.Adam(parameters, **options)
        optimiser.load_state_dict(first.state_dict())
        return optimiser

    walk(going_on, {"lr": 0.1}, handed, steps=1)
    assert torch.equal(next(alone.parameters()), next(handed.parameters()))


@pytest.mark.parametrize("name", ["moons", "digits-mlp"])
def test_a_run_on_a_cpu_never_imports_the_compiler(name: str, tmp_path: Path) -> None:
    """It would take longer than the run itself."""
    code = f"""
import gc, sys
import pickle
from pathlib import Path
from tailormix.experiments import read
from tailormix.experiments.running import run_experiment
run_experiment(read({name!r}, ["epochs=1", "batch=100", "accelerator=cpu"]), Path({str(tmp_path)!r}))
assert "torch._dynamo" not in sys.modules
assert gc.isenabled() and gc.get_freeze_count() > 1000
"""
    run_python(code)
    assert (tmp_path / "result.json").exists()


@pytest.mark.parametrize("name", OPTIMISERS)
def test_a_pickled_optimiser_goes_on_as_it_was(name: str) -> None:
    """Estimators keep theirs; the class is made anew where it is read."""
    weight = nn.Parameter(torch.ones(3))
    optimiser = build_optimiser(name, [weight], {"lr": 0.1})
    for _ in range(2):
        weight.grad = torch.tensor([1.0, 2.0, 3.0])
        optimiser.step()
    copy = pickle.loads(pickle.dumps(optimiser))
    (other,) = copy.param_groups[0]["params"]
    assert type(copy) is type(optimiser)
    for each in (weight, other):
        each.grad = torch.tensor([3.0, 2.0, 1.0])
    optimiser.step()
    copy.step()
    assert torch.equal(weight, other)


def without_gradient(model: Any, _: Any) -> None:
    model[0].bias.grad = None


def loaded(_: Any, optimiser: Any) -> None:
    optimiser.load_state_dict(optimiser.state_dict())


def another_group(model: Any, optimiser: Any) -> None:
    optimiser.add_param_group({"params": list(model[2].parameters()), "lr": 0.01})


def cleared(_: Any, optimiser: Any) -> None:
    optimiser.state.clear()


def partly_cleared(model: Any, optimiser: Any) -> None:
    optimiser.state.pop(model[0].bias)


def upwards(_: Any, optimiser: Any) -> None:
    optimiser.param_groups[0]["maximize"] = True


def another_average(model: Any, optimiser: Any) -> None:
    optimiser.state[model[0].bias]["exp_avg"] = torch.ones(4)


def fewer_parameters(model: Any, optimiser: Any) -> None:
    optimiser.param_groups[0]["params"] = [model[0].bias]


CHANGES = (
    without_gradient,
    loaded,
    another_group,
    cleared,
    partly_cleared,
    upwards,
    another_average,
    fewer_parameters,
)


@pytest.mark.parametrize("name", ["Adam", "AdamW"])
@pytest.mark.parametrize("change", CHANGES)
def test_straight_steps_notice_what_changes(name: str, change: Any) -> None:
    base, models = getattr(optim, name), (net(), net())
    x = torch.linspace(-1, 1, 15).view(5, 3)
    optimisers = [
        make(model[0].parameters(), lr=0.1, fused=True)
        for make, model in zip((lean(base), base), models, strict=True)
    ]
    for number in range(7):
        for model, optimiser in zip(models, optimisers, strict=True):
            optimiser.zero_grad()
            model(x).square().mean().backward()
            if number == 3:
                change(model, optimiser)
            optimiser.step()
        for a, b in zip(models[0].parameters(), models[1].parameters(), strict=True):
            assert torch.equal(a, b)


@pytest.mark.parametrize("kind", [optim.Adam, optim.AdamW])
def test_counts_of_steps_lie_side_by_side_and_count_alike(kind: Any) -> None:
    """Also when torch's own step, which a closure asks for, comes in between."""
    x, states = torch.linspace(-1, 1, 15).view(5, 3), []
    for make in (lean(kind), kind):
        model = net()
        optimiser = make(model.parameters(), lr=0.1, fused=True)
        for number in range(6):
            optimiser.zero_grad()
            loss = model(x).square().mean()
            loss.backward()
            if number == 3:
                optimiser.step(lambda loss=loss: loss)
            else:
                optimiser.step()
        states.append(optimiser.state_dict()["state"])
    for mine, theirs in zip(*(state.values() for state in states), strict=True):
        assert mine["step"] == 6
        for key, value in theirs.items():
            assert torch.equal(mine[key], value)
    memory = {values["step"].untyped_storage().data_ptr() for values in states[0].values()}
    assert len(memory) == 1  # so it was the short way


def test_counts_of_steps_are_apart_in_a_checkpoint(tmp_path: Path) -> None:
    model = net()
    optimiser = walk(lean(optim.Adam), {"lr": 0.1, "fused": True}, model)
    tensors, rest = optimiser_tensors(optimiser)
    save_file(tensors, tmp_path / "kept.safetensors")  # which refuses what shares memory
    again = lean(optim.Adam)(model.parameters(), lr=0.1, fused=True)
    load_optimiser(again, load_file(tmp_path / "kept.safetensors"), rest)
    assert [values["step"].item() for values in again.state.values()] == [3.0] * 4
