"""Errors name the argument, what was expected and what came."""

import re

import numpy as np
import pytest
import torch

from tailormix import metrics

P = torch.tensor([[0.25, 0.75], [0.5, 0.5]])
Y = torch.tensor([1, 0])
CLASSIFICATION = [name for name, info in metrics.METRICS.items() if info.task == "classification"]


@pytest.mark.parametrize("name", [*CLASSIFICATION, "summary"])
@pytest.mark.parametrize(
    ("predictions", "targets", "message"),
    [
        (P * 2, Y, "rows of predictions must be probabilities"),
        (torch.tensor([[-0.5, 1.5]]), Y[:1], "rows of predictions must be probabilities"),
        (torch.tensor([[float("nan"), 1.0]]), Y[:1], "rows of predictions must be probabilities"),
        (P, P, "targets must be class indices of shape (2,), got shape (2, 2)"),
        (P, torch.tensor([0.0, 1.0]), "targets must be class indices of an integer type"),
        (P, torch.tensor([0, 2]), "targets must lie in 0..1, got 2"),
        (P, torch.tensor([0, -100]), "targets must lie in 0..1, got -100"),
        (P, torch.tensor([0]), "expected 2, got 1"),
        (P[:, 0], Y, "binary="),
        (P[:0], Y[:0], "at least one sample"),
        (P[None], Y, "shape (n, classes), got (1, 2, 2)"),
        (P.long(), Y, "predictions must hold real numbers"),
        ("high", Y, "torch tensor or a numpy array"),
    ],
)
def test_classification(name: str, predictions: torch.Tensor, targets: torch.Tensor, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=re.escape(message)):
        getattr(metrics, name)(predictions, targets)


@pytest.mark.parametrize("bad", [[float("nan"), 0.0], [float("inf"), 0.0], [float("-inf"), float("-inf")]])
def test_logits_that_have_no_softmax(bad: list[float]) -> None:
    """A masked class alone is allowed."""
    with pytest.raises(ValueError, match="row 1 of predictions"):
        metrics.ece(torch.tensor([[0.0, 1.0], bad]), Y, from_logits=True)
    masked = torch.tensor([[0.0, 0.0, float("-inf")]])
    assert metrics.nll(masked, torch.tensor([0]), from_logits=True) == pytest.approx(np.log(2))


ONE = np.ones(2)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: metrics.ece(P, Y, n_bins=0), "n_bins must be >= 1, got 0"),
        (lambda: metrics.ece(P, Y, n_bins=1.5), "n_bins must be a whole number"),
        (lambda: metrics.ece(P, Y, norm="l3"), "unknown norm 'l3'"),
        (lambda: metrics.ece(P, Y, binary="negative"), "unknown binary 'negative'"),
        (lambda: metrics.ece(torch.full((2, 3), 1 / 3), Y, binary="positive"), "needs 2 classes, got 3"),
        (lambda: metrics.coverage(ONE, ONE, ONE, level=1.5), "level must lie in (0, 1), got 1.5"),
        (lambda: metrics.uce(ONE, ONE, ONE, bin_by="mean"), "unknown bin_by 'mean'"),
        (lambda: metrics.gaussian_nll(ONE, 0 * ONE, ONE), "for the Gaussian NLL, got 0 at 2 entries"),
        (lambda: metrics.ence(ONE, 0 * ONE, ONE), "for ENCE"),
    ],
)
def test_options_and_zero_spread(call, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=re.escape(message)):
        call()


def test_uce_allows_a_zero_spread() -> None:
    assert metrics.uce(np.zeros(2), np.zeros(2), ONE) == 1


@pytest.mark.parametrize("name", ["gaussian_nll", "uce", "ence", "coverage", "uce_as_published"])
@pytest.mark.parametrize(
    ("mean", "std", "targets", "message"),
    [
        ([1.0, 2.0], [1.0, -1.0], [0.0, 0.0], "std must be >= 0, got -1"),
        ([1.0, 2.0], [1.0], [0.0, 0.0], "std must have the shape of mean: expected (2,), got (1,)"),
        ([1.0, 2.0], [1.0, 1.0], [[0.0], [0.0]], "targets must have the shape of mean: expected (2,), got"),
        ([1.0, float("nan")], [1.0, 1.0], [0.0, 0.0], "mean must be finite"),
        ([], [], [], "at least one entry"),
    ],
)
def test_regression(name: str, mean, std, targets, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        getattr(metrics, name)(np.array(mean), np.array(std), np.array(targets))
