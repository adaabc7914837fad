"""What a model file can contain: for each part of a model its fields, and the conditions on them.

To support another class, add it to ``MODELS``.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from skscn.estimators import (
    IRVFLRegressor,
    ModifiedQuickpropRegressor,
    SCNClassifier,
    SCNEnsembleClassifier,
    SCNEnsembleRegressor,
    SCNRegressor,
)
from skscn.estimators.calibration import Calibration
from skscn.estimators.growing import GrowingNetwork
from skscn.estimators.intervals import Conformal, LocalScale
from skscn.persistence._fields import (
    Array,
    Choice,
    Field,
    Labels,
    Names,
    Number,
    OneOf,
    Optional,
    Record,
    Several,
    Shelf,
    Sizes,
    UnusableError,
    at,
    check_class,
    check_keys,
    shortened,
)
from skscn.persistence._network import _GROWN
from skscn.persistence._parameters import read_parameters, write_parameters
from skscn.persistence._transformers import TRANSFORMERS, Columns, width_of, written_step


class _Estimator:
    """A fitted estimator: its class, its parameters and its learnt attributes.

    Parameters
    ----------
    cls : type
    fields : dict of str to Field
        Of the attributes to keep.
    derived : callable
        Returns the attributes that follow from those, and raises UnusableError if they contradict each other.
    """

    def __init__(self, cls: type[BaseEstimator], fields: dict[str, Field], derived: Callable[[Any, Sizes], dict]):
        self.cls, self.derived = cls, derived
        self.fields = {**fields, "feature_names_in_": Optional(Names())}

    def write(self, value: BaseEstimator, place: str, shelf: Shelf) -> dict:
        check_class(value, self.cls)
        try:
            check_is_fitted(value)
        except NotFittedError as error:
            raise UnusableError(f"this {self.cls.__name__} is not fitted") from error
        fitted = {
            name: field.write(getattr(value, name, None), at(place, name), shelf) for name, field in self.fields.items()
        }
        return {"parameters": write_parameters(value, place, shelf), "fitted": fitted}

    def read(self, stored: Any, place: str, shelf: Shelf, sizes: Sizes) -> BaseEstimator:
        check_keys(stored, ("parameters", "fitted"), place)
        estimator = self._unfitted(stored["parameters"], place, shelf)
        check_keys(stored["fitted"], self.fields, place)
        for name, field in self.fields.items():
            setattr(estimator, name, field.read(stored["fitted"][name], at(place, name), shelf, sizes))
        if estimator.feature_names_in_ is None:
            del estimator.feature_names_in_
        for name, value in self.derived(estimator, sizes).items():
            setattr(estimator, name, value)
        return estimator

    def _unfitted(self, stored: Any, place: str, shelf: Shelf) -> BaseEstimator:
        estimator = self.cls(**read_parameters(self.cls, stored, place, shelf))
        try:
            estimator._validate_params()
            if isinstance(estimator, GrowingNetwork):
                estimator._configuration()
        except ValueError as error:
            raise UnusableError(str(error)) from error
        return estimator


def _derived(estimator: Any, sizes: Sizes) -> dict:
    network, history = estimator.network_, estimator.history_
    if network.n_nodes > (history["nodes"][-1] if len(history) else 0):
        raise UnusableError("a network has more nodes than its history")
    return {"n_nodes_": network.n_nodes, "n_iter_": len(history), "n_features_in_": network.n_features}


def _derived_of_classifier(estimator: SCNClassifier, sizes: Sizes) -> dict:
    network, count = estimator.network_, len(estimator.classes_)
    if network.single_output != (count == 2) or network.n_outputs != (1 if count == 2 else count):
        raise UnusableError(f"a network for {count} classes has {network.n_outputs} outputs")
    return _derived(estimator, sizes)


_CALIBRATION = Record(Calibration, exponent=Number(0.0), floor=Number(1e-6, 1e6), equal_share=Number(0.0, 1.0))

_REGRESSORS: dict[str, Field] = {
    cls.__name__: _Estimator(cls, _GROWN, _derived)
    for cls in (SCNRegressor, IRVFLRegressor, ModifiedQuickpropRegressor)
}
_CLASSIFIERS: dict[str, Field] = {
    "SCNClassifier": _Estimator(
        SCNClassifier, {**_GROWN, "classes_": Labels(), "calibration_": _CALIBRATION}, _derived_of_classifier
    )
}


def _members(networks: dict[str, Field]) -> dict[str, Field]:
    return {
        "n_features_in_": Number(1, 2**53, whole=True),
        "members_": Several(OneOf("members", networks), apart=True),
        "features_": Several(Array(np.int64, "f", lowest=0), apart=True),
        "weights_": Array(np.float64, "k", lowest=0.0, highest=1.0 + 1e-9),
        "out_of_bag_": Array(np.bool_, "kn"),
        "oob_score_": Number(nan=True),
    }


_CONFORMAL = Record(
    Conformal,
    scale=Record(
        LocalScale,
        networks=Several(OneOf("networks", {"SCNRegressor": _REGRESSORS["SCNRegressor"]}), apart=True),
        units=Array(np.float64, "m", lowest=0.0),
        largest=Array(np.float64, "m", lowest=0.0),
        share=Array(np.float64, "m", lowest=0.0),
        constant=Array(np.float64, "m", lowest=0.0),
    ),
    scores=Array(np.float64, "rm", lowest=0.0),
    sample_weight=Array(np.float64, "r", lowest=0.0),
)


def _check_members(estimator: Any, sizes: Sizes) -> dict:
    """Each member has columns of the model, and all have the same outputs."""
    members, n_features = estimator.members_, estimator.n_features_in_
    if not len(members) == len(estimator.features_) == sizes["k"] > 0:
        raise UnusableError("there are different numbers of members, columns and weights")
    if sizes.get("d", n_features) != n_features:
        raise UnusableError(f"there are {sizes['d']} names for {n_features} inputs")
    for member, features in zip(members, estimator.features_, strict=True):
        rising = len(features) == member.n_features_in_ and (np.diff(features) > 0).all()
        if not rising or features[-1] >= n_features:
            raise UnusableError("the columns of a member are not columns of the model")
    if len({(member.network_.n_outputs, member.network_.single_output) for member in members}) > 1:
        raise UnusableError("the members have different outputs")
    return {}


def _check_regressors(estimator: SCNEnsembleRegressor, sizes: Sizes) -> dict:
    network = estimator.members_[0].network_ if estimator.members_ else None
    outputs = (sizes["m"], estimator.oob_prediction_.ndim == 1)
    if network is not None and (network.n_outputs, network.single_output) != outputs:
        raise UnusableError("the members have different outputs than the model")
    if estimator._conformal is not None:
        _check_conformal(estimator._conformal, (estimator.n_features_in_, sizes["m"], False))
    return _check_members(estimator, sizes)


def _check_conformal(conformal: Conformal, expected: tuple[int, int, bool]) -> None:
    if not conformal.sample_weight.sum() > 0.0:
        raise UnusableError("intervals have no rows of any weight")
    networks = [learnt.network_ for learnt in conformal.scale.networks]
    if any((network.n_features, network.n_outputs, network.single_output) != expected for network in networks):
        raise UnusableError("a network for intervals has different inputs or outputs than the model")


def _check_classifiers(estimator: SCNEnsembleClassifier, sizes: Sizes) -> dict:
    if not all(np.array_equal(member.classes_, estimator.classes_) for member in estimator.members_):
        raise UnusableError("the members have different classes than the model")
    return _check_members(estimator, sizes)


# A step that passes its input on.
_NOTHING = "passthrough"


class _Pipeline:
    """A pipeline of parts that files can hold."""

    def write(self, value: Pipeline, place: str, shelf: Shelf) -> dict:
        check_class(value, Pipeline)
        if value.memory is not None or value.transform_input is not None:
            raise UnusableError("a Pipeline is kept without memory and transform_input; set them to None")
        steps = [[name, self._write_step(name, step, at(place, name), shelf)] for name, step in value.steps]
        return {"steps": steps, "verbose": bool(value.verbose)}

    def _write_step(self, name: str, step: Any, place: str, shelf: Shelf) -> Any:
        return _NOTHING if step in (None, _NOTHING) else written_step(_STEPS, name, step, place, shelf)

    def read(self, stored: Any, place: str, shelf: Shelf, sizes: Sizes) -> Pipeline:
        check_keys(stored, ("steps", "verbose"), place)
        verbose = Choice(False, True).read(stored["verbose"], at(place, "verbose"), shelf, sizes)
        if not isinstance(stored["steps"], list) or not stored["steps"]:
            raise UnusableError("a Pipeline has no steps")
        steps = [self._read_step(step, place, shelf) for step in stored["steps"]]
        pipeline = Pipeline(steps, verbose=verbose)
        try:
            # Names that occur twice, and steps that are not transformers.
            pipeline._validate_steps()
        except (ValueError, TypeError) as error:
            raise UnusableError(f"it is not a Pipeline: {error}") from error
        self._check_widths([step for _, step in steps if step != _NOTHING])
        return pipeline

    def _check_widths(self, steps: list[Any]) -> None:
        """The output of a step must have as many columns as the next one expects, as far as these are known."""
        for step, following in pairwise(steps):
            width = width_of(step)
            if width is not None and width != getattr(following, "n_features_in_", width):
                raise UnusableError(f"a step returns {width} columns, the next one expects {following.n_features_in_}")

    def _read_step(self, stored: Any, place: str, shelf: Shelf) -> tuple[str, Any]:
        named = isinstance(stored, list) and len(stored) == 2 and isinstance(stored[0], str)
        if not named or not stored[0].isprintable():
            raise UnusableError(f"a step of a Pipeline is {shortened(stored)}")
        name, step = stored
        return name, _NOTHING if step == _NOTHING else _STEPS.read(step, at(place, name), shelf, {})


class ByJson:
    """A class whose instances are stored as JSON, by ``to_json()`` and the class method ``from_json(dict)``.

    Parameters
    ----------
    module, name : str
        Where it is defined; it is imported when a file contains one.
    """

    def __init__(self, module: str, name: str):
        self.module, self.name = module, name

    def write(self, value: Any, place: str, shelf: Shelf) -> dict:
        return {"json": value.to_json()}

    def read(self, stored: Any, place: str, shelf: Shelf, sizes: Sizes) -> Any:
        check_keys(stored, ("json",), place)
        try:
            return getattr(import_module(self.module), self.name).from_json(stored["json"])
        except (ValueError, KeyError, TypeError) as error:
            raise UnusableError(f"{place or 'the model'} is not a {self.name}: {error}") from error


MODELS: dict[str, Field] = {
    **_REGRESSORS,
    **_CLASSIFIERS,
    "SCNEnsembleRegressor": _Estimator(
        SCNEnsembleRegressor,
        {
            **_members(_REGRESSORS),
            "oob_prediction_": Array(np.float64, "nm", finite=False, flat=True),
            "_conformal": Optional(_CONFORMAL),
        },
        _check_regressors,
    ),
    "SCNEnsembleClassifier": _Estimator(
        SCNEnsembleClassifier,
        {
            **_members(_CLASSIFIERS),
            "classes_": Labels(),
            "oob_decision_function_": Array(np.float64, "nc", finite=False),
        },
        _check_classifiers,
    ),
    "Pipeline": _Pipeline(),
    "TableEncoder": ByJson("skscn.tables", "TableEncoder"),
    **TRANSFORMERS,
}
_STEPS = OneOf("models", MODELS)
MODELS["ColumnTransformer"] = Columns(_STEPS)


def write_model(model: Any, shelf: Shelf) -> dict:
    """A model as JSON, its arrays on the shelf."""
    return _STEPS.write(model, "", shelf)


def read_model(stored: Any, shelf: Shelf) -> Any:
    """The model that was written like this; UnusableError if there is none."""
    model = _STEPS.read(stored, "", shelf, {})
    if shelf.arrays:
        raise UnusableError(f"nothing refers to the array {shortened(next(iter(shelf.arrays)))}")
    return model
