"""Toy data against scikit-learn."""

import numpy as np
import pytest
import torch
from sklearn.datasets import make_circles, make_moons
from sklearn.model_selection import train_test_split

from tailormix.data import load


@pytest.mark.parametrize(
    ("name", "drawn"),
    [
        ("moons", make_moons(100, noise=0.15, random_state=0)),
        ("circles", make_circles(100, factor=0.5, noise=0.1, random_state=0)),
    ],
)
def test_toys_as_published(name: str, drawn: tuple[np.ndarray, np.ndarray]) -> None:
    x_train, x_test, y_train, y_test = train_test_split(*drawn, test_size=0.3, random_state=42)
    splits = load(name, protocol="as-published", seed=9)
    for part, x, y in ((splits.train, x_train, y_train), (splits.test, x_test, y_test)):
        got = part.batch(torch.arange(len(part)))
        np.testing.assert_allclose(got[0].numpy(), x, rtol=1e-6)
        assert got[1].tolist() == y.tolist()
