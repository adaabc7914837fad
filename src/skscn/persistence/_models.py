"""What a model file can contain: the registry of classes, by their names.

To support another class, add it to ``MODELS``.
"""

from __future__ import annotations

from typing import Any

from skscn.persistence._base import Field, Shelf, UnusableError, shortened
from skscn.persistence._by_json import ByJson
from skscn.persistence._column_transformer import ColumnwiseTransformer
from skscn.persistence._composed import OneOf
from skscn.persistence._ensembles import ENSEMBLES
from skscn.persistence._network_estimators import CLASSIFIERS, REGRESSORS
from skscn.persistence._online import ONLINE
from skscn.persistence._pipeline import PipelineOfSteps
from skscn.persistence._recurrent import RECURRENT
from skscn.persistence._transformers import TRANSFORMERS

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
