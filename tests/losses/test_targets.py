"""Bad logits, targets and arguments: every message names what was expected and what came."""

from __future__ import annotations

import math

import pytest
import torch

from losses.cases import SOFT, call, make
from tailormix.losses import LOSSES, build

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
@pytest.mark.parametrize(
    ("logits", "targets", "message"),
    [
        (Z.long(), Y, r"logits must be real, got torch\.int64"),
        (Z, torch.tensor(0), "targets must"),
        (Z, torch.tensor([0]), "targets must"),
        (Z, torch.zeros(2, 3, 1), "targets must"),
        (Z, torch.zeros(2), r"targets of shape \(n,\) must be whole numbers, got torch"),
        (Z, torch.tensor([True, False]), r"targets of shape \(n,\) must be whole numbers, got torch"),
    ],
)
def test_wrong_types_and_shapes(name: str, logits: torch.Tensor, targets: torch.Tensor, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        call(make(name), logits, targets)


@every_soft
@pytest.mark.parametrize(
    "row", [[0.5, 0.5, 0.5], [0.0, 0.0, 0.0], [1.5, -0.5, 0.0], [math.nan, 0.5, 0.5], [math.inf, 0.0, 0.0]]
)
def test_rows_that_are_no_probabilities(name: str, row: list[float]) -> None:
    with pytest.raises(ValueError, match="targets must be non-negative rows that sum to 1, got"):
        call(make(name), Z, torch.tensor([[1.0, 0.0, 0.0], row]))


@every_soft
def test_rows_of_a_wrong_shape_or_type(name: str) -> None:
    with pytest.raises(ValueError, match=r"targets must have shape \(2,\) or \(2, 3\), got \(2, 4\)"):
        call(make(name), Z, torch.eye(4)[:2])
    with pytest.raises(TypeError, match="targets must be real, got"):
        call(make(name), Z, torch.eye(3)[:2].to(torch.complex64))


@every_soft
def test_rows_may_be_off_by_rounding(name: str) -> None:
    loss = make(name)
    near = call(loss, Z, torch.tensor([[0.3005, 0.7, 0.0], [0.0, 1.0, 0.0]]))
    torch.testing.assert_close(
        near, call(loss, Z, torch.tensor([[0.3, 0.7, 0], [0, 1, 0]])), rtol=0, atol=0.01
    )


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("ls", {"alpha": 1.5}, r"alpha must lie in \[0, 1\], got 1.5"),
        ("ls", {"alpha": math.nan}, r"alpha must lie in \[0, 1\], got nan"),
        ("focal", {"gamma": -1}, "gamma must be >= 0, got -1"),
        ("focal", {"gamma": math.nan}, "gamma must be >= 0, got nan"),
        ("focal", {"gamma": "3"}, "gamma must be a number, got str: '3'"),
        ("flsd", {"gamma": -1}, "gamma must be >= 0, got -1"),
        ("flsd", {"gamma_unsure": math.nan}, "gamma_unsure must be >= 0, got nan"),
        ("flsd", {"threshold": 2}, r"threshold must lie in \[0, 1\], got 2"),
        ("mmce", {"weight": -2}, "weight must be >= 0, got -2"),
        ("mmce", {"width": 0}, "width must be > 0, got 0"),
        ("mmce-w", {"weight": math.inf}, "weight must be finite, got inf"),
        ("mmce-w", {"width": math.nan}, "width must be > 0, got nan"),
        ("mmce-w", {"double_division": 1}, "double_division must be True or False, got int: 1"),
        ("ecp", {"alpha": -0.1}, "alpha must be >= 0, got -0.1"),
        ("ecp", {"class_mean": "false"}, "class_mean must be True or False, got str: 'false'"),
        ("mbls", {"alpha": math.nan}, "alpha must be >= 0, got nan"),
        ("mbls", {"margin": -1}, "margin must be >= 0, got -1"),
        ("cpc", {"discrimination": -1}, "discrimination must be >= 0, got -1"),
        ("cpc", {"exclusion": math.nan}, "exclusion must be >= 0, got nan"),
        ("crl", {"size": 0}, "size must be >= 1, got 0"),
        ("crl", {"size": 2.5}, "size must be a whole number, got float: 2.5"),
        ("crl", {"size": 3, "weight": math.nan}, "weight must be >= 0, got nan"),
    ],
)
def test_wrong_arguments(name: str, arguments: dict[str, object], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        build(name, **arguments)
