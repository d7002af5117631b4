"""Airfoil, and tables of KEEL and UCI: made files of their formats, and the published ones where they are."""

import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.decomposition import PCA

from tailormix.data import DataError, load
from tailormix.data.files.published import KEEL_TABLES, UCI_TABLES
from tailormix.data.files.verify import verify
from tailormix.data.preprocessing import ArrayPreprocessing
from tailormix.data.registry import fold_splits
from tailormix.data.tabular import furthest


@pytest.fixture
def keel(tmp_path: Path) -> Path:
    """A table of 100 rows: a number, a word, a number with gaps, and three classes; one line is empty."""
    random = np.random.default_rng(0)
    rows = [
        f"{random.normal():.3f}, {random.choice(['red', 'blue'])},{'?' if k % 9 == 0 else k % 7},{k % 3}"
        for k in range(100)
    ]
    rows[3] = rows[3].replace("red", "<null>").replace("blue", "<null>")
    (tmp_path / "keel").mkdir()
    (tmp_path / "keel" / "iris.dat").write_text("\n".join([*rows, ""]))
    return tmp_path


def test_keel_splits_by_seed_and_by_class(keel: Path) -> None:
    splits = load("keel", table="iris", root=keel, seed=1)
    assert [len(part) for part in (splits.train, splits.validation, splits.test)] == [60, 20, 20]
    assert torch.bincount(splits.train.targets).tolist() == [20, 20, 20]
    assert splits.class_names == ("0", "1", "2")
    assert splits.shifts == {}
    assert splits.preprocessing is not None
    names = splits.preprocessing.output_names()
    assert names[:4] == ["x1", "x3", "x2=blue", "x2=red"]
    assert "x3 is missing" in names
    other = load("keel", table="iris", root=keel, seed=2)
    assert splits.fingerprints != other.fingerprints


def test_covariate_rows_are_those_of_the_largest_component(keel: Path) -> None:
    splits = load("keel", table="iris", root=keel, shift="covariate")
    ids = [part.ids for part in (splits.train, splits.validation, splits.test, splits.shifts["covariate"])]
    assert [len(part) for part in ids] == [48, 16, 16, 20]
    assert torch.cat(ids).sort().values.tolist() == list(range(100))
    assert fold_splits(splits, "1/4", 0).shifts == {}


def test_furthest_rows_against_sklearn() -> None:
    points = torch.from_numpy(np.random.default_rng(3).normal(size=(50, 4)) * [1, 3, 0.5, 1])
    found = PCA(1).fit(points.numpy())
    sign = np.sign(found.components_[0][np.abs(found.components_[0]).argmax()])
    order = (found.transform(points.numpy())[:, 0] * sign).argsort()
    near, far = furthest(points, 0.2)
    assert far.tolist() == sorted(order[40:].tolist())
    assert near.tolist() == sorted(order[:40].tolist())


def test_a_class_without_training_rows_is_noted(tmp_path: Path) -> None:
    rows = [f"{k},{'far' if k >= 40 else k % 2}" for k in range(50)]
    (tmp_path / "keel").mkdir()
    (tmp_path / "keel" / "iris.dat").write_text("\n".join(rows))
    splits = load("keel", table="iris", root=tmp_path, shift="covariate")
    assert splits.notes == ("keel (iris): no training row is of class 'far'",)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"table": "irs"}, "unknown table of keel 'irs'; did you mean 'iris'"),
        ({"table": "iris", "shift": "label"}, r"unknown shift 'label'\. Known: covariate"),
        ({"table": "wine"}, r"missing file .*wine\.dat .*tailormix data get keel"),
    ],
)
def test_wrong_options_of_keel(keel: Path, options: dict[str, str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        load("keel", root=keel, **options)


def test_a_table_of_unequal_rows_is_damaged(keel: Path) -> None:
    (keel / "keel" / "iris.dat").write_text("1,2,a\n3,b\n")
    with pytest.raises(DataError, match=r"expected rows of equally many cells, got \[2, 3\] cells"):
        load("keel", table="iris", root=keel)


@pytest.fixture
def uci(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A table of 40 rows, two features and a target far from 0."""
    monkeypatch.setitem(UCI_TABLES, "servo", (40, 2, "", ""))
    random = np.random.default_rng(0)
    data = np.column_stack([random.normal(size=(40, 2)) * [1, 100], 50 + 5 * random.normal(size=40)])
    masks = (np.arange(40)[:, None] % 10 == np.arange(10)).astype(int)
    folder = tmp_path / "uci" / "servo"
    folder.mkdir(parents=True)
    for name, table in (("data", data), ("test_mask", masks)):
        text = "\n".join(",".join(f"{cell:g}" for cell in row) for row in table)
        (folder / f"{name}.csv.gz").write_bytes(gzip.compress(text.encode()))
    return tmp_path


def test_uci_keeps_the_published_test_rows(uci: Path) -> None:
    splits = load("uci", table="servo", root=uci, seed=13)
    assert splits.test.ids.tolist() == [3, 13, 23, 33]
    assert load("uci", table="servo", root=uci, seed=13, split=7).test.ids.tolist() == [7, 17, 27, 37]
    assert (len(splits.train), len(splits.validation)) == (29, 7)
    every = torch.cat([part.ids for part in (splits.train, splits.validation, splits.test)])
    assert every.sort().values.tolist() == list(range(40))
    inputs, targets = splits.train.batch(torch.arange(29))
    for values in (inputs, targets):
        torch.testing.assert_close(values.mean(0), torch.zeros(values.shape[1]), atol=1e-5, rtol=0)
        torch.testing.assert_close(
            values.std(0, correction=0), torch.ones(values.shape[1]), atol=1e-5, rtol=0
        )
    assert splits.target_units is not None
    centre, spread = splits.target_units
    assert 40 < float(splits.test.targets.double().mean() * spread + centre) < 60


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"table": "srvo"}, "unknown table of uci 'srvo'; did you mean 'servo'"),
        ({"table": "servo", "split": 10}, "split must be < 10, got 10"),
        ({"table": "yacht"}, r"missing file .*data\.csv\.gz .*tailormix data get uci"),
    ],
)
def test_wrong_options_of_uci(uci: Path, options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        load("uci", root=uci, **options)


@pytest.mark.parametrize("table", ["crx", "german", "mushroom", "vowel"])
def test_published_keel(real: Callable[[str], Path], table: str) -> None:
    splits = load("keel", table=table, root=real("keel"), shift="covariate")
    x, _ = splits.train.batch(torch.arange(len(splits.train)))
    assert x.isfinite().all()
    sizes = {"crx": (653, 2), "german": (1000, 2), "mushroom": (5644, 2), "vowel": (990, 11)}
    parts = (splits.train, splits.validation, splits.test, splits.shifts["covariate"])
    assert (sum(map(len, parts)), splits.outputs) == sizes[table]


def test_published_uci(real: Callable[[str], Path]) -> None:
    root = real("uci")
    sizes = {"concrete": (1030, 8), "yacht": (308, 6), "stock": (536, 11), "housing": (506, 13)}
    for table, (rows, features) in sizes.items():
        splits = load("uci", table=table, root=root)
        assert sum(map(len, (splits.train, splits.validation, splits.test))) == rows
        assert splits.input_shape == (features,)
    assert verify("uci", root) == verify("keel", real("keel")) == []
    assert len(KEEL_TABLES) == 43


def test_scaling_uses_the_named_rows_and_survives_constants() -> None:
    features = torch.tensor([[0.0, 5.0], [2.0, 5.0], [100.0, 9.0]])
    scaled = ArrayPreprocessing.fit(features[:2])
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
