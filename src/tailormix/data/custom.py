"""Data of the user: arrays, tables and folders of images."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from tailormix import checks
from tailormix.data.files.arrays import read_npz
from tailormix.data.files.location import unusable
from tailormix.data.files.tables import Table, read_table
from tailormix.data.pixels import (
    Augmentation,
    ImageTransform,
    check_images,
    class_files,
    file_split,
    normalisation,
    subfolders,
)
from tailormix.data.preprocessing import ArrayPreprocessing, ImagePreprocessing, TablePreprocessing
from tailormix.data.preprocessing.arrays import check_finite
from tailormix.data.preprocessing.images import photographs
from tailormix.data.preprocessing.tables import MAX_CATEGORIES
from tailormix.data.preprocessing.targets import array_targets, column_targets
from tailormix.data.splits import DataSplits, MemorySplit, three_ways

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from torch import Tensor

    from tailormix.data.files.columns import Column
    from tailormix.data.preprocessing import Preprocessing
    from tailormix.data.preprocessing.targets import Targets, TaskOption

    Array = np.ndarray[tuple[int, ...], np.dtype[Any]]

#: names of columns that number the rows, in small letters; the first is what pandas writes
INDEX_NAMES = frozenset(
    {"", "index", "unnamed: 0", "row", "row_number", "rownames", "number", "no", "nr", "#"}
)
#: like user_id, PassengerId and USER-ID, but not like paid
ID_NAME = re.compile(r"[^a-zA-Z](?i:id)$|[a-z]I[dD]$")
#: like 1,234.50, 17.4 % and 12.50 EUR
NUMBER_LIKE = re.compile(r"[-+€$£ ]*\d[\d.,' ]*(%|[€$£]|[A-Z]{3})?")


def load_npz(
    seed: int,
    *,
    path: str | Path,
    task: TaskOption = "auto",
    validation: float = 0.1,
    test: float = 0.2,
    augment: bool | str = False,
) -> DataSplits:
    """Read x (n, ...) and y (n,) or (n, outputs) and split them; shares are of all rows.

    x of uint8 and four axes (n, channels, H, W) is taken as images, of which those for training may be
    augmented (:class:`tailormix.data.pixels.Augmentation`); other x as numbers, standardised by the training
    rows. Whether y holds classes or real values, which are standardised as well, says
    :func:`tailormix.data.preprocessing.targets.array_targets`, unless ``task`` does.
    """
    path = Path(path)
    x, y = read_npz(path, ["x", "y"])
    return array_splits("npz", path, x, y, seed, task=task, validation=validation, test=test, augment=augment)


def array_splits(
    name: str,
    path: Path,
    x: Array,
    y: Array,
    seed: int,
    *,
    task: TaskOption = "auto",
    validation: float = 0.1,
    test: float = 0.2,
    augment: bool | str = False,
) -> DataSplits:
    """Split x (n, ...) and y (n,) or (n, outputs), as :func:`load_npz` does; errors speak of ``path``."""
    if x.ndim < 2 or y.ndim not in (1, 2) or len(x) != len(y) or 0 in (*x.shape, *y.shape):
        raise unusable(path, "x of shape (n, ...) and y of as many rows", f"{x.shape} and {y.shape}")
    targets = array_targets(y, task, f"{path}, array y")
    rows = split_rows(path, targets, seed, validation, test)
    if x.dtype == np.uint8 and x.ndim == 4:
        return _image_splits(name, path, torch.from_numpy(x), targets, rows, Augmentation.named(augment))
    if augment:
        raise ValueError(f"augment is for images, and x of {path} holds {x.dtype} of {x.ndim} axes")
    if x.dtype.kind not in "biuf":
        raise unusable(path, "x of real numbers", str(x.dtype))
    features = torch.from_numpy(check_finite(f"{path}, array x", x.astype(np.float64)))
    return own_splits(name, features, ArrayPreprocessing.fit(features[rows[0]]), targets, rows, targets.notes)


def load_table(
    seed: int,
    *,
    path: str | Path,
    target: str | None = None,
    task: TaskOption = "auto",
    drop: str | Sequence[str] = (),
    categories: str | Sequence[str] = (),
    max_categories: int = MAX_CATEGORIES,
    delimiter: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    validation: float = 0.1,
    test: float = 0.2,
) -> DataSplits:
    """Read a CSV, TSV or Parquet file; ``target`` names the column to predict (default: the last).

    Columns may hold numbers, words or truth values, and cells may be empty: see :class:`TablePreprocessing`,
    which is fitted on the training rows. ``delimiter``, ``encoding`` and ``decimal`` are explained at
    :func:`tailormix.data.files.tables.read_table`. ``categories`` names columns of numbers that stand for
    categories, ``drop`` those to leave out; columns that only number or name the rows are left out as well,
    with a note. Words in the target column are classes, in alphabetical order; for numbers see
    :func:`tailormix.data.preprocessing.targets.array_targets`. Real targets are standardised by the training
    rows.
    """
    given = {"delimiter": delimiter, "encoding": encoding, "decimal": decimal}
    reading = {name: value for name, value in given.items() if value is not None}
    path = Path(path)
    table = read_table(path, **reading)
    names = list(table.columns)
    if len(names) == 1:
        expected = "two columns or more (delimiter=... says what is between them)"
        raise unusable(path, expected, f"one column, {names[0]!r}")
    target = names[-1] if target is None else checks.known("target", target, names)
    drop, categories = _names("drop", drop, names), _names("categories", categories, names)
    if target in drop:
        raise ValueError(f"drop must not name the target column {target!r}")
    targets = column_targets(table.columns[target], task)
    features, notes = _features(table, target, drop, categories)
    rows = split_rows(path, targets, seed, validation, test)
    preprocessing = TablePreprocessing.fit(features, rows[0], max_categories=max_categories, reading=reading)
    notes = (*table.notes, *targets.notes, *notes, *_crowded(preprocessing))
    return own_splits("table", preprocessing.read(features), preprocessing, targets, rows, notes)


def load_folder(
    seed: int,
    *,
    path: str | Path,
    image_size: int = 64,
    validation: float = 0.1,
    test: float = 0.2,
    augment: bool | str = True,
) -> DataSplits:
    """Read ``path/<class>/<image>``, classes in alphabetical order; shares are of all images.

    Training images are cropped at random to ``image_size`` and flipped, or as ``augment`` names it
    (:class:`tailormix.data.pixels.Augmentation`); others are cropped at the centre.
    """
    path = Path(path)
    checks.integer("image_size", image_size, at_least=1)
    if not path.is_dir():
        raise unusable(path, "a folder of class folders", "a file" if path.exists() else "no such folder")
    classes = subfolders(path)
    if len(classes) < 2:
        raise unusable(path, "two class folders or more", ", ".join(classes) or "none")
    files = _, labels = class_files(path, classes)
    for number, name in enumerate(classes):
        if not (labels == number).any():
            inner = subfolders(path / name)
            told = (
                f"folders alone, like {inner[0]} (features takes train and test apart)" if inner else "none"
            )
            raise unusable(path / name, "images", told)
    check_images(files[0])
    kept, held, tested = three_ways(len(labels), seed, validation, test, labels)
    return DataSplits(
        "folder",
        "classification",
        train=file_split(files, kept, image_size, Augmentation.named(augment)),
        validation=file_split(files, held, image_size),
        test=file_split(files, tested, image_size),
        outputs=len(classes),
        class_names=tuple(classes),
        preprocessing=photographs(image_size),
    )


def split_rows(
    path: Path, targets: Targets, seed: int, validation: float, test: float
) -> tuple[Tensor, Tensor, Tensor]:
    """Rows of train, validation and test, classes stratified."""
    n = len(targets.values)
    rows = three_ways(n, seed, validation, test, targets.labels)
    if not len(rows[0]):
        raise unusable(path, "rows left for training", f"{n} rows, test={test}, validation={validation}")
    return rows


def own_splits(
    name: str,
    raw: Tensor,
    preprocessing: Preprocessing,
    targets: Targets,
    rows: tuple[Tensor, Tensor, Tensor],
    notes: tuple[str, ...] = (),
    shifts: Mapping[str, Tensor] | None = None,
) -> DataSplits:
    """Split what ``preprocessing`` makes of ``raw`` at ``rows`` of train, validation and test.

    ``shifts`` are the rows of further test parts. Real targets are standardised by the training rows.
    """
    inputs, (values, units) = preprocessing(raw), targets.scaled(rows[0])
    train, validation, test = (MemorySplit(inputs[part], values[part], part) for part in rows)
    return DataSplits(
        name,
        targets.task,
        train,
        validation,
        test,
        outputs=len(targets.class_names) or values.shape[1],
        class_names=targets.class_names,
        target_units=units,
        preprocessing=preprocessing,
        notes=notes,
        shifts={name: MemorySplit(inputs[part], values[part], part) for name, part in (shifts or {}).items()},
    )


def _image_splits(
    name: str,
    path: Path,
    images: Tensor,
    targets: Targets,
    rows: tuple[Tensor, Tensor, Tensor],
    augment: Augmentation,
) -> DataSplits:
    """Images stay uint8 and are normalised in batches, with statistics of the training rows.

    Augmented ones are shifted by up to an eighth of their smaller side, as the published sets are.
    """
    if images.shape[1] > 4:
        raise unusable(path, "uint8 images of shape (n, channels, height, width)", str(tuple(images.shape)))
    mean_std = _channel_statistics(images[rows[0]])
    plain = ImageTransform(*normalisation(*mean_std))
    augmented = plain.augmented(augment, pad=max(1, min(images.shape[2:]) // 8))
    values, units = targets.scaled(rows[0])
    train, held, tested = (
        MemorySplit(images[part], values[part], part, transform)
        for part, transform in zip(rows, (augmented, plain, plain), strict=True)
    )
    return DataSplits(
        name,
        targets.task,
        train,
        held,
        tested,
        outputs=len(targets.class_names) or values.shape[1],
        class_names=targets.class_names,
        target_units=units,
        preprocessing=ImagePreprocessing(images.shape[1:], *mean_std),
        notes=targets.notes,
    )


def _names(option: str, value: str | Sequence[str], known: Sequence[str]) -> tuple[str, ...]:
    """The columns that an option names; one of them may be given without a list."""
    if not isinstance(value, (str, list, tuple)):
        raise TypeError(f"{option} must be a name or a list of names, got {value!r}")
    names = (value,) if isinstance(value, str) else tuple(value)
    return tuple(checks.known(f"column in {option}", name, known) for name in names)


def _features(
    table: Table, target: str, drop: Sequence[str], categories: Sequence[str]
) -> tuple[Table, tuple[str, ...]]:
    """The columns to learn from, and a note on each that was left out without being named in ``drop``."""
    kept: dict[str, Column] = {}
    notes = []
    for name, column in table.columns.items():
        if name == target or name in drop:
            continue
        column = replace(column, fixed="category") if name in categories else column
        reason = None if name in categories else _useless(column)
        if reason:
            notes.append(f"column {name!r} is left out: {reason}")
        else:
            kept[name] = column
    if not kept:
        raise unusable(Path(table.source), "columns to learn from", "; ".join(notes) or "none")
    return Table(table.source, kept), tuple(notes)


def _useless(column: Column) -> str | None:
    """Why nothing can be learned from a column, if so: it is empty, or numbers or names the rows."""
    if column.missing.all():
        return "it has no values"
    if column.name.lower() == "id":
        return "it is called id"
    known = column[~column.missing]
    different = 1 < len(known) == len(set(known.words()))
    if different and column.kind == "category":
        return f"its words are all different{_like_numbers(known.words())}"
    named = ID_NAME.search(column.name) or column.name.lower() in INDEX_NAMES
    if not (different and named and column.kind == "number" and known.whole):
        return None
    consecutive = np.ptp(known.numbers()) == len(known) - 1
    return "it numbers the rows" if consecutive or ID_NAME.search(column.name) else None


def _like_numbers(words: Sequence[str | None]) -> str:
    """What to add of words that people read as numbers.

    >>> _like_numbers(["17.4 %", "3 %", "none"])
    "; '17.4 %' is read as a word, not as a number"
    """
    found = [word for word in words if word is not None and NUMBER_LIKE.fullmatch(word)]
    return f"; {found[0]!r} is read as a word, not as a number" if 2 * len(found) > len(words) else ""


def _crowded(preprocessing: TablePreprocessing) -> tuple[str, ...]:
    return tuple(
        f"column {column.name!r} has many categories: the {len(column.categories)} most frequent are kept, "
        f"the others are one (max_categories=... to change it){_like_numbers(column.categories)}"
        for column in preprocessing.columns
        if column.other
    )


def _channel_statistics(images: Tensor) -> tuple[list[float], list[float]]:
    """Mean and standard deviation per channel on the scale 0 to 1, from the counts of the 256 values."""
    counts = torch.stack([torch.bincount(channel.flatten(), minlength=256) for channel in images.unbind(1)])
    share, values = counts.double() / counts.sum(dim=1, keepdim=True), torch.arange(256).double() / 255
    mean = share @ values
    std = (share * (values - mean[:, None]) ** 2).sum(dim=1).sqrt()
    return mean.tolist(), torch.where(std > 0, std, 1.0).tolist()
