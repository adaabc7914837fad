"""Fields that consist of other fields: optional ones, lists, records, and one of several classes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from skscn.persistence._base import Field, Shelf, Sizes, UnusableError, at, check_keys, shortened


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
    fewest : int
        How many there must be at least.
    """

    def __init__(self, item: Field, *, apart: bool = False, as_tuple: bool = False, fewest: int = 0):
        self.item, self.apart, self.as_tuple, self.fewest = item, apart, as_tuple, fewest

    def write(self, value: Any, place: str, shelf: Shelf) -> list[Any]:
        return [self.item.write(item, at(place, number), shelf) for number, item in enumerate(value)]

    def read(self, stored: Any, place: str, shelf: Shelf, sizes: Sizes) -> list[Any] | tuple[Any, ...]:
        if not isinstance(stored, list):
            raise UnusableError(f"{place} is not a list")
        if len(stored) < self.fewest:
            raise UnusableError(f"{place} has fewer than {self.fewest} elements")
        values = [
            self.item.read(item, at(place, number), shelf, {} if self.apart else sizes)
            for number, item in enumerate(stored)
        ]
        return tuple(values) if self.as_tuple else values


class Added:
    """A field that files of earlier versions do not have; a default takes its place there."""

    def __init__(self, field: Field, default: Any):
        self.field, self.default = field, default

    def write(self, value: Any, place: str, shelf: Shelf) -> Any:
        return self.field.write(value, place, shelf)

    def read(self, stored: Any, place: str, shelf: Shelf, sizes: Sizes) -> Any:
        return self.field.read(stored, place, shelf, sizes)


def split_added(fields: Mapping[str, Field], stored: Any) -> tuple[dict[str, Field], dict[str, Any]]:
    """The fields that a stored object must have, and the defaults of those that were added after it was written."""
    missing = {
        name: field.default
        for name, field in fields.items()
        if isinstance(field, Added) and isinstance(stored, dict) and name not in stored
    }
    return {name: field for name, field in fields.items() if name not in missing}, missing


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

    def __init__(self, make: Callable[..., Any], check: Callable[[Any], None] = lambda made: None, /, **fields: Field):
        self.make, self.check, self.fields = make, check, fields

    def write(self, value: Any, place: str, shelf: Shelf) -> dict[str, Any]:
        return {
            name: attribute.write(getattr(value, name), at(place, name), shelf)
            for name, attribute in self.fields.items()
        }

    def read(self, stored: Any, place: str, shelf: Shelf, sizes: Sizes) -> Any:
        present, missing = split_added(self.fields, stored)
        check_keys(stored, present, place)
        read = {name: field.read(stored[name], at(place, name), shelf, sizes) for name, field in present.items()}
        made = self.make(**missing, **read)
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

    def write(self, value: Any, place: str, shelf: Shelf) -> dict[str, Any]:
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
