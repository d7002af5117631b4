"""From predictions to a loss, against torch's own losses and values worked by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch
from torch import nn
from torch.nn import functional

from helpers import Counting
from tailormix import ERM, LocalMixup, Method, Mixup, Plan, RegMixup, SKMixup, checks
from tailormix.batch import one_hot
from tailormix.objectives.mixed import cross_entropy, reduce, squared_error

if TYPE_CHECKING:
    from collections.abc import Callable

X, Y = torch.rand(4, 6), torch.tensor([0, 1, 2, 0])


@pytest.mark.parametrize("dtype", [torch.long, torch.int32, torch.int16, torch.uint8])
def test_erm_is_cross_entropy(dtype: torch.dtype) -> None:
    model = Counting()
    expected = functional.cross_entropy(model(X), Y)
    torch.testing.assert_close(ERM().loss(model, X, Y.to(dtype)), expected)
    torch.testing.assert_close(Mixup(alpha=0).loss(model, X, Y.to(dtype)), expected)


def test_mixed_targets_are_two_cross_entropies() -> None:
    """λ CE(y) + (1-λ) CE(y_σ): the form of the original code has the same value."""
    model, partner, lam = Counting(), torch.tensor([1, 2, 3, 0]), torch.tensor([0.9, 0.5, 0.0, 0.3])
    logits = model(lam[:, None] * X + (1 - lam[:, None]) * X[partner])
    losses = [functional.cross_entropy(logits, target, reduction="none") for target in (Y, Y[partner])]
    expected = (lam * losses[0] + (1 - lam) * losses[1]).mean()
    torch.testing.assert_close(Mixup().loss(model, X, Y, plan=Plan(partner, lam)), expected)


def test_regression_is_squared_error() -> None:
    model, y = Counting(outputs=2), torch.randn(4, 2)
    torch.testing.assert_close(ERM().loss(model, X, y), functional.mse_loss(model(X), y))
    assert squared_error(torch.tensor([1.0, 3.0]), torch.tensor([0.0, 1.0])).tolist() == [1.0, 4.0]


def test_shapes_of_predictions_and_targets_must_agree() -> None:
    with pytest.raises(ValueError, match=r"one shape, got \(4, 1\) and \(4,\): .* y\[:, None\]"):
        ERM().loss(Counting(outputs=1), X, torch.randn(4))


def test_weights_by_hand() -> None:
    """(1·2 + 3·4) / (1 + 3) = 3.5."""
    losses = torch.tensor([2.0, 4.0])
    assert reduce(losses, 2, torch.tensor([1.0, 3.0])).item() == 3.5
    assert reduce(losses, 2).item() == 3.0
    assert reduce(torch.tensor(5.0), 2).item() == 5.0


def test_weights_are_mixed_like_the_targets() -> None:
    """Weights 1, 0, 0, 0 with λ = ¼ and the partner next door: the mixed ones are ¼, 0, 0, ¾."""
    model, partner, lam = Counting(), torch.tensor([1, 2, 3, 0]), torch.full((4,), 0.25)
    plan = Plan(partner, lam)
    losses = cross_entropy(model(plan.blend(X)), plan.blend(one_hot(Y, 3)))
    expected = 0.25 * losses[0] + 0.75 * losses[3]
    got = Mixup().loss(model, X, Y, weight=torch.tensor([1.0, 0, 0, 0]), plan=plan)
    torch.testing.assert_close(got, expected)
    ones = Mixup().loss(model, X, Y, weight=torch.ones(4), plan=plan)
    torch.testing.assert_close(ones, losses.mean())


def test_weights_need_one_loss_per_sample() -> None:
    with pytest.raises(ValueError, match="weights need a criterion that returns one loss per sample"):
        ERM().loss(Counting(), X, Y, nn.CrossEntropyLoss(), weight=torch.ones(4))


class History(nn.Module):
    """A criterion that asks for the samples' numbers."""

    needs_ids = True

    def forward(self, logits: torch.Tensor, y: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
        return functional.cross_entropy(logits, y, reduction="none") * ids


def test_criteria_with_a_history_get_ids() -> None:
    model, ids = Counting(), torch.tensor([1, 0, 0, 0])
    expected = functional.cross_entropy(model(X[:1]), Y[:1]) / 4
    torch.testing.assert_close(ERM().loss(model, X, Y, History(), ids=ids), expected)


def test_criteria_with_a_history_need_clean_labels_and_ids() -> None:
    model = Counting()
    for method in (Mixup(), SKMixup()):
        with pytest.raises(ValueError, match="History follows which clean samples are classified right"):
            method.loss(model, X, Y, History(), ids=torch.arange(4))
    with pytest.raises(ValueError, match=r"History needs ids="):
        ERM().loss(model, X, Y, History())


class Pairwise(nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return x, x


def test_models_must_return_a_tensor_of_logits() -> None:
    with pytest.raises(TypeError, match="the model must return a tensor, got tuple"):
        ERM().loss(Pairwise(), X, Y)
    with pytest.raises(ValueError, match=r"the model must return logits of shape \(4, C\) .* got \(24,\)"):
        ERM().loss(nn.Flatten(0), X, Y)


def test_half_precision_logits_and_double_targets() -> None:
    soft = torch.eye(3)[Y].double()
    torch.testing.assert_close(
        cross_entropy(torch.ones(4, 3).bfloat16(), soft).float(), torch.full((4,), 1.0986), atol=1e-2, rtol=0
    )


ROWS = torch.tensor([[1.0, 0.0, 0.0], [0.2, 0.3, 0.5], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
SEVERAL = torch.tensor([[1.0, 1, 0], [0, 0, 0], [1, 1, 1], [0, 1, 0]])  # several labels per sample


@pytest.mark.parametrize("y", [ROWS, SEVERAL, ROWS[[0, 2, 3, 0]]])
def test_classes_in_rows_are_never_taken_for_real_targets(y: torch.Tensor) -> None:
    """Neither by the default criterion, nor where the default space depends on the task."""
    message = r"y of shape \(4, 3\) looks like classes, one per column: pass num_classes=3"
    for method in (ERM(), Mixup(), SKMixup()):
        with pytest.raises(ValueError, match=message):
            method.loss(Counting(), X, y)
    mse = torch.nn.MSELoss()
    with pytest.raises(ValueError, match=message + r" .* or space='label' for real targets"):
        SKMixup().loss(Counting(), X, y, mse)
    with pytest.raises(ValueError, match=message):
        SKMixup().plan(X, y)
    assert Mixup().loss(Counting(), X, y, mse).isfinite()  # said explicitly
    assert SKMixup(space="label").loss(Counting(), X, y, mse).isfinite()


def test_soft_rows_with_a_number_of_classes() -> None:
    model = Counting()
    torch.testing.assert_close(ERM(num_classes=3).loss(model, X, ROWS), cross_entropy(model(X), ROWS).mean())
    coarse = torch.rand(4, 200).softmax(1).bfloat16()  # sums to 1 as closely as it can
    assert ERM(num_classes=200).loss(Counting(outputs=200), X, coarse).isfinite()


def test_real_targets_stay_real() -> None:
    for y in (ROWS - 0.5, 2 * ROWS, ROWS[:, :1]):
        model = Counting(outputs=y.shape[1])
        torch.testing.assert_close(ERM().loss(model, X, y), (model(X) - y).square().mean())


def test_several_labels_need_a_criterion_per_class() -> None:
    with pytest.raises(ValueError, match=r"rows of y must sum to 1 .* 0 to 3: for several labels .*BCEWith"):
        Mixup(num_classes=3).loss(Counting(), X, SEVERAL)
    with pytest.raises(
        ValueError, match=r"class indices .* \(4, 3\): several labels per sample go as y.float"
    ):
        Mixup(num_classes=3).loss(Counting(), X, SEVERAL.bool())


@pytest.mark.parametrize("build", [Mixup, SKMixup, RegMixup, LocalMixup])
def test_several_labels_with_one_loss_per_class(build: Callable[..., Method]) -> None:
    """By hand: the mean over samples and classes of BCE(f(x̃), ỹ)."""
    model, plan = Counting(), Plan(torch.tensor([1, 2, 3, 0]), torch.full((4,), 0.25))
    bce = torch.nn.functional.binary_cross_entropy_with_logits
    expected = bce(model(plan.blend(X)), plan.blend(SEVERAL))
    settings: dict[str, object] = {"num_classes": 3}
    if build is RegMixup:
        expected = (expected + bce(model(X), SEVERAL)) / 2
    if build is LocalMixup:  # every pair is near enough: all weights are 1
        settings |= {"weighting": "threshold", "epsilon": 1e9}
    per_class = torch.nn.BCEWithLogitsLoss(reduction="none")
    loss = build(**settings).loss(model, X, SEVERAL, per_class, plan=plan)
    torch.testing.assert_close(loss, expected)


def test_boolean_labels_are_classes() -> None:
    y, plan = torch.tensor([True, False, False, True]), Plan(torch.arange(4), torch.ones(4))
    model = Counting(outputs=2)
    torch.testing.assert_close(Mixup().loss(model, X, y, plan=plan), cross_entropy(model(X), y.long()).mean())


def test_one_output_for_classes_is_refused() -> None:
    y, model = torch.tensor([0, 1, 1, 0]), Counting(outputs=1)
    with pytest.raises(ValueError, match=r"got \(4, 1\): let it return one logit per class.* pass y.float"):
        Mixup().loss(model, X, y)
    bce = torch.nn.BCEWithLogitsLoss()
    assert Mixup().loss(model, X, y.float()[:, None], bce).isfinite()  # as the message says


@pytest.mark.parametrize("criterion", ["mbls", "mse", torch.nn.CrossEntropyLoss])
def test_what_is_no_criterion_is_told_where_to_go(criterion: object) -> None:
    with pytest.raises(
        TypeError, match=r"criterion must be a function .*instance of a class; tailormix.losses"
    ):
        Mixup().loss(Counting(), X, Y, criterion)


def test_no_label_is_ignored_silently() -> None:
    """Torch leaves out labels of -100 without a word; here they are errors, like every label out of range."""
    with checks.trusted(), pytest.raises(IndexError, match="Target -100 is out of bounds"):
        ERM().loss(Counting(), X, torch.tensor([0, -100, 1, 2]))
