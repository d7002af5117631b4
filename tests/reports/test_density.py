"""The density of λ against distance, per method: against scipy's Beta, and the kernel's own heat map."""

import numpy as np
import pytest
import torch
from scipy import stats

from tailormix import Mixup, SKMixup, TwoBeta
from tailormix.methods import METHODS, build_method
from tailormix.reports import density
from tailormix.reports.density import BINS, FARTHEST, coefficient_density, mixing_density

EDGES = np.linspace(0, 1, BINS + 1)
NEAR = 0.1  # of densities whose mean is 1


@pytest.mark.parametrize("name", METHODS)
def test_every_method_but_erm_has_a_density(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(density, "LEVELS", 40)
    found = coefficient_density(build_method(name).coefficients)
    if name == "erm":
        assert found is None
    else:
        assert found is not None
        assert found.shape == (BINS, BINS)
        assert found.mean(0) == pytest.approx(np.ones(BINS))


@pytest.mark.parametrize("per", ["batch", "sample"])
def test_mixup_is_its_beta_at_every_distance(per: str) -> None:
    expected = np.diff(stats.beta(2, 2).cdf(EDGES)) * BINS
    found = coefficient_density(Mixup(alpha=2.0, per=per).coefficients)
    assert abs(found - expected[:, None]).max() <= NEAR


def test_two_beta_has_one_for_near_and_one_for_far_pairs() -> None:
    found = coefficient_density(TwoBeta(alpha_near=2.0, alpha_far=0.5).coefficients)
    for shape, columns in ((2.0, slice(0, BINS // 2)), (0.5, slice(BINS // 2, BINS))):
        expected = np.diff(stats.beta(shape, shape).cdf(EDGES)) * BINS
        assert abs(found[:, columns] - expected[:, None]).max() <= NEAR


@pytest.mark.parametrize("options", [{}, {"squared": False}, {"sampling": "direct"}, {"space": "input"}])
def test_sk_mixup_is_the_map_of_its_kernel(options: dict) -> None:
    """Whatever the space of distances, the density at a relative distance is the same."""
    found = coefficient_density(SKMixup(2.0, 0.5, **options).coefficients)
    distance = torch.from_numpy(FARTHEST * (np.arange(BINS) + 0.5) / BINS)
    assert abs(found - mixing_density(distance.float(), BINS, 2.0, 0.5)).max() <= 2 * NEAR
