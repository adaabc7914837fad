"""What kind of column it is, and what it has to know: learnt from the rows of training."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from skscn.readers.arrow import arrow
from skscn.tables.columns import (
    CYCLES,
    Category,
    Clock,
    Column,
    Flag,
    Measured,
    Moment,
    Number,
    RowTime,
    is_number,
    is_text,
)
from skscn.tables.text import (
    date_formats,
    date_order,
    dates,
    number_format,
    numbers,
    stripped,
)
from skscn.words import quoted

if TYPE_CHECKING:
    import pyarrow as pa

    from skscn.readers.arrow import ArrowValues

# Words among numbers stand for missing values if there are at most this many of them, in at most this share of rows.
_MOST_PLACEHOLDERS = 5
_LARGEST_SHARE_OF_PLACEHOLDERS = 0.1
# From this share of distinct values on, text is taken for an identifier.
_IDENTIFIERS = 0.9
# Whole numbers that all differ count the rows if their range is below this many times their number.
_CONSECUTIVE = 1.2
# Days that the dates must span for a cycle to be worth encoding.
_SPAN = {"year": 365.0, "week": 14.0, "day": 2.0}
# In a series it has to come round several times, or it tells when a row was taken rather than what time of year it was.
_SERIES_SPAN = {"year": 1100.0, "week": 28.0, "day": 4.0}
# A column rises with the rows if no more than this share of its steps fall.
_FALLING_STEPS = 0.01

EMPTY = "Left out because no row has a value"
CONSTANT = "Left out because all rows have the same value"
IDENTIFIER = "Left out because nearly every row has a different text, like an identifier"
UNSUITABLE = "Left out because the values are neither numbers nor text nor dates"
FILLED = "Missing values replaced by the median and marked in an extra column"
FILLED_LATER = "Missing values filled in from the other columns"
OWN_CATEGORY = "Missing values treated as a separate category"
POOLED = "Rare categories grouped into one"
AS_NUMBERS = "Text read as numbers"
AS_DATES = "Text read as dates"
EITHER_ORDER = "Dates that could be read day first or month first (choose with --dates, or dates= in Python)"
PLACEHOLDER = "Text treated as missing values"
INFINITE = "Infinite values treated as missing"
RISING = "Left out because it increases with the rows, as their time does"
ROW_NUMBERS = "Looks like a row number; drop it if it is one (--drop, or leave it out of the table)"


@dataclass
class Learnt:
    """A column, or None if it is to be left out, and remarks on it: a topic and what there is to say under it.

    A column that is left out because all its values are the same is ``constant``.
    """

    column: Column | None = None
    remarks: list[tuple[str, str]] = field(default_factory=list)
    constant: Column | None = None

    def remark(self, topic: str, detail: str) -> Learnt:
        """Say one thing more."""
        self.remarks.append((topic, detail))
        return self


def learn(name: str, values: ArrowValues, max_categories: int, date_order: str = "auto") -> Learnt:
    """Learn a column from its values in training.

    Parameters
    ----------
    name : str
    values : pyarrow.ChunkedArray
    max_categories : int
        The most frequent categories that get a column of their own.
    date_order : {"auto", "day-first", "month-first"}
        What to prefer where text can be read as dates in both orders.
    """
    types = arrow().types
    learnt = Learnt()
    if values.null_count == len(values):
        return learnt.remark(EMPTY, name)
    type = values.type
    if types.is_dictionary(type):
        return _learn_category(learnt, name, _as_text(values), max_categories)
    if is_text(type):
        return _learn_text(learnt, name, stripped(values), max_categories, date_order)
    if types.is_boolean(type):
        return _finish(learnt, Flag(name, 0.0, False), values)
    if types.is_timestamp(type) or types.is_date(type):
        return _learn_dates(learnt, name, values, None)
    if types.is_time(type):
        return _finish(learnt, Clock(name, 0.0, False), values)
    if is_number(type) or types.is_duration(type):
        return _learn_numbers(learnt, name, values)
    return learnt.remark(UNSUITABLE, f"{name} ({type})")


def learn_time(learnt: Learnt, name: str, values: ArrowValues) -> RowTime:
    """The column that holds the time of each row; ValueError if it does not hold dates."""
    column = learnt.column or learnt.constant
    if not isinstance(column, Moment):
        raise ValueError(f"Column {name!r} cannot be the time of the rows: it holds no dates; name one that does.")
    return _row_time(column, values)


def without_trend(learnt: Learnt, values: ArrowValues) -> Learnt:
    """Of a column in a series: without what rises with the rows, if it is a date or a row number."""
    column = learnt.column
    if isinstance(column, Moment) and rises(column.floats(values)):
        time = _row_time(column, values)
        return Learnt(time, learnt.remarks) if time.cycles else Learnt().remark(RISING, column.name)
    counts_rows = any(topic == ROW_NUMBERS for topic, _ in learnt.remarks)
    if isinstance(column, Number) and counts_rows and rises(column.floats(values)):
        return Learnt().remark(RISING, column.name)
    return learnt


def rises(values: np.ndarray) -> bool:
    """Whether numbers rise with the rows but for a few steps, as those of a clock that was put back; NaN is missing."""
    steps = np.diff(values[~np.isnan(values)])
    return bool(np.count_nonzero(steps < 0) <= _FALLING_STEPS * len(steps) and np.any(steps > 0))


def _row_time(column: Moment, values: ArrowValues) -> RowTime:
    days = column.floats(values)
    cycles = _cycles(days[~np.isnan(days)], _SERIES_SPAN)
    return RowTime(column.name, column.fill, False, column.format, column.zoned, cycles)


def _as_text(values: ArrowValues) -> ArrowValues:
    pa = arrow()
    return stripped(values.cast(values.type.value_type).cast(pa.string()))


def _learn_numbers(learnt: Learnt, name: str, values: ArrowValues) -> Learnt:
    pa = arrow()
    if pa.types.is_floating(values.type):
        _remark_on_infinite(learnt, name, values)
    elif pa.types.is_integer(values.type) and _counts_rows(values):
        learnt.remark(ROW_NUMBERS, name)
    return _finish(learnt, Number(name, 0.0, False), values)


def _remark_on_infinite(learnt: Learnt, name: str, values: ArrowValues) -> None:
    pc = arrow("pyarrow.compute")
    infinite = pc.sum(pc.is_inf(values)).as_py()
    if infinite:
        learnt.remark(INFINITE, f"{name} ({infinite})")


def _counts_rows(values: ArrowValues) -> bool:
    """Whether whole numbers differ in all rows and leave hardly any out between them."""
    pc = arrow("pyarrow.compute")
    ends = pc.min_max(values).as_py()
    return (
        values.null_count == 0
        and len(values) > 2
        and ends["max"] - ends["min"] < _CONSECUTIVE * len(values)
        and pc.count_distinct(values).as_py() == len(values)
    )


def _learn_text(learnt: Learnt, name: str, texts: ArrowValues, max_categories: int, order: str) -> Learnt:
    pc = arrow("pyarrow.compute")
    if texts.null_count == len(texts):
        return learnt.remark(EMPTY, name)
    distinct = pc.unique(texts).drop_null()
    decimal, unit = number_format(distinct)
    wrong = distinct.filter(pc.is_null(numbers(distinct, decimal, unit)))
    if len(wrong) <= _MOST_PLACEHOLDERS and len(wrong) < len(distinct):
        in_rows = pc.sum(pc.is_in(texts, value_set=wrong)).as_py()
        if in_rows <= _LARGEST_SHARE_OF_PLACEHOLDERS * (len(texts) - texts.null_count):
            column = Number(name, 0.0, False, decimal, tuple(wrong.to_pylist()), unit)
            return _learn_written_numbers(learnt, column, texts, distinct)
    formats = date_formats(distinct, order)
    if formats:
        _remark_on_dates(learnt, name, distinct[0].as_py(), formats, order)
        return _learn_dates(learnt, name, texts, formats[0])
    return _learn_category(learnt, name, texts, max_categories)


def _remark_on_dates(learnt: Learnt, name: str, example: str, formats: list[str | None], asked: str) -> None:
    orders = [order for format in formats if (order := date_order(format))]
    read = f", read {orders[0].replace('-', ' ')}" if orders else ""
    learnt.remark(AS_DATES, f"{name} (like {quoted(example)}{read})")
    if asked == "auto" and len(set(orders)) > 1:
        learnt.remark(EITHER_ORDER, name)


def _learn_written_numbers(learnt: Learnt, column: Number, texts: ArrowValues, distinct: ArrowValues) -> Learnt:
    examples = [text for text in distinct[:100].to_pylist() if text not in column.placeholders]
    learnt.remark(AS_NUMBERS, f"{column.name} (like {quoted(max(examples, key=len))})")
    if column.placeholders:
        learnt.remark(PLACEHOLDER, f"{column.name} ({', '.join(map(quoted, column.placeholders))})")
    _remark_on_infinite(learnt, column.name, numbers(texts, column.decimal or ".", column.unit))
    return _finish(learnt, column, texts)


def _learn_dates(learnt: Learnt, name: str, values: ArrowValues, format: str | None) -> Learnt:
    type = (dates(values, format) if is_text(values.type) else values).type
    zoned = arrow().types.is_timestamp(type) and type.tz is not None
    days = Moment(name, 0.0, False, format, zoned, ()).floats(values)
    days = days[~np.isnan(days)]
    if not len(days):
        return learnt.remark(EMPTY, name)
    return _finish(learnt, Moment(name, 0.0, False, format, zoned, _cycles(days, _SPAN)), values)


def _cycles(days: np.ndarray, spans: dict[str, float]) -> tuple[str, ...]:
    """The cycles that dates, in days, span often enough."""
    span = float(np.ptp(days))
    varies = {"year": True, "week": True, "day": bool(np.any(days != np.floor(days)))}
    return tuple(cycle for cycle in CYCLES if span >= spans[cycle] and varies[cycle])


def _finish(learnt: Learnt, column: Flag | Number | Moment | Clock, values: ArrowValues) -> Learnt:
    """Take the median for missing values, keep the range, and leave out what is always the same."""
    floats = column.floats(values)
    known = floats[~np.isnan(floats)]
    missing = len(floats) - len(known)
    if not len(known):
        return learnt.remark(EMPTY, column.name)
    found = replace(column, fill=_median(known), indicator=missing > 0)
    if not missing and np.all(known == known[0]):
        learnt.constant = found
        return learnt.remark(CONSTANT, column.name)
    if missing:
        learnt.remark(FILLED, f"{column.name} ({missing})")
    learnt.column = replace(found, range=(float(known.min()), float(known.max())))
    return learnt


def _median(known: np.ndarray) -> float:
    # Of two huge numbers the middle is found without adding them up.
    return float(np.median(known / 2.0) * 2.0)


def _learn_category(learnt: Learnt, name: str, texts: ArrowValues, max_categories: int) -> Learnt:
    pc = arrow("pyarrow.compute")
    present = texts.drop_null()
    if not len(present):
        return learnt.remark(EMPTY, name)
    counts = pc.value_counts(present)
    if len(counts) == 1 and not texts.null_count:
        return learnt.remark(CONSTANT, name)
    if len(counts) > max_categories and len(counts) >= _IDENTIFIERS * len(present):
        return learnt.remark(IDENTIFIER, name)
    rare = len(counts) - max_categories
    if rare > 0:
        learnt.remark(POOLED, f"{name} ({rare} of {len(counts)})")
    if texts.null_count:
        learnt.remark(OWN_CATEGORY, f"{name} ({texts.null_count})")
    learnt.column = Category(name, _most_frequent(counts, max_categories), rare > 0, texts.null_count > 0)
    return learnt


def _most_frequent(counts: pa.StructArray, max_categories: int) -> tuple[str, ...]:
    by_frequency = sorted(counts.to_pylist(), key=lambda count: (-count["counts"], count["values"]))
    return tuple(sorted(count["values"] for count in by_frequency[:max_categories]))


def relearn(column: Column, values: ArrowValues, max_categories: int) -> Column:
    """The column as it would have been learnt from fewer rows, had these told as much about what it is.

    Its kind, how it is written and whether it has missing values stay; the median and the categories are those of these
    rows.
    """
    if isinstance(column, Category):
        counts = arrow("pyarrow.compute").value_counts(column.texts(values).drop_null())
        kept = _most_frequent(counts, max_categories)
        return replace(column, categories=kept, others=column.others or len(kept) < len(counts)) if kept else column
    assert isinstance(column, Measured), "there are two families of kinds"
    floats = column.floats(values)
    known = floats[~np.isnan(floats)]
    return replace(column, fill=_median(known)) if len(known) else column
