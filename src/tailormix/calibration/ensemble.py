"""Ensembles: the averaged answer of several models, and how much they disagree."""

from __future__ import annotations

import itertools
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
        log_probabilities = torch.stack([_log_probabilities(each) for each in members])
        return Predictions(logits=log_probabilities.logsumexp(0) - math.log(len(members)), **rows)
    means = torch.stack([torch.as_tensor(to_numpy(each.mean)).double() for each in members])
    stds = torch.stack([torch.as_tensor(to_numpy(each.std)).double() for each in members])
    mean = means.mean(0)
    return Predictions(
        mean=mean, std=(stds.square().mean(0) + (means - mean).square().mean(0)).sqrt(), **rows
    )


def disagreement(members: Sequence[Predictions]) -> float:
    """How often two members name different classes; of a regression, the standard deviation of their means.

    >>> disagreement([Predictions(targets=[0, 1], logits=torch.eye(2)[rows]) for rows in ([0, 1], [0, 0])])
    0.5
    """
    check_members(members)
    if members[0].task == "classification":
        chosen = [_log_probabilities(each).argmax(1) for each in members]
        return sum(float((a != b).double().mean()) for a, b in itertools.combinations(chosen, 2)) / math.comb(
            len(members), 2
        )
    means = torch.stack([torch.as_tensor(to_numpy(each.mean)).double() for each in members])
    return float(means.var(0, correction=0).mean().sqrt())


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


def _log_probabilities(predictions: Predictions) -> Tensor:
    """(n, C) in double precision."""
    if predictions.logits is not None:
        return torch.as_tensor(to_numpy(predictions.logits)).double().log_softmax(1)
    return torch.as_tensor(to_numpy(predictions.probabilities)).double().log()
