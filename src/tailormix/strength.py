"""Mixing that sets its own strength: stronger while the model is too sure, weaker while it is too modest."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, final

import torch

from tailormix import checks
from tailormix.coefficients import InputsOnly, TargetsOnly

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torch import Tensor

    from tailormix.components import Coefficients
    from tailormix.method import Method


@final
class AutoStrength:
    """log s ← log s + gain · g after each epoch, with g = mean confidence − accuracy on validation rows.

    ``s`` is the strength of the method: τ_max of the similarity kernel, α of Mixup and its relatives. More
    mixing makes a model less sure, so that g goes to 0, or mixing ends. The strength is a 0-d tensor inside
    ``method``: a compiled step does not compile again when it changes.

    Args:
        method: any method with a strength.
        start: the first strength. Models are too modest in their first epochs, which lowers it: a small one
            would be near 0 when mixing is needed.
        gain: how fast the strength follows the gap.
        bounds: the smallest and the largest strength.

    >>> from tailormix import Mixup
    >>> auto = AutoStrength(Mixup(), start=0.5)
    >>> logits, y = torch.tensor([[3.0, 0.0], [3.0, 0.0]]), torch.tensor([0, 1])  # 95 % sure, half right
    >>> round(auto.observe(logits, y), 2)
    3.06

    """

    def __init__(
        self,
        method: Method,
        start: float = 1.0,
        gain: float = 4.0,
        bounds: tuple[float, float] = (1e-3, 8.0),
    ) -> None:
        low, high = (checks.positive("bounds", bound) for bound in bounds)
        if not low <= checks.positive("start", start) <= high:
            raise ValueError(f"start must lie within bounds {bounds}, got {start}")
        self.gain, self.bounds = checks.non_negative("gain", gain), (low, high)
        self._value = torch.tensor(float(start))
        self.method = replace(method, coefficients=with_strength(method.coefficients, self._value))

    @property
    def strength(self) -> float:
        """The strength of the next step."""
        return float(self._value)

    def observe(self, logits: Tensor, y: Tensor) -> float:
        """Adapt to the model's logits (n, C) on clean validation rows y (n,); returns the new strength."""
        low, high = map(math.log, self.bounds)
        log_strength = math.log(self.strength) + self.gain * confidence_gap(logits, y)
        self._value.fill_(math.exp(min(max(log_strength, low), high)))
        return self.strength

    def state_dict(self) -> dict[str, Any]:
        """What a checkpoint needs."""
        return {"strength": self.strength}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Return to a saved state."""
        self._value.fill_(checks.positive("strength", state["strength"]))


def confidence_gap(logits: Tensor, y: Tensor) -> float:
    """Mean confidence − accuracy: above 0 the model is too sure.

    >>> round(confidence_gap(torch.tensor([[2.0, 0.0]]), torch.tensor([1])), 3)
    0.881
    """
    if y.dim() != 1 or y.is_floating_point() or logits.shape[:1] != y.shape or logits.dim() != 2:
        raise ValueError(
            "expected logits (n, C) and class indices (n,), "
            f"got shapes {tuple(logits.shape)} and {tuple(y.shape)}"
        )
    if len(y) == 0:
        raise ValueError("automatic strength needs validation rows, got none")
    confidence, predicted = logits.detach().double().softmax(1).max(1)
    gap = float(confidence.mean() - (predicted == y).double().mean())
    if not math.isfinite(gap):
        raise ValueError("logits must be finite, got NaN or infinity")
    return gap


def with_strength(coefficients: Coefficients, value: float | Tensor) -> Any:
    """The same coefficients at another strength; those without one raise."""
    if isinstance(coefficients, (InputsOnly, TargetsOnly)):
        return replace(coefficients, coefficients=with_strength(coefficients.coefficients, value))
    name = getattr(coefficients, "strength", None)
    if name is None:
        raise ValueError(f"{type(coefficients).__name__} has no strength that could be set automatically")
    return replace(coefficients, **{name: value})  # type: ignore[type-var]
