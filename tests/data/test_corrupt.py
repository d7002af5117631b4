"""Corrupted images."""

import numpy as np
import pytest
import torch
from scipy import ndimage

from tailormix.data.corrupt import CORRUPTIONS, SEVERITIES, chosen_kinds, corrupt


def photographs(n=4, channels=3, side=32):
    """Smooth made pictures: corruptions must be able to take something away."""
    generator = torch.Generator().manual_seed(0)
    coarse = torch.rand(n, channels, 6, 6, generator=generator)
    smooth = torch.nn.functional.interpolate(coarse, size=(side, side), mode="bicubic").clamp(0, 1)
    return (smooth * 255).to(torch.uint8)


def change(a, b):
    return float((a.float() - b.float()).square().mean().sqrt())


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("kind", CORRUPTIONS)
def test_every_severity_changes_more_than_the_one_before(kind, channels):
    images = photographs(channels=channels)
    found = [corrupt(images, kind, severity) for severity in SEVERITIES]
    assert all(each.shape == images.shape and each.dtype == torch.uint8 for each in found)
    changes = [change(images, each) for each in found]
    assert 0 < changes[0] < changes[1] < changes[2] < changes[3] < changes[4]


@pytest.mark.parametrize("kind", CORRUPTIONS)
def test_seeds_decide_every_bit(kind):
    images = photographs()
    assert torch.equal(corrupt(images, kind, 3, seed=1), corrupt(images, kind, 3, seed=1))


@pytest.mark.parametrize("kind", ["gaussian-noise", "shot-noise", "impulse-noise", "fog"])
def test_other_seeds_give_other_noise(kind):
    images = photographs()
    assert not torch.equal(corrupt(images, kind, 3, seed=1), corrupt(images, kind, 3, seed=2))


def test_blur_is_that_of_scipy():
    images = photographs(n=1, channels=1)
    blurred = corrupt(images, "gaussian-blur", 5)[0, 0].numpy()
    expected = ndimage.gaussian_filter(images[0, 0].numpy() / 255, 0.056 * 32, mode="nearest", radius=6)
    np.testing.assert_allclose(blurred / 255, expected, atol=0.003)


def test_noise_has_its_deviation():
    grey = torch.full((8, 3, 32, 32), 128, dtype=torch.uint8)
    noisy = corrupt(grey, "gaussian-noise", 3).float() / 255
    assert float(noisy.std()) == pytest.approx(0.09, rel=0.03)  # worked out: σ of severity 3
    shot = corrupt(grey, "shot-noise", 4).float() / 255
    assert float(shot.std()) == pytest.approx((0.502 / 30) ** 0.5, rel=0.05)  # √(x / k) of a Poisson law


def test_wrong_use_is_named():
    images = photographs()
    with pytest.raises(ValueError, match="uint8 of shape"):
        corrupt(images.float(), "fog")
    with pytest.raises(ValueError, match="unknown kind 'blur'"):
        corrupt(images, "blur")
    with pytest.raises(ValueError, match="severity must be one of"):
        corrupt(images, "fog", 6)
    with pytest.raises(TypeError, match="corrupt must be all, or names of corruptions, got True"):
        chosen_kinds(True)
