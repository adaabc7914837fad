"""The parameters of an estimator in a model file: plain values as they are, parts of scikit-scn by their names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from skscn import estimators
from skscn.activations import Activation
from skscn.persistence._activations import Activations
from skscn.persistence._base import Shelf, UnusableError, at, shortened
from skscn.persistence._fields import Array
from skscn.persistence._values import array_of
from skscn.search import CONFIGURATIONS, Configuration

_PLAIN = (str, bool, int, type(None))
_ACTIVATIONS = Activations()
_DTYPES = ("bool", "int32", "int64", "float32", "float64")
_TWISTER = Array(np.uint32, "k")


def write_parameters(estimator: BaseEstimator, place: str, shelf: Shelf) -> dict[str, Any]:
    """The parameters of an estimator as JSON."""
    parameters = estimator.get_params(deep=False)
    return {name: _write(value, at(place, name), shelf) for name, value in parameters.items()}


def read_parameters(cls: type[BaseEstimator], stored: Any, place: str, shelf: Shelf) -> dict[str, Any]:
    """The parameters of a class; those that the file does not mention keep their defaults."""
    if not isinstance(stored, dict):
        raise UnusableError(f"the parameters of {cls.__name__} are {shortened(stored)}")
    if unknown := stored.keys() - cls().get_params(deep=False).keys():
        raise UnusableError(f"{cls.__name__} has no parameter {', '.join(sorted(map(shortened, unknown)))}")
    return {name: _read(value, at(place, name), shelf) for name, value in stored.items()}


def _write(value: Any, place: str, shelf: Shelf) -> Any:
    """Plain values as they are, others as {tag: JSON}."""
    if isinstance(value, np.generic):
        value = value.item()
    if type(value) in _PLAIN or (isinstance(value, float) and np.isfinite(value)):
        return value
    for tag, form in _FORMS.items():
        if isinstance(value, form.cls):
            return {tag: form.write(value, place, shelf)}
    if callable(value):
        return {"function": _ACTIVATIONS.write(value, place, shelf)}
    raise UnusableError(
        f"{place}={shortened(value)} cannot be kept in a file; numbers, strings, tuples and arrays of numbers, and the "
        "parts of skscn can"
    )


def _read(stored: Any, place: str, shelf: Shelf) -> Any:
    if type(stored) in _PLAIN or isinstance(stored, float):
        return stored
    tag = next(iter(stored)) if isinstance(stored, dict) and len(stored) == 1 else None
    if tag not in _FORMS:
        raise UnusableError(f"{place} is {shortened(stored)}")
    return _FORMS[tag].read(stored[tag], place, shelf)


def _write_items(values: tuple[Any, ...] | list[Any], place: str, shelf: Shelf) -> list[Any]:
    return [_write(value, place, shelf) for value in values]


def _read_items(stored: Any, place: str, shelf: Shelf) -> list[Any]:
    if not isinstance(stored, list):
        raise UnusableError(f"{place} is {shortened(stored)}")
    return [_read(item, place, shelf) for item in stored]


def _write_array(value: np.ndarray, place: str, shelf: Shelf) -> dict[str, Any]:
    if value.dtype.kind not in "biuf":
        raise UnusableError(f"{place} is an array of {value.dtype}; give a tuple of numbers")
    return {"type": value.dtype.name, "values": _write_items(value.tolist(), place, shelf)}


def _read_array(stored: Any, place: str, shelf: Shelf) -> np.ndarray:
    types = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64")
    if not isinstance(stored, dict) or stored.keys() != {"type", "values"} or stored["type"] not in types:
        raise UnusableError(f"{place} is {shortened(stored)}")
    values = _read_items(stored["values"], place, shelf)
    if not all(type(value) in (bool, int, float) for value in values):
        raise UnusableError(f"{place} is {shortened(stored)}")
    try:
        return array_of(values, stored["type"])
    except OverflowError as error:
        raise UnusableError(f"{place} is {shortened(stored)}: {error}") from error


def _read_float(stored: Any, place: str, shelf: Shelf) -> float:
    if stored not in ("inf", "-inf", "nan"):
        raise UnusableError(f"{place} is {shortened(stored)}")
    return float(stored)


def _read_path(stored: Any, place: str, shelf: Shelf) -> Path:
    if not isinstance(stored, str):
        raise UnusableError(f"{place} is {shortened(stored)}")
    return Path(stored)


def _write_configuration(value: Configuration, place: str, shelf: Shelf) -> dict[str, Any]:
    names = [name for name, cls in CONFIGURATIONS.items() if cls is type(value)]
    if not names:
        raise UnusableError(
            f"{place}={type(value).__name__}(...) is a custom search; add its class to "
            "skscn.search.CONFIGURATIONS, here and where the file is loaded"
        )
    attributes = {name: _write(attribute, at(place, name), shelf) for name, attribute in vars(value).items()}
    return {"name": names[0], "attributes": attributes}


def _read_configuration(stored: Any, place: str, shelf: Shelf) -> Configuration:
    if not isinstance(stored, dict) or stored.keys() != {"name", "attributes"}:
        raise UnusableError(f"{place} is {shortened(stored)}")
    name, attributes = stored["name"], stored["attributes"]
    if not isinstance(name, str) or name not in CONFIGURATIONS or not isinstance(attributes, dict):
        raise UnusableError(f"{place} is the search {shortened(name)}, which is not one of {', '.join(CONFIGURATIONS)}")
    configuration = CONFIGURATIONS[name]((1.0,))
    for attribute, value in attributes.items():
        if attribute.startswith("_") or callable(getattr(configuration, attribute, callable)):
            raise UnusableError(f"{place} has no attribute {shortened(attribute)}")
        setattr(configuration, attribute, _read(value, at(place, attribute), shelf))
    return configuration


def _write_random_state(value: np.random.RandomState, place: str, shelf: Shelf) -> dict[str, Any]:
    state: Any = value.get_state(legacy=False)
    if state["bit_generator"] != "MT19937":
        raise UnusableError(
            f"{place} is a RandomState of {state['bit_generator']}; give an int or np.random.RandomState(int)"
        )
    return {
        "keys": _TWISTER.write(state["state"]["key"], place, shelf),
        "position": int(state["state"]["pos"]),
        "has_gauss": int(state["has_gauss"]),
        "gauss": float(state["gauss"]),
    }


def _read_random_state(stored: Any, place: str, shelf: Shelf) -> np.random.RandomState:
    if not isinstance(stored, dict) or stored.keys() != {"keys", "position", "has_gauss", "gauss"}:
        raise UnusableError(f"{place} is {shortened(stored)}")
    keys = _TWISTER.read(stored["keys"], place, shelf, {"k": 624})
    position, has_gauss, gauss = stored["position"], stored["has_gauss"], stored["gauss"]
    sound = type(position) is int and 0 <= position <= 624 and has_gauss in (0, 1) and type(gauss) is float
    if not sound:
        raise UnusableError(f"{place} is not the state of a generator")
    generator = np.random.RandomState()
    generator.set_state(("MT19937", keys, position, int(has_gauss), gauss))
    return generator


def _write_estimator(value: BaseEstimator, place: str, shelf: Shelf) -> dict[str, Any]:
    if type(value).__name__ not in estimators.__all__:
        raise UnusableError(f"{place}={type(value).__name__}(...) is not a scikit-scn estimator")
    return {"class": type(value).__name__, "parameters": write_parameters(value, place, shelf)}


def _read_estimator(stored: Any, place: str, shelf: Shelf) -> BaseEstimator:
    name = stored.get("class") if isinstance(stored, dict) and stored.keys() == {"class", "parameters"} else None
    if not isinstance(name, str) or name not in estimators.__all__:
        raise UnusableError(f"{place} is {shortened(stored)}")
    cls = getattr(estimators, name)
    return cls(**read_parameters(cls, stored["parameters"], place, shelf))


def _write_dtype(value: Any, place: str, shelf: Shelf) -> str:
    if not (isinstance(value, np.dtype) or issubclass(value, np.generic)) or np.dtype(value).name not in _DTYPES:
        raise UnusableError(f"{place}={shortened(value)} cannot be kept in a file; of types, {', '.join(_DTYPES)} can")
    return str(np.dtype(value).name)


def _read_dtype(stored: Any, place: str, shelf: Shelf) -> type:
    if not isinstance(stored, str) or stored not in _DTYPES:
        raise UnusableError(f"{place} is {shortened(stored)}")
    return np.dtype(stored).type


def _write_mapping(value: dict[Any, Any], place: str, shelf: Shelf) -> list[Any]:
    return [[_write(key, place, shelf), _write(item, place, shelf)] for key, item in value.items()]


def _read_mapping(stored: Any, place: str, shelf: Shelf) -> dict[Any, Any]:
    pairs = _read_items([{"list": pair} for pair in stored] if isinstance(stored, list) else stored, place, shelf)
    if not all(len(pair) == 2 and type(pair[0]) in _PLAIN for pair in pairs):
        raise UnusableError(f"{place} is {shortened(stored)}")
    return dict(pairs)


class _Form(NamedTuple):
    """How values of some class are written and read."""

    cls: type | tuple[type, ...]
    write: Callable[[Any, str, Shelf], Any]
    read: Callable[[Any, str, Shelf], Any]


_FORMS: dict[str, _Form] = {
    "float": _Form(float, lambda value, place, shelf: str(float(value)), _read_float),
    "list": _Form(list, _write_items, _read_items),
    "mapping": _Form(dict, _write_mapping, _read_mapping),
    "tuple": _Form(tuple, _write_items, lambda *stored: tuple(_read_items(*stored))),
    "array": _Form(np.ndarray, _write_array, _read_array),
    "dtype": _Form((type, np.dtype), _write_dtype, _read_dtype),
    "path": _Form(Path, lambda value, place, shelf: str(value), _read_path),
    "function": _Form(Activation, _ACTIVATIONS.write, _ACTIVATIONS.read_as_given),
    "configuration": _Form(Configuration, _write_configuration, _read_configuration),
    "random_state": _Form(np.random.RandomState, _write_random_state, _read_random_state),
    "estimator": _Form(BaseEstimator, _write_estimator, _read_estimator),
}
