"""The grammar of model files: how values, arrays, dataclasses and lists are written, and read back.

A field writes a value as JSON, with its arrays in the store, and reads back only what it could have written;
everything else raises UnusableError. Arrays are stored under the dotted name of their place, such as
``network_.coefficients``, and their shapes are in the header. Shapes are declared in letters, and a letter has one size
within an estimator: arrays that do not fit together are rejected before anything is built from them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, is_dataclass, replace
from importlib import import_module
from itertools import pairwise
from reprlib import Repr
from typing import Any, get_type_hints

import numpy as np
from scipy import sparse

from skscn.activations import ACTIVATIONS, Activation, Function, resolve_activation

_SHORT = Repr()
_SHORT.maxstring = _SHORT.maxother = 60
# A Python float: a comparison with an int, however large, does not overflow.
_FINITE = sys.float_info.max
# The size of all strings of an array together, each padded to the longest.
_MOST_CHARACTERS = 2**22


class UnusableError(ValueError):
    """A value that cannot be kept in a file, or that a file should not contain; the message says which."""


def refuse_if(condition: object, reason: str) -> None:
    """Raise UnusableError under a condition."""
    if condition:
        raise UnusableError(reason)


@contextmanager
def refusals(reason: str, *errors: type[Exception]) -> Iterator[None]:
    """Turn ValueErrors, TypeErrors and further errors of other code into UnusableError."""
    try:
        yield
    except UnusableError:
        raise
    except (ValueError, TypeError) as error:
        raise UnusableError(f"{reason}{error}") from error
    except errors as error:
        raise UnusableError(f"{reason}{error}") from error


def shorten(value: Any) -> str:
    """A value for a message, shortened if it is long."""
    return _SHORT.repr(value)


@dataclass
class ArrayStore:
    """The arrays of a file, and what the reader was given in addition to the file.

    Attributes
    ----------
    arrays : dict of str to ndarray
        A reader removes those that it uses, so that arrays nothing refers to are left over.
    activations : mapping of str to function
        The user's custom activations.
    updatable : bool
        Whether what further rows can join is written.
    shared : list
        Objects that others refer to by their number, in the order in which they were written or read.
    """

    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    activations: Mapping[str, Activation | Function] = field(default_factory=dict)
    updatable: bool = True
    shared: list[Any] = field(default_factory=list)


@dataclass(frozen=True)
class Place:
    """A place in a file: the store, a dotted name, and the sizes of the letters that are known so far."""

    store: ArrayStore
    path: str = ""
    sizes: dict[str, int] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.path or "the model"

    def at(self, *names: str | int) -> Place:
        """The place of a part."""
        return replace(self, path=".".join(map(str, (self.path, *names) if self.path else names)))

    def apart(self) -> Place:
        """The same place with sizes of its own."""
        return replace(self, sizes={})

    def fits(self, letter: str, size: int) -> bool:
        """Whether a letter has this size, or has none yet."""
        return self.sizes.setdefault(letter, size) == size

    def refusal(self, stored: Any) -> UnusableError:
        """An error for JSON that no value would have been written as."""
        return UnusableError(f"{self} is {shorten(stored)}")


def check_keys(stored: Any, wanted: Collection[str], place: Place) -> None:
    """Reject a value that does not consist of these."""
    if not isinstance(stored, dict) or set(stored) != set(wanted):
        found = shorten(list(stored) if isinstance(stored, dict) else stored)
        raise UnusableError(f"{place} consists of {found}, and not of {', '.join(wanted)}")


def split_name(stored: Any, key: str, known: Collection[str], what: str, place: Place) -> tuple[str, dict[str, Any]]:
    """The name under a key, which must be known, and the other contents."""
    name = stored.get(key) if isinstance(stored, dict) else None
    if not isinstance(name, str) or name not in known:
        raise UnusableError(f"{place} is {shorten(name)}, which is not one of the {what}")
    return name, {other: value for other, value in stored.items() if other != key}


class Field:
    """A kind of value: written as JSON, with its arrays in the store, and read from there."""

    def write(self, value: Any, place: Place) -> Any:
        """The JSON that stands for a value."""
        return value

    def read(self, stored: Any, place: Place) -> Any:
        """The value; UnusableError if no value would have been written like this."""
        raise NotImplementedError


@dataclass(frozen=True)
class Scalar(Field):
    """A float or, with ``whole``, an int, within limits; with ``nan``, NaN is written as null."""

    lowest: float = -np.inf
    highest: float = np.inf
    whole: bool = False
    nan: bool = False

    def write(self, value: float, place: Place) -> float | int | None:
        return None if np.isnan(value) else value.item() if isinstance(value, np.generic) else value

    def read(self, stored: Any, place: Place) -> Any:
        if stored is None and self.nan:
            return float("nan")
        kinds = (int,) if self.whole else (int, float)
        if type(stored) not in kinds or not max(self.lowest, -_FINITE) <= stored <= min(self.highest, _FINITE):
            raise place.refusal(stored)
        return stored if self.whole else float(stored)


class Choice(Field):
    """One of some strings, booleans or None."""

    def __init__(self, *choices: str | bool | None):
        self.choices = choices

    def write(self, value: Any, place: Place) -> Any:
        return bool(value) if isinstance(value, np.bool_) else value

    def read(self, stored: Any, place: Place) -> Any:
        if type(stored) not in (str, bool, type(None)) or stored not in self.choices:
            raise place.refusal(stored)
        return stored


class Text(Field):
    """A string, of a certain length if one is given."""

    def __init__(self, length: int | None = None):
        self.length = length

    def read(self, stored: Any, place: Place) -> str:
        if not isinstance(stored, str) or self.length not in (None, len(stored)):
            raise place.refusal(stored)
        return stored


FLAG, COUNT, POSITIVE = Choice(False, True), Scalar(0, 2**53, whole=True), Scalar(0.0)
# A seed, or the number of some columns; and a number of inputs.
SMALL, INPUTS = Scalar(0, 2**31, whole=True), Scalar(1, 2**53, whole=True)


class ActivationField(Field):
    """An activation, by its name; one that is not registered has to be given again when the file is loaded.

    The activation parameter of an estimator is read ``as_given``, which may be a plain function.
    """

    def __init__(self, *, as_given: bool = False):
        self.as_given = as_given

    def write(self, value: Activation | Function, place: Place) -> dict[str, Any]:
        activation = resolve_activation(value)
        return {"name": activation.name, "registered": ACTIVATIONS.get(activation.name) == activation}

    def read(self, stored: Any, place: Place) -> Activation | Function:
        check_keys(stored, ("name", "registered"), place)
        name = Text().read(stored["name"], place)
        known = ACTIVATIONS if stored["registered"] is True else place.store.activations
        if name not in known:
            raise UnusableError(
                f"its activation {shorten(name)} is not one of skscn's; pass it when loading: "
                f"load_model(path, activations={{{shorten(name)}: function}})"
            )
        return known[name] if self.as_given else resolve_activation(known[name])


@dataclass(frozen=True)
class Array(Field):
    """An array of one type and shape.

    Attributes
    ----------
    letters : str
        One for each dimension.
    dtype : type
    finite : bool
        Whether all its numbers must be finite.
    lowest, highest : float
        Bounds of the numbers.
    flat : bool
        Whether the last dimension is dropped if it is 1.
    """

    letters: str
    dtype: type = np.float64
    finite: bool = True
    lowest: float = -np.inf
    highest: float = np.inf
    flat: bool = False

    def write(self, value: np.ndarray, place: Place) -> list[int]:
        if not np.can_cast(value.dtype, self.dtype):
            raise UnusableError(f"{place} is an array of {value.dtype}, not of {np.dtype(self.dtype)}")
        place.store.arrays[place.path] = np.ascontiguousarray(value, dtype=self.dtype)
        return list(value.shape)

    def read(self, stored: Any, place: Place) -> np.ndarray:
        refuse_if(place.path not in place.store.arrays, f"the array {place} is missing")
        array = place.store.arrays.pop(place.path)
        if array.dtype != self.dtype or stored != list(array.shape):
            raise UnusableError(f"{place} is an array of {array.dtype} and shape {array.shape}, which is unexpected")
        shape = (*array.shape, 1) if self.flat and array.ndim == len(self.letters) - 1 else array.shape
        if len(shape) != len(self.letters) or not all(map(place.fits, self.letters, shape)):
            raise UnusableError(f"{place} has the shape {array.shape}, which does not fit the other arrays")
        refuse_if(self.finite and not np.isfinite(array).all(), f"{place} holds numbers that are not finite")
        outside = ((array < self.lowest) | (array > self.highest)).any()
        refuse_if(outside, f"{place} holds numbers below {self.lowest} or above {self.highest}")
        return array


class Sparse(Field):
    """A sparse matrix by columns, float64, square with sides of one letter."""

    def __init__(self, letter: str):
        self.letter = letter

    @staticmethod
    def _arrays(index: str) -> Record:
        whole = np.dtype(index).type
        return Record(dict, data="e", indices=Array("e", whole), indptr=Array("i", whole))

    def write(self, value: sparse.csc_array, place: Place) -> dict[str, Any]:
        index = value.indices.dtype.name
        return {"index": index, **self._arrays(index).write(value, place)}

    def read(self, stored: Any, place: Place) -> sparse.csc_array:
        index, stored = split_name(stored, "index", ("int32", "int64"), "types of indices", place)
        own = place.apart()
        arrays = self._arrays(index).read(stored, own)
        side = own.sizes["i"] - 1
        refuse_if(not place.fits(self.letter, side), f"{place} is of size {side}, which does not fit the other arrays")
        with refusals(f"{place} is not a sparse matrix: "):
            matrix = sparse.csc_array((arrays["data"], arrays["indices"], arrays["indptr"]), shape=(side, side))
            # An index that points outside would be read, or written, outside.
            matrix.check_format(full_check=True)
        return matrix


class Triangle(Field):
    """An upper triangular matrix with sides of one letter; what is below the diagonal is not stored."""

    def __init__(self, letter: str):
        self.letter = letter

    def write(self, value: np.ndarray, place: Place) -> dict[str, Any]:
        upper = value[np.triu_indices(len(value))]
        return {"side": len(value), "upper": Array("u").write(upper, place.at("upper"))}

    def read(self, stored: Any, place: Place) -> np.ndarray:
        parts = Record(dict, upper="u", side=SMALL).read(stored, place.apart())
        upper, side = parts["upper"], parts["side"]
        if len(upper) != side * (side + 1) // 2 or not place.fits(self.letter, side):
            raise UnusableError(f"{place} is of size {side}, which does not fit the other arrays")
        matrix = np.zeros((side, side))
        matrix[np.triu_indices(side)] = upper
        return matrix


NUMBERS: dict[str, tuple[type, ...]] = {
    "bool": (bool,),
    **{f"{sign}int{bits}": (int,) for sign in ("", "u") for bits in (8, 16, 32, 64)},
    **{f"float{bits}": (float,) for bits in (16, 32, 64)},
}
_ITEMS = {"str": (str,), "object": (str, bool, int, float), **NUMBERS}


class Values(Field):
    """A one-dimensional array whose values are in the header: numbers, booleans or strings.

    Parameters
    ----------
    missing : bool
        Whether None and numbers that are not finite may be among them.
    kinds : str
        Letters of the kinds of NumPy's types that it may have.
    """

    def __init__(self, *, missing: bool = False, kinds: str = "biufUO"):
        self.missing, self.kinds = missing, kinds

    def write(self, value: np.ndarray, place: Place) -> dict[str, Any]:
        name = {"U": "str"}.get(value.dtype.kind, value.dtype.name)
        if name not in _ITEMS or value.dtype.kind not in self.kinds:
            known = "numbers, booleans and strings" if "U" in self.kinds else "tuples, and arrays of numbers,"
            raise UnusableError(f"{place} is an array of {value.dtype}; {known} can be kept in files")
        return {"type": name, "values": [self._write_item(item, place) for item in value.tolist()]}

    def _write_item(self, item: Any, place: Place) -> Any:
        if self.missing and (item is None or (type(item) is float and not np.isfinite(item))):
            return None if item is None else {"float": str(item)}
        if type(item) not in (str, bool, int, float):
            raise UnusableError(f"{place} holds {shorten(item)}; numbers, booleans and strings can be kept in files")
        return item

    def read(self, stored: Any, place: Place) -> np.ndarray:
        check_keys(stored, ("type", "values"), place)
        name, items = stored["type"], stored["values"]
        if not isinstance(name, str) or name not in _ITEMS or not isinstance(items, list):
            raise place.refusal(stored)
        values, dtype = [self._read_item(item, name, place) for item in items], np.dtype(name)
        refuse_if(dtype.kind not in self.kinds, f"{place} is an array of {name}")
        if name == "str" and len(values) * max(map(len, values), default=0) > _MOST_CHARACTERS:
            raise UnusableError(f"{place} holds strings that are too long for {len(values)} values")
        # NumPy 1 would let integers overflow.
        if dtype.kind in "iu" and values and not np.iinfo(name).min <= min(values) <= max(values) <= np.iinfo(name).max:
            raise UnusableError(f"{place} is {shorten(stored)}: a value is outside the range of {name}")
        return np.array(values, dtype=dtype)

    def _read_item(self, item: Any, name: str, place: Place) -> Any:
        if type(item) in _ITEMS[name] or (self.missing and item is None and name == "object"):
            return item
        if self.missing and float in _ITEMS[name] and item in ({"float": "nan"}, {"float": "inf"}, {"float": "-inf"}):
            return float(item["float"])
        raise UnusableError(f"{place} holds {shorten(item)}")


class Labels(Values):
    """Classes: at least two, each once, in increasing order; there are c of them."""

    def read(self, stored: Any, place: Place) -> np.ndarray:
        labels = super().read(stored, place)
        with refusals(f"{place} is {shorten(stored)}: "):
            # NaN is not a class.
            in_order = all(a < b for a, b in pairwise(labels))
        if not in_order or len(labels) < 2 or not place.fits("c", len(labels)):
            raise UnusableError(f"{place} does not have its classes in increasing order")
        return labels


class Names(Field):
    """Names of the inputs, as in scikit-learn, or None."""

    def write(self, value: np.ndarray | None, place: Place) -> list[str] | None:
        return None if value is None else list(value.tolist())

    def read(self, stored: Any, place: Place) -> np.ndarray | None:
        if stored is None:
            return None
        if not isinstance(stored, list) or not all(isinstance(name, str) for name in stored):
            raise UnusableError(f"{place} does not hold names")
        return np.array(stored, dtype=object)


class Optional(Field):
    """Something, or None."""

    def __init__(self, something: Field):
        self.something = something

    def write(self, value: Any, place: Place) -> Any:
        return None if value is None else self.something.write(value, place)

    def read(self, stored: Any, place: Place) -> Any:
        return None if stored is None else self.something.read(stored, place)


class Added(Optional):
    """Something that files of earlier versions do not have; a default takes its place there, which may be None."""

    def __init__(self, something: Field, default: Any = None):
        super().__init__(something)
        self.default = default

    def read(self, stored: Any, place: Place) -> Any:
        return super().read(stored, place) if self.default is None else self.something.read(stored, place)


class Converted(Field):
    """Something that is converted before it is written, and back after it was read."""

    def __init__(self, something: Field, before: Callable[[Any], Any], after: Callable[[Any], Any]):
        self.something, self.before, self.after = something, before, after

    def write(self, value: Any, place: Place) -> Any:
        return self.something.write(self.before(value), place)

    def read(self, stored: Any, place: Place) -> Any:
        return self.after(self.something.read(stored, place))


class Several(Field):
    """A list of values of one kind, at least ``fewest``; if they are ``apart``, letters have other sizes in each."""

    def __init__(self, item: Field, *, fewest: int = 0, apart: bool = False):
        self.item, self.fewest, self.apart = item, fewest, apart

    def write(self, value: Any, place: Place) -> list[Any]:
        return [self.item.write(item, place.at(number)) for number, item in enumerate(value)]

    def read(self, stored: Any, place: Place) -> list[Any]:
        if not isinstance(stored, list):
            raise UnusableError(f"{place} is not a list")
        refuse_if(len(stored) < self.fewest, f"{place} has fewer than {self.fewest} elements")
        places = [place.apart() if self.apart else place for _ in stored]
        return [self.item.read(item, places[number].at(number)) for number, item in enumerate(stored)]


def write_fields(declared: Mapping[str, Field], attributes: Mapping[str, Any], place: Place) -> dict[str, Any]:
    """The declared ones among the attributes of an object."""
    return {name: each.write(attributes[name], place.at(name)) for name, each in declared.items()}


def read_fields(declared: Mapping[str, Field], stored: Any, place: Place) -> dict[str, Any]:
    """The declared attributes; those that were added after the file was written have their defaults."""
    known = stored if isinstance(stored, dict) else {}
    absent = {k: each.default for k, each in declared.items() if isinstance(each, Added) and k not in known}
    check_keys(stored, [name for name in declared if name not in absent], place)
    present = {name: each for name, each in declared.items() if name not in absent}
    return absent | {name: each.read(stored[name], place.at(name)) for name, each in present.items()}


class Record(Field):
    """An object with declared attributes, such as a dataclass, made by calling its class with them.

    Parameters
    ----------
    make : callable
    check : callable
        Raises UnusableError for attributes that do not fit together.
    declared : Field or str
        For each attribute; a string has the letters of an array of float64.
    """

    def __init__(
        self, make: Callable[..., Any], check: Callable[[Any], None] = lambda made: None, /, **declared: Field | str
    ):
        self.make, self.check = make, check
        self.fields = {name: Array(each) if isinstance(each, str) else each for name, each in declared.items()}

    def write(self, value: Any, place: Place) -> dict[str, Any]:
        return write_fields(self.fields, {name: getattr(value, name) for name in self.fields}, place)

    def read(self, stored: Any, place: Place) -> Any:
        attributes = read_fields(self.fields, stored, place)
        with refusals(f"{place} cannot be used: "):
            made = self.make(**attributes)
            self.check(made)
        return made


class OneOf(Field):
    """An object of one of several classes, with the name of its class; ``what`` they are is for messages."""

    def __init__(self, what: str, fields: Mapping[str, Field]):
        self.what, self.fields = what, fields

    def write(self, value: Any, place: Place) -> dict[str, Any]:
        name = type(value).__name__
        if name not in self.fields:
            raise UnusableError(
                f"{name} is not one of the {self.what} that files can hold: {', '.join(self.fields)}; for a wrapper, "
                "save the estimator within it, such as regressor_ or best_estimator_"
            )
        return {"class": name, **self.fields[name].write(value, place)}

    def read(self, stored: Any, place: Place) -> Any:
        name, contents = split_name(stored, "class", self.fields, f"supported {self.what}", place)
        return self.fields[name].read(contents, place)


_BY_TYPE: dict[Any, Field] = {
    Activation: ActivationField(),
    float: Scalar(),
    int: Scalar(whole=True),
    bool: FLAG,
    str: Text(),
    tuple[float, ...]: Converted(Several(Scalar()), list, tuple),
}


class Registered(Field):
    """A part by its registered name; if its class is a dataclass, with its fields, which their types declare."""

    def __init__(self, what: str, registry: Mapping[str, type]):
        self.what, self.registry = what, registry

    def write(self, value: Any, place: Place) -> dict[str, Any]:
        cls = type(value)
        names = [name for name, known in self.registry.items() if known is cls]
        refuse_if(not names, f"{cls.__name__} is not one of the registered {self.what}")
        contents = self._record(cls).write(value, place)
        refuse_if("name" in contents, f"a field of {cls.__name__} is called name, which files use for the class itself")
        return {"name": names[0], **contents}

    def read(self, stored: Any, place: Place) -> Any:
        name, contents = split_name(stored, "name", self.registry, self.what, place)
        return self._record(self.registry[name]).read(contents, place)

    @staticmethod
    def _record(cls: type) -> Record:
        hints = get_type_hints(cls)
        types = {each.name: hints[each.name] for each in fields(cls)} if is_dataclass(cls) else {}
        for kind in types.values():
            known = "activations, numbers, strings and tuples of numbers"
            refuse_if(kind not in _BY_TYPE, f"a field of type {kind} cannot be kept in files, only {known}")
        return Record(cls, **{name: _BY_TYPE[kind] for name, kind in types.items()})


class ByJson(Field):
    """A class whose instances are stored as JSON, by ``to_json()`` and the class method ``from_json(dict)``.

    It is imported from its module when a file contains one.
    """

    def __init__(self, module: str, name: str):
        self.module, self.name = module, name

    def write(self, value: Any, place: Place) -> dict[str, Any]:
        return {"json": value.to_json()}

    def read(self, stored: Any, place: Place) -> Any:
        check_keys(stored, ("json",), place)
        with refusals(f"{place} is not a {self.name}: ", KeyError):
            return getattr(import_module(self.module), self.name).from_json(stored["json"])
