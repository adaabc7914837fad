"""Groups of rows, such as those of a patient, or series of several machines: which of them each row belongs to."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from skscn.tables import TableFile
from skscn.words import count, listed, quoted

_NAMED = 5
# Whole numbers below are exact in a float.
_LARGEST = 2**53


def labels_of(name: str, table: Any, *, several: bool = False) -> np.ndarray:
    """The group that each row belongs to, as text; ValueError if one is missing, or if there should be several."""
    column = table.column(name).cast("string")
    if column.null_count:
        first = int(np.argmax(column.is_null().to_numpy())) + 1
        raise ValueError(
            f"{quoted(name)} is missing in {count(column.null_count, 'row')}, the first of which is row {first}; with "
            "--group, every row needs to belong to a group."
        )
    labels = np.array([_plain(label) for label in column.to_pylist()], dtype=str)
    if several and len(labels) and np.all(labels == labels[0]):
        raise ValueError(
            f"{quoted(name)} is {quoted(labels[0])} in all rows, so no group can be held out; leave --group out."
        )
    return labels


def _plain(label: str) -> str:
    """A label without what depends on how it was read: a whole number is the same as text and with decimals."""
    try:
        number = float(label)
    except ValueError:
        return label.strip()
    return str(int(number)) if number.is_integer() and abs(number) < _LARGEST else label.strip()


def check_has_group(name: str | None, file: TableFile) -> None:
    """Raise ValueError if a table lacks the column that tells its series apart."""
    if name is not None and name not in file.names:
        raise ValueError(
            f"{file.label} lacks the column {quoted(name)}, which says which of several series a row belongs to."
        )


def check_known(name: str, labels: np.ndarray, known: Collection[Any]) -> None:
    """Raise ValueError for rows of a series that was not in training."""
    new = [label for label in np.unique(labels).tolist() if label not in known]
    if not new:
        return
    raise ValueError(
        f"{quoted(name)} has the value {quoted(new[0])}, which was not in training (it had {named(known)}); leave "
        "these rows out, or fit a model with them."
    )


def named(labels: Collection[Any]) -> str:
    """Some of the labels, in words."""
    some = listed([quoted(str(label)) for label in list(labels)[:_NAMED]])
    return f"{some}{' and others' if len(labels) > _NAMED else ''}"
