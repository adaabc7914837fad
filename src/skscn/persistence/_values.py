"""Arrays that are kept in the header of a model file: classes, other values, and names."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from skscn.persistence._base import Shelf, Sizes, UnusableError, check_keys, shortened

# The size of all classes together, each padded to the longest, as in an array of strings.
_MOST_CHARACTERS = 2**22
_LABELS: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "object": (str, bool, int, float),
    "bool": (bool,),
    **{f"{sign}int{bits}": (int,) for sign in ("", "u") for bits in (8, 16, 32, 64)},
    **{f"float{bits}": (float,) for bits in (16, 32, 64)},
}


class Labels:
    """Classes: numbers, booleans or strings, in their order."""

    def write(self, value: np.ndarray, place: str, shelf: Shelf) -> dict[str, Any]:
        kind = {"U": "str"}.get(value.dtype.kind, value.dtype.name)
        if kind not in _LABELS:
            raise UnusableError(
                f"{place} is an array of {value.dtype}; numbers, booleans and strings can be kept in files"
            )
        return {"type": kind, "values": [_plain_label(label, place) for label in value.tolist()]}

    def read(self, stored: Any, place: str, shelf: Shelf, sizes: Sizes) -> np.ndarray:
        check_keys(stored, {"type", "values"}, place)
        kind, values = stored["type"], stored["values"]
        types = _LABELS.get(kind, ()) if isinstance(kind, str) else ()
        if not isinstance(values, list) or not all(type(value) in types for value in values):
            raise UnusableError(f"{place} is {shortened(stored)}")
        if kind == "str" and len(values) * max(map(len, values), default=0) > _MOST_CHARACTERS:
            raise UnusableError(f"{place} holds strings that are too long for {len(values)} classes")
        try:
            labels = array_of(values, kind)
            # NaN is not a class, and each class occurs once, in increasing order.
            in_order = all(a < b for a, b in pairwise(labels))
        except (OverflowError, TypeError) as error:
            raise UnusableError(f"{place} is {shortened(stored)}: {error}") from error
        if not in_order or len(labels) < 2 or sizes.setdefault("c", len(labels)) != len(labels):
            raise UnusableError(f"{place} does not have its classes in increasing order")
        return labels


class Values:
    """A one-dimensional array whose values are in the header: numbers, booleans or strings.

    Parameters
    ----------
    nan : bool
        Whether NaN and None, which stand for missing values, may be among them.
    """

    def __init__(self, *, nan: bool = False):
        self.nan = nan

    def write(self, value: np.ndarray, place: str, shelf: Shelf) -> dict[str, Any]:
        kind = {"U": "str"}.get(value.dtype.kind, value.dtype.name)
        if kind not in _LABELS:
            raise UnusableError(
                f"{place} is an array of {value.dtype}; numbers, booleans and strings can be kept in files"
            )
        return {"type": kind, "values": [self._written(item, place) for item in value.tolist()]}

    def _written(self, item: Any, place: str) -> Any:
        if self.nan and (item is None or (type(item) is float and not np.isfinite(item))):
            return {"float": str(item)} if item is not None else None
        return _plain_label(item, place)

    def read(self, stored: Any, place: str, shelf: Shelf, sizes: Sizes) -> np.ndarray:
        check_keys(stored, ("type", "values"), place)
        kind, items = stored["type"], stored["values"]
        types = _LABELS.get(kind, ()) if isinstance(kind, str) else ()
        if not types or not isinstance(items, list):
            raise UnusableError(f"{place} is {shortened(stored)}")
        values = [self._read(item, kind, types, place) for item in items]
        if kind == "str" and len(values) * max(map(len, values), default=0) > _MOST_CHARACTERS:
            raise UnusableError(f"{place} holds strings that are too long for {len(values)} values")
        array = np.empty(len(values), dtype=object)
        array[:] = values
        try:
            return array if kind == "object" else array_of(values, kind)
        except OverflowError as error:
            raise UnusableError(f"{place} is {shortened(stored)}: {error}") from error

    def _read(self, item: Any, kind: str, types: tuple[type, ...], place: str) -> Any:
        if type(item) in types:
            return item
        if self.nan and item is None and kind == "object":
            return None
        if self.nan and float in types and item in ({"float": "nan"}, {"float": "inf"}, {"float": "-inf"}):
            return float(item["float"])
        raise UnusableError(f"{place} holds {shortened(item)}")


class Names:
    """Names of the inputs, as in scikit-learn."""

    def write(self, value: np.ndarray, place: str, shelf: Shelf) -> list[str]:
        return list(value.tolist())

    def read(self, stored: Any, place: str, shelf: Shelf, sizes: Sizes) -> np.ndarray:
        if not isinstance(stored, list) or not all(isinstance(name, str) for name in stored):
            raise UnusableError(f"{place} does not hold names")
        if sizes.setdefault("d", len(stored)) != len(stored):
            raise UnusableError(f"{place} holds {len(stored)} names for {sizes['d']} inputs")
        return np.array(stored, dtype=object)


class Text:
    """A string."""

    def write(self, value: str, place: str, shelf: Shelf) -> str:
        return value

    def read(self, stored: Any, place: str, shelf: Shelf, sizes: Sizes) -> str:
        if not isinstance(stored, str) or len(stored) > _MOST_CHARACTERS:
            raise UnusableError(f"{place} is {shortened(stored)}")
        return stored


def _plain_label(label: Any, place: str) -> Any:
    if type(label) not in (str, bool, int, float):
        raise UnusableError(f"{place} holds {shortened(label)}; numbers, booleans and strings can be kept in files")
    return label


def array_of(values: list[Any], kind: str) -> np.ndarray:
    """An array of this kind; an OverflowError for an integer that it cannot hold, which NumPy 1 would let overflow."""
    if np.dtype(kind).kind in "iu" and values:
        bounds = np.iinfo(kind)
        if min(values) < bounds.min or max(values) > bounds.max:
            raise OverflowError(f"a value is outside the range of {kind}")
    return np.array(values, dtype=kind)
