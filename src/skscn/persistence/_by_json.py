"""Objects that a model file contains as JSON of their own."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from skscn.persistence._base import Shelf, Sizes, UnusableError, check_keys


class ByJson:
    """A class whose instances are stored as JSON, by ``to_json()`` and the class method ``from_json(dict)``.

    Parameters
    ----------
    module, name : str
        Where it is defined; it is imported when a file contains one.
    """

    def __init__(self, module: str, name: str):
        self.module, self.name = module, name

    def write(self, value: Any, place: str, shelf: Shelf) -> dict[str, Any]:
        return {"json": value.to_json()}

    def read(self, stored: Any, place: str, shelf: Shelf, sizes: Sizes) -> Any:
        check_keys(stored, ("json",), place)
        try:
            return getattr(import_module(self.module), self.name).from_json(stored["json"])
        except (ValueError, KeyError, TypeError) as error:
            raise UnusableError(f"{place or 'the model'} is not a {self.name}: {error}") from error


# What decides which targets of a stream are plausible.
GATE = ByJson("skscn.plausibility", "TargetGate")
