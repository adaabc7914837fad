"""What a model file can contain: the registry of classes, by their names.

To support another class, add it to ``MODELS``.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from skscn.persistence._base import Field, Shelf, Sizes, UnusableError, check_keys, shortened
from skscn.persistence._column_transformer import ColumnwiseTransformer
from skscn.persistence._composed import OneOf
from skscn.persistence._ensembles import ENSEMBLES
from skscn.persistence._network_estimators import CLASSIFIERS, REGRESSORS
from skscn.persistence._online import ONLINE
from skscn.persistence._pipeline import PipelineOfSteps
from skscn.persistence._recurrent import RECURRENT
from skscn.persistence._transformers import TRANSFORMERS


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


MODELS: dict[str, Field] = {}
_STEPS = OneOf("models", MODELS)
MODELS |= {
    **REGRESSORS,
    **CLASSIFIERS,
    **ENSEMBLES,
    **RECURRENT,
    **ONLINE,
    "Pipeline": PipelineOfSteps(_STEPS),
    "TableEncoder": ByJson("skscn.tables", "TableEncoder"),
    "Lags": ByJson("skscn.series", "Lags"),
    **TRANSFORMERS,
    "ColumnTransformer": ColumnwiseTransformer(_STEPS),
}


def write_model(model: Any, shelf: Shelf) -> dict[str, Any]:
    """A model as JSON, its arrays on the shelf."""
    return _STEPS.write(model, "", shelf)


def read_model(stored: Any, shelf: Shelf) -> Any:
    """The model that was written like this; UnusableError if there is none."""
    model = _STEPS.read(stored, "", shelf, {})
    if shelf.arrays:
        raise UnusableError(f"nothing refers to the array {shortened(next(iter(shelf.arrays)))}")
    return model
