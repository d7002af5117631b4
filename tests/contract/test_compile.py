"""``torch.compile(fullgraph=True)`` of warp and of every batch form, in a process without any table yet."""

import json

import pytest

from contract.cases import BATCH_FORM, NOT_COMPILED
from helpers import run_python

# The compiled call comes first: a table that were only made eagerly would break the graph. Inductor costs
# many seconds per method, so it compiles two that hold all the shared code; the others are traced in full.
CODE = """
import copy, json, sys, torch
from tailormix import Step, build_method, warp

torch.set_num_threads(1)
torch.manual_seed(0)
x, y, h = torch.rand(16, 3, 8, 8), torch.arange(16) % 3, torch.rand(16, 5)
methods = {name: build_method(name, num_classes=3).fit(x, y) for name in json.loads(sys.argv[1])}
methods["direct"] = build_method("sk-mixup", num_classes=3, sampling="direct")

def some(x, y, h):
    return {name: methods[name](x, y, h) for name in ("mixup", "sk-mixup")}

def everything(x, y, h, u, tau):
    batches = {name: method(x, y, h) for name, method in methods.items()}
    return batches, warp(u, tau), warp(u, tau, "sigmoid")

u, tau = torch.rand(64), torch.rand(64) * 3 + 0.5  # where the graph is not so steep as to stretch errors
inductor = torch.compile(some, fullgraph=True, backend="inductor")
for mixed, soft in inductor(x, y, h).values():
    assert mixed.isfinite().all() and torch.allclose(soft.sum(1), torch.ones(16))
compiled = torch.compile(everything, fullgraph=True, backend="aot_eager")
batches, inverse_beta, sigmoid = compiled(x, y, h, u, tau)
for name, (mixed, soft) in batches.items():
    assert mixed.shape == x.shape and soft.shape == (16, 3), name
    assert mixed.isfinite().all() and torch.allclose(soft.sum(1), torch.ones(16)), name
# A label out of range gives NaN, in every form, and never a row without a class.
for label in (3, 7, -1, -100):
    wrong = y.clone()
    wrong[5] = label
    forms = compiled(x, wrong, h, u, tau)[0] | {"inductor": inductor(x, wrong, h)["sk-mixup"]}
    for name, (_, soft) in forms.items():
        assert soft[5].isnan().all(), (name, label)
        assert torch.allclose(soft[~soft.isnan().any(1)].sum(1), torch.ones(())), (name, label)
torch.testing.assert_close(inverse_beta, warp(u, tau, exact=True), rtol=0, atol=5e-6)
torch.testing.assert_close(sigmoid, warp(u, tau, "sigmoid", exact=True), rtol=0, atol=5e-6)
for name, method in methods.items():
    # Sizes become unknown with the second one, or are so at once.
    for dynamic in (None, True) if name == "sk-mixup" else (None,):
        torch.compiler.reset()  # all methods share the code of one class, of which few variants are kept
        form = torch.compile(method, backend="eager", fullgraph=True, dynamic=dynamic)
        for n in (12, 5, 7):
            assert form(x[:n], y[:n], h[:n])[1].shape == (n, 3), name
# A whole step, with the random numbers of the eager one.
torch.compiler.reset()
layers = torch.nn.Flatten(), torch.nn.Linear(192, 7), torch.nn.BatchNorm1d(7), torch.nn.Linear(7, 3)
step = Step(torch.nn.Sequential(*layers), build_method("sk-mixup"))
twin = copy.deepcopy(step)
losses = []
for form in (step, torch.compile(twin, backend="inductor", options={"fallback_random": True})):
    torch.manual_seed(1)
    losses.append(form(x, y))
    losses[-1].backward()
torch.testing.assert_close(*losses)
for one, other in zip(step.parameters(), twin.parameters()):
    torch.testing.assert_close(one.grad, other.grad, rtol=1e-4, atol=1e-5)
torch.testing.assert_close(dict(step.named_buffers()), dict(twin.named_buffers()))
print(json.dumps(list(batches)))
"""


@pytest.mark.timeout(900)
def test_compile_first_in_a_fresh_process() -> None:
    names = [case.name for case in BATCH_FORM if not case.settings and case.name not in NOT_COMPILED]
    printed = run_python(CODE, [json.dumps(names)])
    assert json.loads(printed) == [*names, "direct"]
    assert "sk-mixup" in names
