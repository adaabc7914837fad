"""How values are stored in a model file: each field reads back only what it could have written.

Arrays are stored under the name of their place, such as ``network_.weights``, and their shape is in the header.
Shapes are written in letters, and a letter has one value among the fields of one model: arrays that do not fit together
are rejected before anything is built from them.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from skscn.persistence._base import Shelf, Sizes, UnusableError, at, check_keys, shortened

# A Python float: a comparison with an int, however large, does not overflow.
_FINITE = sys.float_info.max


@dataclass(frozen=True)
class Array:
    """An array of one type and shape.

    Attributes
    ----------
    dtype : type
    dimensions : str
        A letter for each dimension.
    finite : bool
        Whether all its numbers must be finite.
    lowest, highest : float
        Bounds of the numbers.
    flat : bool
        Whether the last dimension is dropped if it is 1.
    """

    dtype: type
    dimensions: str
    finite: bool = True
    lowest: float = -np.inf
    highest: float = np.inf
    flat: bool = False

    def write(self, value: np.ndarray, place: str, shelf: Shelf) -> list[int]:
        if not np.can_cast(value.dtype, self.dtype):
            raise UnusableError(f"{place} is an array of {value.dtype}, not of {np.dtype(self.dtype)}")
        shelf.arrays[place] = np.ascontiguousarray(value, dtype=self.dtype)
        return list(value.shape)

    def read(self, stored: Any, place: str, shelf: Shelf, sizes: Sizes) -> np.ndarray:
        array = shelf.take(place)
        if array.dtype != self.dtype or stored != list(array.shape):
            raise UnusableError(f"{place} is an array of {array.dtype} and shape {array.shape}, which is unexpected")
        flattened = self.flat and array.ndim == len(self.dimensions) - 1
        shape = (*array.shape, 1) if flattened else array.shape
        if len(shape) != len(self.dimensions) or any(
            sizes.setdefault(letter, length) != length for letter, length in zip(self.dimensions, shape, strict=True)
        ):
            raise UnusableError(f"{place} has the shape {array.shape}, which does not fit the other arrays")
        self._check_values(array, place)
        return array

    def _check_values(self, array: np.ndarray, place: str) -> None:
        if self.finite and not np.isfinite(array).all():
            raise UnusableError(f"{place} holds numbers that are not finite")
        if ((array < self.lowest) | (array > self.highest)).any():
            raise UnusableError(f"{place} holds numbers below {self.lowest} or above {self.highest}")


class Sparse:
    """A sparse matrix by columns, float64, square with sides of one letter."""

    def __init__(self, letter: str):
        self.letter = letter

    @staticmethod
    def _parts(index: str) -> dict[str, Array]:
        whole = {"int32": np.int32, "int64": np.int64}[index]
        return {"data": Array(np.float64, "e"), "indices": Array(whole, "e"), "indptr": Array(whole, "i")}

    def write(self, value: sparse.csc_array, place: str, shelf: Shelf) -> dict[str, Any]:
        index = value.indices.dtype.name
        parts = self._parts(index)
        arrays = {name: part.write(getattr(value, name), at(place, name), shelf) for name, part in parts.items()}
        return {"index": index, **arrays}

    def read(self, stored: Any, place: str, shelf: Shelf, sizes: Sizes) -> sparse.csc_array:
        check_keys(stored, ("index", "data", "indices", "indptr"), place)
        parts = self._parts(Enumerated("int32", "int64").read(stored["index"], at(place, "index"), shelf, sizes))
        own: Sizes = {}
        arrays = [part.read(stored[name], at(place, name), shelf, own) for name, part in parts.items()]
        side = own["i"] - 1
        if sizes.setdefault(self.letter, side) != side:
            raise UnusableError(f"{place} is of size {side}, which does not fit the other arrays")
        try:
            matrix = sparse.csc_array(tuple(arrays), shape=(side, side))
            # An index that points outside would be read, or written, outside.
            matrix.check_format(full_check=True)
        except ValueError as error:
            raise UnusableError(f"{place} is not a sparse matrix: {error}") from error
        return matrix


@dataclass(frozen=True)
class Scalar:
    """A float or, with ``whole``, an int, within limits."""

    lowest: float = -np.inf
    highest: float = np.inf
    whole: bool = False
    nan: bool = False

    def write(self, value: float, place: str, shelf: Shelf) -> float | int | None:
        return None if np.isnan(value) else value.item() if isinstance(value, np.generic) else value

    def read(self, stored: Any, place: str, shelf: Shelf, sizes: Sizes) -> float | int:
        if stored is None and self.nan:
            return float("nan")
        kinds = (int,) if self.whole else (int, float)
        if type(stored) not in kinds or not max(self.lowest, -_FINITE) <= stored <= min(self.highest, _FINITE):
            raise UnusableError(f"{place} is {shortened(stored)}")
        return stored if self.whole else float(stored)


class Enumerated:
    """One of some strings, booleans or None."""

    def __init__(self, *choices: str | bool | None):
        self.choices = choices

    def write(self, value: Any, place: str, shelf: Shelf) -> Any:
        return bool(value) if isinstance(value, np.bool_) else value

    def read(self, stored: Any, place: str, shelf: Shelf, sizes: Sizes) -> Any:
        if type(stored) not in (str, bool, type(None)) or stored not in self.choices:
            raise UnusableError(f"{place} is {shortened(stored)}")
        return stored


class Triangle:
    """An upper triangular matrix with sides of one letter; what is below the diagonal is not stored."""

    def __init__(self, letter: str):
        self.letter = letter
        self.upper = Array(np.float64, "u")

    def write(self, value: np.ndarray, place: str, shelf: Shelf) -> dict[str, Any]:
        upper = value[np.triu_indices(len(value))]
        return {"side": len(value), "upper": self.upper.write(upper, at(place, "upper"), shelf)}

    def read(self, stored: Any, place: str, shelf: Shelf, sizes: Sizes) -> np.ndarray:
        check_keys(stored, ("side", "upper"), place)
        upper = self.upper.read(stored["upper"], at(place, "upper"), shelf, {})
        side = Scalar(0, 2**31, whole=True).read(stored["side"], at(place, "side"), shelf, sizes)
        if len(upper) != side * (side + 1) // 2 or sizes.setdefault(self.letter, int(side)) != side:
            raise UnusableError(f"{place} is of size {side}, which does not fit the other arrays")
        matrix = np.zeros((int(side), int(side)))
        matrix[np.triu_indices(len(matrix))] = upper
        return matrix
