"""What a field of a model file is, and what all fields use: the shelf of arrays, places, and errors."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from reprlib import Repr
from typing import Any, Protocol

import numpy as np

from skscn.activations import Activation, Function

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
    updatable : bool
        Whether what further rows can join is written.
    shared : list
        Objects that others refer to by their number, in the order in which they were written or read.
    """

    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    activations: Mapping[str, Activation | Function] = field(default_factory=dict)
    updatable: bool = True
    shared: list[Any] = field(default_factory=list)

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
