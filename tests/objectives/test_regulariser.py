"""RegMixup: the mean of the clean and the mixed loss, in one pass; and the two forms of SK RegMixup."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy, one_hot

from nets import Staged, plan, seeded
from tailormix import RegMixup, SKRegMixup

X, Y = torch.randn(4, 4, generator=seeded()), torch.tensor([0, 1, 2, 0])
MIX = plan([1, 2, 3, 0], [0.9, 0.5, 0.2, 1.0])


def test_by_hand() -> None:
    """Logits are the inputs (ln 4, 0) and (0, ln 4), right with p = 0.8: clean loss -ln 0.8 for both.

    λ = 0.75: mixed logits (¾ ln 4, ¼ ln 4), p = 2/3 and 1/3 with targets ¾ and ¼:
    mixed loss -¾ ln ⅔ - ¼ ln ⅓ = 0.578756. The mean with 0.223144 is 0.400950.
    """
    x = math.log(4) * torch.eye(2)
    loss = RegMixup().loss(nn.Identity(), x, torch.tensor([0, 1]), plan=plan([1, 0], 0.75))
    assert loss.item() == pytest.approx(0.400950, abs=1e-5)


@pytest.mark.parametrize("criterion", [None, nn.CrossEntropyLoss(), nn.CrossEntropyLoss(reduction="none")])
def test_mean_of_the_clean_and_the_mixed_loss(criterion: nn.Module | None) -> None:
    model = Staged()
    loss = RegMixup().loss(model, X, Y, criterion, plan=MIX)
    mixed = cross_entropy(model(MIX.blend(X)), MIX.blend(one_hot(Y, 3).float()))
    torch.testing.assert_close(loss, (cross_entropy(model(X), Y) + mixed) / 2)


def test_mean_of_squared_errors_for_real_targets() -> None:
    model, y = Staged(outputs=1, flat=True), torch.randn(4, generator=seeded(1))
    loss = RegMixup().loss(model, X, y, plan=MIX)
    clean, mixed = (model(X) - y).square(), (model(MIX.blend(X)) - MIX.blend(y)).square()
    torch.testing.assert_close(loss, (clean.mean() + mixed.mean()) / 2)


def test_weights_of_both_batches() -> None:
    """A mixed sample weighs what its two samples weigh, mixed like the targets."""
    model, weight = Staged(), torch.tensor([1.0, 0.0, 2.0, 0.5])
    loss = RegMixup().loss(model, X, Y, weight=weight, plan=MIX)
    clean = cross_entropy(model(X), Y, reduction="none")
    mixed = cross_entropy(model(MIX.blend(X)), MIX.blend(one_hot(Y, 3).float()), reduction="none")
    mixed_weight = MIX.blend(weight)
    total = (clean * weight).sum() + (mixed * mixed_weight).sum()
    torch.testing.assert_close(loss, total / (weight.sum() + mixed_weight.sum()))


def test_sk_may_take_its_embeddings_from_the_clean_pass() -> None:
    """Without BatchNorm, the clean pass gives the embeddings that an extra pass measures."""
    model = Staged(norm=lambda width: nn.GroupNorm(2, width))
    papers = SKRegMixup().loss(model, X, Y, generator=seeded(3))
    assert model.calls == [(4, False), (8, True)]
    model.calls.clear()
    cheaper = SKRegMixup(extra_pass=False).loss(model, X, Y, generator=seeded(3))
    assert model.calls == [(4, True), (4, True)]
    torch.testing.assert_close(cheaper, papers)


def test_batch_norm_tells_the_two_forms_apart() -> None:
    """Together, both halves enter one mean; apart, the running mean takes one step for each."""
    models = {extra: Staged(norm=nn.BatchNorm1d) for extra in (True, False)}
    models[False].load_state_dict(models[True].state_dict())
    losses = {e: SKRegMixup(extra_pass=e).loss(m, X, Y, generator=seeded(3)) for e, m in models.items()}
    assert not torch.isclose(losses[True], losses[False])
    counters = {extra: int(model.stem[2].num_batches_tracked) for extra, model in models.items()}
    assert counters == {True: 1, False: 2}


def test_no_gradient_flows_through_the_embeddings() -> None:
    """λ depends on the embeddings, but is a constant of the step: both forms have the same gradients."""
    models = [Staged(), Staged()]
    models[1].load_state_dict(models[0].state_dict())
    for model, extra in zip(models, (False, True), strict=True):
        SKRegMixup(extra_pass=extra).loss(model, X, Y, generator=seeded(3)).backward()
    for a, b in zip(models[0].parameters(), models[1].parameters(), strict=True):
        torch.testing.assert_close(a.grad, b.grad)


def test_embeddings_at_hand_are_used() -> None:
    model = Staged()
    SKRegMixup().loss(model, X, Y, embeddings=torch.randn(4, 2))
    assert model.calls == [(8, True)]


def test_a_model_that_returns_no_tensor() -> None:
    class Named(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.head = nn.Linear(4, 3)

        def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
            return {"logits": self.head(x)}

    for method in (RegMixup(), SKRegMixup()):
        with pytest.raises(TypeError, match="the model must return a tensor, got dict"):
            method.loss(Named(), X, Y)
