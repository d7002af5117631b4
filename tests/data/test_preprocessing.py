"""Raw rows through the preprocessing are the inputs of the splits, for every data set with small data."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn import datasets

from tailormix.data import load
from tailormix.data.preprocessing import load_preprocessing, save_preprocessing
from tailormix.data.splits import DataSplits


def check(splits: DataSplits, raw: Any, tmp_path: Path) -> None:
    """``raw`` holds all rows in the order of their ids; the preprocessing as saved gives the same bits."""
    path = save_preprocessing(tmp_path / "preprocessing.safetensors", splits.preprocessing)
    for preprocessing in (splits.preprocessing, load_preprocessing(path)):
        inputs = preprocessing(preprocessing.read(raw))
        for split in (splits.validation, splits.test):
            if len(split):
                x, _ = split.batch(torch.arange(len(split)))
                assert x.dtype == torch.float32
                assert torch.equal(inputs[split.ids], x)


@pytest.mark.parametrize("name", ["moons", "circles"])
def test_toys(name: str, tmp_path: Path) -> None:
    draw, options = {
        "moons": (datasets.make_moons, {"noise": 0.15}),
        "circles": (datasets.make_circles, {"noise": 0.1, "factor": 0.5}),
    }[name]
    check(load(name, n=50), draw(50, random_state=0, **options)[0], tmp_path)


def test_digits(tmp_path: Path) -> None:
    raw = datasets.load_digits().images.astype(np.uint8)[:, None]
    check(load("digits"), raw, tmp_path)
