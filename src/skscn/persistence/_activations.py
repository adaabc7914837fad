"""An activation in a model file: by its name, or given again when the file is loaded."""

from __future__ import annotations

from typing import Any

from skscn.activations import ACTIVATIONS, Activation, Function, resolve_activation
from skscn.persistence._base import Shelf, Sizes, UnusableError, check_keys, shortened


class Activations:
    """An activation, by its name; one that is not registered has to be given again when the file is loaded."""

    def write(self, value: Activation | Function, place: str, shelf: Shelf) -> dict[str, Any]:
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
