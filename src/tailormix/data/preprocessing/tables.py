"""Tables of numbers, categories and truth values, some of them missing."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np
import torch

from tailormix import checks
from tailormix.data.files.columns import Column
from tailormix.data.files.location import DataError
from tailormix.data.files.tables import Table, read_table
from tailormix.data.preprocessing.base import Preprocessing

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from torch import Tensor

    from tailormix.data.files.columns import Kind

MAX_CATEGORIES = 32
#: codes of a category that is not in the list, and of a missing one
OTHER, MISSING = -1.0, -2.0


@dataclass(frozen=True)
class ColumnFacts:
    """What was learned of one column: its kind, its categories, and the share of rows without a value.

    ``other`` says that training rows had more categories than were kept.
    """

    name: str
    kind: Kind
    missing: float = 0.0
    categories: tuple[str, ...] = ()
    other: bool = False

    @classmethod
    def of(cls, column: Column, max_categories: int) -> ColumnFacts:
        """The facts of the training rows of a column; of too many categories the most frequent are kept."""
        missing = float(column.missing.mean())
        if column.kind != "category":
            return cls(column.name, column.kind, missing)
        counts = Counter(word for word in column.words() if word is not None)
        kept = sorted(counts, key=lambda word: (-counts[word], word))
        other = len(kept) > max_categories
        kept = kept[: max_categories - 1] if other else kept
        return cls(column.name, column.kind, missing, tuple(sorted(kept)), other)

    def hot(self) -> list[tuple[float, str]]:
        """Code and name of each one-hot column."""
        if self.kind != "category":
            return []
        found = [(float(place), f"{self.name}={word}") for place, word in enumerate(self.categories)]
        other = [(OTHER, f"{self.name} is another")] if self.other else []
        return found + other + ([(MISSING, f"{self.name} is missing")] if self.missing else [])

    def codes(self, column: Column) -> Any:
        """The cells as float64 (n,), NaN for missing; of categories, their places in the list."""
        if self.kind == "number":
            return column.numbers()
        if self.kind == "boolean":
            return column.booleans()
        places = {word: float(place) for place, word in enumerate(self.categories)}
        return np.array([np.nan if w is None else places.get(w, OTHER) for w in column.words()], dtype=float)


@final
class TablePreprocessing(Preprocessing):
    """Numbers standardised, truth values as 0 and 1, categories one-hot; all from training rows.

    A missing number becomes the median, a missing truth value the more frequent one, and a column of its own
    says so if training rows had missing ones as well. Categories beyond the ``max_categories`` most frequent
    share one column, *other*. A category that training rows did not have counts as *other*, and is all zeros
    where there is none; so is a missing category, unless training rows had missing ones, which then have a
    column of their own.

    The columns of the inputs are: numbers and truth values in the order of the table, then the columns of the
    categories, then those that say what was missing (``output_names``).

    >>> table = {"size": [1.0, 3.0, None], "colour": ["red", "blue", "red"]}
    >>> preprocessing = TablePreprocessing.fit(table)
    >>> preprocessing.output_names()
    ['size', 'colour=blue', 'colour=red', 'size is missing']
    >>> preprocessing(preprocessing.read([{"colour": "green", "size": 5.0}])).tolist()
    [[3.0, 0.0, 0.0, 0.0]]
    """

    kind = "table"
    fill: Tensor
    centre: Tensor
    variance: Tensor
    count: Tensor
    plain: Tensor
    flagged: Tensor
    hot: Tensor
    codes: Tensor

    def __init__(self, columns: Sequence[ColumnFacts], reading: Mapping[str, str] | None = None) -> None:
        super().__init__()
        self.columns, self.reading = tuple(columns), dict(reading or {})
        for name, value in (("fill", 0.0), ("centre", 0.0), ("variance", 1.0), ("count", 0.0)):
            self.register_buffer(name, torch.full((len(self.columns),), value, dtype=torch.float64))
        plain = [k for k, column in enumerate(self.columns) if column.kind != "category"]
        flagged = [k for k in plain if self.columns[k].missing > 0]
        hot = [(k, code) for k, column in enumerate(self.columns) for code, _ in column.hot()]
        for name, places in (("plain", plain), ("flagged", flagged), ("hot", [k for k, _ in hot])):
            self.register_buffer(name, torch.tensor(places, dtype=torch.int64), persistent=False)
        codes = torch.tensor([code for _, code in hot], dtype=torch.float64)
        self.register_buffer("codes", codes, persistent=False)

    @classmethod
    def fit(
        cls,
        source: Any,
        rows: Any = None,
        *,
        max_categories: int = MAX_CATEGORIES,
        reading: Mapping[str, str] | None = None,
    ) -> TablePreprocessing:
        """Fitted on ``rows`` of a table, by default on all; ``reading`` are options of files to read later.

        The kind of a column is that of all its cells; all else comes from these rows alone.
        """
        checks.integer("max_categories", max_categories, at_least=2)
        table = _as_table(source, None, reading or {})
        training = table if rows is None else table[rows]
        fitted = cls(
            [ColumnFacts.of(column, max_categories) for column in training.columns.values()], reading
        )
        raw = fitted.read(table)
        fitted._measure(raw if rows is None else raw[torch.as_tensor(rows)])
        return fitted

    def read(self, source: Any) -> Tensor:
        """Raw cells (n, columns) as float64: NaN for missing; of categories, their places in the list or -1.

        ``source`` is a file (CSV, TSV, Parquet), a data frame, columns or rows by name; or an array or a list
        of rows whose columns are in the order of the table. Columns are found by name, in any order; others
        are left alone.
        """
        table = _as_table(source, [column.name for column in self.columns], self.reading)
        absent = [column.name for column in self.columns if column.name not in table.columns]
        if absent:
            told = f"columns {', '.join(map(repr, absent))}"
            raise DataError(f"cannot use {table.source}: expected {told}, got {', '.join(table.columns)}")
        return torch.from_numpy(
            np.stack([column.codes(table.columns[column.name]) for column in self.columns], axis=1)
        )

    def forward(self, raw: Tensor) -> Tensor:
        """Inputs (n, outputs)."""
        return self.encode(raw).float()

    def encode(self, raw: Tensor) -> Tensor:
        """The inputs in double precision."""
        filled = torch.where(raw.isnan(), self.fill, raw)
        scaled = (filled - self.centre) / self.spread
        hot = filled[:, self.hot] == self.codes
        return torch.cat([scaled[:, self.plain], hot.double(), raw[:, self.flagged].isnan().double()], dim=1)

    @property
    def spread(self) -> Tensor:
        """Standard deviations (columns,); 1 for columns that are constant but for rounding."""
        rounding = self.count * torch.finfo(torch.float64).eps * self.centre.abs()
        std = self.variance.sqrt()
        return torch.where(std > rounding, std, torch.ones_like(std))

    def output_names(self) -> list[str]:
        """A name for every column of the inputs."""
        names = [column.name for column in self.columns]
        plain = [names[k] for k in self.plain.tolist()]
        hot = [word for column in self.columns for _, word in column.hot()]
        return plain + hot + [f"{names[k]} is missing" for k in self.flagged.tolist()]

    def updated(self, source: Any) -> TablePreprocessing:
        """The same with means and variances that have seen further rows; kinds, lists and medians stay."""
        more = TablePreprocessing(self.columns, self.reading)
        more.load_state_dict(self.state_dict())
        raw = self.read(source)
        count, mean, variance = _moments(raw)
        total = self.count + count
        share = torch.where(total > 0, count / total.clamp(min=1), 0.0)
        delta = torch.where(count > 0, mean - self.centre, 0.0)
        numbers = torch.tensor([column.kind == "number" for column in self.columns])
        centre = self.centre + share * delta
        spread = (1 - share) * self.variance + share * variance + share * (1 - share) * delta**2
        more.centre = torch.where(numbers, centre, self.centre)
        more.variance = torch.where(numbers, spread, self.variance)
        more.count = total
        return more

    def facts(self) -> dict[str, Any]:
        """Every column with its kind, its categories and its share of missing values; how files are read."""
        return {"columns": [asdict(column) for column in self.columns], "reading": self.reading}

    @classmethod
    def from_facts(cls, facts: dict[str, Any]) -> TablePreprocessing:
        """Of those facts."""
        columns = (
            ColumnFacts(**{**column, "categories": tuple(column["categories"])})
            for column in facts["columns"]
        )
        return cls(tuple(columns), facts["reading"])

    def _measure(self, raw: Tensor) -> None:
        """Set the buffers from raw training rows."""
        self.count, mean, variance = _moments(raw)
        for k, column in enumerate(self.columns):
            known = raw[:, k][~raw[:, k].isnan()].numpy()
            if column.kind == "category":
                self.fill[k] = MISSING if column.missing else OTHER
            elif len(known):
                self.fill[k] = (
                    float(np.median(known)) if column.kind == "number" else float(known.mean() > 0.5)
                )
            if column.kind == "number":
                self.centre[k], self.variance[k] = mean[k], variance[k]


def _moments(raw: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Number, mean and variance of the known cells of each column; 0, 0 and 1 where there are none."""
    known = ~raw.isnan()
    count = known.sum(dim=0).double()
    cells = torch.where(known, raw, 0.0)
    mean = cells.sum(dim=0) / count.clamp(min=1)
    variance = torch.where(known, raw - mean, 0.0).square().sum(dim=0) / count.clamp(min=1)
    return count, mean, torch.where(count > 0, variance, 1.0)


def _as_table(source: Any, names: Sequence[str] | None, reading: Mapping[str, str]) -> Table:
    """A table; the columns of an array or of a list of rows have these names, or are called x0, x1, ..."""
    if isinstance(source, (list, tuple)) and source and isinstance(source[0], (list, tuple)):
        array = np.asarray(source, dtype=object)
    elif isinstance(source, (np.ndarray, torch.Tensor)):
        array = np.asarray(source)
    else:
        return read_table(source, **reading)
    names = [f"x{k}" for k in range(array.shape[-1])] if names is None else names
    if array.ndim != 2 or array.shape[1] != len(names):
        raise DataError(f"cannot use inputs: expected shape (n, {len(names)}), got {array.shape}")
    columns = {name: Column.of(name, array[:, k], "inputs") for k, name in enumerate(names)}
    return Table("inputs", columns)
