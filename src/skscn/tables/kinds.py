"""Columns from JSON: each kind by its name, and what its fields can hold."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import fields
from typing import Any

from skscn.tables.columns import CYCLES, Category, Clock, Column, Flag, Moment, Number, RowTime
from skscn.tables.target_means import TargetMeans
from skscn.tables.text import DATE_FORMATS

KINDS: dict[str, type[Column]] = {
    kind.kind: kind for kind in (Number, Flag, Moment, RowTime, Clock, Category, TargetMeans)
}


def _text(value: object) -> bool:
    return isinstance(value, str)


def _flag(value: object) -> bool:
    return isinstance(value, bool)


def _finite(value: object) -> bool:
    return isinstance(value, float | int) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def _range(value: object) -> bool:
    return value is None or (
        isinstance(value, list) and len(value) == 2 and all(map(_finite, value)) and value[0] <= value[1]
    )


def _texts(value: object) -> bool:
    return isinstance(value, list) and all(map(_text, value)) and len(set(value)) == len(value)


def _numbers(value: object) -> bool:
    return isinstance(value, list) and len(value) > 0 and all(map(_finite, value))


def _rows_of_numbers(value: object) -> bool:
    return isinstance(value, list) and all(map(_numbers, value))


_CHECKS: dict[str, Callable[[Any], bool]] = {
    "name": _text,
    "fill": lambda value: value is None or _finite(value),
    "indicator": _flag,
    "range": _range,
    "decimal": lambda value: value is None or value in (".", ","),
    "placeholders": _texts,
    "unit": lambda value: value is None or _text(value),
    "format": lambda value: value is None or value in DATE_FORMATS,
    "zoned": _flag,
    "cycles": lambda value: _texts(value) and set(value) <= set(CYCLES),
    "categories": _texts,
    "others": _flag,
    "missing": _flag,
    "levels": _texts,
    "means": _rows_of_numbers,
    "unknown": _numbers,
    "absent": _numbers,
}
# Fields that files of the first version lack.
_SINCE_0_2 = {"range", "unit"}


def column_from_json(state: Any) -> Column:
    """A column from what :meth:`Column.to_json` gave; anything else raises ValueError."""
    kind = state.get("kind") if isinstance(state, dict) else None
    if not isinstance(kind, str) or kind not in KINDS:
        raise ValueError(f"A column must be an object with a kind, one of {', '.join(KINDS)}.")
    names = [field.name for field in fields(KINDS[kind])]
    state = {**dict.fromkeys(_SINCE_0_2 & set(names)), **state}
    if set(state) != {"kind", *names}:
        raise ValueError(f"A column of kind {kind} must have exactly the fields {', '.join(names)}.")
    for name in names:
        if not _CHECKS[name](state[name]):
            raise ValueError(f"The field {name} of a column of kind {kind} has a value that it cannot have.")
    make: Callable[..., Column] = KINDS[kind]
    return make(**{name: tuple(state[name]) if isinstance(state[name], list) else state[name] for name in names})
