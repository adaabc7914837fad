"""The column to be predicted: numbers, or classes."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from skscn.readers.arrow import arrow
from skscn.tables.columns import Flag, Number, describe_type, is_number, is_text
from skscn.tables.kinds import column_from_json
from skscn.tables.text import decimal_sign, number_format, numbers, stripped
from skscn.words import quoted

if TYPE_CHECKING:
    import pyarrow as pa

    from skscn.readers.arrow import ArrowValues

# At most this many different whole numbers are classes, if there are this many rows for each of them.
_MOST_WHOLE_CLASSES = 10
_ROWS_PER_CLASS = 3
# What the values are: numbers, or classes that are text, whole numbers or booleans.
_KINDS = ("number", "text", "whole", "boolean")
# What files of all versions say of a target.
_FIELDS = ("name", "kind", "decimal")
_LONGEST_LABEL = 1000
# Text in which a number is given as a float: from here on floats leave whole numbers out.
_LARGEST_EXACT = 2.0**53
_LARGEST_INTEGER = 2.0**63


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
    """

    name: str
    kind: str
    decimal: str | None = None
    unit: str | None = None

    @property
    def task(self) -> str:
        """Regression or classification."""
        return "regression" if self.kind == "number" else "classification"

    @property
    def read_type(self) -> pa.DataType:
        """The Arrow type to read it as from a text file."""
        pa = arrow()
        # Whole numbers as text, since floats would round large ones.
        if self.kind in ("text", "whole") or self.decimal is not None:
            return pa.string()
        return pa.bool_() if self.kind == "boolean" else pa.float64()

    def values(self, column: ArrowValues) -> tuple[np.ndarray, np.ndarray]:
        """The values of those rows that have one, and which rows these are."""
        if self.kind == "text":
            return _labels(self.name, _texts(self.name, column))
        if self.kind == "whole":
            return _whole(self.name, column)
        number = Number(self.name, 0.0, False, self.decimal, unit=self.unit)
        floats = (Flag(self.name, 0.0, False) if self.kind == "boolean" else number).floats(column)
        present = ~np.isnan(floats)
        floats = floats[present]
        return floats.astype(bool) if self.kind == "boolean" else floats, present

    def to_json(self) -> dict[str, Any]:
        """Itself as plain data that JSON can hold."""
        state = asdict(self)
        return state if self.unit is not None else {name: state[name] for name in _FIELDS}

    @classmethod
    def from_json(cls, state: Any) -> Target:
        """The target that gave this state; anything else raises ValueError."""
        if not isinstance(state, dict) or set(state) - {"unit"} != set(_FIELDS):
            raise ValueError(f"A target must be an object with the fields {', '.join(_FIELDS)}, and perhaps unit.")
        if state["kind"] not in _KINDS:
            raise ValueError(f"The kind of a target must be one of {', '.join(_KINDS)}.")
        # All but the kind has to be as in a column of numbers.
        likewise = {name: value for name, value in state.items() if name != "kind"}
        column_from_json({**Number("", 0.0, False).to_json(), "placeholders": [], **likewise})
        return cls(**state)


def learn_target(name: str, column: ArrowValues, task: str = "auto") -> tuple[Target, str]:
    """Decide what a target is.

    Parameters
    ----------
    name : str
    column : pyarrow.ChunkedArray
        Its values in training.
    task : {"auto", "regression", "classification"}

    Returns
    -------
    target : Target
    reason : str
        Why it is regression or classification, as a part of a sentence.
    """
    types = arrow().types
    if column.null_count == len(column):
        raise ValueError(f"The target {quoted(name)} has no value in any row; name another column.")
    type = column.type
    if types.is_dictionary(type) or is_text(type):
        return _learn_text(name, _texts(name, column), task)
    if types.is_boolean(type):
        target = Target(name, "number" if task == "regression" else "boolean")
        return target, _reason(task, "the target is boolean")
    if is_number(type):
        return _learn_number(name, column, task)
    raise ValueError(
        f"The target {quoted(name)} holds {describe_type(type)}; it must hold numbers, for regression, or classes."
    )


def _reason(task: str, holds: str) -> str:
    return holds if task == "auto" else "as requested"


def _learn_text(name: str, texts: ArrowValues, task: str) -> tuple[Target, str]:
    pc = arrow("pyarrow.compute")
    distinct = pc.unique(texts).drop_null()
    decimal, unit = number_format(distinct)
    wrong = distinct.filter(pc.is_null(numbers(distinct, decimal, unit)))
    are_numbers = not len(wrong)
    if task == "regression" and not are_numbers:
        raise ValueError(
            f"The target {quoted(name)} holds {quoted(wrong[0].as_py())}, which is not a number; regression needs "
            "numbers, classification can use text."
        )
    if are_numbers and task != "classification" and len(distinct) > _MOST_WHOLE_CLASSES:
        found = f"the target is numeric{f', in {unit}' if unit else ''}"
        return Target(name, "number", decimal, unit), _reason(task, found)
    if task == "regression":
        return Target(name, "number", decimal, unit), "as requested"
    return Target(name, "text"), _reason(task, f"the target has {len(distinct)} different text values")


def _learn_number(name: str, column: ArrowValues, task: str) -> tuple[Target, str]:
    pa, pc = arrow(), arrow("pyarrow.compute")
    distinct = pc.unique(column).drop_null()
    if pa.types.is_floating(distinct.type):
        distinct = distinct.filter(pc.is_finite(distinct))
    if not len(distinct):
        raise ValueError(f"The target {quoted(name)} has no finite value in any row; name another column.")
    fractions = distinct.filter(pc.not_equal(distinct, pc.round(distinct)))
    few = len(distinct) <= min(_MOST_WHOLE_CLASSES, len(column) // _ROWS_PER_CLASS)
    if task == "classification" or (task == "auto" and not len(fractions) and few):
        if len(fractions):
            raise ValueError(
                f"The target {quoted(name)} holds fractions such as {float(fractions[0].as_py()):g}, which cannot be "
                "classes; choose regression."
            )
        kind = "whole" if _fits(distinct) else "text"
        return Target(name, kind), _reason(task, f"the target has {len(distinct)} different whole numbers")
    return Target(name, "number"), _reason(task, "the target is numeric")


def _fits(whole: ArrowValues) -> bool:
    """Whether whole numbers can be integers of 64 bits; larger ones stay text."""
    pa = arrow()
    try:
        whole.cast(pa.int64())
    except pa.ArrowInvalid:
        return False
    return True


def _texts(name: str, column: ArrowValues) -> ArrowValues:
    pa = arrow()
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    try:
        return stripped(column.cast(pa.string()))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise ValueError(
            f"The target {quoted(name)} holds {describe_type(column.type)}, which cannot be classes."
        ) from None


def _labels(name: str, texts: ArrowValues) -> tuple[np.ndarray, np.ndarray]:
    """Text labels, and which rows have one."""
    pc = arrow("pyarrow.compute")
    longest = pc.max(pc.utf8_length(texts)).as_py() or 0
    if longest > _LONGEST_LABEL:
        raise ValueError(
            f"The target {quoted(name)} contains text of {longest:,} characters; classes may have at most "
            f"{_LONGEST_LABEL:,}. Is a quote missing in the file?"
        )
    # NumPy takes such characters at the end of a text for padding.
    if pc.any(pc.ends_with(texts, "\0")).as_py():
        raise ValueError(f"The target {quoted(name)} holds classes that end in a NUL character; remove it.")
    return np.array(texts.drop_null().to_pylist(), dtype=str), np.asarray(texts.is_valid())


def _whole(name: str, column: ArrowValues) -> tuple[np.ndarray, np.ndarray]:
    """Whole numbers, exactly, and which rows have one."""
    pa, pc = arrow(), arrow("pyarrow.compute")
    column = _without_infinite(stripped(column)) if is_text(column.type) else column
    written = is_text(column.type) and pc.all(pc.match_substring_regex(column, r"^-?\d+$")).as_py() is not False
    if written or pa.types.is_integer(column.type):
        try:
            return np.asarray(column.drop_null().cast(pa.int64())), np.asarray(column.is_valid())
        except pa.ArrowInvalid:
            raise _too_large(name) from None
    decimal = decimal_sign(column) if is_text(column.type) else None
    floats = Number(name, 0.0, False, decimal).floats(column)
    present = ~np.isnan(floats)
    floats = floats[present]
    if np.any(floats != np.round(floats)):
        raise ValueError(f"The target {quoted(name)} holds fractions, where it held whole numbers in training.")
    if np.any(np.abs(floats) >= (_LARGEST_INTEGER if decimal is None else _LARGEST_EXACT)):
        raise _too_large(name)
    return floats.astype(np.int64), present


def _without_infinite(texts: ArrowValues) -> ArrowValues:
    """Null where a number is beyond the largest float, which is a missing value in every column."""
    pa, pc = arrow(), arrow("pyarrow.compute")
    infinite = pc.fill_null(pc.is_inf(numbers(texts, ".")), False)
    return pc.if_else(infinite, pa.scalar(None, pa.string()), texts)


def _too_large(name: str) -> ValueError:
    return ValueError(
        f"The target {quoted(name)} holds a larger whole number than it did in training; is it the same column?"
    )
