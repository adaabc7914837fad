"""How values are stored in a model file: each field reads back only what it could have written.

Arrays are stored under the name of their place, such as ``network_.weights``, and their shape is in the header.
Shapes are written in letters, and a letter has one value among the fields of one model: arrays that do not fit together
are rejected before anything is built from them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from reprlib import Repr
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from skscn.activations import ACTIVATIONS, Activation, Function, resolve_activation

# A Python float: a comparison with an int, however large, does not overflow.
_FINITE = sys.float_info.max
# The size of all classes together, each padded to the longest, as in an array of strings.
_MOST_CHARACTERS = 2**22
_SHORT = Repr()
_SHORT.maxstring = _SHORT.maxother = 60


class UnusableError(ValueError):
    """A value that cannot be kept in a file, or that a file should not contain; the message says which."""


@dataclass
class Shelf:
    """The arrays of a file, and what the reader was given in addition to the file.

    Attributes
    ----------
    arrays : dict of str to ndarray
        A reader removes those that it uses, so that arrays nothing refers to are left over.
    activations : mapping of str to function
        The user's custom activations.
    """

    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    activations: Mapping[str, Activation | Function] = field(default_factory=dict)

    def take(self, place: str) -> np.ndarray:
        """The array of a place."""
        if place not in self.arrays:
            raise UnusableError(f"the array {place} is missing")
        return self.arrays.pop(place)


Sizes = dict[str, int]


class Field(Protocol):
    """A kind of value: written as JSON, with its arrays on the shelf, and read from there."""

    def write(self, value: Any, place: str, shelf: Shelf) -> Any:
        """JSON."""

    def read(self, stored: Any, place: str, shelf: Shelf, sizes: Sizes) -> Any:
        """The value; UnusableError if no value would have been written like this."""


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

    def write(self, value: sparse.csc_array, place: str, shelf: Shelf) -> dict:
        index = value.indices.dtype.name
        parts = self._parts(index)
        arrays = {name: part.write(getattr(value, name), at(place, name), shelf) for name, part in parts.items()}
        return {"index": index, **arrays}

    def read(self, stored: Any, place: str, shelf: Shelf, sizes: Sizes) -> sparse.csc_array:
        check_keys(stored, ("index", "data", "indices", "indptr"), place)
        parts = self._parts(Choice("int32", "int64").read(stored["index"], at(place, "index"), shelf, sizes))
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
class Number:
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


class Choice:
    """One of some strings, booleans or None."""

    def __init__(self, *choices: str | bool | None):
        self.choices = choices

    def write(self, value: Any, place: str, shelf: Shelf) -> Any:
        return bool(value) if isinstance(value, np.bool_) else value

    def read(self, stored: Any, place: str, shelf: Shelf, sizes: Sizes) -> Any:
        if type(stored) not in (str, bool, type(None)) or stored not in self.choices:
            raise UnusableError(f"{place} is {shortened(stored)}")
        return stored


class Optional:
    """Something, or None."""

    def __init__(self, something: Field):
        self.something = something

    def write(self, value: Any, place: str, shelf: Shelf) -> Any:
        return None if value is None else self.something.write(value, place, shelf)

    def read(self, stored: Any, place: str, shelf: Shelf, sizes: Sizes) -> Any:
        return None if stored is None else self.something.read(stored, place, shelf, sizes)


class Several:
    """A list of values of one kind.

    Parameters
    ----------
    item : Field
    apart : bool
        Whether letters may have different values in each of them.
    as_tuple : bool
    """

    def __init__(self, item: Field, *, apart: bool = False, as_tuple: bool = False):
        self.item, self.apart, self.as_tuple = item, apart, as_tuple

    def write(self, value: Any, place: str, shelf: Shelf) -> list:
        return [self.item.write(item, at(place, number), shelf) for number, item in enumerate(value)]

    def read(self, stored: Any, place: str, shelf: Shelf, sizes: Sizes) -> list | tuple:
        if not isinstance(stored, list):
            raise UnusableError(f"{place} is not a list")
        values = [
            self.item.read(item, at(place, number), shelf, {} if self.apart else sizes)
            for number, item in enumerate(stored)
        ]
        return tuple(values) if self.as_tuple else values


class Record:
    """An object with some attributes, made by calling its class with them.

    Parameters
    ----------
    make : callable
    check : callable
        Raises UnusableError for attributes that do not fit together.
    fields : Field
        For each attribute.
    """

    def __init__(self, make: Callable, check: Callable[[Any], None] = lambda made: None, **fields: Field):
        self.make, self.check, self.fields = make, check, fields

    def write(self, value: Any, place: str, shelf: Shelf) -> dict:
        return {
            name: attribute.write(getattr(value, name), at(place, name), shelf)
            for name, attribute in self.fields.items()
        }

    def read(self, stored: Any, place: str, shelf: Shelf, sizes: Sizes) -> Any:
        check_keys(stored, self.fields, place)
        made = self.make(
            **{
                name: attribute.read(stored[name], at(place, name), shelf, sizes)
                for name, attribute in self.fields.items()
            }
        )
        self.check(made)
        return made


class OneOf:
    """An object of one of several classes, preceded by the name of its class.

    Parameters
    ----------
    what : str
        What they are, for messages.
    fields : mapping of str to Field
        For each name of a class.
    """

    def __init__(self, what: str, fields: Mapping[str, Field]):
        self.what, self.fields = what, fields

    def write(self, value: Any, place: str, shelf: Shelf) -> dict:
        name = type(value).__name__
        if name not in self.fields:
            raise UnusableError(
                f"{name} is not one of the {self.what} that files can hold: {', '.join(self.fields)}; for a wrapper, "
                "save the estimator within it, such as regressor_ or best_estimator_"
            )
        return {"class": name, **self.fields[name].write(value, place, shelf)}

    def read(self, stored: Any, place: str, shelf: Shelf, sizes: Sizes) -> Any:
        name = stored.get("class") if isinstance(stored, dict) else None
        if not isinstance(name, str) or name not in self.fields:
            raise UnusableError(
                f"{place or 'the model'} is {shortened(name)}, which is not one of the supported {self.what}"
            )
        rest = {key: value for key, value in stored.items() if key != "class"}
        return self.fields[name].read(rest, place, shelf, sizes)


class Activations:
    """An activation, by its name; one that is not registered has to be given again when the file is loaded."""

    def write(self, value: Activation | Function, place: str, shelf: Shelf) -> dict:
        activation = resolve_activation(value)
        return {"name": activation.name, "registered": ACTIVATIONS.get(activation.name) == activation}

    def read(self, stored: Any, place: str, shelf: Shelf, sizes: Sizes) -> Activation:
        return resolve_activation(self.read_as_given(stored, place, shelf))

    def read_as_given(self, stored: Any, place: str, shelf: Shelf) -> Activation | Function:
        """The activation parameter of an estimator, which may be a plain function."""
        check_keys(stored, ("name", "registered"), place)
        name, known = stored["name"], ACTIVATIONS if stored["registered"] is True else shelf.activations
        if not isinstance(name, str):
            raise UnusableError(f"{place} is {shortened(stored)}")
        if name not in known:
            raise UnusableError(
                f"its activation {shortened(name)} is not one of skscn's; pass it when loading: "
                f"load_model(path, activations={{{shortened(name)}: function}})"
            )
        return known[name]


_LABELS: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "object": (str, bool, int, float),
    "bool": (bool,),
    **{f"{sign}int{bits}": (int,) for sign in ("", "u") for bits in (8, 16, 32, 64)},
    **{f"float{bits}": (float,) for bits in (16, 32, 64)},
}


class Labels:
    """Classes: numbers, booleans or strings, in their order."""

    def write(self, value: np.ndarray, place: str, shelf: Shelf) -> dict:
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


def array_of(values: list[Any], kind: str) -> np.ndarray:
    """An array of this kind; an OverflowError for an integer that it cannot hold, which NumPy 1 would let overflow."""
    if np.dtype(kind).kind in "iu" and values:
        bounds = np.iinfo(kind)
        if min(values) < bounds.min or max(values) > bounds.max:
            raise OverflowError(f"a value is outside the range of {kind}")
    return np.array(values, dtype=kind)


class Values:
    """A one-dimensional array whose values are in the header: numbers, booleans or strings.

    Parameters
    ----------
    nan : bool
        Whether NaN and None, which stand for missing values, may be among them.
    """

    def __init__(self, *, nan: bool = False):
        self.nan = nan

    def write(self, value: np.ndarray, place: str, shelf: Shelf) -> dict:
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
        return value.tolist()

    def read(self, stored: Any, place: str, shelf: Shelf, sizes: Sizes) -> np.ndarray:
        if not isinstance(stored, list) or not all(isinstance(name, str) for name in stored):
            raise UnusableError(f"{place} does not hold names")
        if sizes.setdefault("d", len(stored)) != len(stored):
            raise UnusableError(f"{place} holds {len(stored)} names for {sizes['d']} inputs")
        return np.array(stored, dtype=object)


def _plain_label(label: Any, place: str) -> str | bool | int | float:
    if type(label) not in (str, bool, int, float):
        raise UnusableError(f"{place} holds {shortened(label)}; numbers, booleans and strings can be kept in files")
    return label


def at(place: str, name: str | int) -> str:
    """The place of a part within its whole."""
    return f"{place}.{name}" if place else str(name)


def check_class(value: Any, cls: type) -> None:
    """Reject another class, which may have the same name."""
    if type(value) is not cls:
        raise UnusableError(
            f"its class is {type(value).__module__}.{type(value).__qualname__}, not {cls.__module__}.{cls.__name__}"
        )


def check_keys(stored: Any, wanted: Collection[str], place: str) -> None:
    """Reject a value that does not consist of these."""
    if not isinstance(stored, dict) or set(stored) != set(wanted):
        found = shortened(list(stored) if isinstance(stored, dict) else stored)
        raise UnusableError(f"{place or 'the model'} consists of {found}, and not of {', '.join(wanted)}")


def shortened(value: Any) -> str:
    """A value for a message, shortened if it is long."""
    return _SHORT.repr(value)
