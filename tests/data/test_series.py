"""Windows against numpy's sliding windows; series of exactly the published format."""

import gzip
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.lib.stride_tricks import sliding_window_view

from tailormix.data import DataError, load
from tailormix.data.series import WindowSplit, series_splits


def test_windows_are_numpy_sliding_windows(generator: torch.Generator) -> None:
    values = torch.randn(40, 3, generator=generator)
    source = WindowSplit(values, torch.arange(9, 40), window=6, horizon=4)
    x, y = source.batch(torch.arange(len(source)))
    expected = sliding_window_view(values.numpy(), 6, axis=0).transpose(0, 2, 1)[:31]
    np.testing.assert_array_equal(x.numpy(), expected)
    torch.testing.assert_close(y, values[9:])
    torch.testing.assert_close(source.targets, values[9:])


def test_windows_share_the_values_and_read_none() -> None:
    """On the meta device reading a value raises: so no batch waits for a real device."""
    splits = series_splits("s", torch.rand(100, 2, dtype=torch.float64) + 1, 5, 2, "clean")
    assert len({part.values.data_ptr() for part in (splits.train, splits.validation, splits.test)}) == 1
    assert splits.test.to("meta").batch(torch.tensor([0, 1]))[0].shape == (2, 5, 2)


def test_series_shorter_than_its_windows() -> None:
    with pytest.raises(ValueError, match=r"ids must be >= window \+ horizon - 1 = 9, got 8"):
        WindowSplit(torch.zeros(40, 3), torch.arange(8, 40), window=6, horizon=4)
    with pytest.raises(ValueError, match=r"window \+ horizon must be <= 12 training rows, got 14"):
        series_splits("s", torch.ones(20, 1), 10, 4, "clean")


def test_exchange_rate_damage(tmp_path: Path) -> None:
    table = np.random.default_rng(0).random((7588, 8)).round(4)
    path = tmp_path / "exchange_rate" / "exchange_rate.txt.gz"
    path.parent.mkdir()
    np.savetxt(path, table, "%.6g", ",")
    assert len(load("exchange-rate", root=tmp_path).train) == 4373
    np.savetxt(path, table[:-1], "%.6g", ",")
    with pytest.raises(DataError, match="expected 7588 rows of 8 numbers, got 7587 rows of 8"):
        load("exchange-rate", root=tmp_path)
    table[5, 3] = np.nan
    np.savetxt(path, table, "%.6g", ",")
    with pytest.raises(DataError, match="got nan in row 5, column 3"):
        load("exchange-rate", root=tmp_path)


def test_electricity(tmp_path: Path) -> None:
    """All 26 304 hours of 321 clients, each hour the same: client k uses k."""
    path = tmp_path / "electricity" / "electricity.txt.gz"
    path.parent.mkdir()
    line = ",".join(map(str, range(321))) + "\n"
    path.write_bytes(gzip.compress(line.encode() * 26_304, 1))
    splits = load("electricity", root=tmp_path)
    assert [len(part) for part in (splits.train, splits.validation, splits.test)] == [15_591, 5_261, 5_261]
    assert (int(splits.train.ids[0]), int(splits.test.ids[-1])) == (191, 26_303)
    assert splits.target_scale.tolist() == [1.0, *map(float, range(1, 321))]  # a client of zeros divides by 1
    assert splits.test.batch(torch.tensor([0]))[1][0].tolist() == [0.0] + [1.0] * 320
