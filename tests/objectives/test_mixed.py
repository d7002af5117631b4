"""From predictions to a loss, against torch's own losses and values worked by hand."""

import pytest
import torch
from torch import nn
from torch.nn import functional

from helpers import Counting
from tailormix import ERM, Mixup, Plan, SKMixup
from tailormix.batch import one_hot
from tailormix.objectives.mixed import cross_entropy, reduce, squared_error

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


def test_class_probabilities_are_never_taken_for_real_targets() -> None:
    for method in (ERM(), Mixup(), SKMixup()):
        with pytest.raises(ValueError, match=r"looks like class probabilities: pass num_classes=3"):
            method.loss(Counting(), X, ROWS)
    assert Mixup(num_classes=3).loss(Counting(), X, ROWS).isfinite()
    assert Mixup().loss(Counting(), X, ROWS, torch.nn.MSELoss()).isfinite()  # said explicitly


def test_multi_label_targets_with_one_loss_per_class() -> None:
    """The mean over samples and classes, whether the criterion takes it or leaves it to us."""
    y, model = torch.tensor([[1.0, 1, 0], [0, 0, 0], [1, 1, 1], [0, 1, 0]]), Counting()
    plan = Plan(torch.tensor([1, 2, 3, 0]), torch.full((4,), 0.25))
    losses = [
        SKMixup(num_classes=3).loss(model, X, y, torch.nn.BCEWithLogitsLoss(reduction=reduction), plan=plan)
        for reduction in ("none", "mean")
    ]
    torch.testing.assert_close(losses[0], losses[1])


def test_boolean_labels_are_classes() -> None:
    y, plan = torch.tensor([True, False, False, True]), Plan(torch.arange(4), torch.ones(4))
    model = Counting(outputs=2)
    torch.testing.assert_close(Mixup().loss(model, X, y, plan=plan), cross_entropy(model(X), y.long()).mean())


def test_one_output_for_classes_is_refused() -> None:
    with pytest.raises(ValueError, match=r"got \(4, 1\): let it return one logit per class"):
        Mixup().loss(Counting(outputs=1), X, torch.tensor([0, 1, 1, 0]))


def test_a_criterion_by_name_is_told_where_to_go() -> None:
    with pytest.raises(TypeError, match=r"criterion must be a function .* got 'mbls': tailormix.losses"):
        Mixup().loss(Counting(), X, Y, "mbls")
