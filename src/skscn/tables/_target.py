"""The column to be predicted: numbers, or classes."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from skscn.tables._columns import Flag, Number, column_from_json, describe_type, is_number, is_text
from skscn.tables._text import arrow, decimal_sign, numbers, stripped

# So many different whole numbers are classes, as far as each of them is there several times.
_MOST_WHOLE_CLASSES = 10
_ROWS_PER_CLASS = 3
TASKS = ("regression", "classification")
# What the values are: numbers, or classes that are texts, whole numbers or truth values.
_KINDS = ("number", "text", "whole", "boolean")


@dataclass(frozen=True)
class Target:
    """The target's column: its name, what it holds, and how it is read.

    Attributes
    ----------
    name : str
    kind : {"number", "text", "whole", "boolean"}
        All but numbers are classes.
    decimal : str or None
        The decimal sign, where numbers are written in a column of texts.
    """

    name: str
    kind: str
    decimal: str | None = None

    @property
    def task(self) -> str:
        """Regression or classification."""
        return "regression" if self.kind == "number" else "classification"

    @property
    def read_type(self):
        """The Arrow type to read it as from a text file."""
        pa = arrow()
        if self.kind == "text" or self.decimal is not None:
            return pa.string()
        return pa.bool_() if self.kind == "boolean" else pa.float64()

    def values(self, column) -> tuple[np.ndarray, np.ndarray]:
        """The values of those rows that have one, and which rows these are."""
        if self.kind == "text":
            texts = _texts(self.name, column)
            present = np.asarray(texts.is_valid())
            return np.array(texts.drop_null().to_pylist(), dtype=str), present
        number = Flag(self.name, 0.0, False) if self.kind == "boolean" else Number(self.name, 0.0, False, self.decimal)
        floats = number.floats(column)
        present = ~np.isnan(floats)
        floats = floats[present]
        if self.kind == "whole":
            return _whole(self.name, floats), present
        return floats.astype(bool) if self.kind == "boolean" else floats, present

    def to_json(self) -> dict:
        """Itself as plain data that JSON can hold."""
        return asdict(self)

    @classmethod
    def from_json(cls, state: Any) -> Target:
        """The target that gave this state; anything else raises ValueError."""
        if not isinstance(state, dict) or set(state) != {"name", "kind", "decimal"}:
            raise ValueError("A target must be an object with exactly the fields name, kind, decimal.")
        if state["kind"] not in _KINDS:
            raise ValueError(f"The kind of a target must be one of {', '.join(_KINDS)}.")
        # Name and decimal sign have to be as in a column of numbers.
        column_from_json(
            {**Number("", 0.0, False).to_json(), "placeholders": [], "name": state["name"], "decimal": state["decimal"]}
        )
        return cls(**state)


def learn_target(name: str, column, task: str = "auto") -> tuple[Target, str]:
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
        raise ValueError(f"The target {name!r} has no value in any row; name another column.")
    type = column.type
    if types.is_dictionary(type) or is_text(type):
        return _learn_text(name, _texts(name, column), task)
    if types.is_boolean(type):
        target = Target(name, "number" if task == "regression" else "boolean")
        return target, _reason(task, "holds true and false")
    if is_number(type):
        return _learn_number(name, column, task)
    raise ValueError(
        f"The target {name!r} holds {describe_type(type)}; it must hold numbers, for regression, or classes."
    )


def _reason(task: str, holds: str) -> str:
    return holds if task == "auto" else "as asked"


def _learn_text(name: str, texts, task: str) -> tuple[Target, str]:
    pc = arrow("pyarrow.compute")
    distinct = pc.unique(texts).drop_null()
    decimal = decimal_sign(distinct)
    are_numbers = numbers(distinct, decimal).null_count == 0
    if task == "regression" and not are_numbers:
        wrong = distinct.filter(pc.is_null(numbers(distinct, decimal)))[0].as_py()
        raise ValueError(
            f"The target {name!r} holds {wrong!r}, which is no number; regression needs numbers, "
            "classification takes texts."
        )
    if are_numbers and task != "classification" and len(distinct) > _MOST_WHOLE_CLASSES:
        return Target(name, "number", decimal), _reason(task, "holds numbers")
    if task == "regression":
        return Target(name, "number", decimal), "as asked"
    return Target(name, "text"), _reason(task, f"holds {len(distinct)} different texts")


def _learn_number(name: str, column, task: str) -> tuple[Target, str]:
    floats = Number(name, 0.0, False).floats(column)
    distinct = np.unique(floats[~np.isnan(floats)])
    whole = bool(np.all(distinct == np.round(distinct)))
    few = len(distinct) <= min(_MOST_WHOLE_CLASSES, len(floats) // _ROWS_PER_CLASS)
    if task == "classification" or (task == "auto" and whole and few):
        if not whole:
            raise ValueError(
                f"The target {name!r} holds fractions such as {distinct[distinct != np.round(distinct)][0]:g}, which "
                "are no classes; choose regression."
            )
        return Target(name, "whole"), _reason(task, f"holds {len(distinct)} different whole numbers")
    return Target(name, "number"), _reason(task, "holds numbers")


def _texts(name: str, column):
    pa = arrow()
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    try:
        return stripped(column.cast(pa.string()))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise ValueError(f"The target {name!r} holds {describe_type(column.type)}, which are no classes.") from None


def _whole(name: str, floats: np.ndarray) -> np.ndarray:
    if np.any(floats != np.round(floats)):
        raise ValueError(f"The target {name!r} holds fractions, where it held whole numbers in training.")
    return floats.astype(np.int64)
