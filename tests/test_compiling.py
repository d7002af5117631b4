"""The compiled batch form: the same numbers, a graph for each method, and no watch but over arguments."""

import pytest

from helpers import run_python
from tailormix import RegMixup

CODE = """
import torch
from tailormix import Mixup, Plan, SKMixup
import tailormix.plan

x, y = torch.rand(6, 4), torch.tensor([0, 1, 2, 0, 1, 2])
plan = Plan(torch.tensor([1, 2, 3, 4, 5, 0]), torch.linspace(0, 1, 6))
methods = [Mixup(num_classes=3), Mixup(num_classes=4), SKMixup(num_classes=5)]
forms = [method.compiled(backend="eager") for method in methods]
for _ in range(2):  # the second time from graphs that lie beside one another
    for method, form in zip(methods, forms, strict=True):
        for found, expected in zip(form(x, y, plan=plan), method(x, y, plan=plan), strict=True):
            assert torch.equal(found, expected)
assert [form(x, y, x)[1].shape[1] for form in forms] == [3, 4, 5]
assert forms[2](x[:4], y[:4], x[:4])[0].shape == (4, 4)

scale = "one"

def embedded():
    return x if scale == "one" else x + 1

forms[2](x, y, embedded)
for found, expected in zip(methods[0].compiled(mode="default")(x, y, plan=plan), methods[0](x, y, plan=plan)):
    torch.testing.assert_close(found, expected)  # by inductor; torch itself takes no mode beside options

torch._dynamo.config.error_on_recompile = True
scale = "other"
try:
    forms[2](x, y, embedded)
except torch._dynamo.exc.RecompileError:
    print("noticed")
tailormix.plan.FEW += 1  # which torch.compile(method) would notice
assert forms[0](x, y, plan=plan)[1].shape == (6, 3)
try:
    torch.compile(methods[0])(x, y, plan=plan)
    tailormix.plan.FEW += 1
    torch.compile(methods[0])(x, y, plan=plan)
except torch._dynamo.exc.RecompileError:
    print("noticed")
try:
    forms[0](x, y, generator=torch.Generator())
except TypeError as error:
    print("generator" in str(error))
"""


def test_numbers_graphs_and_guards() -> None:
    assert run_python(CODE, []).split() == ["noticed", "noticed", "True"]


def test_a_method_without_batch_form_says_so() -> None:
    with pytest.raises(TypeError, match=r"no batch form, since Regulariser needs the model: use \.loss"):
        RegMixup().compiled()
