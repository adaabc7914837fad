"""Fitted estimators in a model file: their parameters, and the attributes that they have learnt."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from skscn import estimators
from skscn.activations import Activation
from skscn.estimators.base import GrowingNetwork
from skscn.persistence import _fields as f
from skscn.persistence._fields import Field, Place, UnusableError, check_keys, refusals, refuse_if, shorten
from skscn.search import CONFIGURATIONS, Configuration

_PLAIN = (str, bool, int, type(None))
_DTYPES = ("bool", "int32", "int64", "float32", "float64")
NAMES = "feature_names_in_"


class FittedEstimator(Field):
    """A fitted estimator: its class, its parameters and its learnt attributes. Letters have sizes of their own in it.

    Parameters
    ----------
    cls : type
    fields : dict of str to Field
        Of the attributes to keep.
    derive : callable
        Returns the attributes that follow from those, given the estimator and the sizes of letters, and raises
        UnusableError if they contradict each other.
    """

    key = "fitted"

    def __init__(
        self,
        cls: type[BaseEstimator],
        fields: dict[str, Field],
        derive: Callable[[Any, dict[str, int]], dict[str, Any]] = lambda estimator, sizes: {},
    ):
        self.cls, self.fields, self.derive = cls, {**fields, NAMES: f.Names()}, derive

    def write(self, value: BaseEstimator, place: Place) -> dict[str, Any]:
        check_fitted(value, self.cls)
        learnt = f.write_fields(self.fields, {NAMES: None, **self.learnt(value)}, place)
        return {"parameters": self.parameters(value, place), self.key: learnt}

    def parameters(self, value: BaseEstimator, place: Place) -> dict[str, Any]:
        """The parameters to write."""
        return write_parameters(value, place)

    def learnt(self, value: Any) -> dict[str, Any]:
        """The attributes to write, and others."""
        state: dict[str, Any] = value.__getstate__()
        return state

    def read(self, stored: Any, place: Place) -> Any:
        check_keys(stored, ("parameters", self.key), place)
        estimator, own = self._unfitted(stored["parameters"], place), place.apart()
        learnt = f.read_fields(self.fields, stored[self.key], own)
        names = learnt.pop(NAMES)
        with refusals(f"{place} is not a {self.cls.__name__}: "):
            self.restore(estimator, learnt, own.sizes)
        if names is not None:
            count = estimator.n_features_in_
            refuse_if(len(names) != count, f"there are {len(names)} names for {count} inputs")
            estimator.feature_names_in_ = names
        return estimator

    def restore(self, estimator: Any, learnt: dict[str, Any], sizes: dict[str, int]) -> None:
        """Give an estimator what it has learnt, and what follows from it."""
        for name, value in learnt.items():
            setattr(estimator, name, value)
        for name, value in self.derive(estimator, sizes).items():
            setattr(estimator, name, value)

    def _unfitted(self, stored: Any, place: Place) -> BaseEstimator:
        """An estimator with stored parameters, which must be valid for fitting."""
        parameters = read_parameters(self.cls, stored, place)
        with refusals(""):
            estimator = self.cls(**parameters)
            estimator._validate_params()
            if isinstance(estimator, GrowingNetwork):
                estimator._configuration()
        return estimator


def check_class(value: Any, cls: type) -> None:
    """Reject another class, which may have the same name."""
    own = type(value)
    if own is not cls:
        raise UnusableError(f"its class is {own.__module__}.{own.__qualname__}, not {cls.__module__}.{cls.__name__}")


def check_fitted(value: Any, cls: type) -> None:
    """Reject another class, and an estimator that is not fitted."""
    check_class(value, cls)
    try:
        check_is_fitted(value)
    except NotFittedError as error:
        raise UnusableError(f"this {cls.__name__} is not fitted") from error


def write_parameters(estimator: BaseEstimator, place: Place) -> dict[str, Any]:
    """The parameters of an estimator as JSON."""
    return {name: _PARAMETER.write(value, place.at(name)) for name, value in estimator.get_params(deep=False).items()}


def read_parameters(cls: type[BaseEstimator], stored: Any, place: Place) -> dict[str, Any]:
    """The parameters of a class; those that the file does not mention keep their defaults."""
    if not isinstance(stored, dict):
        raise UnusableError(f"the parameters of {cls.__name__} are {shorten(stored)}")
    if unknown := stored.keys() - cls().get_params(deep=False).keys():
        raise UnusableError(f"{cls.__name__} has no parameter {', '.join(sorted(map(shorten, unknown)))}")
    return {name: _PARAMETER.read(value, place.at(name)) for name, value in stored.items()}


class ParameterField(Field):
    """The value of a parameter: plain ones as they are, others as {tag: JSON}."""

    def write(self, value: Any, place: Place) -> Any:
        if isinstance(value, np.generic):
            value = value.item()
        if type(value) in _PLAIN or (isinstance(value, float) and np.isfinite(value)):
            return value
        for tag, form in _FORMS.items():
            if isinstance(value, form.cls):
                return {tag: form.field.write(value, place)}
        if hasattr(value, "slack"):
            raise UnusableError(
                f"{place}={type(value).__name__}(...) is an object, and files keep names; add its class to "
                "skscn.supervision.SUPERVISIONS, here and where the file is loaded, and use its name"
            )
        if callable(value):
            return {"function": _FORMS["function"].field.write(value, place)}
        known = "numbers, strings, tuples and arrays of numbers, and the parts of skscn can"
        raise UnusableError(f"{place}={shorten(value)} cannot be kept in a file; {known}")

    def read(self, stored: Any, place: Place) -> Any:
        if type(stored) in _PLAIN or isinstance(stored, float):
            return stored
        tag = next(iter(stored)) if isinstance(stored, dict) and len(stored) == 1 else None
        if tag not in _FORMS:
            raise place.refusal(stored)
        return _FORMS[tag].field.read(stored[tag], place)


class _MappingField(Field):
    """A dict as a list of pairs."""

    def write(self, value: dict[Any, Any], place: Place) -> list[Any]:
        return [[_PARAMETER.write(key, place), _PARAMETER.write(item, place)] for key, item in value.items()]

    def read(self, stored: Any, place: Place) -> dict[Any, Any]:
        pairs = f.Several(f.Several(_PARAMETER)).read(stored, place)
        if not all(len(pair) == 2 and type(pair[0]) in _PLAIN for pair in pairs):
            raise place.refusal(stored)
        return dict(pairs)


class _DtypeField(f.Choice):
    """One of NumPy's types, by its name."""

    def write(self, value: Any, place: Place) -> str:
        if not (isinstance(value, np.dtype) or issubclass(value, np.generic)) or np.dtype(value).name not in _DTYPES:
            known = ", ".join(_DTYPES)
            raise UnusableError(f"{place}={shorten(value)} cannot be kept in a file; of types, {known} can")
        return str(np.dtype(value).name)

    def read(self, stored: Any, place: Place) -> type:
        return np.dtype(super().read(stored, place)).type


class _ConfigurationField(Field):
    """A search by its registered name, with its attributes."""

    def write(self, value: Configuration, place: Place) -> dict[str, Any]:
        names = [name for name, cls in CONFIGURATIONS.items() if cls is type(value)]
        if not names:
            raise UnusableError(
                f"{place}={type(value).__name__}(...) is a custom search; add its class to "
                "skscn.search.CONFIGURATIONS, here and where the file is loaded"
            )
        attributes = {name: _PARAMETER.write(attribute, place.at(name)) for name, attribute in vars(value).items()}
        return {"name": names[0], "attributes": attributes}

    def read(self, stored: Any, place: Place) -> Configuration:
        name, contents = f.split_name(stored, "name", CONFIGURATIONS, "searches", place)
        attributes = contents.get("attributes")
        if contents.keys() != {"attributes"} or not isinstance(attributes, dict):
            raise place.refusal(stored)
        configuration = CONFIGURATIONS[name]((1.0,))
        for attribute, value in attributes.items():
            if attribute.startswith("_") or callable(getattr(configuration, attribute, callable)):
                raise UnusableError(f"{place} has no attribute {shorten(attribute)}")
            setattr(configuration, attribute, _PARAMETER.read(value, place.at(attribute)))
        return configuration


class _RandomStateField(Field):
    """A generator of NumPy's legacy kind, with its state; the keys are at the place of the parameter itself."""

    keys = f.Array("k", np.uint32)

    def write(self, value: np.random.RandomState, place: Place) -> dict[str, Any]:
        state: Any = value.get_state(legacy=False)
        kind, inner, gauss = state["bit_generator"], state["state"], float(state["gauss"])
        known = kind == "MT19937"
        refuse_if(not known, f"{place} is a RandomState of {kind}; give an int or np.random.RandomState(int)")
        keys, position = self.keys.write(inner["key"], place), int(inner["pos"])
        return {"keys": keys, "position": position, "has_gauss": int(state["has_gauss"]), "gauss": gauss}

    def read(self, stored: Any, place: Place) -> np.random.RandomState:
        check_keys(stored, ("keys", "position", "has_gauss", "gauss"), place)
        own = replace(place, sizes={"k": 624})
        keys = self.keys.read(stored["keys"], own)
        position, has_gauss = (
            f.Scalar(0, most, whole=True).read(stored[name], own.at(name))
            for name, most in (("position", 624), ("has_gauss", 1))
        )
        generator = np.random.RandomState()
        gauss = f.Scalar().read(stored["gauss"], own.at("gauss"))
        generator.set_state(("MT19937", keys, position, has_gauss, gauss))
        return generator


class _EstimatorField(Field):
    """An estimator of scikit-scn that is not fitted, such as that of an ensemble."""

    def write(self, value: BaseEstimator, place: Place) -> dict[str, Any]:
        name = type(value).__name__
        refuse_if(name not in estimators.__all__, f"{place}={name}(...) is not a scikit-scn estimator")
        return {"class": name, "parameters": write_parameters(value, place)}

    def read(self, stored: Any, place: Place) -> BaseEstimator:
        check_keys(stored, ("class", "parameters"), place)
        cls = getattr(estimators, f.Choice(*estimators.__all__).read(stored["class"], place))
        return cls(**read_parameters(cls, stored["parameters"], place))


class _Form(NamedTuple):
    """How the values of some classes are stored."""

    cls: type | tuple[type, ...]
    field: Field


_PARAMETER = ParameterField()
_FORMS: dict[str, _Form] = {
    "float": _Form(float, f.Converted(f.Choice("inf", "-inf", "nan"), str, float)),
    "list": _Form(list, f.Several(_PARAMETER)),
    "mapping": _Form(dict, _MappingField()),
    "tuple": _Form(tuple, f.Converted(f.Several(_PARAMETER), list, tuple)),
    "array": _Form(np.ndarray, f.Values(missing=True, kinds="biuf")),
    "dtype": _Form((type, np.dtype), _DtypeField(*_DTYPES)),
    "path": _Form(Path, f.Converted(f.Text(), str, Path)),
    "function": _Form(Activation, f.ActivationField(as_given=True)),
    "configuration": _Form(Configuration, _ConfigurationField()),
    "random_state": _Form(np.random.RandomState, _RandomStateField()),
    "estimator": _Form(BaseEstimator, _EstimatorField()),
}
