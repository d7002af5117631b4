"""What every loss shares: checked logits and targets, and expectations under the target.

A target is a class index, or a row t of class probabilities. A loss that is defined for one class c as v_c
extends linearly to rows as Σ_c t_c v_c: the expected loss of a label drawn from t (:func:`expected_value`).
"""

from __future__ import annotations

import torch

from tailormix.checks import readable

_INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
_HALF = (torch.float16, torch.bfloat16)


def check_inputs(logits: torch.Tensor, targets: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return checked logits (n, C), at least float32, and targets: int64 (n,) or rows (n, C) of that dtype.

    Rows must be non-negative and sum to 1 within 1e-3 (or within the precision of bfloat16).

    >>> check_inputs(torch.zeros(2, 3), torch.tensor([0, 3]))
    Traceback (most recent call last):
    ValueError: targets must lie in 0..2, got 0..3
    """
    if logits.ndim != 2 or logits.shape[0] < 1 or logits.shape[1] < 2:
        raise ValueError(f"logits must have shape (n >= 1, C >= 2), got {tuple(logits.shape)}")
    if not logits.is_floating_point():
        raise TypeError(f"logits must be real, got {logits.dtype}")
    logits = logits.float() if logits.dtype in _HALF else logits
    if targets.ndim == 2:
        return logits, check_probabilities(targets, logits.shape).to(logits.dtype)
    return logits, check_indices("targets", targets, logits.shape[0], below=logits.shape[1])


def check_indices(name: str, values: torch.Tensor, length: int, *, below: int) -> torch.Tensor:
    """Return ``values`` as int64 if they are ``length`` whole numbers in [0, ``below``)."""
    if values.shape != (length,):
        raise ValueError(f"{name} must have shape ({length},), got {tuple(values.shape)}")
    if values.dtype not in _INTEGERS:
        raise TypeError(f"{name} of shape (n,) must be whole numbers, got {values.dtype}")
    values = values.long()
    if readable(values) and bool(((values < 0) | (values >= below)).any()):
        raise ValueError(f"{name} must lie in 0..{below - 1}, got {values.min()}..{values.max()}")
    return values


def check_probabilities(values: torch.Tensor, shape: torch.Size) -> torch.Tensor:
    """Return ``values`` if they are rows of class probabilities, one per sample."""
    if values.shape != shape:
        raise ValueError(
            f"targets must have shape ({shape[0]},) or {tuple(shape)}, got {tuple(values.shape)}"
        )
    if values.is_complex():
        raise TypeError(f"targets must be real, got {values.dtype}")
    if readable(values):
        slack = max(1e-3, torch.finfo(values.dtype).eps if values.is_floating_point() else 0.0)
        excess = (values.detach().double().sum(1) - 1).abs().max()
        # Written so that NaN fails too.
        if not bool(excess <= slack) or not bool((values >= 0).all()):
            raise ValueError(
                "targets must be non-negative rows that sum to 1, "
                f"got a sum off by {float(excess):.3g} and a least entry of {float(values.min()):.3g}"
            )
    return values


def expected_value(values: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Σ_c t_c v_c, shape (n,): ``values`` (n, C) at the class, or their mean under the row of probabilities.

    >>> values = torch.tensor([[1.0, 3.0]])
    >>> expected_value(values, torch.tensor([1])), expected_value(values, torch.tensor([[0.5, 0.5]]))
    (tensor([3.]), tensor([2.]))
    """
    if targets.ndim == 1:
        return values.gather(1, targets[:, None]).squeeze(1)
    return (targets * values).sum(1)


def cross_entropy(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """-Σ_c t_c log p_c, shape (n,), of checked logits and targets."""
    return expected_value(-logits.log_softmax(1), targets)


def confidence(logits: torch.Tensor, targets: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """c_i = max_k p_k and r_i = t_{argmax p}: confidence and (expected) correctness, each (n,).

    For a class index r is 1 if the prediction is right and 0 if not; for a row it is the probability that a
    label drawn from the row agrees with the prediction. Only c carries a gradient to the logits.

    >>> logits = torch.tensor([[0.0, 0.0, 50.0]])
    >>> confidence(logits, torch.tensor([[0.0, 0.75, 0.25]]))
    (tensor([1.]), tensor([0.2500]))
    """
    c, predicted = logits.softmax(1).max(1)
    if targets.ndim == 1:
        return c, (predicted == targets).to(c.dtype)
    return c, expected_value(targets, predicted)
