"""The law of λ against distance, as methods draw it: against scipy's Beta, and the kernel's own map."""

import numpy as np
import pytest
import torch
from scipy import stats

from tailormix import Mixup, SKMixup, TwoBeta
from tailormix.methods import METHODS, build_method
from tailormix.reports import density
from tailormix.reports.density import BINS, FARTHEST, LEVELS, coefficient_law, mixing_density

EDGES = np.linspace(0, 1, BINS + 1)
NEAR = 2 * BINS / LEVELS  # a level on the wrong side of either edge of a bin


@pytest.mark.parametrize("name", METHODS)
def test_every_method_but_plain_training_has_a_law(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(density, "LEVELS", 40)
    law = coefficient_law(build_method(name).coefficients)
    if name == "erm":
        assert law is None
    else:
        assert law is not None
        assert law.shape == (BINS, BINS)
        assert law.mean(0) == pytest.approx(np.ones(BINS))


@pytest.mark.parametrize("per", ["batch", "sample"])
def test_mixup_is_its_beta_at_every_distance(per: str) -> None:
    expected = np.diff(stats.beta(2, 2).cdf(EDGES)) * BINS
    law = coefficient_law(Mixup(alpha=2.0, per=per).coefficients)
    assert abs(law - expected[:, None]).max() <= NEAR


def test_two_beta_has_one_for_near_and_one_for_far_pairs() -> None:
    law = coefficient_law(TwoBeta(alpha_near=2.0, alpha_far=0.5).coefficients)
    for shape, columns in ((2.0, slice(0, BINS // 2)), (0.5, slice(BINS // 2, BINS))):
        expected = np.diff(stats.beta(shape, shape).cdf(EDGES)) * BINS
        assert abs(law[:, columns] - expected[:, None]).max() <= NEAR


@pytest.mark.parametrize("options", [{}, {"squared": False}, {"sampling": "direct"}, {"space": "input"}])
def test_sk_mixup_is_the_map_of_its_kernel(options: dict) -> None:
    """Whatever the space of distances, the law at a relative distance is the same."""
    law = coefficient_law(SKMixup(2.0, 0.5, **options).coefficients)
    distance = torch.from_numpy(FARTHEST * (np.arange(BINS) + 0.5) / BINS)
    assert abs(law - mixing_density(distance.float(), BINS, 2.0, 0.5)).max() <= 2 * NEAR
