"""The compiled batch form: the same numbers, a graph for each method, and no watch but over arguments."""

import pytest

from helpers import run_python
from tailormix import RegMixup

CODE = """
import torch
from tailormix import Mixup, Plan, SKMixup
import tailormix.batch

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
tailormix.batch.FEW += 1  # which torch.compile(method) would notice
assert forms[0](x, y, plan=plan)[1].shape == (6, 3)
try:
    torch.compile(methods[0])(x, y, plan=plan)
    tailormix.batch.FEW += 1
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


LAWS = """
import torch
from scipy import stats
from tailormix import Mixup, SKMixup

n = 4000
x, y = torch.cat((torch.zeros(n // 2, 1), torch.ones(n // 2, 1))), torch.arange(n) % 2
for alpha in (0.5, 1.0, 4.0):
    for method in (Mixup(alpha=alpha, per="sample", num_classes=2), SKMixup(alpha, 1e6, num_classes=2)):
        broken, whole = torch.compile(method, backend="eager"), method.compiled(backend="eager")
        for mixed, _ in (
            broken(x, y, torch.arange(n)[:, None].float(), generator=torch.Generator().manual_seed(1)),
            whole(x, y, torch.arange(n)[:, None].float()),
        ):
            lam = mixed[(mixed > 0) & (mixed < 1)].double().numpy()  # of pairs of 0 and 1
            assert len(lam) > 1500
            print(stats.kstest(lam, stats.beta(alpha, alpha).cdf).pvalue > 1e-3)
"""


def test_laws_hold_in_whole_graphs_and_in_broken_ones() -> None:
    """A generator breaks the graph: what comes before runs as it is, and what comes after is compiled."""
    assert run_python(LAWS, []).split() == ["True"] * 12


FAKES = """
import torch
from tailormix import SKMixup

method = SKMixup(num_classes=3)

class Mixing(torch.nn.Module):
    def forward(self, x, y, h):
        return method(x, y, embeddings=h)

x, y, h = torch.rand(128, 3072), torch.arange(128) % 3, torch.rand(128, 4)
torch.export.export(Mixing(), (x, y, h), strict=False)
mixed, targets = method(x, y, embeddings=h)
assert type(mixed) is type(targets) is torch.Tensor
assert (targets.sum(1) - 1).abs().max() < 1e-6
print(bool((mixed != x).any()))
"""


def test_tensors_that_an_export_fakes_leave_nothing_behind() -> None:
    assert run_python(FAKES, []).split() == ["True"]


def test_a_method_without_batch_form_says_so() -> None:
    with pytest.raises(TypeError, match=r"no batch form, since Regulariser needs the model: use \.loss"):
        RegMixup().compiled()
