"""What kind of column it is, and what it has to know: learnt from the rows of training."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from skscn.readers.missing import means_no_number
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
)
from skscn.tables.text import (
    date_formats,
    date_order,
    dates,
    number_format,
    numbers,
    stripped,
)
from skscn.tables.values import ColumnValues
from skscn.words import quoted

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
RARE_LEVELS = "Left out because most categories are rare and the means of the target for them do not help"
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
ROW_NUMBERS = "Looks like a row number; drop it if it is one (--drop, or drop= in Python)"


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


def learn(name: str, values: ColumnValues, max_categories: int, date_order: str = "auto", decimal: str = ".") -> Learnt:
    """Learn a column from its values in training.

    Parameters
    ----------
    name : str
    values : ColumnValues
    max_categories : int
        The most frequent categories that get a column of their own.
    date_order : {"auto", "day-first", "month-first"}
        What to prefer where text can be read as dates in both orders.
    decimal : str
        The decimal sign to prefer where text can be read with both.
    """
    learnt = Learnt()
    if values.missing.all():
        return learnt.remark(EMPTY, name)
    if values.kind == "category":
        return _learn_category(learnt, name, stripped(values), max_categories)
    if values.kind == "text":
        return _learn_text(learnt, name, stripped(values), max_categories, date_order, decimal)
    if values.kind == "boolean":
        return _finish(learnt, Flag(name, 0.0, False), values)
    if values.kind == "date":
        return _learn_dates(learnt, name, values, None)
    if values.kind == "time":
        return _finish(learnt, Clock(name, 0.0, False), values)
    if values.kind == "number":
        return _learn_numbers(learnt, name, values)
    return learnt.remark(UNSUITABLE, f"{name} ({values.kind})")


def learn_time(learnt: Learnt, name: str, values: ColumnValues) -> RowTime:
    """The column that holds the time of each row; ValueError if it does not hold dates."""
    column = learnt.column or learnt.constant
    if not isinstance(column, Moment):
        raise ValueError(f"Column {name!r} cannot be the time of the rows: it holds no dates; name one that does.")
    return _row_time(column, values)


def without_trend(learnt: Learnt, values: ColumnValues) -> Learnt:
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


def _row_time(column: Moment, values: ColumnValues) -> RowTime:
    days = column.floats(values)
    cycles = _cycles(days[~np.isnan(days)], _SERIES_SPAN)
    return RowTime(column.name, column.fill, False, column.format, column.zoned, cycles)


def _learn_numbers(learnt: Learnt, name: str, values: ColumnValues) -> Learnt:
    if values.data.dtype.kind == "f":
        _remark_on_infinite(learnt, name, values.floats())
    elif _counts_rows(values):
        learnt.remark(ROW_NUMBERS, name)
    return _finish(learnt, Number(name, 0.0, False), values)


def _remark_on_infinite(learnt: Learnt, name: str, floats: np.ndarray) -> None:
    infinite = np.count_nonzero(np.isinf(floats))
    if infinite:
        learnt.remark(INFINITE, f"{name} ({infinite})")


def _counts_rows(values: ColumnValues) -> bool:
    """Whether whole numbers differ in all rows and leave hardly any out between them."""
    return (
        not values.missing.any()
        and len(values) > 2
        and int(values.data.max()) - int(values.data.min()) < _CONSECUTIVE * len(values)
        and len(np.unique(values.data)) == len(values)
    )


def _learn_text(
    learnt: Learnt, name: str, texts: ColumnValues, max_categories: int, order: str, usual_decimal: str
) -> Learnt:
    if not texts.levels:
        return learnt.remark(EMPTY, name)
    usual = np.array([means_no_number(text) for text in texts.levels])
    others = tuple(text for text, no_number in zip(texts.levels, usual, strict=True) if not no_number)
    decimal, unit = number_format(others, usual_decimal)
    read = np.where(usual, np.nan, numbers(texts.levels, decimal, unit))
    wrong = np.isnan(read) & ~usual
    if np.count_nonzero(wrong) <= _MOST_PLACEHOLDERS and np.count_nonzero(wrong) < len(others):
        in_rows = np.count_nonzero(texts.of_rows(wrong, False))
        if in_rows <= _LARGEST_SHARE_OF_PLACEHOLDERS * np.count_nonzero(~texts.missing):
            words = tuple(texts.levels[place] for place in (*np.flatnonzero(usual), *np.flatnonzero(wrong)))
            return _learn_written_numbers(learnt, Number(name, 0.0, False, decimal, words, unit), texts, read)
    formats = date_formats(texts.levels, order)
    if formats:
        _remark_on_dates(learnt, name, texts.levels[0], formats, order)
        return _learn_dates(learnt, name, dates(texts, formats[0]), formats[0])
    return _learn_category(learnt, name, texts, max_categories)


def _remark_on_dates(learnt: Learnt, name: str, example: str, formats: list[str | None], asked: str) -> None:
    orders = [order for format in formats if (order := date_order(format))]
    read = f", read {orders[0].replace('-', ' ')}" if orders else ""
    learnt.remark(AS_DATES, f"{name} (like {quoted(example)}{read})")
    if asked == "auto" and len(set(orders)) > 1:
        learnt.remark(EITHER_ORDER, name)


def _learn_written_numbers(learnt: Learnt, column: Number, texts: ColumnValues, read: np.ndarray) -> Learnt:
    examples = [text for text in texts.levels[:100] if text not in column.placeholders]
    learnt.remark(AS_NUMBERS, f"{column.name} (like {quoted(max(examples, key=len))})")
    if column.placeholders:
        learnt.remark(PLACEHOLDER, f"{column.name} ({', '.join(map(quoted, column.placeholders))})")
    _remark_on_infinite(learnt, column.name, texts.of_rows(read, np.nan))
    return _finish(learnt, column, texts)


def _learn_dates(learnt: Learnt, name: str, values: ColumnValues, format: str | None) -> Learnt:
    column = Moment(name, 0.0, False, format, values.zoned, ())
    days = column.floats(values)
    return _finish(learnt, replace(column, cycles=_cycles(days[~np.isnan(days)], _SPAN)), values)


def _cycles(days: np.ndarray, spans: dict[str, float]) -> tuple[str, ...]:
    """The cycles that dates, in days, span often enough."""
    span = float(np.ptp(days))
    varies = {"year": True, "week": True, "day": bool(np.any(days != np.floor(days)))}
    return tuple(cycle for cycle in CYCLES if span >= spans[cycle] and varies[cycle])


def _finish(learnt: Learnt, column: Flag | Number | Moment | Clock, values: ColumnValues) -> Learnt:
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


def _learn_category(learnt: Learnt, name: str, texts: ColumnValues, max_categories: int) -> Learnt:
    missing = int(np.count_nonzero(texts.missing))
    if not texts.levels:
        return learnt.remark(EMPTY, name)
    count = len(texts.levels)
    if count == 1 and not missing:
        return learnt.remark(CONSTANT, name)
    if count > max_categories and count >= _IDENTIFIERS * (len(texts) - missing):
        return learnt.remark(IDENTIFIER, name)
    rare = count - max_categories
    if rare > 0:
        learnt.remark(POOLED, f"{name} ({rare} of {count})")
    if missing:
        learnt.remark(OWN_CATEGORY, f"{name} ({missing})")
    learnt.column = Category(name, _most_frequent(texts, max_categories), rare > 0, missing > 0)
    return learnt


def _most_frequent(texts: ColumnValues, max_categories: int) -> tuple[str, ...]:
    counts = np.bincount(texts.data[~texts.missing], minlength=len(texts.levels)).tolist()
    by_frequency = sorted(zip(counts, texts.levels, strict=True), key=lambda pair: (-pair[0], pair[1]))
    return tuple(sorted(text for _, text in by_frequency[:max_categories]))


def relearn(column: Column, values: ColumnValues, max_categories: int) -> Column:
    """The column as it would have been learnt from fewer rows, had these told as much about what it is.

    Its kind, how it is written and whether it has missing values stay; the median and the categories are those of these
    rows.
    """
    if isinstance(column, Category):
        texts = column.texts(values)
        kept = _most_frequent(texts, max_categories)
        return (
            replace(column, categories=kept, others=column.others or len(kept) < len(texts.levels)) if kept else column
        )
    assert isinstance(column, Measured), "there are two families of kinds"
    floats = column.floats(values)
    known = floats[~np.isnan(floats)]
    return replace(column, fill=_median(known)) if len(known) else column
