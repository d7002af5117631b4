"""Arrays of one shape, scaled; what does not fit is named."""

from pathlib import Path

import numpy as np
import pytest
import torch

from tailormix.data import DataError
from tailormix.data.preprocessing import ArrayPreprocessing


def test_arrays_of_any_kind_of_number_and_files(tmp_path: Path) -> None:
    """(x - 1) / 2, flattened."""
    preprocessing = ArrayPreprocessing((2, 2), centre=[1.0], spread=[2.0], flat=True)
    rows = np.arange(8).reshape(2, 2, 2)
    np.savez(tmp_path / "new.npz", x=rows)
    np.save(tmp_path / "new.npy", rows)
    kinds = [rows.astype(kind) for kind in (np.uint16, np.float32, np.int8)]
    for source in (
        rows.tolist(),
        torch.from_numpy(rows),
        tmp_path / "new.npz",
        str(tmp_path / "new.npy"),
        *kinds,
    ):
        raw = preprocessing.read(source)
        assert raw.dtype == torch.float64
        assert preprocessing(raw).tolist() == [[-0.5, 0, 0.5, 1], [1.5, 2, 2.5, 3]]


def test_tables_of_numbers(tmp_path: Path) -> None:
    (tmp_path / "new.csv").write_text("a;b\n1,5;2\n3;4\n")
    assert ArrayPreprocessing((2,)).read(tmp_path / "new.csv").tolist() == [[1.5, 2], [3, 4]]
    with pytest.raises(DataError, match=r"new\.csv: expected shape \(n, 3\), got \(2, 2\)"):
        ArrayPreprocessing((3,)).read(tmp_path / "new.csv")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (np.zeros((3, 3)), r"inputs: expected shape \(n, 2\), got \(3, 3\)"),
        (np.array([[0, np.nan]]), "inputs: expected finite numbers, got nan in row 0, column 1"),
        (np.array([["a", "b"]]), "inputs: expected real numbers, got <U1"),
    ],
)
def test_what_does_not_fit(source: np.ndarray, message: str) -> None:
    with pytest.raises(DataError, match=message):
        ArrayPreprocessing((2,)).read(source)
