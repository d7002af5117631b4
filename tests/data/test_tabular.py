"""Scaling, and a table of exactly the published format."""

from pathlib import Path

import numpy as np
import pytest
import torch

from tailormix.data import DataError, load
from tailormix.data.tabular import fit_scale


def test_scaling_uses_the_named_rows_and_survives_constants() -> None:
    features = torch.tensor([[0.0, 5.0], [2.0, 5.0], [100.0, 9.0]])
    scaled = fit_scale(features[:2], "standard")
    assert scaled(features).tolist() == [[-1.0, 0.0], [1.0, 0.0], [99.0, 4.0]]


def test_airfoil(tmp_path: Path) -> None:
    table = np.random.default_rng(0).random((1503, 6))
    path = tmp_path / "airfoil" / "airfoil_self_noise.dat"
    path.parent.mkdir()
    np.savetxt(path, table, "%.6g", "\t")
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))  # line ends as published
    splits = load("airfoil", root=tmp_path)
    np.testing.assert_allclose(splits.train.targets.numpy(), table[splits.train.ids, 5:], rtol=1e-5)
    path.write_text(path.read_text().replace("\t", ";"))
    with pytest.raises(DataError, match=r"noise\.dat: expected 1503 rows of 6 numbers, got an unreadable"):
        load("airfoil", root=tmp_path)
