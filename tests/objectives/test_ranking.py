"""RankMixup: M-NDCG and MRL by hand, both branches of ρ, the mask, and gradients."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from nets import Recorder, Staged, plan, seeded
from tailormix import Mixup, RankMixup, RankMixupMRL
from tailormix.objectives.ranking import ranking_agreement

LOGITS = math.log(4) * torch.eye(2)
Y = torch.tensor([0, 1])


def test_agreement_below_the_ideal_by_hand() -> None:
    """Clean c = 0.8; mixed c = 0.6, 0.5 with g = 0.5, 0.75, sorted by g: c = 0.5, 0.6 and g = 0.75, 0.5.

    DCG = 0.8/log₂2 + 0.5/log₂3 + 0.6/log₂4 = 0.8 + 0.315465 + 0.3 = 1.415465.
    IDCG = 1 + 0.75/log₂3 + 0.5/log₂4 = 1 + 0.473197 + 0.25 = 1.723197. ρ = DCG/IDCG = 0.821418.
    """
    rho = ranking_agreement(torch.tensor([[0.8, 0.6, 0.5]]), torch.tensor([[0.5, 0.75]]))
    assert rho.item() == pytest.approx(0.821418, abs=1e-6)


def test_agreement_above_the_ideal_by_hand() -> None:
    """Everything is certain, c = 1, 1, 1, but g = 0.5, 0.5: DCG = 1 + 0.630930 + 0.5 = 2.130930.

    IDCG = 1 + 0.315465 + 0.25 = 1.565465 is the smaller: ρ = IDCG/DCG = 0.734639.
    """
    rho = ranking_agreement(torch.tensor([[1.0, 1.0, 1.0]]), torch.tensor([[0.5, 0.5]]))
    assert rho.item() == pytest.approx(0.734639, abs=1e-6)


def test_confidences_equal_to_the_targets_agree_in_full() -> None:
    g = torch.rand(5, 3, generator=seeded())
    rho = ranking_agreement(torch.cat((torch.ones(5, 1), g), dim=1), g)
    torch.testing.assert_close(rho, torch.ones(5))


def test_ndcg_loss_by_hand() -> None:
    """Logits (ln 4, 0), (0, ln 4), right with p = 0.8: CE = 0.223144, c₀ = 0.8.

    Three mixes with λ = 0.75: logits differ by ½ ln 4, c = ⅔ each, g = 0.75 each.
    S = 1/log₂3 + 1/log₂4 + 1/log₂5 = 1.561606; DCG = 0.8 + ⅔S = 1.841071, IDCG = 1 + ¾S = 2.171205,
    ρ = 0.847949. Loss = 0.223144 + 0.1 · (1 - 0.847949) = 0.238349.
    """
    loss = RankMixup().loss(nn.Identity(), LOGITS, Y, plan=plan([1, 0], 0.75))
    assert loss.item() == pytest.approx(0.238349, abs=1e-6)
    doubled = RankMixup(weight=0.2).loss(nn.Identity(), LOGITS, Y, plan=plan([1, 0], 0.75))
    assert doubled.item() == pytest.approx(0.253554, abs=1e-6)


def test_margin_loss_by_hand() -> None:
    """Max z̃ - max z = ¾ ln 4 - ln 4 = -0.346574; with m = 2 the hinge is 1.653426.

    Loss = 0.223144 + 0.1 · 1.653426 = 0.388486. With m = 0.3 the hinge is 0: the cross-entropy alone.
    """
    mixes = plan([1, 0], 0.75)
    assert RankMixupMRL().loss(nn.Identity(), LOGITS, Y, plan=mixes).item() == pytest.approx(
        0.388486, abs=1e-6
    )
    flat = RankMixupMRL(margin=0.3).loss(nn.Identity(), LOGITS, Y, plan=mixes)
    assert flat.item() == pytest.approx(0.223144, abs=1e-6)


def test_margin_loss_masks_what_is_no_mixture() -> None:
    """Samples 0, 1 as before, 2 with itself, 3 with 0 of its class: hinges h, h, 2, 2, mask 1, 1, 0, 0.

    Mean of the products: 2h/4 = 0.826713. The slip, mean(mask) · mean(hinge) = ½ · (2h + 4)/4: 0.913357.
    """
    x = LOGITS[[0, 1, 0, 0]]
    y = torch.tensor([0, 1, 0, 0])
    loss = RankMixupMRL(weight=1.0).loss(nn.Identity(), x, y, plan=plan([1, 0, 2, 0], 0.75))
    assert loss.item() == pytest.approx(0.223144 + 0.826713, abs=1e-5)


@pytest.mark.parametrize("lam", [0.1, 0.3, 1 / 3, 0.6, 0.999999])
def test_pairs_of_one_class_are_no_mixture_for_any_coefficient(lam: float) -> None:
    """λ + (1-λ) must be exactly 1 for the mask to see it."""
    y = torch.tensor([0, 0])
    loss = RankMixupMRL(weight=1.0).loss(nn.Identity(), LOGITS, y, plan=plan([1, 0], lam))
    clean = nn.functional.cross_entropy(LOGITS, y)
    torch.testing.assert_close(loss, clean)


@pytest.mark.parametrize("method", [RankMixup(), RankMixupMRL()])
def test_only_the_clean_batch_enters_the_criterion(method: object) -> None:
    criterion = Recorder()
    model, x, y = Staged(), torch.randn(6, 4), torch.tensor([0, 1, 2, 0, 1, 2])
    method.loss(model, x, y, criterion)
    (predictions, targets), *others = criterion.seen
    assert not others
    torch.testing.assert_close(predictions, model(x))
    assert targets.equal(y)


def test_the_mixes_are_independent() -> None:
    """Each mix draws its own partners and λ: three in turn are those of three Mixup batches in turn."""
    x, y = torch.randn(6, 4, generator=seeded()), torch.tensor([0, 1, 2, 0, 1, 2])

    class Tap(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.seen: list[torch.Tensor] = []

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.seen.append(x)
            return x[:, :3]

    model, generator = Tap(), seeded(5)
    RankMixup(2.0).loss(model, x, y, generator=seeded(5))
    expected = [Mixup(2.0, num_classes=3)(x, y, generator=generator)[0] for _ in range(3)]
    assert [len(rows) for rows in model.seen] == [6, 18]
    torch.testing.assert_close(model.seen[1], torch.cat(expected))
    assert not torch.allclose(expected[0], expected[1])


def test_agreement_against_finite_differences() -> None:
    """Away from DCG = IDCG, on both sides of it."""
    g = torch.rand(6, 3, generator=seeded(), dtype=torch.float64) / 2 + 0.5
    c = torch.rand(6, 4, generator=seeded(1), dtype=torch.float64)
    c[3:] = 0.98
    assert torch.autograd.gradcheck(lambda c: ranking_agreement(c, g), c.requires_grad_())


@pytest.mark.parametrize("method", [RankMixup(weight=1.0), RankMixupMRL(weight=1.0, margin=1.0)])
def test_losses_against_finite_differences(method: object) -> None:
    x = 3 * torch.randn(4, 3, generator=seeded(2), dtype=torch.float64)
    y, mixes = torch.tensor([0, 1, 2, 0]), plan([1, 2, 3, 0], [0.9, 0.6, 0.2, 0.3])
    head = nn.Linear(3, 3).double()

    def loss(weight: torch.Tensor) -> torch.Tensor:
        model = nn.Linear(3, 3, bias=False).double()
        return torch.func.functional_call(Step(model, method, mixes), {"model.weight": weight}, (x, y))

    assert torch.autograd.gradcheck(loss, head.weight)


class Step(nn.Module):
    def __init__(self, model: nn.Module, method: object, mixes: object) -> None:
        super().__init__()
        self.model, self.method, self.mixes = model, method, mixes

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return self.method.loss(self.model, x, y, plan=self.mixes)


@pytest.mark.parametrize("method", [RankMixup(), RankMixupMRL()])
def test_real_targets_are_refused(method: object) -> None:
    with pytest.raises(ValueError, match=r"RankMixup is defined for classification, got real targets"):
        method.loss(Staged(), torch.randn(4, 4), torch.randn(4, 3))


def test_bad_settings() -> None:
    with pytest.raises(ValueError, match="mixes must be >= 1, got 0"):
        RankMixup(mixes=0)
    with pytest.raises(ValueError, match="weight must be >= 0, got -1"):
        RankMixupMRL(weight=-1)
    with pytest.raises(TypeError, match="margin must be a number"):
        RankMixupMRL(margin="2")  # type: ignore[arg-type]
