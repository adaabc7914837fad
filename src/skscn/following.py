"""Recurrent networks along rows in order of time: the state after rows, and free runs that start within them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from skscn.recurrent import RecurrentSCNRegressor, ReservoirState

# Where to begin: a state, that at the end of training, or a cold one.
Begin: TypeAlias = ReservoirState | Literal["end"] | None


def is_recurrent(estimator: Any) -> bool:
    """Whether a fitted estimator is a recurrent network, whose predictions depend on the rows before."""
    return hasattr(estimator, "reservoir_")


@dataclass(frozen=True, eq=False)
class GroupRows:
    """The rows of one of several sequences: their label, their places among all rows, and the state before them."""

    label: Hashable
    rows: np.ndarray
    state: Begin


def stretches(
    model: RecurrentSCNRegressor, groups: np.ndarray | None, n_rows: int, state: Begin
) -> Iterator[GroupRows]:
    """The rows of each sequence; ``groups`` are the labels of the rows, None if there is one sequence.

    Where all begin at the end of training, a sequence that was not in training begins from a cold state.
    """
    if groups is None:
        yield GroupRows(None, np.arange(n_rows), state)
        return
    for label in np.unique(groups).tolist():
        yield GroupRows(label, np.flatnonzero(groups == label), model.states_.get(label) if state == "end" else state)


def predict_rows(
    model: RecurrentSCNRegressor, X: np.ndarray, y: np.ndarray | None = None, state: Begin = None
) -> np.ndarray:
    """Predictions for the rows of one sequence; y are the targets that become known after each row, NaN if unknown."""
    inputs, known = _given(model, X, y)
    return np.asarray(model.predict(inputs, y=known, state=state))


def predict_stretches(
    model: RecurrentSCNRegressor, X: np.ndarray, y: np.ndarray | None, parts: Iterable[GroupRows]
) -> np.ndarray:
    """Predictions for the rows of several sequences."""
    predicted = np.empty(len(X))
    for part in parts:
        predicted[part.rows] = predict_rows(model, X[part.rows], None if y is None else y[part.rows], part.state)
    return predicted


def limits_of_stretches(
    model: RecurrentSCNRegressor, X: np.ndarray, y: np.ndarray | None, parts: Iterable[GroupRows], coverage: float
) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper limits of prediction intervals for the rows of several sequences."""
    limits = np.empty((2, len(X)))
    for part in parts:
        known = None if y is None else y[part.rows]
        limits[:, part.rows] = limits_of_rows(model, X[part.rows], known, part.state, coverage)
    return limits[0], limits[1]


def limits_of_rows(
    model: RecurrentSCNRegressor, X: np.ndarray, y: np.ndarray | None, state: Begin, coverage: float
) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper limits of prediction intervals for the rows of one sequence."""
    inputs, known = _given(model, X, y)
    lower, upper = model.predict_interval(inputs, y=known, state=state, coverage=coverage)
    return np.asarray(lower), np.asarray(upper)


def _given(
    model: RecurrentSCNRegressor, X: np.ndarray, y: np.ndarray | None
) -> tuple[np.ndarray | None, np.ndarray | None]:
    """What ``predict`` takes: no inputs rather than empty ones, and targets only where they come back."""
    if not model.feedback:
        return X, None
    if X.shape[1]:
        return X, y
    return None, np.full((len(X), model.reservoir_.n_outputs), np.nan) if y is None else y


def state_after(
    model: RecurrentSCNRegressor, X: np.ndarray, y: np.ndarray | None = None, state: Begin = None
) -> ReservoirState:
    """The state after the rows of one sequence."""
    reservoir = model.reservoir_
    known = None
    if reservoir.fed_back and y is not None:
        known = (y.reshape(len(y), -1) - reservoir.outputs.offset) / reservoir.outputs.scale
    return reservoir.columns(X, known, model.state_ if state == "end" else state)[1]


@dataclass(frozen=True, eq=False)
class FreeRuns:
    """Forecasts that start at several rows, compared with what came.

    Attributes
    ----------
    forecasts : ndarray of shape (runs, steps)
    truths : ndarray of shape (runs, steps)
        The targets; NaN where they are not known.
    last : ndarray of shape (runs,)
        The last target known before each run, which persistence predicts for all rows.
    inside : ndarray of shape (runs, steps)
        Whether the forecast interval contains the target: 1 or 0, and NaN where either is not known.
    coverage : float
        The share of the targets that intervals were asked to contain.
    """

    forecasts: np.ndarray
    truths: np.ndarray
    last: np.ndarray
    inside: np.ndarray
    coverage: float

    @property
    def steps(self) -> int:
        """The longest horizon."""
        return int(self.forecasts.shape[1])

    @property
    def rmse(self) -> np.ndarray:
        """The root mean squared error at each horizon; NaN where no target is known."""
        return _root_mean_squares(self.forecasts - self.truths)

    @property
    def persistence_rmse(self) -> np.ndarray:
        """The error of predicting the last known target, at each horizon."""
        return _root_mean_squares(self.last[:, np.newaxis] - self.truths)

    @property
    def held(self) -> float:
        """The share of the targets that intervals contain, over all horizons; NaN if no interval is known."""
        known = self.inside[~np.isnan(self.inside)]
        return float(known.mean()) if len(known) else np.nan

    @property
    def horizons(self) -> np.ndarray:
        """A few horizons to name, from 1 to the longest one: 1, 2, 5, 10, …, those for which targets are known."""
        named = [digit * 10**power for power in range(5) for digit in (1, 2, 5)]
        some = np.unique([*(horizon for horizon in named if horizon < self.steps), self.steps])
        known: np.ndarray = some[np.isfinite(self.rmse[some - 1])]
        return known

    @classmethod
    def joined(cls, parts: Sequence[FreeRuns]) -> FreeRuns:
        """The runs of several models, up to the longest horizon that all have."""
        steps = min(part.steps for part in parts)
        tables = [np.vstack([getattr(p, name)[:, :steps] for p in parts]) for name in ("forecasts", "truths", "inside")]
        last = np.concatenate([part.last for part in parts])
        return cls(tables[0], tables[1], last, tables[2], parts[0].coverage)


def _root_mean_squares(errors: np.ndarray) -> np.ndarray:
    known = (~np.isnan(errors)).sum(axis=0)
    squares = np.nansum(errors**2, axis=0)
    return np.asarray(np.sqrt(np.divide(squares, known, out=np.full(errors.shape[1], np.nan), where=known > 0)))


def free_runs(
    model: RecurrentSCNRegressor,
    X: np.ndarray,
    y: np.ndarray,
    *,
    steps: int,
    runs: int = 40,
    coverage: float = 0.9,
    state: Begin = None,
) -> FreeRuns | None:
    """Forecasts of a model with feedback and one output, from starts that are evenly spread over the rows.

    Parameters
    ----------
    model : RecurrentSCNRegressor
    X : ndarray of shape (n, d)
    y : ndarray of shape (n,)
        NaN where unknown; all targets before the start of a run are known to it.
    steps : int
        The longest horizon.
    runs : int
        At most this number of starts.
    coverage : float
        Of the forecast intervals.
    state : ReservoirState, "end" or None
        The state before the first row.

    Returns
    -------
    runs : FreeRuns or None
        None if there are too few rows for a run.
    """
    known = np.flatnonzero(~np.isnan(y))
    if not len(known) or known[0] + 1 + steps > len(y):
        return None
    starts = np.unique(np.linspace(known[0] + 1, len(y) - steps, runs).astype(int))
    forecasts, inside, place = [], [], 0
    for start in starts:
        state = state_after(model, X[place:start], y[place:start], state)
        place, truth = int(start), y[start : start + steps]
        inputs = X[start : start + steps] if X.shape[1] else None
        forecasts.append(model.forecast(steps, inputs, state=state))
        lower, upper = model.forecast_interval(steps, inputs, state=state, coverage=coverage)
        unknown = np.isnan(truth) | np.isnan(lower) | np.isnan(upper)
        inside.append(np.where(unknown, np.nan, (lower <= truth) & (truth <= upper)))
    truths = np.stack([y[start : start + steps] for start in starts])
    last = y[known[np.searchsorted(known, starts) - 1]]
    return FreeRuns(np.stack(forecasts), truths, last, np.stack(inside), coverage)
