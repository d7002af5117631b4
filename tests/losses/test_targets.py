"""Bad logits, targets and arguments: every message names what was expected and what came."""

from __future__ import annotations

import math

import pytest
import torch

from losses.cases import SOFT, call, make
from tailormix.losses import (
    CPC,
    CRL,
    FLSD,
    MMCE,
    EntropyPenalty,
    FocalLoss,
    LabelSmoothing,
    MbLS,
    WeightedMMCE,
)
from tailormix.losses.registry import LOSSES

every = pytest.mark.parametrize("name", LOSSES)
every_soft = pytest.mark.parametrize("name", SOFT)
Z = torch.zeros(2, 3)
Y = torch.tensor([0, 1])


@every
@pytest.mark.parametrize("label", [-1, 3, 100])
def test_label_outside_the_classes(name: str, label: int) -> None:
    with pytest.raises(ValueError, match=r"targets must lie in 0\.\.2, got"):
        call(make(name), Z, torch.tensor([0, label]))


@every
@pytest.mark.parametrize("shape", [(), (3,), (2, 3, 4), (0, 3), (2, 1)])
def test_logits_that_are_no_batch_of_classes(name: str, shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="logits must have shape"):
        call(make(name), torch.zeros(shape), Y)


@every
def test_logits_that_are_not_real(name: str) -> None:
    with pytest.raises(TypeError, match=r"logits must be real, got torch\.int64"):
        call(make(name), Z.long(), Y)


@every
@pytest.mark.parametrize("targets", [torch.tensor(0), torch.tensor([0]), torch.zeros(2, 3, 1)])
def test_targets_of_a_wrong_shape(name: str, targets: torch.Tensor) -> None:
    with pytest.raises(ValueError, match="targets must"):
        call(make(name), Z, targets)


@every
@pytest.mark.parametrize("targets", [torch.zeros(2), torch.tensor([True, False])])
def test_indices_that_are_no_whole_numbers(name: str, targets: torch.Tensor) -> None:
    with pytest.raises(TypeError, match="targets of shape \\(n,\\) must be whole numbers, got torch"):
        call(make(name), Z, targets)


@every_soft
@pytest.mark.parametrize(
    "row", [[0.5, 0.5, 0.5], [0.0, 0.0, 0.0], [1.5, -0.5, 0.0], [math.nan, 0.5, 0.5], [math.inf, 0.0, 0.0]]
)
def test_rows_that_are_no_probabilities(name: str, row: list[float]) -> None:
    with pytest.raises(ValueError, match="targets must be non-negative rows that sum to 1, got"):
        call(make(name), Z, torch.tensor([[1.0, 0.0, 0.0], row]))


@every_soft
def test_rows_of_a_wrong_shape(name: str) -> None:
    with pytest.raises(ValueError, match=r"targets must have shape \(2,\) or \(2, 3\), got \(2, 4\)"):
        call(make(name), Z, torch.eye(4)[:2])


@every_soft
def test_rows_may_be_off_by_rounding(name: str) -> None:
    loss = make(name)
    near = call(loss, Z, torch.tensor([[0.3005, 0.7, 0.0], [0.0, 1.0, 0.0]]))
    torch.testing.assert_close(
        near, call(loss, Z, torch.tensor([[0.3, 0.7, 0], [0, 1, 0]])), rtol=0, atol=0.01
    )


def test_complex_rows() -> None:
    with pytest.raises(TypeError, match="targets must be real, got"):
        call(make("ce"), Z, torch.eye(3)[:2].to(torch.complex64))


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: LabelSmoothing(alpha=1.5), r"alpha must lie in \[0, 1\], got 1.5"),
        (lambda: LabelSmoothing(alpha=math.nan), r"alpha must lie in \[0, 1\], got nan"),
        (lambda: FocalLoss(gamma=-1), "gamma must be >= 0, got -1"),
        (lambda: FocalLoss(gamma=math.nan), "gamma must be >= 0, got nan"),
        (lambda: FLSD(gamma=-1), "gamma must be >= 0, got -1"),
        (lambda: FLSD(gamma_unsure=math.nan), "gamma_unsure must be >= 0, got nan"),
        (lambda: FLSD(threshold=2), r"threshold must lie in \[0, 1\], got 2"),
        (lambda: MMCE(weight=-2), "weight must be >= 0, got -2"),
        (lambda: MMCE(width=0), "width must be > 0, got 0"),
        (lambda: WeightedMMCE(weight=math.inf), "weight must be finite, got inf"),
        (lambda: WeightedMMCE(width=math.nan), "width must be > 0, got nan"),
        (lambda: EntropyPenalty(alpha=-0.1), "alpha must be >= 0, got -0.1"),
        (lambda: MbLS(alpha=math.nan), "alpha must be >= 0, got nan"),
        (lambda: MbLS(margin=-1), "margin must be >= 0, got -1"),
        (lambda: CPC(discrimination=-1), "discrimination must be >= 0, got -1"),
        (lambda: CPC(exclusion=math.nan), "exclusion must be >= 0, got nan"),
        (lambda: CRL(size=0), "size must be >= 1, got 0"),
        (lambda: CRL(size=3, weight=math.nan), "weight must be >= 0, got nan"),
    ],
)
def test_values_outside_the_range(build: object, message: str) -> None:
    assert callable(build)
    with pytest.raises(ValueError, match=message):
        build()


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: FocalLoss(gamma="3"), "gamma must be a number, got str: '3'"),
        (lambda: EntropyPenalty(class_mean="false"), "class_mean must be True or False, got str: 'false'"),
        (lambda: WeightedMMCE(double_division=1), "double_division must be True or False, got int: 1"),
        (lambda: CRL(size=2.5), "size must be a whole number, got float: 2.5"),
    ],
)
def test_values_of_a_wrong_type(build: object, message: str) -> None:
    assert callable(build)
    with pytest.raises(TypeError, match=message):
        build()
