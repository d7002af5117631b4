"""Adding to the library: a new recipe of known components, and a new component."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import torch

from nets import Staged, seeded
from tailormix import Method, Plan
from tailormix import coefficients as c
from tailormix import interpolation as i
from tailormix import objectives as o
from tailormix import pairs as p

if TYPE_CHECKING:
    from tailormix.batch import Batch, Draws
    from tailormix.components import Coefficients

X, Y = torch.randn(12, 4, generator=seeded()), torch.arange(12) % 3


def train(method: Method, steps: int) -> list[float]:
    """Losses of a few steps of gradient descent on one batch."""
    torch.manual_seed(0)
    model = Staged()
    optimiser = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for _ in range(steps):
        optimiser.zero_grad()
        loss = method.loss(model, X, Y, generator=seeded(1))
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    return losses


def test_a_new_recipe_of_known_components() -> None:
    """SK RankMixup with optimal-transport pairs, which nobody has published."""
    method = Method(
        p.OptimalTransport(k=4),
        c.SimilarityKernel(tau_max=1.0, tau_std=0.5),
        i.Linear(),
        o.RankedConfidence(weight=0.1, mixes=2),
    )
    first, second = train(method, steps=2)
    assert second < first


@dataclass(frozen=True)
class Halves:
    """λ_i = ½ for every pair."""

    needs_embeddings: ClassVar[bool] = False

    def __call__(self, batch: Batch, partner: torch.Tensor, draws: Draws) -> Plan:
        return Plan(partner, torch.full((len(batch),), 0.5, device=draws.device))


def test_a_new_component() -> None:
    component: Coefficients = Halves()
    method = Method(p.RandomPairs(), component, i.Linear(), o.MixedTargets(), num_classes=3)
    x, y = method(X, Y, generator=seeded())
    partner = method.plan(X, Y, generator=seeded()).partner
    torch.testing.assert_close(x, (X + X[partner]) / 2)
    torch.testing.assert_close(y.sum(1), torch.ones(12))
    first, second = train(method, steps=2)
    assert second < first


def test_a_new_component_works_with_all_others() -> None:
    for objective in (o.Regulariser(), o.RankedMargin(), o.LocallyWeighted()):
        for interpolation in (i.Linear(), i.HiddenLayer()):
            first, second = train(Method(p.RandomPairs(), Halves(), interpolation, objective), steps=2)
            assert first != second


def test_components_inside_components() -> None:
    """Inputs-only mixing of the new component: at λ = ½ neither sample dominates."""
    method = Method(p.RandomPairs(), c.TargetsOnly(Halves()), i.Linear(), o.MixedTargets(), num_classes=3)
    plan = method.plan(X, Y, generator=seeded())
    assert plan.for_targets.lam.equal(torch.full((12,), 0.5))
