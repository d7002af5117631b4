"""BatchNorm over parts of a batch: one pass of two halves equals two passes."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from nets import Staged, seeded
from tailormix import MITA
from tailormix.objectives.decoupling import grouped_batch_norm

X = torch.randn(5, 4, generator=seeded())
OTHER = 3 + 2 * torch.randn(5, 4, generator=seeded(1))


def norm(width: int) -> nn.Module:
    return nn.BatchNorm1d(width)


@pytest.mark.parametrize("momentum", [0.1, None])
def test_one_pass_of_two_halves_equals_two_passes(momentum: float | None) -> None:
    together = Staged(norm=norm)
    for module in together.modules():
        if isinstance(module, nn.BatchNorm1d):
            module.momentum = momentum
    apart = copy.deepcopy(together)
    with grouped_batch_norm(together, groups=2):
        outputs = together(torch.cat((X, OTHER)))
    torch.testing.assert_close(outputs, torch.cat((apart(X), apart(OTHER))))
    torch.testing.assert_close(dict(together.named_buffers()), dict(apart.named_buffers()))
    assert together.stem[2].num_batches_tracked == 2
    assert not torch.allclose(outputs, together(torch.cat((X, OTHER))))


def test_gradients_equal_those_of_two_passes() -> None:
    together = Staged(norm=norm)
    apart = copy.deepcopy(together)
    with grouped_batch_norm(together, groups=2):
        together(torch.cat((X, OTHER))).square().sum().backward()
    (apart(X).square().sum() + apart(OTHER).square().sum()).backward()
    for a, b in zip(together.parameters(), apart.parameters(), strict=True):
        torch.testing.assert_close(a.grad, b.grad, rtol=1e-4, atol=1e-5)


def test_layers_come_out_as_they_went_in() -> None:
    model = Staged(norm=norm)
    layer, patched = model.stem[2], model.middle[1]
    patched.forward = original = lambda x: 2 * x  # as libraries do that wrap forward
    with grouped_batch_norm(model, groups=2):
        assert "forward" in layer.__dict__
    with pytest.raises(RuntimeError, match="shapes"), grouped_batch_norm(model, groups=2):
        model(torch.zeros(2, 9))
    assert "forward" not in layer.__dict__
    assert patched.__dict__["forward"] is original


def test_layers_in_evaluation_are_left_alone() -> None:
    model = Staged(norm=norm).eval()
    with grouped_batch_norm(model, groups=2):
        assert not any("forward" in module.__dict__ for module in model.modules())


def test_decoupling_at_stages_runs_its_halves_apart() -> None:
    """MIT-A's single pass against the same step written out as two passes, stage by stage."""
    model = Staged(norm=norm)
    reference = copy.deepcopy(model)
    y = torch.tensor([0, 1, 2, 0, 1])
    loss = MITA().loss(model, X, y, generator=seeded(2))
    torch.testing.assert_close(loss, written_out(reference, y))
    torch.testing.assert_close(dict(model.named_buffers()), dict(reference.named_buffers()))


def written_out(model: Staged, y: torch.Tensor) -> torch.Tensor:
    from tailormix.batch import Draws

    draws = Draws(torch.device("cpu"), seeded(2))
    partner, law = draws.uniform(5).argsort(), MITA().coefficients
    coefficients = iter(law.pairs(draws, 4).unbind(1))
    one, two = next(coefficients)
    first, second = one * X + (1 - one) * X[partner], two * X + (1 - two) * X[partner]
    for stage in (model.stem, model.middle, model.last, model.head):
        first, second = stage(first), stage(second)
        a = ((1 - two) * first - (1 - one) * second) / (one - two)
        b = (one * second - two * first) / (one - two)
        if stage is not model.head:
            one, two = next(coefficients)
            first, second = one * a + (1 - one) * b, two * a + (1 - two) * b
    criterion = nn.functional.cross_entropy
    return (criterion(a, y) + criterion(b, y[partner])) / 2
