"""Rows of a recurrent network in order of time, whose predictions depend on the rows before."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.metrics import r2_score

from skscn.following import Begin, limits_of_rows, predict_rows
from skscn.recurrent import RecurrentSCNRegressor

# The most rows from which importances are computed, and dependences.
_ROWS_SHUFFLED, _ROWS_SET = 2000, 600


@dataclass(frozen=True, eq=False)
class FollowedRows:
    """All rows, those without a target included.

    Attributes
    ----------
    estimator : RecurrentSCNRegressor
    X : ndarray of shape (n, d)
    y : ndarray of shape (n, m)
        NaN where unknown.
    state : ReservoirState, "end" or None
        The state before the first row.
    times : ndarray of datetime64 of shape (n,), or None
    """

    estimator: RecurrentSCNRegressor
    X: np.ndarray
    y: np.ndarray
    state: Begin
    times: np.ndarray | None

    @cached_property
    def known(self) -> np.ndarray:
        """Which rows have all their targets."""
        return np.asarray(~np.isnan(self.y).any(axis=1))

    @property
    def _targets(self) -> np.ndarray:
        """Targets as the model takes them."""
        return self.y[:, 0] if self.estimator.reservoir_.single_output else self.y

    def predict(self) -> np.ndarray:
        """Predictions of all rows, one step ahead."""
        return predict_rows(self.estimator, self.X, self._targets, self.state)

    def limits(self, coverage: float) -> tuple[np.ndarray, np.ndarray]:
        """Limits of the intervals of the rows with a target."""
        lower, upper = limits_of_rows(self.estimator, self.X, self._targets, self.state, coverage)
        return lower[self.known], upper[self.known]

    @property
    def first(self) -> FollowedRows:
        """The rows whose inputs are moved along time."""
        part = slice(_ROWS_SHUFFLED)
        return FollowedRows(self.estimator, self.X[part], self.y[part], self.state, None)

    def score(self, estimator: Any, X: np.ndarray, y: np.ndarray) -> float:
        """R² on the rows with a target, if the inputs were these."""
        predictions = predict_rows(estimator, X, self._targets, self.state)
        return float(r2_score(y[self.known], predictions[self.known]))

    def mean_response(self, columns: list[int], values: Any) -> np.ndarray:
        """The mean prediction when these columns have these values in all rows, after as many rows to settle."""
        rows = self.X[:_ROWS_SET].copy()
        rows[:, columns] = values
        predictions = predict_rows(self.estimator, rows, self._targets[:_ROWS_SET]).reshape(len(rows), -1)
        return np.asarray(predictions[len(rows) // 2 :].mean(axis=0))

    @property
    def persistence(self) -> np.ndarray:
        """Errors (rows, m) of predicting the target that was known last, from the second row with a target on."""
        return np.diff(self.y[self.known], axis=0)
