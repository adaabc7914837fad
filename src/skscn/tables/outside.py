"""Inputs outside what training saw: values beyond the range of a column, and categories that are new.

A model extrapolates there, and a column that is outside in most rows is often in another unit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from skscn.tables.columns import Category, Column, Measured
from skscn.tables.frames import as_table
from skscn.words import listed, quoted, shortened

if TYPE_CHECKING:
    from skscn.tables.frames import TableLike

# A column has a sentence of its own from this share of the rows on, or from this distance, in widths of its range.
_NOTABLE_SHARE = 0.05
_NOTABLE_DISTANCE = 0.5
# From this share of the rows on, and this far outside, in widths of the range or times the nearest value, another unit
# is likelier than another state of the plant.
_UNIT_SHARE = 0.5
_UNIT_DISTANCE = 1.0
_UNIT_RATIO = 2.0
_MOST_SENTENCES = 10


@dataclass(frozen=True)
class OutsideColumn:
    """A column with values that training did not have.

    Attributes
    ----------
    name : str
    kind : str
        "number", "date", "time" or "category".
    rows : int
        How many rows were looked at.
    below, above : int
        Rows below the smallest and above the largest value in training; of a category, ``above`` counts the rows whose
        category is new.
    smallest, largest : float, str or None
        The ends of the values here; dates and times as text.
    training : tuple or None
        The smallest and the largest value in training.
    example : str or None
        A new category.
    notable : bool
        Whether it deserves a sentence of its own: many rows, or far outside.
    unit : bool
        Whether the unit may have changed.
    """

    name: str
    kind: str
    rows: int
    below: int
    above: int
    smallest: Any = None
    largest: Any = None
    training: tuple[Any, Any] | None = None
    example: str | None = None
    notable: bool = True
    unit: bool = False

    @property
    def outside(self) -> int:
        """How many rows are outside."""
        return self.below + self.above

    def to_json(self) -> dict[str, Any]:
        """Itself as plain data."""
        return {**asdict(self), "training": list(self.training) if self.training else None}

    def __str__(self) -> str:
        if self.training is None:
            verb = "has a category" if self.above == 1 else "have categories"
            example = quoted(self.example or "")
            return f"{self._label}: {_count(self.above)} {verb} not seen in training, for example {example}."
        low, high = map(_written, self.training)
        sides = [
            *([f"{self._of(self.below)} below the smallest training value {low}"] if self.below else []),
            *([f"{self._of(self.above)} above the largest training value {high}"] if self.above else []),
        ]
        unit = " Is the unit the same as in training?" if self.unit else ""
        return f"{self._label}: {' and '.join(sides)}{self._how_far()}.{unit}"

    @property
    def _label(self) -> str:
        return shortened(self.name)

    def _of(self, rows: int) -> str:
        return f"{rows:,} of {_count(self.rows)} {'is' if rows == 1 else 'are'}"

    def _how_far(self) -> str:
        ends = [
            *([f"down to {_written(self.smallest)}"] if self.below else []),
            *([f"up to {_written(self.largest)}"] if self.above else []),
        ]
        return f" ({', '.join(ends)})"


class Outside:
    """Looks at encoded rows, some at a time, for inputs that training did not have.

    Parameters
    ----------
    columns : list of Column
        What encoded the rows.
    groups : dict of str to list of int
        The encoded columns of each.
    """

    def __init__(self, columns: Iterable[Column], groups: dict[str, list[int]]):
        self._rows = 0
        self._columns: list[Measured] = []
        self._categories: dict[str, Category] = {}
        places, ends = [], []
        self._numbers: dict[str, tuple[Measured, int]] = {}
        for column in columns:
            if isinstance(column, Measured) and column.place is not None:
                self._numbers[column.name] = column, groups[column.name][column.place]
            if isinstance(column, Category):
                self._categories[column.name] = column
            elif (
                isinstance(column, Measured) and column.range and column.place is not None and column.kind != "boolean"
            ):
                self._columns.append(column)
                places.append(groups[column.name][column.place])
                ends.append(column.range)
        self._places = np.array(places, dtype=int)
        self._low, self._high = np.array(ends, dtype=np.float64).reshape(-1, 2).T
        self._counts = np.zeros((2, len(places)), dtype=np.int64)
        self._sums = np.zeros((2, len(places)))
        self._smallest, self._largest = np.full(len(places), np.inf), np.full(len(places), -np.inf)
        self._new: dict[str, tuple[int, str]] = {}
        self._missing: Counter[str] = Counter()

    def add(self, X: np.ndarray, table: TableLike | None = None) -> None:
        """Look at some rows more: encoded, and for new categories also as a table."""
        self._rows += X.shape[0]
        if X.shape[0] and len(self._places):
            self._add_numbers(X[:, self._places])
        columns = None if table is None else as_table(table)
        for name, (number, place) in self._numbers.items():
            # Where a median has taken the place of missing values, the table has them.
            seen = X[:, place] if columns is None or number.fill is None else number.floats(columns.column(name))
            self._missing.update({name: int(np.isnan(seen).sum())} if np.isnan(seen).any() else {})
        if columns is None:
            return
        for name, column in self._categories.items():
            texts = column.unseen(columns.column(name))
            if texts:
                rows, first = self._new.get(name, (0, texts[0]))
                self._new[name] = rows + len(texts), first

    @np.errstate(over="ignore")
    def _add_numbers(self, values: np.ndarray) -> None:
        sides = values < self._low, values > self._high
        if not any(outside.any() for outside in sides):
            return
        for side, outside in enumerate(sides):
            self._counts[side] += outside.sum(axis=0)
            self._sums[side] += np.where(outside, values, 0.0).sum(axis=0)
        # Missing values may be NaN, of which fmin and fmax take no notice.
        self._smallest = np.fmin(self._smallest, np.fmin.reduce(values, axis=0))
        self._largest = np.fmax(self._largest, np.fmax.reduce(values, axis=0))

    def missing_sentences(self) -> list[str]:
        """What to say about missing numbers, which a model fills in."""
        names = [f"{name} ({_count(rows)})" for name, rows in self._missing.items()]
        return [f"Missing values filled in: {listed(names)}."] if names else []

    def found(self) -> list[OutsideColumn]:
        """The columns that are outside in some row; those with the most such rows first."""
        numbers = [self._column(k) for k in np.flatnonzero(self._counts.sum(axis=0)).tolist()]
        categories = [
            OutsideColumn(name, "category", self._rows, 0, rows, example=example)
            for name, (rows, example) in self._new.items()
        ]
        return sorted([*numbers, *categories], key=lambda column: (-column.unit, -column.outside))

    @np.errstate(over="ignore")
    def _column(self, k: int) -> OutsideColumn:
        column = self._columns[k]
        below, above = map(int, self._counts[:, k])
        written = _WRITTEN.get(column.kind, float)
        width = self._high[k] - self._low[k]
        far = max(self._low[k] - self._smallest[k], self._largest[k] - self._high[k]) > _NOTABLE_DISTANCE * width
        return OutsideColumn(
            column.name,
            column.kind,
            self._rows,
            below,
            above,
            written(self._smallest[k]),
            written(self._largest[k]),
            (written(self._low[k]), written(self._high[k])),
            notable=bool(far or below + above >= _NOTABLE_SHARE * self._rows),
            unit=column.kind == "number" and self._is_other_unit(k, width),
        )

    def _is_other_unit(self, k: int, width: float) -> bool:
        side = int(self._counts[1, k] > self._counts[0, k])
        if self._counts[side, k] < _UNIT_SHARE * self._rows:
            return False
        mean, end = self._sums[side, k] / self._counts[side, k], (self._low, self._high)[side][k]
        ratio = mean / end if end else 0.0
        return bool(abs(mean - end) > _UNIT_DISTANCE * width or ratio > _UNIT_RATIO or 0.0 < ratio < 1.0 / _UNIT_RATIO)


def outside_sentences(found: list[OutsideColumn]) -> list[str]:
    """What there is to say: a sentence for each notable column, and one for all others."""
    notable = [column for column in found if column.notable]
    slight = [column for column in found if not column.notable]
    said = [str(column) for column in notable[:_MOST_SENTENCES]]
    if notable[_MOST_SENTENCES:]:
        said.append(f"Also outside the training range: {listed(_named(notable[_MOST_SENTENCES:]))}.")
    if slight:
        said.append(f"Slightly outside the training range: {listed(_named(slight))}.")
    return said


def _named(columns: list[OutsideColumn]) -> list[str]:
    return [f"{column.name} ({_count(column.outside)})" for column in columns]


def _count(rows: int) -> str:
    return f"{rows:,} row{'' if rows == 1 else 's'}"


def _written(value: Any) -> str:
    return value if isinstance(value, str) else f"{float(f'{value:.6g}'):,.12g}".replace("-", "−")


def _moment(days: float) -> str:
    moment = np.datetime64(round(days * 86400), "s")
    return str(moment).removesuffix("T00:00:00").replace("T", " ").removesuffix(":00")


def _clock(hours: float) -> str:
    return f"{int(hours):02}:{int(60 * hours % 60):02}"


_WRITTEN = {"date": _moment, "time": _clock}
