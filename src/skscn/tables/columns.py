"""Kinds of columns: how each becomes numbers, and what is kept of it in a file.

A column is learnt once (:func:`learn`), and then encodes what a later table holds under its name. What it has learnt is
plain data, so that it can be written as JSON and checked when it is read.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass, field
from math import isfinite
from typing import Any, ClassVar

import numpy as np

from skscn.readers.missing import means_no_number
from skscn.tables.text import clock_times, dates, moment, numbers, stripped
from skscn.tables.values import ColumnValues, read_values
from skscn.words import quoted

_DAY = 86400e6
_CYCLE_DAYS = {"year": 365.2425, "week": 7.0, "day": 1.0}
CYCLES = tuple(_CYCLE_DAYS)
_FLAGS = {"true": 1.0, "1": 1.0, "false": 0.0, "0": 0.0}


def is_plain(value: Any) -> bool:
    """Whether it is a finite number of Python, which needs no reading."""
    return (type(value) is float and isfinite(value)) or (type(value) is int and abs(value) < 2**53)


@dataclass(frozen=True)
class Column(ABC):
    """A column of a table that has been learnt.

    Attributes
    ----------
    name : str
        Its name in the table.
    """

    kind: ClassVar[str]
    name: str

    @property
    @abstractmethod
    def encoded_names(self) -> list[str]:
        """Names of the numbers that it becomes."""

    @abstractmethod
    def encode(self, values: ColumnValues) -> np.ndarray:
        """Its values in some rows as numbers, one row each."""

    def encode_one(self, value: Any) -> Any:
        """One value, such as a mapping or JSON has it, as numbers."""
        return self.encode(read_values(np.array([value], dtype=object), self.name))[0]

    @property
    @abstractmethod
    def read_type(self) -> str:
        """The name of the Arrow type to read it as from a text file."""

    def to_json(self) -> dict[str, Any]:
        """What it has learnt."""
        return {"kind": self.kind, **asdict(self)}

    def _unlike(self, values: ColumnValues, expected: str) -> ValueError:
        return ValueError(
            f"Column {quoted(self.name)} holds {values.holds}, where it held {expected} in training; "
            "give it as it was then."
        )

    def _wrong(self, example: str, expected: str) -> ValueError:
        return ValueError(
            f"Column {quoted(self.name)} holds {quoted(example)}, where it held {expected} in training; correct such "
            "values, or leave them empty."
        )


@dataclass(frozen=True)
class Measured(Column):
    """A column whose values are on a scale: missing ones get the median, and perhaps a mark.

    ``fill`` is the median; None where missing values stay missing, as NaN, and are filled in later. ``range`` is the
    smallest and the largest value in training; None where it is not known.
    """

    fill: float | None
    indicator: bool
    range: tuple[float, float] | None = field(default=None, kw_only=True)

    @property
    def encoded_names(self) -> list[str]:
        return [self.name, *self._more_names, *([f"{self.name} is missing"] if self.indicator else [])]

    @property
    def _more_names(self) -> list[str]:
        return []

    @property
    def filler(self) -> float:
        """What takes the place of a missing value, which may be NaN."""
        return np.nan if self.fill is None else self.fill

    @property
    def place(self) -> int | None:
        """Which of the encoded numbers is the value itself; None where it is not among them."""
        return self.encoded_names.index(self.name) if self.name in self.encoded_names else None

    @abstractmethod
    def floats(self, values: ColumnValues) -> np.ndarray:
        """The values on their scale; NaN where they are missing."""

    def encode(self, values: ColumnValues) -> np.ndarray:
        floats = self.floats(values)
        missing = np.isnan(floats)
        filled = np.where(missing, self.filler, floats)
        parts = [filled, *self._more(filled), *([missing] if self.indicator else [])]
        return np.column_stack(parts).astype(np.float64, copy=False)

    def _more(self, filled: np.ndarray) -> list[np.ndarray]:
        return []


@dataclass(frozen=True)
class Number(Measured):
    """Numbers.

    For a column that was text, with its decimal sign, the words that stand for missing values, and the unit after the
    numbers. A number beyond the largest float, such as 1e400, is infinite, and infinite values are missing values.
    """

    kind: ClassVar[str] = "number"
    decimal: str | None = None
    placeholders: tuple[str, ...] = ()
    unit: str | None = None

    def to_json(self) -> dict[str, Any]:
        state = super().to_json()
        # Older versions know of no unit.
        return state if self.unit is not None else {name: value for name, value in state.items() if name != "unit"}

    @property
    def read_type(self) -> str:
        return "double" if self.decimal is None else "string"

    def encode_one(self, value: Any) -> Any:
        if is_plain(value):
            return (value, 0.0) if self.indicator else value
        return super().encode_one(value)

    def floats(self, values: ColumnValues) -> np.ndarray:
        if values.is_text:
            return self._from_text(stripped(values))
        if values.kind not in ("number", "boolean", "nothing"):
            raise self._unlike(values, "numbers")
        return _finite_or_nan(values.floats())

    def _from_text(self, texts: ColumnValues) -> np.ndarray:
        words = frozenset(self.placeholders)
        texts = texts.with_levels(None if means_no_number(text, words) else text for text in texts.levels)
        read = numbers(texts.levels, self.decimal or ".", self.unit)
        wrong = np.flatnonzero(np.isnan(read))
        if len(wrong):
            expected = "numbers" if self.unit is None else f"numbers in {self.unit}"
            raise self._wrong(texts.levels[wrong[0]], expected)
        return _finite_or_nan(texts.of_rows(read, np.nan))


@dataclass(frozen=True)
class Flag(Measured):
    """True or false: 1 or 0."""

    kind: ClassVar[str] = "boolean"

    @property
    def read_type(self) -> str:
        return "bool"

    def floats(self, values: ColumnValues) -> np.ndarray:
        if values.is_text:
            texts = stripped(values)
            flags = [_FLAGS.get(text.lower()) for text in texts.levels]
            if None in flags:
                raise self._wrong(texts.levels[flags.index(None)], "true and false")
            return texts.of_rows(np.array(flags, dtype=np.float64), np.nan)
        if values.kind not in ("number", "boolean", "nothing"):
            raise self._unlike(values, "true and false")
        floats = values.floats()
        return np.where(np.isnan(floats), np.nan, floats != 0.0)


@dataclass(frozen=True)
class Moment(Measured):
    """Dates: days since 1970-01-01, and sine and cosine of their place in the year, the week and the day.

    ``format`` is how they are written in text; None for ISO 8601 and for columns that hold dates as such.
    """

    kind: ClassVar[str] = "date"
    format: str | None
    zoned: bool
    cycles: tuple[str, ...]

    @property
    def read_type(self) -> str:
        # Text, in which spaces around a date and words for missing values are seen to.
        return "string"

    @property
    def _more_names(self) -> list[str]:
        return [f"{self.name} {wave} of {cycle}" for cycle in self.cycles for wave in ("sine", "cosine")]

    def floats(self, values: ColumnValues) -> np.ndarray:
        if values.is_text:
            texts = stripped(values)
            values = dates(texts, self.format)
            wrong = np.flatnonzero(values.missing & ~texts.missing)
            if len(wrong):
                raise self._wrong(texts.levels[texts.data[wrong[0]]], "dates")
        if values.kind not in ("date", "nothing"):
            raise self._unlike(values, "dates")
        return values.floats() / _DAY

    def _more(self, filled: np.ndarray) -> list[np.ndarray]:
        return [part for cycle in self.cycles for part in waves(filled / cycle_days(cycle))]


@dataclass(frozen=True)
class RowTime(Moment):
    """When the rows of a series were taken: where that is in the year, the week and the day, and no trend.

    A trend would tell rows of training from later ones and nothing else.
    """

    kind: ClassVar[str] = "row time"

    @property
    def encoded_names(self) -> list[str]:
        return self._more_names

    def encode(self, values: ColumnValues) -> np.ndarray:
        days = self.floats(values)
        waves_ = self._more(np.where(np.isnan(days), self.filler, days))
        return np.column_stack(waves_) if waves_ else np.empty((len(days), 0))

    def moment(self, value: Any) -> np.datetime64:
        """One moment, such as a mapping or JSON has it; NaT if it is missing."""
        found = moment(value, self.format) if isinstance(value, str) else np.datetime64("NaT")
        return self.moments(read_values(np.array([value], dtype=object), self.name))[0] if np.isnat(found) else found

    def moments(self, values: ColumnValues) -> np.ndarray:
        """The moments as datetime64, NaT where they are missing; those in a time zone in UTC."""
        microseconds_ = np.rint(self.floats(values) * _DAY)
        missing = np.isnan(microseconds_)
        moments = np.where(missing, 0.0, microseconds_).astype("datetime64[us]")
        moments[missing] = np.datetime64("NaT")
        return moments


@dataclass(frozen=True)
class Clock(Measured):
    """Times of the day: hours, and where they are on the clock."""

    kind: ClassVar[str] = "time"

    @property
    def read_type(self) -> str:
        return "time64[us]"

    @property
    def _more_names(self) -> list[str]:
        return [f"{self.name} {wave} of day" for wave in ("sine", "cosine")]

    def floats(self, values: ColumnValues) -> np.ndarray:
        if values.is_text:
            texts = stripped(values)
            values = clock_times(texts)
            wrong = np.flatnonzero(values.missing & ~texts.missing)
            if len(wrong):
                raise self._wrong(texts.levels[texts.data[wrong[0]]], "times of the day")
        if values.kind not in ("time", "nothing"):
            raise self._unlike(values, "times of the day")
        return values.floats() / 3600e6

    def _more(self, filled: np.ndarray) -> list[np.ndarray]:
        return waves(filled / 24.0)


@dataclass(frozen=True)
class Category(Column):
    """Text, one of a few categories: a column of 0 and 1 for each.

    Any other text goes to the column of the others, if there is one; else it is 0 everywhere.
    """

    kind: ClassVar[str] = "category"
    categories: tuple[str, ...]
    others: bool
    missing: bool

    @property
    def read_type(self) -> str:
        return "string"

    @property
    def encoded_names(self) -> list[str]:
        more = ["others"] * self.others + ["missing"] * self.missing
        return [*(f"{self.name} = {text}" for text in self.categories), *(f"{self.name} is {word}" for word in more)]

    @property
    def n_levels(self) -> int:
        """How many categories are told apart."""
        return len(self.categories) + self.others

    def encode(self, values: ColumnValues) -> np.ndarray:
        texts = self.texts(values)
        known = {text: place for place, text in enumerate(self.categories)}
        others, missing = len(known), len(known) + self.others
        places = np.array([known.get(text, others if self.others else -1) for text in texts.levels], dtype=np.intp)
        places = texts.of_rows(places, missing if self.missing else -1)
        encoded = np.zeros((len(texts), len(self.encoded_names)))
        rows = np.flatnonzero(places >= 0)
        encoded[rows, places[rows]] = 1.0
        return encoded

    def unseen(self, values: ColumnValues) -> list[str]:
        """The categories not seen in training, once for each row that has one.

        There are none where training had rare categories, which are not kept by name.
        """
        texts, known = self.texts(values), self._known
        if known is None:
            return []
        kept = frozenset(known)
        new = np.array([text not in kept for text in texts.levels], dtype=bool)
        return [texts.levels[place] for place in texts.data[texts.of_rows(new, False)]]

    @property
    def _known(self) -> tuple[str, ...] | None:
        """All categories of training; None where rare ones are not kept by name."""
        return None if self.others else self.categories

    def texts(self, values: ColumnValues) -> ColumnValues:
        """Its values as text without spaces around it."""
        written = values.categories()
        if written is None:
            raise self._unlike(values, "text")
        return stripped(written)


def cycle_days(cycle: str) -> float:
    """The length of a year, a week or a day."""
    return _CYCLE_DAYS[cycle]


def waves(turns: np.ndarray) -> list[np.ndarray]:
    """Sine and cosine of moments, given in cycles since some beginning."""
    # Whole turns are left out, which keeps angles small and exact.
    angle = 2.0 * np.pi * (turns - np.floor(turns))
    return [np.sin(angle), np.cos(angle)]


def _finite_or_nan(floats: np.ndarray) -> np.ndarray:
    return np.where(np.isfinite(floats), floats, np.nan)
