"""Lags as plain data for files: parameters, added columns, and the last rows of each group."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from skscn.series._past import SeriesEnd
from skscn.series._targets import names_from_json
from skscn.series._terms import term_from_json

if TYPE_CHECKING:
    from skscn.series._lags import Lags

_FIELDS = {"parameters", "n_inputs", "names", "targets", "target_means", "terms", "grouped", "ends"}


def lags_to_json(lags: Lags) -> dict[str, Any]:
    """Fitted lags as plain data."""
    names = getattr(lags, "feature_names_in_", None)
    return {
        "parameters": {name: _plain(value) for name, value in lags.get_params(deep=False).items()},
        "n_inputs": int(lags.n_features_in_),
        "names": None if names is None else [str(name) for name in names],
        "targets": list(lags._target_names),
        "target_means": None if lags._target_means is None else lags._target_means.tolist(),
        "terms": [term.to_json() for term in lags._terms],
        "grouped": lags._grouped,
        "ends": [[_key(key), end.inputs.tolist(), _with_none(end.targets)] for key, end in lags._ends.items()],
    }


def lags_from_json(cls: type[Lags], state: Any) -> Lags:
    """The fitted lags that gave this state; ValueError for anything else."""
    if not isinstance(state, dict) or set(state) != _FIELDS:
        raise ValueError(f"Lags must be an object with exactly the fields {', '.join(sorted(_FIELDS))}")
    lags = _made(cls, state["parameters"])
    _set_inputs(lags, state["n_inputs"], state["names"])
    _set_targets(lags, state["targets"], state["target_means"])
    _set_terms(lags, state["terms"])
    lags._grouped, lags._ends = _ends(state, lags.n_features_in_, len(lags._target_names))
    if any(len(end.inputs) > max(lags._depth, 1) for end in lags._ends.values()):
        raise ValueError("more rows are remembered than are needed")
    return lags


def _set_inputs(lags: Lags, n_inputs: Any, names: Any) -> None:
    if type(n_inputs) is not int or not 1 <= n_inputs < 2**31:
        raise ValueError("the number of inputs is not a whole number of at least 1")
    lags.n_features_in_ = n_inputs
    if names is None:
        return
    if len(names_from_json(names, "inputs")) != n_inputs:
        raise ValueError(f"there are {len(names)} names of {n_inputs} inputs")
    lags.feature_names_in_ = np.array(names, dtype=object)


def _set_targets(lags: Lags, names: Any, means: Any) -> None:
    lags._target_names = names_from_json(names, "targets")
    if (lags.target is None) != (not names):
        raise ValueError("the parameter target and the names of targets do not fit together")
    if (means is None) != (not names):
        raise ValueError("the means of targets do not fit their names")
    lags.delay_ = lags._checked_delay()
    lags._target_means = None if means is None else _numbers([means], len(names))[0]


def _set_terms(lags: Lags, states: Any) -> None:
    if not isinstance(states, list):
        raise ValueError("the added columns are not a list")
    terms = [term_from_json(state, lags.n_features_in_, len(lags._target_names)) for state in states]
    if sorted(set(terms)) != terms:
        raise ValueError("the added columns are not in order, or occur twice")
    if lags.delay_ is not None and any(term.of_target and term.rows < lags.delay_ for term in terms):
        raise ValueError("a target is used before it is known")
    lags._set_terms(terms)


def _made(cls: type[Lags], parameters: Any) -> Lags:
    if not isinstance(parameters, dict) or set(parameters) != set(cls().get_params()):
        raise ValueError("the parameters of Lags are missing, or have other names")
    inputs = parameters["inputs"]
    if isinstance(inputs, dict):
        if set(inputs) != {"pairs"} or not isinstance(inputs["pairs"], list):
            raise ValueError("the parameter inputs is not a list of columns and lags")
        parameters = {**parameters, "inputs": dict(inputs["pairs"])}
    lags = cls(**parameters)
    lags._validate_params()
    return lags


def _ends(state: dict[str, Any], n_inputs: int, n_targets: int) -> tuple[bool, dict[Any, SeriesEnd]]:
    grouped, stored = state["grouped"], state["ends"]
    if not isinstance(grouped, bool) or not isinstance(stored, list):
        raise ValueError("the last rows are not a list")
    ends = {}
    for key, inputs, targets in stored:
        if type(key) not in ((str, int, float, bool) if grouped else (type(None),)) or key in ends:
            raise ValueError("a group occurs twice, or has a name that is not a text or a number")
        ends[key] = SeriesEnd(_numbers(inputs, n_inputs), _numbers(targets, n_targets, missing=True))
        if len(ends[key].inputs) != len(ends[key].targets):
            raise ValueError("inputs and targets of the last rows are not equally many")
    return grouped, ends


def _numbers(rows: Any, width: int, *, missing: bool = False) -> np.ndarray:
    """Rows of finite numbers, and perhaps of None for NaN."""
    if not isinstance(rows, list) or not all(isinstance(row, list) and len(row) == width for row in rows):
        raise ValueError(f"the last rows are not lists of {width} numbers")
    if not all(type(value) is float or (missing and value is None) for row in rows for value in row):
        raise ValueError("the last rows contain values that are not numbers")
    values = np.array(rows, dtype=np.float64).reshape(len(rows), width)
    if not (np.isfinite(values) | (missing & np.isnan(values))).all():
        raise ValueError("the last rows contain numbers that are not finite")
    return values


def _with_none(values: np.ndarray) -> list[list[float | None]]:
    """Rows of numbers, with None for NaN."""
    return [[None if value != value else value for value in row] for row in values.tolist()]


def _plain(value: Any) -> Any:
    """A parameter as plain data."""
    if isinstance(value, Mapping):
        return {"pairs": [[_key(key), _plain(lags)] for key, lags in value.items()]}
    if value is None or isinstance(value, str | bool):
        return value
    return [_key(item) for item in value] if np.ndim(value) else _key(value)


def _key(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
