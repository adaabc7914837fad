"""Predictions of members: their weighted mean and spread, and what rows that they have not seen say about them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import nnls

# Number of rows that members predict at a time.
_BLOCK = 8192


@dataclass(frozen=True)
class OutOfBag:
    """The prediction of each member for each distinct row, and whether it has seen the row.

    Predictions have shape (members, rows, outputs) and unseen (members, rows); targets and weights are of the rows.
    """

    predictions: np.ndarray
    unseen: np.ndarray
    targets: np.ndarray
    sample_weight: np.ndarray

    @property
    def rows(self) -> np.ndarray:
        """Numbers of the rows of positive weight that some member has not seen."""
        return np.flatnonzero(self.unseen.any(axis=0) & (self.sample_weight > 0))

    def coefficients(self, weights: np.ndarray) -> np.ndarray:
        """Weights of the members for each row; members that have seen it share theirs equally among the others."""
        count = np.maximum(self.unseen.sum(axis=0), 1)
        coefficients: np.ndarray = self.unseen * (weights[:, np.newaxis] + (1.0 - weights @ self.unseen) / count)
        return coefficients

    def shares(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rows that members of positive weight have not seen, and the normalised weights of these members.

        These predict like the whole ensemble but with fewer members; :meth:`coefficients` would include members that
        have almost no weight in the ensemble, whose errors make intervals too wide.
        """
        weights = weights[:, np.newaxis] * self.unseen
        total = weights.sum(axis=0)
        rows = np.flatnonzero((total > 0) & (self.sample_weight > 0))
        return rows, weights[:, rows] / total[rows]

    def combined(self, weights: np.ndarray) -> np.ndarray:
        """Predictions of shape (rows, outputs) by members that have not seen the row; NaN if all have seen it."""
        combined: np.ndarray = np.einsum("mr,mro->ro", self.coefficients(weights), self.predictions)
        combined[~self.unseen.any(axis=0)] = np.nan
        return combined

    def errors(self) -> np.ndarray:
        """Weighted errors (rows · outputs, members); for members that have seen a row, the mean of the others.

        Combined with any weights of sum 1, they are the errors of :meth:`combined`.
        """
        rows = self.rows
        unseen, predictions = self.unseen[:, rows, np.newaxis], self.predictions[:, rows]
        mean = (unseen * predictions).sum(axis=0) / unseen.sum(axis=0)
        errors: np.ndarray = self.targets[rows] - np.where(unseen, predictions, mean)
        # In units of the target's range, so that outputs count the same.
        errors /= positive(np.ptp(self.targets[rows], axis=0))
        errors *= np.sqrt(self.sample_weight[rows] / self.sample_weight[rows].max())[:, np.newaxis]
        return errors.reshape(len(self.predictions), -1).T


def nonnegative_weights(errors: np.ndarray, equal: np.ndarray) -> np.ndarray:
    """Weights w ≥ 0 with Σw = 1 that minimise ‖errors·w‖.

    An additional row constrains the sum. As w = s·u with Σu = 1 costs s²‖errors·u‖² + λ²(s − 1)², the best u is the
    same for every λ: dividing by the sum gives the exact answer.
    """
    size = np.abs(errors).max()
    if size == 0.0:
        return equal
    # A triangular matrix of the size of the members gives the same norms as all rows.
    triangle = np.linalg.qr(errors / size, mode="r")
    ask = np.linalg.norm(triangle) / np.sqrt(len(equal))
    weights: np.ndarray = nnls(np.vstack([triangle, np.full(len(equal), ask)]), np.r_[np.zeros(len(triangle)), ask])[0]
    shares: np.ndarray = weights / weights.sum()
    return shares


def positive(values: np.ndarray) -> np.ndarray:
    """The values, with 1 instead of 0: units to divide by."""
    return np.where(values > 0, values, 1.0)


def by_blocks(X: Any, answer: Callable[[Any], tuple[np.ndarray, ...]], size: int = _BLOCK) -> tuple[np.ndarray, ...]:
    """Apply a function that returns arrays with one entry per row, on ``size`` validated rows at a time.

    So the predictions of all members for all rows are never in memory at once.
    """
    n_rows = X.shape[0]
    first = answer(X[:size])
    if n_rows <= size:
        return first
    answers = tuple(np.empty((n_rows, *values.shape[1:]), values.dtype) for values in first)
    for start in range(0, n_rows, size):
        for whole, values in zip(answers, answer(X[start : start + size]) if start else first, strict=True):
            whole[start : start + size] = values
    return answers


def mean_and_spread(predictions: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weighted mean and standard deviation over the first axis, in the type of the predictions."""
    weights = weights.reshape(-1, *[1] * (predictions.ndim - 1))
    mean = (weights * predictions).sum(axis=0)
    deviations = np.abs(predictions - mean)
    # In units of the largest, so that squares neither overflow nor vanish.
    largest = positive(deviations.max(axis=0))
    spread = largest * np.sqrt((weights * (deviations / largest) ** 2).sum(axis=0))
    return mean.astype(predictions.dtype), spread.astype(predictions.dtype)
