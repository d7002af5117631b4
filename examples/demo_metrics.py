"""Accuracy, ECE and NLL of class probabilities (n, C) against targets (n,), as the demo needs them."""

import torch
from torch import Tensor


def accuracy(probabilities: Tensor, targets: Tensor) -> Tensor:
    """Share of samples whose most probable class is the right one."""
    return (probabilities.argmax(1) == targets).double().mean()


def nll(probabilities: Tensor, targets: Tensor) -> Tensor:
    """Mean of -log p_y."""
    return -probabilities.gather(1, targets[:, None]).log().mean()


def ece(probabilities: Tensor, targets: Tensor, n_bins: int = 15) -> Tensor:
    """Σ_b |B_b|/n · |acc(B_b) - conf(B_b)| over equal bins of the confidence (lo, hi]."""
    confidence, predicted = probabilities.max(1)
    edges = torch.linspace(0, 1, n_bins + 1, dtype=confidence.dtype)
    bins = torch.bucketize(confidence, edges[1:-1])
    gaps = (predicted == targets).to(confidence.dtype) - confidence
    sums = torch.zeros(n_bins, dtype=confidence.dtype).scatter_add_(0, bins, gaps)
    return sums.abs().sum() / len(targets)
