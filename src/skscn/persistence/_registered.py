"""Parts of scikit-scn in a model file, such as layers and losses: by their registered names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, get_type_hints

from skscn.activations import Activation
from skscn.persistence._activations import Activations
from skscn.persistence._base import Field, Shelf, Sizes, UnusableError, at, check_keys, shortened
from skscn.persistence._composed import Several
from skscn.persistence._fields import Enumerated, Scalar


class Registered:
    """A part by its registered name, with the fields of its class, a dataclass: activations, numbers and strings.

    Parameters
    ----------
    what : str
        What they are, for messages.
    registry : mapping of str to type
    """

    def __init__(self, what: str, registry: Mapping[str, type]):
        self.what, self.registry = what, registry

    def write(self, value: Any, place: str, shelf: Shelf) -> dict[str, Any]:
        names = [name for name, cls in self.registry.items() if type(value) is cls]
        if not names:
            raise UnusableError(f"{type(value).__name__} is not one of the registered {self.what}")
        contents = {
            name: _parameter(kind).write(getattr(value, name), at(place, name), shelf)
            for name, kind in _parameters(type(value)).items()
        }
        if "name" in contents:
            raise UnusableError(
                f"a field of {type(value).__name__} is called name, which files use for the class itself"
            )
        return {"name": names[0], **contents}

    def read(self, stored: Any, place: str, shelf: Shelf, sizes: Sizes) -> Any:
        name = stored.get("name") if isinstance(stored, dict) else None
        if not isinstance(name, str) or name not in self.registry:
            raise UnusableError(f"{place} is {shortened(name)}, which is not one of the {self.what}")
        cls = self.registry[name]
        kinds = _parameters(cls)
        check_keys(stored, ("name", *kinds), place)
        values = {key: _parameter(kind).read(stored[key], at(place, key), shelf, sizes) for key, kind in kinds.items()}
        try:
            return cls(**values)
        except (ValueError, TypeError) as error:
            raise UnusableError(f"{place} is not one of the {self.what}: {error}") from error


def _parameters(cls: type) -> dict[str, type]:
    """The fields of a dataclass and their types; other classes have none."""
    hints = get_type_hints(cls)
    return {field.name: hints[field.name] for field in fields(cls)} if is_dataclass(cls) else {}


def _parameter(kind: type) -> Field:
    known: dict[Any, Field] = {
        Activation: Activations(),
        float: Scalar(),
        int: Scalar(whole=True),
        bool: Enumerated(False, True),
        str: _Word(),
        tuple[float, ...]: Several(Scalar(), as_tuple=True),
    }
    if kind not in known:
        raise UnusableError(
            f"a field of type {kind} cannot be kept in files, only activations, numbers, strings and tuples of numbers"
        )
    return known[kind]


class _Word:
    """A string."""

    def write(self, value: str, place: str, shelf: Shelf) -> str:
        return value

    def read(self, stored: Any, place: str, shelf: Shelf, sizes: Sizes) -> str:
        if not isinstance(stored, str):
            raise UnusableError(f"{place} is {shortened(stored)}")
        return stored
