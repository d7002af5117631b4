"""Read texts with classes: CLINC150, Banking77, and files of the user."""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from tailormix import checks
from tailormix.data.files.location import check_file, damaged, missing, unusable
from tailormix.data.files.tables import read_table

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from torch import Tensor

TRAIN, VALIDATION, TEST, UNKNOWN = "train", "validation", "test", "unknown"
#: key in the file → part; out-of-scope rows are for testing alone
CLINC150_PARTS = {"train": TRAIN, "val": VALIDATION, "test": TEST, "oos_test": UNKNOWN}


@dataclass(frozen=True, eq=False)
class Texts:
    """Texts, the class of each (n,), -1 where it has none, and the part that each belongs to."""

    texts: tuple[str, ...]
    labels: Tensor
    parts: tuple[str, ...]
    class_names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.texts)

    def rows(self) -> dict[str, Tensor]:
        """The rows of each part, in the order in which the parts first occur."""
        found: dict[str, list[int]] = {}
        for row, part in enumerate(self.parts):
            found.setdefault(part, []).append(row)
        return {part: torch.tensor(rows, dtype=torch.int64) for part, rows in found.items()}


def read_clinc150(root: Path) -> Texts:
    """15 000 training, 3000 validation and 4500 test texts of 150 intents, and 1000 that are out of scope.

    The last are the part ``unknown``; out-of-scope texts for training and validation are not used.
    """
    path = root / "clinc150" / "data_full.json"
    expected = f"lists of texts named {', '.join(CLINC150_PARTS)}"
    if not path.is_file():
        raise missing(path, expected, "clinc150")
    try:
        found: Any = json.loads(path.read_text(encoding="utf-8"))
        rows = [
            (str(text), str(label), part)
            for key, part in CLINC150_PARTS.items()
            for text, label in found[key]
        ]
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise damaged(path, expected, f"{type(error).__name__}: {error}", "clinc150") from error
    names = sorted({label for _, label, part in rows if part == TRAIN})
    return _texts(rows, names)


def read_banking77(root: Path) -> Texts:
    """10 003 training and 3080 test texts of 77 intents; there is no validation part."""
    folder, rows = root / "banking77", []
    for part in (TRAIN, TEST):
        path = folder / f"{part}.csv"
        expected = "columns text and category"
        if not path.is_file():
            raise missing(path, expected, "banking77")
        with path.open(encoding="utf-8", newline="") as lines:
            header, *found = csv.reader(lines)
        if header != ["text", "category"] or any(len(row) != 2 for row in found):
            raise damaged(path, expected, ", ".join(header), "banking77")
        rows += [(text, label, part) for text, label in found]
    return _texts(rows, sorted({label for _, label, _ in rows}))


def read_own_texts(path: Path, text: str = "text", label: str | None = None) -> Texts:
    """The texts of a table, or of a .txt file with one text per line.

    ``text`` and ``label`` are columns; without ``label`` it is the column of that name, if there is one.

    Rows without a class have the label -1, and are the part ``new`` where the column ``part`` says no other;
    those with one are the part ``train``, from which validation and test rows are cut later. Only empty cells
    are missing: a text may be ``None``, and a class ``na``.
    """
    if path.suffix.lower() == ".txt":
        if label is not None:
            raise ValueError(
                f"label must be a column of a table, and {path.name} has no columns; got {label!r}"
            )
        contents = check_file(path, "a file of texts").read_text(encoding="utf-8")
        lines = contents.rstrip("\n").split("\n")
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                raise unusable(path, "a text in every line", f"an empty line {number}")
        return _texts([(line, None, "new") for line in lines], ())
    columns = read_table(path).columns
    texts = columns[checks.known(f"column of {path.name}", text, columns)]
    if label is not None:
        checks.known(f"column of {path.name}", label, columns)
    given = columns.get(label or "label")
    written = texts.texts()
    if None in written:
        raise texts.error(written.index(None), "a text in every row")
    labels = [None] * len(texts) if given is None else given.texts()
    parts = columns["part"].words() if "part" in columns else [None] * len(texts)
    rows = [
        (str(text), label, part or ("new" if label is None else TRAIN))
        for text, label, part in zip(written, labels, parts, strict=True)
    ]
    return _texts(rows, sorted({label for label in labels if label is not None}))


#: what reads the texts of a data set
READERS = {"clinc150": read_clinc150, "banking77": read_banking77}


def _texts(rows: Sequence[tuple[str, str | None, str]], class_names: Sequence[str]) -> Texts:
    """Texts of (text, class, part); a class that is not listed is -1."""
    places: dict[str | None, int] = {name: place for place, name in enumerate(class_names)}
    labels = torch.tensor([places.get(label, -1) for _, label, _ in rows], dtype=torch.int64)
    texts, parts = tuple(text for text, _, _ in rows), tuple(part for _, _, part in rows)
    return Texts(texts, labels, parts, tuple(class_names))
