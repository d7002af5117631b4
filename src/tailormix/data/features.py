"""Features of a pretrained backbone, as ``tailormix features`` writes them: one row per text or image."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch

from tailormix import checks
from tailormix.data.files.arrays import names_in_npz, read_npz
from tailormix.data.files.location import check_file, unusable
from tailormix.data.preprocessing.arrays import ArrayPreprocessing, check_finite, encoder_of
from tailormix.data.splits import DataSplits, LazySplit, MemorySplit, hold_out, share, train_rows

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torch import Tensor

FOLDER = "features"
TRAIN, VALIDATION, TEST = "train", "validation", "test"


@dataclass(frozen=True, eq=False)
class FeatureFile:
    """Features x (n, d), classes y (n,), ids (n,), the rows of each part, and the names of the classes."""

    path: Path
    x: Tensor
    y: Tensor
    ids: Tensor
    parts: dict[str, Tensor]
    class_names: tuple[str, ...]


def load_features(
    root: Path,
    seed: int,
    *,
    path: str | Path,
    validation: float = 0.2,
    test: float = 0.2,
    limit: int | None = None,
    shots: int | None = None,
    validation_shots: int | None = None,
) -> DataSplits:
    """Read a file of features with its parts; inputs are standardised by the training rows.

    ``path`` is a file, or the name of one in the folder ``features`` of the data root. Where the file has no
    part ``validation`` or ``test``, that share of the training rows is cut off by the seed. Its other parts
    are the ``shifts``.

    ``limit`` takes so many training rows by the seed, classes stratified; where validation is cut from them,
    it counts these as well. ``shots`` takes so many training rows of each class, and ``validation_shots``
    validation rows of each class, as many as ``shots`` by default.
    """
    file = read_features(find_features(path, root))
    if TRAIN not in file.parts:
        raise unusable(file.path, f"rows with a class, in the part {TRAIN!r}", ", ".join(file.parts))
    rows = part_rows(
        file.y,
        file.parts,
        seed,
        validation=validation,
        test=test,
        limit=limit,
        shots=shots,
        validation_shots=validation_shots,
    )
    for part, needed, found in ((TRAIN, True, rows[0]), (TEST, test > 0, rows[2])):
        if needed and not len(found):
            told = f"{len(file.parts[TRAIN])} rows in all, with validation {validation} and test {test}"
            raise unusable(file.path, f"rows left for the part {part!r}", told)
    scale = ArrayPreprocessing.fit(file.x[rows[0]], encoder=encoder_of(file.path))
    train, held, tested = (_split(file, part, scale) for part in rows)
    others = {name: part for name, part in file.parts.items() if name not in (TRAIN, VALIDATION, TEST)}
    return DataSplits(
        f"features ({file.path.stem})",
        "classification",
        train,
        held,
        tested,
        outputs=len(file.class_names),
        class_names=file.class_names,
        preprocessing=scale,
        shifts={name: _lazy(file, part, scale) for name, part in others.items()},
    )


def find_features(path: str | Path, root: Path) -> Path:
    """The file of that path, else of that name among the features in ``root``, with or without suffix."""
    given = Path(path)
    stored = root / FOLDER / given
    for place in (given, stored, stored.with_name(f"{stored.name}.npz")):
        if place.is_file():
            return place
    return check_file(given, f"a file of features, here or in {root / FOLDER}")


def read_features(path: Path) -> FeatureFile:
    """Read a file of features; the last few are kept in memory, as long as they are not changed."""
    stat = path.stat()
    return _read(path, stat.st_mtime_ns, stat.st_size)


@lru_cache(maxsize=4)
def _read(path: Path, _modified: int, _size: int) -> FeatureFile:
    x, y, part = read_npz(path, ["x", "y", "part"])
    held = names_in_npz(path)
    if x.ndim != 2 or x.dtype.kind != "f" or y.shape != part.shape or y.shape != x.shape[:1] or 0 in x.shape:
        told = f"{x.dtype} of {x.shape}, {y.shape} and {part.shape}"
        raise unusable(path, "x (n, d) of real numbers, y (n,) and part (n,)", told)
    if y.dtype.kind not in "iu":
        raise unusable(path, "y of whole numbers", str(y.dtype))
    check_finite(f"{path}, array x", x)
    ids = read_npz(path, ["id"])[0] if "id" in held else np.arange(len(x))
    if ids.shape != y.shape or ids.dtype.kind not in "iu":
        raise unusable(path, "id (n,) of whole numbers", f"{ids.dtype} of {ids.shape}")
    names = read_npz(path, ["class_names"])[0].tolist() if "class_names" in held else []
    labels = torch.from_numpy(y.astype(np.int64))
    parts = {
        str(name): torch.from_numpy(np.flatnonzero(part == name)) for name in dict.fromkeys(part.tolist())
    }
    names = tuple(map(str, names or range(int(labels.max()) + 1)))
    check_classes(path, labels, parts, names)
    return FeatureFile(
        path, torch.from_numpy(x), labels, torch.from_numpy(ids.astype(np.int64)), parts, names
    )


def check_classes(path: Path, labels: Tensor, parts: Mapping[str, Tensor], names: tuple[str, ...]) -> None:
    """Raise unless every part has classes alone, or none; training, validation and test rows have some.

    Training rows have two different classes at least.
    """
    if int(labels.max()) >= len(names) or int(labels.min()) < -1:
        told = f"{int(labels.min())} to {int(labels.max())}"
        raise unusable(path, f"classes 0 to {len(names) - 1}, or -1 for none", told)
    for name, rows in parts.items():
        known = labels[rows] >= 0
        if not known.all() and (known.any() or name in (TRAIN, VALIDATION, TEST)):
            told = f"{int((~known).sum())} of {len(rows)} rows without"
            raise unusable(path, f"a class in every row of the part {name!r}", told)
    if TRAIN in parts:
        found = list(set(labels[parts[TRAIN]].tolist()))
        if len(found) < 2:
            raise unusable(path, f"two classes or more in the part {TRAIN!r}", f"{names[found[0]]!r} alone")


def part_rows(
    labels: Tensor,
    parts: Mapping[str, Tensor],
    seed: int,
    *,
    validation: float,
    test: float,
    limit: int | None,
    shots: int | None,
    validation_shots: int | None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Rows of train, validation and test, of data whose ``parts`` are known; see :func:`load_features`."""
    if limit is not None and shots is not None:
        raise ValueError(f"limit and shots exclude each other, got {limit} and {shots}")
    if shots is None and validation_shots is not None:
        raise ValueError(f"validation_shots goes with shots, got {validation_shots} alone")
    train, held, tested = parts[TRAIN], parts.get(VALIDATION), parts.get(TEST)
    if tested is None:
        kept, cut = hold_out(len(train), share("test", test, len(train)), seed, labels[train])
        train, tested = train[kept], train[cut]
    if shots is not None:
        beside = shots if validation_shots is None else validation_shots
        train, rest = _few(labels, train, checks.integer("shots", shots, at_least=1), seed, "shots")
        held, _ = _few(labels, rest if held is None else held, beside, seed, "validation_shots")
        return train, held, tested
    if held is None:
        kept, cut = train_rows(labels[train], seed, validation, limit)
        return train[kept], train[cut], tested
    kept, _ = train_rows(labels[train], seed, 0.0, limit)
    return train[kept], held, tested


def _few(labels: Tensor, rows: Tensor, count: int, seed: int, option: str) -> tuple[Tensor, Tensor]:
    """(chosen, others) of ``rows``: ``count`` of every class by the seed."""
    checks.integer(option, count, at_least=0)
    found = labels[rows]
    counts = torch.bincount(found, minlength=int(labels.max()) + 1)
    if int(counts.min()) < count:
        few = int(counts.argmin())
        raise ValueError(f"{option} must be <= {int(counts[few])}, the rows left of class {few}, got {count}")
    order = torch.randperm(len(rows), generator=torch.Generator().manual_seed(seed))
    order = order[torch.argsort(found[order], stable=True)]  # class by class, shuffled within each
    rank = torch.arange(len(rows)) - torch.repeat_interleave(counts.cumsum(0) - counts, counts)
    chosen = rank < count
    return rows[order[chosen].sort().values], rows[order[~chosen].sort().values]


def _split(file: FeatureFile, rows: Tensor, scale: ArrayPreprocessing) -> MemorySplit:
    return MemorySplit(scale(file.x[rows]), file.y[rows], file.ids[rows])


def _lazy(file: FeatureFile, rows: Tensor, scale: ArrayPreprocessing) -> LazySplit:
    """A part that is scaled when it is read: a file may have dozens, of thousands of rows each."""
    return LazySplit(file.y[rows], file.ids[rows], tuple(file.x.shape[1:]), lambda: _split(file, rows, scale))
