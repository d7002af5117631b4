"""Ensembles: the averaged answer of several models, and how much they disagree."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch

from tailormix.calibration.predictions import Predictions, to_numpy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor


def ensemble(members: Sequence[Predictions]) -> Predictions:
    """Averaged probabilities of classifiers, or the mixture of the Gaussians of a regression.

    Classifiers give log p̄ as logits, so that a temperature can follow. A mixture has the mean μ̄ and the
    variance mean(σ² + μ²) - μ̄². All members must have answered for the same rows. The NLL of averaged
    probabilities is never above the mean NLL of the members (Jensen).

    >>> rows = torch.tensor([[0.0, 9.0]]), torch.tensor([[0.0, 0.0]])  # one is sure, one is not
    >>> ensemble([Predictions(targets=[0], logits=row) for row in rows]).logits.exp()
    tensor([[0.2501, 0.7499]], dtype=torch.float64)
    """
    check_members(members)
    first = members[0]
    rows = {"targets": first.targets, "ids": first.ids, "split": first.split, "imitates": first.imitates}
    if first.task == "classification":
        return Predictions(logits=log_mean_probabilities(_stack(members)), **rows)
    stds = torch.stack([torch.as_tensor(to_numpy(each.std)).double() for each in members])
    mean, std = gaussian_mixture(_stack(members), stds)
    return Predictions(mean=mean, std=std, **rows)


def log_mean_probabilities(logits: Tensor) -> Tensor:
    """Averaged probabilities of members with logits (k, n, C), as log p̄ (n, C).

    >>> log_mean_probabilities(torch.tensor([[[0.0, 0.0]], [[0.0, -math.inf]]])).exp()
    tensor([[0.7500, 0.2500]])
    """
    return logits.log_softmax(-1).logsumexp(0) - math.log(len(logits))


def gaussian_mixture(means: Tensor, stds: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and standard deviation (n, ...) of the even mixture of Gaussians (k, n, ...).

    >>> gaussian_mixture(torch.tensor([[0.0], [2.0]]), torch.tensor([[0.0], [0.0]]))
    (tensor([1.]), tensor([1.]))
    """
    mean = means.mean(0)
    return mean, (stds.square().mean(0) + (means - mean).square().mean(0)).sqrt()


def disagreement(members: Sequence[Predictions]) -> float:
    """How often two members name different classes; of a regression, the standard deviation of their means.

    >>> disagreement([Predictions(targets=[0, 1], logits=torch.eye(2)[rows]) for rows in ([0, 1], [0, 0])])
    0.5
    """
    check_members(members)
    if members[0].task == "classification":
        return float(class_disagreement(_stack(members)).mean())
    return float(_stack(members).var(0, correction=0).mean().sqrt())


def class_disagreement(logits: Tensor) -> Tensor:
    """The share of pairs of members (k, n, C) that name different classes, for each row (n,).

    >>> class_disagreement(torch.eye(2)[torch.tensor([[0, 1], [0, 0], [0, 0]])])
    tensor([0.0000, 0.6667], dtype=torch.float64)
    """
    k, _, classes = logits.shape
    votes = torch.nn.functional.one_hot(logits.argmax(-1), classes).sum(0).double()  # (n, C)
    return 1 - (votes * (votes - 1)).sum(-1) / (k * (k - 1))


def check_members(members: Sequence[Predictions]) -> None:
    """Raise unless there are two members or more, of one task, for the same rows."""
    if len(members) < 2:
        raise ValueError(f"an ensemble needs two members or more, got {len(members)}")
    first = members[0]
    for number, each in enumerate(members[1:], start=2):
        if each.task != first.task or each.outputs.shape != first.outputs.shape:
            raise ValueError(
                "members must answer alike: the first gives "
                f"{first.task} of shape {tuple(first.outputs.shape)}, "
                f"number {number} {each.task} of shape {tuple(each.outputs.shape)}"
            )
        if each.split != first.split:
            raise ValueError(f"members must be of one split, got {first.split!r} and {each.split!r}")
        if not _same_rows(first, each):
            raise ValueError(
                f"members must answer for the same rows, but those of number {number} differ: "
                "train them on one split, for example with --set data.split_seed=0"
            )


def _same_rows(a: Predictions, b: Predictions) -> bool:
    """Whether two predictions are of the same rows in the same order: by id, else by target."""
    one, other = (a.ids, b.ids) if a.ids is not None and b.ids is not None else (a.targets, b.targets)
    return bool((to_numpy(one) == to_numpy(other)).all())


def _stack(members: Sequence[Predictions]) -> Tensor:
    """Logits, or logarithms of probabilities, (k, n, C), or means (k, n, ...), in double precision."""
    outputs = [torch.as_tensor(to_numpy(each.outputs)).double() for each in members]
    return torch.stack(
        [row if each.probabilities is None else row.log() for each, row in zip(members, outputs, strict=True)]
    )
