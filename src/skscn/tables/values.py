"""The values of a column in one form, NumPy arrays, whichever package they come from."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import UTC, date, time, timedelta
from decimal import Decimal
from numbers import Complex, Integral, Real
from types import NoneType
from typing import Any

import narwhals as nw
import numpy as np

from skscn.readers.arrow import as_text
from skscn.words import quoted

# What columns hold, in words.
_WORDS = {
    "text": "text",
    "category": "text",
    "number": "numbers",
    "boolean": "true and false",
    "date": "dates",
    "time": "times of the day",
    "nothing": "no values",
}
_MOST_DIGITS = 300
_MICROSECONDS = {"D": 86400e6, "h": 3600e6, "m": 60e6, "s": 1e6, "ms": 1e3, "us": 1.0}
# Types of pandas, which is not imported here: those of missing values, and those that are written as text.
_MISSING_TYPES = ("NAType", "NaTType")
_WRITTEN_TYPES = ("Interval", "Period")


@dataclass(frozen=True, eq=False)
class ColumnValues:
    """The values of a column in some rows.

    Attributes
    ----------
    kind : str
        "text", "category" (text that is not to be read as anything else), "number", "boolean", "date", "time" (of the
        day), "nothing" where all values are missing and have no type; otherwise the type of what cannot be encoded.
    data : ndarray of shape (n,)
        Numbers, which are objects if they are whole and need more than 64 bits, or booleans; of dates, the microseconds
        since 1970-01-01, and of times, those since midnight; of text, the place of each among the levels, -1 where it
        is missing.
    missing : ndarray of bool, shape (n,)
    levels : tuple of str
        The different values of a column of text, in the order in which they appear.
    zoned : bool
        Whether dates have a time zone; they are in UTC.
    """

    kind: str
    data: np.ndarray
    missing: np.ndarray
    levels: tuple[str, ...] = ()
    zoned: bool = False

    def __len__(self) -> int:
        return len(self.missing)

    @property
    def is_text(self) -> bool:
        """Whether its values are among levels."""
        return self.kind in ("text", "category")

    @property
    def holds(self) -> str:
        """What it holds, in words."""
        return _WORDS.get(self.kind, f"values of type {self.kind}")

    def floats(self) -> np.ndarray:
        """The data as floats; NaN where values are missing."""
        with np.errstate(over="ignore"):
            return np.where(self.missing, np.nan, self.data.astype(np.float64))

    def to_list(self) -> list[str | None]:
        """The text of each row; None where it is missing."""
        return [None if place < 0 else self.levels[place] for place in self.data.tolist()]

    def with_levels(self, texts: Iterable[str | None]) -> ColumnValues:
        """The column with other text in place of its levels; None for a missing value."""
        codes, levels = _codes(texts)
        data = self.of_rows(codes, -1)
        return replace(self, data=data, missing=data < 0, levels=levels)

    def of_rows(self, of_levels: np.ndarray, if_missing: Any) -> np.ndarray:
        """What belongs to the level of each row; ``if_missing`` where it has none."""
        found: np.ndarray = np.append(of_levels, np.asarray([if_missing], dtype=of_levels.dtype))[self.data]
        return found

    def categories(self) -> ColumnValues | None:
        """Its values as text that is not to be read as anything else; None where they cannot be written."""
        if self.is_text or self.kind == "nothing":
            return replace(self, kind="category", data=self.data if self.is_text else np.full(len(self), -1))
        if self.kind not in _WRITE:
            return None
        present, places = np.unique(self.data[~self.missing], return_inverse=True)
        codes = _in_rows(places.astype(np.intp), self.missing, -1)
        return ColumnValues("category", codes, self.missing, tuple(map(_WRITE[self.kind], present)))


def text_values(texts: Iterable[str | None]) -> ColumnValues:
    """A column of text; None for a missing value."""
    codes, levels = _codes(texts)
    return ColumnValues("text", codes, codes < 0, levels)


def read_values(column: Any, name: str) -> ColumnValues:
    """The values of a column of pandas, Polars or Arrow, or of an array.

    Values of several kinds raise ValueError with the name of the column.
    """
    if isinstance(column, ColumnValues):
        return column
    if isinstance(column, np.ndarray):
        return _from_array(column, np.zeros(len(column), dtype=bool), name)
    series = nw.from_native(column, series_only=True)
    native, dtype = series.to_native(), series.dtype
    if dtype == nw.Object or getattr(native, "dtype", None) is np.dtype(object):
        return _from_objects(series.to_list(), np.zeros(len(series), dtype=bool), name)
    missing = series.is_null().to_numpy().astype(bool)
    if dtype.is_nested() or dtype == nw.Binary:
        return ColumnValues("nothing" if missing.all() else str(dtype), np.zeros(len(missing)), missing)
    if isinstance(dtype, nw.String | nw.Categorical | nw.Enum):
        return _from_levels(series, missing, name)
    # NumPy has no integers of 128 bits.
    if dtype in (nw.Int128, nw.UInt128):
        return _from_objects(series.drop_nulls().to_list(), missing, name)
    zoned = getattr(dtype, "time_zone", None) is not None
    return _from_array(series.drop_nulls().to_numpy(), missing, name, zoned=zoned)


def _from_levels(series: nw.Series[Any], missing: np.ndarray, name: str) -> ColumnValues:
    """Text and categories, of which packages find the different ones fast."""
    native, of_text = series.to_native(), series.dtype == nw.String
    if series.implementation.is_pyarrow():
        # Not all kinds of text have dictionaries that can be read.
        text = as_text(native) if of_text else native.cast(native.type.value_type)
        array = text.combine_chunks().dictionary_encode()
        codes, levels = array.indices.fill_null(-1).to_numpy(), array.dictionary.to_pylist()
    elif series.implementation.is_pandas():
        codes, levels = native.factorize()
    else:
        values = _from_objects(series.drop_nulls().to_list(), missing, name)
        return values if of_text else values.categories() or values
    values = _from_objects(list(levels), np.zeros(len(levels), dtype=bool), name)
    values = values if of_text else values.categories() or values
    return replace(
        values,
        data=np.append(values.data, values.data.dtype.type(-1))[codes],
        missing=np.append(values.missing, True)[codes],
    )


def _codes(texts: Iterable[str | None]) -> tuple[np.ndarray, tuple[str, ...]]:
    """The place of each text among the different ones, -1 for None; and the different ones."""
    places: dict[str, int] = {}
    codes = [-1 if text is None else places.setdefault(text, len(places)) for text in texts]
    return np.array(codes, dtype=np.intp), tuple(places)


def _in_rows(present: np.ndarray, missing: np.ndarray, if_missing: Any = 0) -> np.ndarray:
    """The values that are present, each in its row."""
    data = np.full(len(missing), if_missing, dtype=present.dtype)
    data[~missing] = present
    return data


def _from_array(present: np.ndarray, missing: np.ndarray, name: str, *, zoned: bool = False) -> ColumnValues:
    kind = present.dtype.kind
    if kind not in "biufMm":
        return _from_objects(present.tolist(), missing, name)
    data = _in_rows(_microseconds(present) if kind in "Mm" else present, missing)
    missing = missing | np.isnan(data) if data.dtype.kind == "f" else missing
    return ColumnValues({"b": "boolean", "M": "date"}.get(kind, "number"), data, missing, zoned=zoned)


def _microseconds(moments: np.ndarray) -> np.ndarray:
    """Dates or durations as floats; NaN for NaT."""
    unit, count = np.datetime_data(moments.dtype)
    if (moments.dtype.kind, unit, count) == ("m", "ns", 1):
        return np.where(np.isnat(moments), np.nan, moments.view(np.int64) / 1e3)
    if unit not in _MICROSECONDS:
        moments, unit, count = moments.astype(f"{moments.dtype.kind}8[us]"), "us", 1
    ticks = moments.view(np.int64).astype(np.float64) * (count * _MICROSECONDS[unit])
    return np.where(np.isnat(moments), np.nan, ticks)


def _from_objects(objects: list[Any], missing: np.ndarray, name: str) -> ColumnValues:
    """Python objects, such as pandas' columns of type object hold; those that are not missing must be of one kind."""
    types = {kind: _kind_of(kind) for kind in set(map(type, objects))}
    kinds = ["text"] * len(objects) if list(types) == [str] else [_kind(value, types[type(value)]) for value in objects]
    different = dict.fromkeys(kinds)
    if "nothing" in different:
        del different["nothing"]
        missing = _in_rows(np.array([kind == "nothing" for kind in kinds]), missing, if_missing=True)
        objects = [value for kind, value in zip(kinds, objects, strict=True) if kind != "nothing"]
    if not different:
        return ColumnValues("nothing", np.full(len(missing), np.nan), missing)
    if len(different) > 1:
        raise ValueError(
            f"Column {quoted(name)} holds values of several kinds, {' and '.join(different)}; convert them all to one."
        )
    (kind,) = different
    if kind == "complex":
        raise ValueError(
            f"Column {quoted(name)} holds complex numbers; give their real and imaginary parts as two columns."
        )
    if kind == "text":
        codes, levels = _codes(map(str, objects))
        return ColumnValues(kind, _in_rows(codes, missing, -1), missing, levels)
    if kind not in _READ:
        return ColumnValues(kind, np.zeros(len(missing)), missing)
    data = _in_rows(_READ[kind](objects), missing)
    return ColumnValues(_SHORT.get(kind, kind), data, missing, zoned=kind == _ZONED)


def _kind(value: Any, kind: str) -> str:
    """What an object of a kind is; "nothing" if it stands for a missing value."""
    if kind == "number" and (value.is_nan() if isinstance(value, Decimal) else value != value):
        return "nothing"
    if kind in ("date", "duration") and isinstance(value, np.generic) and np.isnat(value):
        return "nothing"
    return _ZONED if kind == "date" and getattr(value, "tzinfo", None) is not None else kind


def _kind_of(type: type) -> str:
    """What objects of a type are."""
    if type is NoneType or type.__name__ in _MISSING_TYPES:
        return "nothing"
    if type.__name__ in _WRITTEN_TYPES:
        return "text"
    families = ((str, "text"), (bool | np.bool_, "boolean"), (Real | Decimal, "number"), (Complex, "complex"))
    moments = ((date | np.datetime64, "date"), (time, "time"), (timedelta | np.timedelta64, "duration"))
    return next((kind for family, kind in (*moments, *families) if issubclass(type, family)), type.__name__)


def _numbers(objects: list[Any]) -> np.ndarray:
    """Whole numbers of any size as they are; others as floats, infinite beyond the largest one."""
    if not all(map(_is_whole, objects)):
        return np.array(list(map(_float, objects)))
    whole = np.array([int(value) for value in objects], dtype=object)
    low, high = whole.min(), whole.max()
    fitting = (kind for kind in (np.int64, np.uint64) if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max)
    return whole.astype(next(fitting, object))


def _is_whole(value: Any) -> bool:
    """Whether it is a whole number, of no more digits than floats can have."""
    if isinstance(value, Decimal):
        return value.is_finite() and value.adjusted() < _MOST_DIGITS and value == value.to_integral_value()
    return isinstance(value, Integral) and abs(int(value)) < 10**_MOST_DIGITS


def _float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return np.inf if value > 0 else -np.inf


def _moments(objects: list[Any]) -> np.ndarray:
    return _microseconds(np.array([np.datetime64(value, "us") for value in objects]))


def _zoned_moments(objects: list[Any]) -> np.ndarray:
    return _moments([value.astimezone(UTC).replace(tzinfo=None) for value in objects])


def _times(objects: list[time]) -> np.ndarray:
    return np.array([((t.hour * 60 + t.minute) * 60 + t.second) * 1e6 + t.microsecond for t in objects])


def _durations(objects: list[Any]) -> np.ndarray:
    return _microseconds(np.array([np.timedelta64(value, "us") for value in objects]))


def _write_number(number: Any) -> str:
    """The shortest text for a number: 3 for 3.0 too."""
    if not isinstance(number, np.floating):
        return str(number)
    if number == 0.0 or 1e-6 <= abs(number) < 1e10:
        return np.format_float_positional(number, trim="-")
    return np.format_float_scientific(number, trim="-", exp_digits=1)


def _write_moment(microseconds: float) -> str:
    """A date, with the time of the day if that is not midnight."""
    text = str(np.datetime64(round(microseconds), "us")).replace("T", " ")
    return text.removesuffix(".000000").removesuffix(" 00:00:00")


_ZONED = "date in a time zone"
# What objects of some kind become, and what their column is then.
_READ: dict[str, Callable[[list[Any]], np.ndarray]] = {
    "boolean": lambda objects: np.array(objects, dtype=bool),
    "number": _numbers,
    "date": _moments,
    _ZONED: _zoned_moments,
    "time": _times,
    "duration": _durations,
}
_SHORT = {_ZONED: "date", "duration": "number"}
# How values that are not text are written as categories.
_WRITE: dict[str, Callable[[Any], str]] = {
    "number": _write_number,
    "boolean": lambda flag: "true" if flag else "false",
    "date": _write_moment,
    "time": lambda microseconds: _write_moment(microseconds).partition(" ")[2] or "00:00:00",
}
