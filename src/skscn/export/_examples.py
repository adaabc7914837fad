"""Rows for the test in an exported file, made from what a model knows of its inputs, and their predictions."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from skscn.estimators.base import GrowingNetwork
from skscn.estimators.networks import grown_networks
from skscn.export._fixed import FixedNetwork
from skscn.recurrent.predicting import ReservoirRegressor
from skscn.scaling import InputScaling, QuantileScaling, scaling_of_columns
from skscn.series import Lags
from skscn.tables import TableEncoder
from skscn.tables.columns import Category, Clock, Column, Flag, Measured, Moment
from skscn.tables.filling import Filling
from skscn.tables.frames import TableColumns
from skscn.tables.values import ColumnValues, text_values

COUNT = 5
# Rounding errors of a sum, in units of the last place of its largest term.
_ROUNDINGS = 64.0
_AGREEMENT = {"float64": 1e-12, "float32": 1e-5}
# Irrational steps spread values evenly.
_STEPS = (0.618, 0.414)


@dataclass(frozen=True)
class Examples:
    """Rows for the test of a model.

    Attributes
    ----------
    rows : ndarray or TableColumns
        As they are given to it.
    expected : ndarray of shape (n, k)
        Its predictions or probabilities; of a recurrent network, for rows that follow the training.
    labels : list of str
        The classes; "" where rounding may decide between two of them.
    tolerance : float
        How far rounding may take the numbers apart: sums of large terms that cancel lose more digits.
    """

    rows: Any
    expected: np.ndarray
    labels: list[str]
    tolerance: float


def examples_of(
    before: list[Any],
    last: Any,
    dtype: str,
    bounds: tuple[float, float] | None = None,
    tolerance: float | None = None,
) -> Examples:
    """Rows within the range of training, as far as a model knows it; predictions within the bounds of the target.

    Networks in fixed point have a tolerance of their own.
    """
    rows: Any = within(last)
    for step in reversed(before):
        if isinstance(step, TableEncoder):
            rows = _table(step)
        elif isinstance(step, Lags):
            rows = within(last)[:, : step.n_features_in_]
        elif isinstance(step, Filling):
            rows = _with_gaps(rows[:, : step.n_features])
        else:
            rows = within(step) if isinstance(step, GrowingNetwork) else _nameless(step).inverse_transform(rows)
    if isinstance(rows, np.ndarray):
        largest = float(np.finfo(dtype).max)
        rows = rows.clip(-largest, largest).astype(dtype).astype(np.float64)
    numbers = applied(before, rows)
    if isinstance(last, ReservoirRegressor):
        expected, terms = _course(last, numbers)
    else:
        expected = answers(last, numbers)
        terms = 0.0 if tolerance is not None else _terms(last, numbers, float(np.abs(expected).max()))
    if bounds is not None:
        expected = expected.clip(*np.asarray(bounds).astype(dtype).astype(np.float64))
    if tolerance is None:
        tolerance = max(_AGREEMENT[dtype] * np.abs(expected).max(), _ROUNDINGS * float(np.finfo(dtype).eps) * terms)
    return Examples(rows, expected, _labels(last, expected, float(tolerance)), float(tolerance))


def _with_gaps(rows: np.ndarray) -> np.ndarray:
    """Rows with a number missing in each but the first and the last."""
    gaps = np.arange(1, len(rows) - 1)
    rows[gaps, gaps % rows.shape[1]] = np.nan
    return rows


def applied(steps: list[Any], rows: Any) -> Any:
    """Rows after these steps."""
    for step in steps:
        rows = _applied(step, rows)
    return rows


def _applied(step: Any, rows: Any) -> np.ndarray:
    if isinstance(step, Filling):
        return step(rows)
    if isinstance(step, Lags):
        # Rows that follow the training, of the first series.
        return _nameless(step).transform(rows, groups=None if step.groups_ is None else step.groups_[:1] * len(rows))
    found: np.ndarray = (step if isinstance(step, TableEncoder) else _nameless(step)).transform(rows)
    return found


def _nameless(step: Any) -> Any:
    """A fitted step that expects arrays."""
    step = copy(step)
    vars(step).pop("feature_names_in_", None)
    return step


def _labels(last: Any, expected: np.ndarray, tolerance: float) -> list[str]:
    if not hasattr(last, "classes_"):
        return []
    second, first = np.sort(expected, axis=1)[:, -2:].T
    certain = first - second > 2.0 * tolerance
    classes = last.classes_[expected.argmax(axis=1)]
    return [str(label) if sure else "" for label, sure in zip(classes, certain, strict=True)]


def answers(last: Any, numbers: np.ndarray) -> np.ndarray:
    """Predictions or probabilities, of shape (n, k); with networks in fixed point, the numbers that C computes."""
    networks = _networks(last)
    if isinstance(networks[0][0], FixedNetwork) and not hasattr(last, "classes_"):
        # Sums in single precision, in the order of the members.
        total = np.zeros((len(numbers), networks[0][0].n_outputs), np.float32)
        for (network, features), weight in zip(networks, getattr(last, "weights_", [1.0]), strict=True):
            response = network.predict(numbers[:, features]).astype(np.float32).reshape(total.shape)
            total += np.float32(weight) * response
        return total.astype(np.float64)
    model = _nameless(last)
    found: np.ndarray = getattr(model, "predict_proba", model.predict)(numbers)
    return found.reshape(len(numbers), -1)


def _terms(last: Any, numbers: np.ndarray, size: float) -> float:
    """The largest sum of absolute terms of a network, times how fast predictions change with it."""
    terms = 0.0
    for network, features in _networks(last):
        block = numbers[:, features]
        linear = np.abs(network.inputs.transform(block)) @ np.abs(network.linear.direct_weights)
        sums = linear + np.abs(network.hidden(block)) @ np.abs(network.output_weights)
        slope = 1.0 if network.loss.plain else max(size, 1.0)
        terms = max(terms, float((sums * network.outputs.scale).max()) * slope)
    calibration = getattr(last, "calibration_", None)
    return terms if calibration is None else terms * max(1.0, calibration.exponent / calibration.floor)


def _course(model: ReservoirRegressor, numbers: np.ndarray) -> tuple[np.ndarray, float]:
    """The same for rows that follow the training, of the first sequence, without targets."""
    reservoir, state = model.reservoir_, next(iter(model.states_.values()))
    columns, _ = reservoir.columns(numbers, None, state)
    expected = reservoir.outputs.inverse_transform(reservoir.clip_outputs(columns @ reservoir.output_weights))
    terms = np.abs(columns) @ np.abs(reservoir.output_weights) * reservoir.outputs.scale
    return expected, float(terms.max())


def _networks(last: Any) -> list[tuple[Any, Any]]:
    """The networks of an estimator, and the columns of each."""
    members = grown_networks(last)
    features = getattr(last, "features_", [slice(None)] * len(members))
    return [(member.network_, part) for member, part in zip(members, features, strict=True)]


def within(estimator: Any, count: int = COUNT) -> np.ndarray:
    """Rows between the limits of the inputs."""
    width = estimator.n_features_in_
    places = np.add.outer(np.arange(count) * _STEPS[0], np.arange(width) * _STEPS[1]) + 0.1
    shares = places - np.floor(places)
    if isinstance(estimator, ReservoirRegressor):
        return _unscaled(estimator.reservoir_.inputs, 2.0 * shares - 1.0)
    rows = np.zeros((count, width))
    for network, features in reversed(_networks(estimator)):
        rows[:, features] = _unscaled(network.inputs, shares[:, features])
    return rows


def _unscaled(scaling: InputScaling, shares: np.ndarray) -> np.ndarray:
    scaling = scaling_of_columns(scaling)
    if isinstance(scaling, QuantileScaling):
        numbers = (shares * len(scaling.knots)).astype(int)
        return np.take_along_axis(scaling.knots, numbers, axis=0).astype(np.float64)
    moderate = np.where(np.isfinite(scaling.scale), scaling.scale, 0.0)
    return np.asarray(scaling.offset + moderate * shares)


def _table(encoder: TableEncoder) -> TableColumns:
    return TableColumns({column.name: _column(column, place) for place, column in enumerate(encoder.columns_)}, COUNT)


def _column(column: Column, place: int) -> ColumnValues:
    """Values of a column, one of them missing, and a category that training did not have."""
    missing = np.arange(COUNT) == place % COUNT
    if isinstance(column, Category):
        texts = [*column.categories[:COUNT], "?unseen?"]
        return text_values(
            None if gap else texts[(row + place) % len(texts)] for row, gap in enumerate(missing.tolist())
        )
    assert isinstance(column, Measured)
    low, high = column.range or ((column.fill or 0.0) - 1.0, (column.fill or 0.0) + 1.0)
    shares = np.modf(0.1 + _STEPS[0] * np.arange(COUNT) + _STEPS[1] * place)[0]
    values = low + shares * (high - low)
    if isinstance(column, Flag):
        return ColumnValues("boolean", values > (column.fill or 0.0), missing)
    if isinstance(column, Clock):
        return ColumnValues("time", np.round(values * 3600e6) % 86400e6, missing)
    if isinstance(column, Moment):
        return ColumnValues("date", np.round(values * 86400e6), missing)
    return ColumnValues("number", values, missing)
