"""The column to be predicted: numbers, or classes."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from skscn.readers.missing import means_no_number
from skscn.tables.columns import Flag, Number
from skscn.tables.kinds import column_from_json
from skscn.tables.text import decimal_sign, number_format, numbers, stripped
from skscn.tables.values import ColumnValues, read_values
from skscn.words import quoted

if TYPE_CHECKING:
    pass

# At most this many different whole numbers are classes, if there are this many rows for each of them.
_MOST_WHOLE_CLASSES = 10
_ROWS_PER_CLASS = 3
# What the values are: numbers, or classes that are text, whole numbers or booleans.
_KINDS = ("number", "text", "whole", "boolean")
# What files of all versions say of a target.
_FIELDS = ("name", "kind", "decimal")
_LONGEST_LABEL = 1000
# True and false may be written in several ways in one file: TRUE, True, true.
_MOST_WRITINGS = 8
# Text in which a number is given as a float: from here on floats leave whole numbers out.
_LARGEST_EXACT = 2.0**53
_LARGEST_INTEGER = 2**63


@dataclass(frozen=True)
class Target:
    """The target's column: its name, what it holds, and how it is read.

    Attributes
    ----------
    name : str
    kind : {"number", "text", "whole", "boolean"}
        All but numbers are classes.
    decimal : str or None
        The decimal sign, where numbers are written in a column of text.
    unit : str or None
        The unit that is written after these numbers, as in "84.4 °C".
    words : tuple of two str, or None
        How false and true are written in a text file of booleans.
    """

    name: str
    kind: str
    decimal: str | None = None
    unit: str | None = None
    words: tuple[str, str] | None = None

    @property
    def task(self) -> str:
        """Regression or classification."""
        return "regression" if self.kind == "number" else "classification"

    @property
    def read_type(self) -> str:
        """The name of the Arrow type to read it as from a text file."""
        # Whole numbers as text, since floats would round large ones.
        if self.kind in ("text", "whole") or self.decimal is not None:
            return "string"
        return "bool" if self.kind == "boolean" else "double"

    def values(self, column: Any) -> tuple[np.ndarray, np.ndarray]:
        """The values of those rows that have one, and which rows these are."""
        column = read_values(column, self.name)
        if self.kind == "text":
            return _labels(self.name, _texts(self.name, column))
        if self.kind == "whole":
            return _whole(self.name, column)
        number = Number(self.name, 0.0, False, self.decimal, unit=self.unit)
        floats = (Flag(self.name, 0.0, False) if self.kind == "boolean" else number).floats(column)
        present = ~np.isnan(floats)
        floats = floats[present]
        return floats.astype(bool) if self.kind == "boolean" else floats, present

    def written(self, labels: np.ndarray) -> np.ndarray:
        """Predicted values as they are written in the file of training."""
        return labels if self.words is None else np.array(self.words)[labels.astype(int)]

    def to_json(self) -> dict[str, Any]:
        """Itself as plain data that JSON can hold."""
        state = {**asdict(self), "words": None if self.words is None else list(self.words)}
        return {name: value for name, value in state.items() if name in _FIELDS or value is not None}

    @classmethod
    def from_json(cls, state: Any) -> Target:
        """The target that gave this state; anything else raises ValueError."""
        if not isinstance(state, dict) or set(state) - {"unit", "words"} != set(_FIELDS):
            raise ValueError(
                f"A target must be an object with the fields {', '.join(_FIELDS)}, and perhaps unit and words."
            )
        if state["kind"] not in _KINDS:
            raise ValueError(f"The kind of a target must be one of {', '.join(_KINDS)}.")
        # All but the kind has to be as in a column of numbers.
        likewise = {name: value for name, value in state.items() if name not in ("kind", "words")}
        column_from_json({**Number("", 0.0, False).to_json(), "placeholders": [], **likewise})
        words = state.get("words")
        if words is not None and not (
            isinstance(words, list) and len(words) == 2 and all(isinstance(word, str) for word in words)
        ):
            raise ValueError("The words of a target must be two: how false and true are written.")
        return cls(**{**state, "words": None if words is None else tuple(words)})


def learn_target(name: str, column: Any, task: str = "auto", decimal: str = ".") -> tuple[Target, str]:
    """Decide what a target is.

    Parameters
    ----------
    name : str
    column : column of pyarrow, pandas or Polars
        Its values in training.
    task : {"auto", "regression", "classification"}
    decimal : str
        The decimal sign to prefer where text can be read with both.

    Returns
    -------
    target : Target
    reason : str
        Why it is regression or classification, as a part of a sentence.
    """
    values = read_values(column, name)
    if values.missing.all():
        raise ValueError(f"The target {quoted(name)} has no value in any row; name another column.")
    if values.is_text:
        return _learn_text(name, stripped(values), task, decimal)
    if values.kind == "boolean":
        target = Target(name, "number" if task == "regression" else "boolean")
        return target, _reason(task, "the target is boolean")
    if values.kind == "number":
        return _learn_number(name, values, task)
    raise ValueError(
        f"The target {quoted(name)} holds {values.holds}; it must hold numbers, for regression, or classes."
    )


def _reason(task: str, holds: str) -> str:
    return holds if task == "auto" else "as requested"


def _learn_text(name: str, texts: ColumnValues, task: str, usual: str) -> tuple[Target, str]:
    distinct = texts.levels
    words = {text.lower(): text for text in reversed(distinct)} if len(distinct) <= _MOST_WRITINGS else {}
    if set(words) == {"false", "true"} and task != "regression":
        return Target(name, "boolean", words=(words["false"], words["true"])), _reason(task, "the target is boolean")
    present = tuple(text for text in distinct if not means_no_number(text))
    decimal, unit = number_format(present, usual)
    wrong = [text for text, number in zip(present, numbers(present, decimal, unit), strict=True) if np.isnan(number)]
    are_numbers = not wrong and len(present) > 0
    if are_numbers and len(present) < len(distinct):
        read = Number(name, 0.0, False, decimal, unit=unit).floats(texts)
        target, reason = _learn_number(name, ColumnValues("number", read, np.isnan(read)), task)
        return replace(target, decimal=decimal, unit=unit) if target.kind == "number" else target, reason
    if task == "regression" and not are_numbers:
        raise ValueError(
            f"The target {quoted(name)} holds {quoted((wrong or distinct)[0])}, which is not a number; regression "
            "needs numbers, classification can use text."
        )
    if are_numbers and task != "classification" and len(distinct) > _MOST_WHOLE_CLASSES:
        found = f"the target is numeric{f', in {unit}' if unit else ''}"
        return Target(name, "number", decimal, unit), _reason(task, found)
    if task == "regression":
        return Target(name, "number", decimal, unit), "as requested"
    return Target(name, "text"), _reason(task, f"the target has {len(distinct)} different text values")


def _learn_number(name: str, column: ColumnValues, task: str) -> tuple[Target, str]:
    distinct = np.unique(column.data[~column.missing])
    if distinct.dtype.kind == "f":
        distinct = distinct[np.isfinite(distinct)]
    if not len(distinct):
        raise ValueError(f"The target {quoted(name)} has no finite value in any row; name another column.")
    fractions = distinct[distinct != np.round(distinct)] if distinct.dtype.kind == "f" else distinct[:0]
    few = len(distinct) <= min(_MOST_WHOLE_CLASSES, len(column) // _ROWS_PER_CLASS)
    if task == "classification" or (task == "auto" and not len(fractions) and few):
        if len(fractions):
            raise ValueError(
                f"The target {quoted(name)} holds fractions such as {fractions[0]:g}, which cannot be "
                "classes; choose regression."
            )
        kind = "whole" if _fits(distinct) else "text"
        return Target(name, kind), _reason(task, f"the target has {len(distinct)} different whole numbers")
    return Target(name, "number"), _reason(task, "the target is numeric")


def _fits(whole: np.ndarray) -> bool:
    """Whether whole numbers can be integers of 64 bits; larger ones stay text."""
    return int(whole[0]) >= -_LARGEST_INTEGER and int(whole[-1]) < _LARGEST_INTEGER


def _texts(name: str, column: ColumnValues) -> ColumnValues:
    written = column.categories()
    if written is None:
        raise ValueError(f"The target {quoted(name)} holds {column.holds}, which cannot be classes.")
    return stripped(written)


def _labels(name: str, texts: ColumnValues) -> tuple[np.ndarray, np.ndarray]:
    """Text labels, and which rows have one."""
    longest = max(map(len, texts.levels), default=0)
    if longest > _LONGEST_LABEL:
        raise ValueError(
            f"The target {quoted(name)} contains text of {longest:,} characters; classes may have at most "
            f"{_LONGEST_LABEL:,}. Is a quote missing in the file?"
        )
    # NumPy takes such characters at the end of a text for padding.
    if any(text.endswith("\0") for text in texts.levels):
        raise ValueError(f"The target {quoted(name)} holds classes that end in a NUL character; remove it.")
    return np.array(texts.levels, dtype=str)[texts.data[~texts.missing]], ~texts.missing


def _whole(name: str, column: ColumnValues) -> tuple[np.ndarray, np.ndarray]:
    """Whole numbers, exactly, and which rows have one."""
    column = _without_infinite(_without_words(stripped(column))) if column.is_text else column
    if column.is_text and all(re.fullmatch(r"-?[0-9]+", text) for text in column.levels):
        column = ColumnValues("number", column.of_rows(_integers(name, column.levels), 0), column.missing)
    if column.kind == "number" and column.data.dtype.kind in "iu":
        whole = column.data[~column.missing]
        if np.any(whole > np.iinfo(np.int64).max):
            raise _too_large(name)
        return whole.astype(np.int64), ~column.missing
    decimal = decimal_sign(column.levels) if column.is_text else None
    floats = Number(name, 0.0, False, decimal).floats(column)
    present = ~np.isnan(floats)
    floats = floats[present]
    if np.any(floats != np.round(floats)):
        raise ValueError(f"The target {quoted(name)} holds fractions, where it held whole numbers in training.")
    if np.any(np.abs(floats) >= (_LARGEST_INTEGER if decimal is None else _LARGEST_EXACT)):
        raise _too_large(name)
    return floats.astype(np.int64), present


def _without_words(texts: ColumnValues) -> ColumnValues:
    """Missing where a word stands for a missing number."""
    return texts.with_levels(None if means_no_number(text) else text for text in texts.levels)


def _integers(name: str, texts: tuple[str, ...]) -> np.ndarray:
    try:
        return np.array(texts, dtype=object).astype(np.int64)
    except (OverflowError, ValueError):
        raise _too_large(name) from None


def _without_infinite(texts: ColumnValues) -> ColumnValues:
    """Missing where a number is beyond the largest float, which is a missing value in every column."""
    infinite = np.isinf(numbers(texts.levels, "."))
    return texts.with_levels(None if beyond else text for text, beyond in zip(texts.levels, infinite, strict=True))


def _too_large(name: str) -> ValueError:
    return ValueError(
        f"The target {quoted(name)} holds a larger whole number than it did in training; is it the same column?"
    )
