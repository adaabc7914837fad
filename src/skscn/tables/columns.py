"""Kinds of columns: how each becomes numbers, and what is kept of it in a file.

A column is learnt once (:func:`learn`), and then encodes what a later table holds under its name. What it has learnt is
plain data, so that it can be written as JSON and checked when it is read.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from skscn.readers.arrow import arrow
from skscn.tables.text import clock_times, dates, numbers, stripped
from skscn.words import quoted

if TYPE_CHECKING:
    import pyarrow as pa

    from skscn.readers.arrow import ArrowValues

_DAY = 86400e6
_CYCLE_DAYS = {"year": 365.2425, "week": 7.0, "day": 1.0}
CYCLES = tuple(_CYCLE_DAYS)


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
    def encode(self, values: ArrowValues) -> np.ndarray:
        """Its values in some rows as numbers, one row each."""

    @property
    @abstractmethod
    def read_type(self) -> pa.DataType:
        """The Arrow type to read it as from a text file."""

    def to_json(self) -> dict[str, Any]:
        """What it has learnt."""
        return {"kind": self.kind, **asdict(self)}

    def _unlike(self, values: ArrowValues, expected: str) -> ValueError:
        return ValueError(
            f"Column {quoted(self.name)} holds {describe_type(values.type)}, where it held {expected} in training; "
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
    def floats(self, values: ArrowValues) -> np.ndarray:
        """The values on their scale; NaN where they are missing."""

    def encode(self, values: ArrowValues) -> np.ndarray:
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
    def read_type(self) -> pa.DataType:
        return arrow().float64() if self.decimal is None else arrow().string()

    def floats(self, values: ArrowValues) -> np.ndarray:
        pa = arrow()
        if is_text(values.type):
            return self._from_text(values)
        if pa.types.is_boolean(values.type) or pa.types.is_null(values.type):
            values = values.cast(pa.int8())
        elif pa.types.is_duration(values.type):
            values = values.cast(pa.duration("us")).cast(pa.int64())
        if not is_number(values.type):
            raise self._unlike(values, "numbers")
        return _finite_or_nan(as_numpy(values.cast(pa.float64(), safe=False)))

    def _from_text(self, values: ArrowValues) -> np.ndarray:
        pa, pc = arrow(), arrow("pyarrow.compute")
        texts = stripped(values)
        if self.placeholders:
            known = pc.is_in(texts, value_set=pa.array(self.placeholders, pa.string()))
            texts = pc.if_else(known, pa.scalar(None, pa.string()), texts)
        read = numbers(texts, self.decimal or ".", self.unit)
        wrong = pc.and_(pc.is_valid(texts), pc.is_null(read))
        if pc.any(wrong).as_py():
            expected = "numbers" if self.unit is None else f"numbers in {self.unit}"
            raise self._wrong(texts.filter(wrong)[0].as_py(), expected)
        return _finite_or_nan(as_numpy(read))


@dataclass(frozen=True)
class Flag(Measured):
    """True or false: 1 or 0."""

    kind: ClassVar[str] = "boolean"

    @property
    def read_type(self) -> pa.DataType:
        return arrow().bool_()

    def floats(self, values: ArrowValues) -> np.ndarray:
        pa = arrow()
        try:
            values = stripped(values) if is_text(values.type) else values
            return as_numpy(values.cast(pa.bool_()).cast(pa.int8()).cast(pa.float64()))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            raise self._unlike(values, "true and false") from None


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
    def read_type(self) -> pa.DataType:
        # Text, in which spaces around a date and words for missing values are seen to.
        return arrow().string()

    @property
    def _more_names(self) -> list[str]:
        return [f"{self.name} {wave} of {cycle}" for cycle in self.cycles for wave in ("sine", "cosine")]

    def floats(self, values: ArrowValues) -> np.ndarray:
        if is_text(values.type):
            texts = stripped(values)
            values = dates(texts, self.format)
            if values.null_count > texts.null_count:
                raise self._wrong(self._first_wrong(texts.filter(values.is_null()).drop_null()), "dates")
        return microseconds(values, self._unlike) / _DAY

    def _first_wrong(self, texts: ArrowValues) -> str:
        """The first text that is not a date; in ISO 8601 Arrow reads all of them or none."""
        each = (texts.slice(place, 1) for place in range(len(texts)))
        return str(next((text[0].as_py() for text in each if dates(text, self.format).null_count), texts[0].as_py()))

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

    def encode(self, values: ArrowValues) -> np.ndarray:
        days = self.floats(values)
        waves_ = self._more(np.where(np.isnan(days), self.filler, days))
        return np.column_stack(waves_) if waves_ else np.empty((len(days), 0))

    def moments(self, values: ArrowValues) -> np.ndarray:
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
    def read_type(self) -> pa.DataType:
        return arrow().time64("us")

    @property
    def _more_names(self) -> list[str]:
        return [f"{self.name} {wave} of day" for wave in ("sine", "cosine")]

    def floats(self, values: ArrowValues) -> np.ndarray:
        pa = arrow()
        try:
            values = clock_times(stripped(values)) if is_text(values.type) else values
            ticks = values.cast(pa.time64("us")).cast(pa.int64())
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            raise self._unlike(values, "times of the day") from None
        return as_numpy(ticks.cast(pa.float64(), safe=False)) / 3600e6

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
    def read_type(self) -> pa.DataType:
        return arrow().string()

    @property
    def encoded_names(self) -> list[str]:
        more = ["others"] * self.others + ["missing"] * self.missing
        return [*(f"{self.name} = {text}" for text in self.categories), *(f"{self.name} is {word}" for word in more)]

    @property
    def n_levels(self) -> int:
        """How many categories are told apart."""
        return len(self.categories) + self.others

    def encode(self, values: ArrowValues) -> np.ndarray:
        pa, pc = arrow(), arrow("pyarrow.compute")
        texts = self.texts(values)
        places = as_numpy(pc.index_in(texts, value_set=pa.array(self.categories, pa.string())).cast(pa.float64()))
        missing = as_numpy(pc.is_null(texts))
        encoded = np.zeros((len(texts), len(self.encoded_names)))
        known = np.flatnonzero(~np.isnan(places))
        encoded[known, places[known].astype(int)] = 1.0
        if self.others:
            encoded[:, len(self.categories)] = np.isnan(places) & ~missing
        if self.missing:
            encoded[:, len(self.categories) + self.others] = missing
        return encoded

    def unseen(self, values: ArrowValues) -> ArrowValues:
        """The categories not seen in training; none where training had rare ones, which are not kept by name."""
        pa, pc = arrow(), arrow("pyarrow.compute")
        texts, known = self.texts(values).drop_null(), self._known
        if known is None:
            return texts.slice(0, 0)
        return texts.filter(pc.invert(pc.is_in(texts, value_set=pa.array(known, pa.string()))))

    @property
    def _known(self) -> tuple[str, ...] | None:
        """All categories of training; None where rare ones are not kept by name."""
        return None if self.others else self.categories

    def texts(self, values: ArrowValues) -> ArrowValues:
        """Its values as text without spaces around it; null where they are missing."""
        pa = arrow()
        try:
            # Categories that are numbers.
            values = values.cast(values.type.value_type) if pa.types.is_dictionary(values.type) else values
            return stripped(values.cast(pa.string()))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            raise self._unlike(values, "text") from None


def cycle_days(cycle: str) -> float:
    """The length of a year, a week or a day."""
    return _CYCLE_DAYS[cycle]


def waves(turns: np.ndarray) -> list[np.ndarray]:
    """Sine and cosine of moments, given in cycles since some beginning."""
    # Whole turns are left out, which keeps angles small and exact.
    angle = 2.0 * np.pi * (turns - np.floor(turns))
    return [np.sin(angle), np.cos(angle)]


def microseconds(values: ArrowValues, unlike: Callable[[ArrowValues, str], ValueError]) -> np.ndarray:
    """Dates as microseconds since 1970-01-01; NaN where they are missing."""
    pa = arrow()
    if pa.types.is_null(values.type):
        return np.full(len(values), np.nan)
    if not (pa.types.is_timestamp(values.type) or pa.types.is_date(values.type)):
        raise unlike(values, "dates")
    zone = values.type.tz if pa.types.is_timestamp(values.type) else None
    ticks = values.cast(pa.timestamp("us", zone), safe=False).cast(pa.int64())
    return as_numpy(ticks.cast(pa.float64(), safe=False))


def as_numpy(values: ArrowValues) -> np.ndarray:
    """An Arrow array of numbers as NumPy's, with NaN for null."""
    return np.asarray(values.to_numpy(zero_copy_only=False) if hasattr(values, "type_id") else values.to_numpy())


def _finite_or_nan(floats: np.ndarray) -> np.ndarray:
    return np.where(np.isfinite(floats), floats, np.nan)


def is_text(type: pa.DataType) -> bool:
    """Whether a column of this type holds text."""
    types = arrow().types
    return bool(types.is_string(type) or types.is_large_string(type) or types.is_string_view(type))


def is_number(type: pa.DataType) -> bool:
    """Whether a column of this type holds numbers."""
    types = arrow().types
    return bool(types.is_integer(type) or types.is_floating(type) or types.is_decimal(type))


def describe_type(type: pa.DataType) -> str:
    """What a column of this type holds, in words."""
    types = arrow().types
    if is_text(type):
        return "text"
    if is_number(type):
        return "numbers"
    if types.is_boolean(type):
        return "true and false"
    if types.is_timestamp(type) or types.is_date(type):
        return "dates"
    return f"values of type {type}"
