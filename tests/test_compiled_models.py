"""Hooked passes on compiled models: compiled modules ignore later hooks silently, so they run eagerly."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from nets import Staged, seeded
from tailormix import MITA, MITL, ManifoldMixup, Method, RegMixup, SKManifoldMixup, SKMixup, SKRegMixup, embed

X, Y = torch.randn(6, 4, generator=seeded()), torch.arange(6) % 3
METHODS = {
    "manifold": ManifoldMixup(layers=("middle",), inputs=False),
    "manifold, drawn": ManifoldMixup(),
    "mit-l": MITL(),
    "mit-a": MITA(),
    "sk": SKMixup(),
    "sk regmixup": SKRegMixup(),
    "sk regmixup, no extra pass": SKRegMixup(extra_pass=False),
    "sk manifold": SKManifoldMixup(layers=("last",), inputs=False),
    "regmixup": RegMixup(),
}


class Plain(nn.Module):
    """Like Staged, without the list of calls, which a compiler would have to guard."""

    stages = Staged.stages

    def __init__(self) -> None:
        super().__init__()
        staged = Staged(norm=nn.BatchNorm1d)
        self.stem, self.middle, self.last, self.head = staged.stem, staged.middle, staged.last, staged.head

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.last(self.middle(self.stem(x))))


@pytest.fixture
def plain() -> nn.Module:
    torch.compiler.reset()
    return Plain()


@pytest.mark.parametrize("name", METHODS)
def test_compiled_and_plain_models_give_one_loss(name: str, plain: nn.Module) -> None:
    """Already compiled and run once, as in the middle of a training."""
    other = copy.deepcopy(plain)
    compiled = torch.compile(other, backend="eager")
    plain(X), compiled(X)
    method: Method = METHODS[name]
    for seed in range(2):
        expected = method.loss(plain, X, Y, generator=seeded(seed))
        found = method.loss(compiled, X, Y, generator=seeded(seed))
        torch.testing.assert_close(found, expected)
    torch.testing.assert_close(dict(other.named_buffers()), dict(plain.named_buffers()))
    found.backward()
    assert all(p.grad is not None for p in other.parameters())


def test_a_hook_on_a_compiled_model_is_otherwise_ignored(plain: nn.Module) -> None:
    """The reason for all this: if it fails, the detour has become unnecessary."""
    compiled = torch.compile(plain, backend="eager")
    compiled(X)
    fired: list[int] = []
    handle = plain.middle.register_forward_hook(lambda *_: fired.append(1))
    compiled(X)
    handle.remove()
    assert not fired


def test_embeddings_of_a_compiled_model(plain: nn.Module) -> None:
    compiled = torch.compile(plain, backend="eager")
    compiled(X)
    torch.testing.assert_close(embed(compiled, X), embed(plain, X))
