"""Tables: Airfoil, 43 tables of the KEEL repository for classes, and ten of UCI for real values."""

from __future__ import annotations

import csv
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
import torch

from tailormix import checks
from tailormix.data.custom import own_splits, split_rows
from tailormix.data.files.arrays import read_numbers
from tailormix.data.files.columns import Column
from tailormix.data.files.location import damaged, missing
from tailormix.data.files.published import KEEL_TABLES, UCI_TABLES
from tailormix.data.files.tables import Table, read_table
from tailormix.data.preprocessing import ArrayPreprocessing, TablePreprocessing
from tailormix.data.preprocessing.targets import Targets, column_targets
from tailormix.data.splits import DataSplits, MemorySplit, SplitProtocol, hold_out, share

if TYPE_CHECKING:
    from pathlib import Path

    from torch import Tensor

AIRFOIL_ROWS, AIRFOIL_VALIDATION, AIRFOIL_TEST = 1503, 300, 200
UCI_SPLITS = 10
COVARIATE, COVARIATE_SHARE = "covariate", 0.2


def load_airfoil(root: Path, seed: int, *, protocol: SplitProtocol = "clean") -> DataSplits:
    """Read 1003 training, 300 validation and 200 test rows; features to [0, 1], target (n, 1) in decibels.

    ``clean`` scales by the training rows. ``as-published`` is the released code: its order of the rows for
    this seed, and features scaled by the smallest and largest values of all rows.
    """
    checks.known("protocol", protocol, get_args(SplitProtocol))
    path = root / "airfoil" / "airfoil_self_noise.dat"
    table = torch.from_numpy(read_numbers(path, "\t", AIRFOIL_ROWS, 6, "airfoil"))
    features, targets = table[:, :5], table[:, 5:].float()
    if protocol == "as-published":
        rows = _released_rows(seed)
        preprocessing = ArrayPreprocessing.fit(features, "min-max")
    else:
        rest, tested = hold_out(AIRFOIL_ROWS, AIRFOIL_TEST, seed)
        kept, held = hold_out(len(rest), AIRFOIL_VALIDATION, seed)
        rows = rest[kept], rest[held], tested
        preprocessing = ArrayPreprocessing.fit(features[rows[0]], "min-max")
    inputs = preprocessing(features)
    train, validation, test = (MemorySplit(inputs[part], targets[part], part) for part in rows)
    return DataSplits(
        "airfoil", "regression", train, validation, test, outputs=1, preprocessing=preprocessing
    )


def _released_rows(seed: int) -> tuple[Tensor, Tensor, Tensor]:
    """Rows in the order of numpy's old generator, as the released code draws it after seeding."""
    order = torch.from_numpy(np.random.RandomState(seed).permutation(AIRFOIL_ROWS))
    test = AIRFOIL_ROWS - AIRFOIL_TEST
    train, validation, test_rows = torch.tensor_split(order, [test - AIRFOIL_VALIDATION, test])
    return train, validation, test_rows


def load_keel(
    root: Path,
    seed: int,
    *,
    table: str,
    shift: Literal["covariate"] | None = None,
    validation: float = 0.2,
    test: float = 0.2,
) -> DataSplits:
    """Read one table, its last column the class, and split it by the seed; classes are stratified.

    With ``shift="covariate"`` the fifth of the rows that lies furthest along the first principal component of
    the inputs is the part ``covariate``; training, validation and test rows are cut from the others.
    """
    name = checks.known("table of keel", table, KEEL_TABLES)
    if shift is not None:
        checks.known("shift", shift, (COVARIATE,))
    path = root / "keel" / f"{name}.dat"
    features, targets = _read_keel(path)
    n = len(features)
    near, far = (torch.arange(n), None) if shift is None else furthest(_encoded(features), COVARIATE_SHARE)
    inner = Targets(targets.values[near], targets.class_names)
    train, held, tested = split_rows(path, inner, seed, validation, test)
    rows = near[train], near[held], near[tested]
    preprocessing = TablePreprocessing.fit(features, rows[0])
    seen = torch.bincount(targets.values[rows[0]], minlength=len(targets.class_names)) > 0
    absent = [repr(word) for word, known in zip(targets.class_names, seen.tolist(), strict=True) if not known]
    notes = (f"keel ({name}): no training row is of class {', '.join(absent)}",) if absent else ()
    shifts = {} if far is None else {COVARIATE: far}
    inputs = preprocessing.read(features)
    return own_splits(f"keel ({name})", inputs, preprocessing, targets, rows, notes, shifts)


def load_uci(
    root: Path, seed: int, *, table: str, split: int | None = None, validation: float = 0.2
) -> DataSplits:
    """Read one table and the test rows of one of its ten splits, by default that of the seed's last digit.

    Validation rows are cut from the other rows by the seed. Inputs and targets are standardised by the
    training rows; results are in the units of the file, whose columns its owner has centred.
    """
    name = checks.known("table of uci", table, UCI_TABLES)
    number = seed % UCI_SPLITS if split is None else checks.integer("split", split, at_least=0)
    if number >= UCI_SPLITS:
        raise ValueError(f"split must be < {UCI_SPLITS}, got {split}")
    count, width, *_ = UCI_TABLES[name]
    data, masks = _read_uci(root / "uci" / name, count, width)
    tested = masks[:, number] == 1
    rest = (~tested).nonzero().flatten()
    kept, held = hold_out(len(rest), share("validation", validation, len(rest)), seed)
    rows = rest[kept], rest[held], tested.nonzero().flatten()
    scale = ArrayPreprocessing.fit(data[rows[0], :-1])
    return own_splits(f"uci ({name})", data[:, :-1], scale, Targets(data[:, -1:]), rows)


def furthest(inputs: Tensor, part: float) -> tuple[Tensor, Tensor]:
    """Rows (near, far): far is the ``part`` of the rows with the largest first principal component.

    The component points to where its largest weight is positive; of equal rows the later ones are far.

    >>> near, far = furthest(torch.tensor([[0.0, 0.0], [9.0, 0.1], [1.0, 0.0], [2.0, 0.1]]), 0.25)
    >>> near.tolist(), far.tolist()
    ([0, 2, 3], [1])
    """
    centred = inputs.double() - inputs.double().mean(dim=0)
    _, axes = torch.linalg.eigh(centred.T @ centred)
    axis = axes[:, -1]
    along = centred @ (axis * axis[axis.abs().argmax()].sign())
    order, near = along.argsort(stable=True), len(inputs) - round(part * len(inputs))
    return order[:near].sort().values, order[near:].sort().values


def _encoded(features: Table) -> Tensor:
    """All rows as inputs, each column standardised by all rows; no class is looked at."""
    preprocessing = TablePreprocessing.fit(features)
    encoded = preprocessing.encode(preprocessing.read(features))
    scaled: Tensor = ArrayPreprocessing.fit(encoded)(encoded)
    return scaled


def _read_keel(path: Path) -> tuple[Table, Targets]:
    """The columns but the last, called x1, x2, ..., and the classes."""
    if not path.is_file():
        raise missing(path, "a table of KEEL", "keel")
    return _parse_keel(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=4)  # a study reads one table for many seeds and methods
def _parse_keel(path: Path, _modified: int) -> tuple[Table, Targets]:
    with path.open(encoding="utf-8", newline="") as lines:
        rows = [row for row in csv.reader(lines, skipinitialspace=True) if row]
    widths = {len(row) for row in rows}
    if len(widths) != 1 or widths == {1}:
        raise damaged(path, "rows of equally many cells", f"{sorted(widths)} cells", "keel")
    *cells, classes = (list(column) for column in zip(*rows, strict=True))
    features = read_table({f"x{number}": column for number, column in enumerate(cells, start=1)}).columns
    numbers = {name: column.numbers() for name, column in features.items() if column.kind == "number"}
    plain = {name: Column.of(name, cells, str(path)) for name, cells in numbers.items()}  # parsed once
    label = read_table({"class": classes}).columns["class"]
    return Table(str(path), {**features, **plain}), column_targets(label, "classification")


@lru_cache(maxsize=4)
def _read_uci(folder: Path, rows: int, features: int) -> tuple[Tensor, Tensor]:
    """Data (n, features + 1), the target last, and test masks (n, 10)."""
    data = read_numbers(folder / "data.csv.gz", ",", rows, features + 1, "uci")
    path = folder / "test_mask.csv.gz"
    masks = read_numbers(path, ",", rows, UCI_SPLITS, "uci")
    if not np.isin(masks, (0, 1)).all():
        raise damaged(path, "zeros and ones", "other numbers", "uci")
    return torch.from_numpy(data), torch.from_numpy(masks)
