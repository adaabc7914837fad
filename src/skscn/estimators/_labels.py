"""Class labels as users give them: all numbers, all booleans or all strings."""

from __future__ import annotations

from numbers import Integral, Number
from typing import Any

import numpy as np

from skscn.rows import is_dask
from skscn.words import listed


def check_labels(y: Any) -> None:
    """Reject labels that cannot be told apart, sorted or kept in a file: None, several types, too large integers."""
    labels = _objects(y)
    missing = sum(map(_is_missing, labels))
    if missing:
        raise ValueError(
            f"y has None or NaN in {missing} of {len(labels)} rows; drop these rows, or give them a class of "
            'their own, such as "unknown".'
        )
    kinds = sorted({_kind(label) for label in labels})
    if len(kinds) > 1:
        raise ValueError(
            f"y has class labels of different types, {', '.join(kinds)}; convert them to one type, for example with "
            "[str(label) for label in y]."
        )
    if kinds == ["number"] and not _are_exact(labels):
        raise ValueError(
            f"y holds whole numbers that arrays of numbers cannot tell apart, such as {max(labels, key=abs)}; make "
            "them strings, for example with [str(label) for label in y]."
        )


def numbers_of(y: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """The number of each label among the classes, which are in increasing order; ValueError for another label."""
    try:
        numbers = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
        known = classes[numbers] == y
    except TypeError:
        known = np.zeros(len(y), dtype=bool)
    if not np.all(known):
        others = sorted({str(label) for label in np.asarray(y)[~np.asarray(known)].tolist()})
        raise ValueError(
            f"y has labels that are not among the classes of the model: {listed(others)}; it knows "
            f"{listed(map(str, classes.tolist()))}."
        )
    return np.asarray(numbers)


def _are_exact(labels: list[Any]) -> bool:
    """Whether an array holds these numbers as they are: integers of 64 bits, or, next to fractions, of 53."""
    whole = [int(label) for label in labels if isinstance(label, Integral)]
    if not whole:
        return True
    low, high = min(whole), max(whole)
    if len(whole) < len(labels):
        return max(-low, high) <= 2**53
    return any(np.iinfo(type).min <= low and high <= np.iinfo(type).max for type in (np.int64, np.uint64))


def _objects(y: Any) -> list[Any]:
    """The labels whose types may differ: those in lists, tuples and object arrays or columns."""
    if is_dask(y):
        return []
    if isinstance(y, list | tuple):
        return list(y)
    # Of pandas' own types of text and numbers, those with values that are missing.
    if (getattr(y, "dtype", None) == np.dtype(object) and np.ndim(y) <= 2) or getattr(y, "hasnans", False):
        return np.asarray(y, dtype=object).ravel().tolist()
    return []


def _is_missing(label: Any) -> bool:
    # NA and NaT of pandas have types of these names.
    return (
        label is None or type(label).__name__ in ("NAType", "NaTType") or (isinstance(label, float) and label != label)
    )


def _kind(label: Any) -> str:
    if isinstance(label, bool | np.bool_):
        return "bool"
    if isinstance(label, str):
        return "str"
    return "number" if isinstance(label, Number) else type(label).__name__
