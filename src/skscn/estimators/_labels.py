"""Class labels as users give them: all numbers, all booleans or all strings."""

from __future__ import annotations

from numbers import Number
from typing import Any

import numpy as np

from skscn.rows import is_dask


def check_labels(y: Any) -> None:
    """Reject labels that are None or of several types, which cannot be compared, sorted or kept in a file."""
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


def _objects(y: Any) -> list:
    """The labels whose types may differ: those in lists, tuples and object arrays or columns."""
    if is_dask(y):
        return []
    if isinstance(y, list | tuple):
        return list(y)
    if getattr(y, "dtype", None) == np.dtype(object) and np.ndim(y) <= 2:
        return np.asarray(y, dtype=object).ravel().tolist()
    return []


def _is_missing(label: Any) -> bool:
    return label is None or (isinstance(label, float) and label != label)


def _kind(label: Any) -> str:
    if isinstance(label, bool | np.bool_):
        return "bool"
    if isinstance(label, str):
        return "str"
    return "number" if isinstance(label, Number) else type(label).__name__
