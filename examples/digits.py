"""Handwritten digits and a score, for the examples beside this file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from sklearn.datasets import load_digits
from torch.utils.data import TensorDataset

from tailormix.metrics import accuracy, ece, nll

if TYPE_CHECKING:
    from torch import Tensor, nn

TEST = 360


def digits() -> tuple[TensorDataset, TensorDataset]:
    """Images (1, 8, 8) with values in [0, 1] and their classes, for training and for testing."""
    pixels, classes = load_digits(return_X_y=True)
    x, y = torch.tensor(pixels / 16, dtype=torch.float32).view(-1, 1, 8, 8), torch.tensor(classes)
    order = torch.randperm(len(x), generator=torch.Generator().manual_seed(0))
    train, test = order[TEST:], order[:TEST]
    return TensorDataset(x[train], y[train]), TensorDataset(x[test], y[test])


def score(logits: Tensor, y: Tensor) -> str:
    """Accuracy, ECE and NLL of predictions, in one line."""
    p = logits.softmax(1)
    return f"accuracy {accuracy(p, y):.3f}  ECE {ece(p, y):.3f}  NLL {nll(p, y):.3f}"


def tested(model: nn.Module, data: TensorDataset) -> str:
    """The score of a model on a set of images."""
    x, y = data.tensors
    model.eval()
    with torch.no_grad():
        return score(model(x), y)
