"""Missing numbers filled in: each by ridge regression on the other columns of its row, and marked where that tells.

Columns are replaced by their normal scores, so that neither units nor tails matter. Regressions are learnt in rounds:
the first one sees medians where other columns are missing, the next ones what the round before has filled in. Each
round is one product of matrices, which exported models repeat.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtri

from skscn.scaling import QuantileScaling, medians_of
from skscn.tables.marks import useful_marks

_ROUNDS = 6
# The most products of numbers for the regressions of a round, which are learnt on fewer rows of more columns; with
# fewer rows than twice the columns there are none.
_WORK = 2e9
# The ridge: as much as this many further rows in which other columns tell nothing.
_RIDGE = 10.0
# The number of values of a column whose normal scores are kept.
_KNOTS = 33
# Values that differ by less, in units of their size and spread, are taken for equal.
_NEAR = 1e-5


@dataclass(frozen=True, eq=False)
class Filling:
    """How missing numbers are filled in.

    Attributes
    ----------
    medians : ndarray of shape (d,)
    columns : ndarray of int, shape (k,)
        Those that had missing values in training, in increasing order; in any other, a missing value is the median.
    scores : QuantileScaling
        The normal score of each value among those of its column, linear between knots.
    slopes : ndarray of shape (rounds, d, k)
        By how much the score that is filled in changes with that of each column; no column depends on itself.
    intercepts : ndarray of shape (rounds, k)
    marked : ndarray of int, shape (j,)
        The columns whose missing values are marked, each by a further column of 0 and 1.
    """

    medians: np.ndarray
    columns: np.ndarray
    scores: QuantileScaling
    slopes: np.ndarray
    intercepts: np.ndarray
    marked: np.ndarray

    @property
    def n_features(self) -> int:
        """d."""
        return len(self.medians)

    @property
    def width(self) -> int:
        """The number of columns with the marks, d + j."""
        return len(self.medians) + len(self.marked)

    @property
    def values(self) -> QuantileScaling:
        """The value with each score, which does not leave the range of training."""
        return QuantileScaling(self.scores.name, self.scores.shares, self.scores.knots)

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """X of shape (n, d) without missing values, and the marks: shape (n, d + j), of the same type."""
        missing = np.isnan(X)
        filled = np.where(missing, self.medians, X)
        rows = np.flatnonzero(missing[:, self.columns].any(axis=1))
        if len(self.slopes) and len(rows):
            unknown, scores = missing[np.ix_(rows, self.columns)], self.scores.transform(filled[rows])
            for slopes, intercepts in zip(self.slopes, self.intercepts, strict=True):
                _renew(scores, unknown, self.columns, scores @ slopes + intercepts)
            some = filled[rows]
            _renew(some, unknown, self.columns, self.values.transform(scores)[:, self.columns])
            filled[rows] = some
        return np.hstack([filled, missing[:, self.marked]], dtype=X.dtype, casting="same_kind")


def fill_medians(X: np.ndarray, medians: np.ndarray) -> np.ndarray:
    """X with medians in the place of missing values."""
    return np.where(np.isnan(X), medians, X).astype(X.dtype, copy=False)


def median_filling(medians: np.ndarray) -> Filling:
    """A filling that replaces every missing number by the median of its column, and marks none."""
    d, none = len(medians), np.empty(0, dtype=int)
    scores = QuantileScaling("quantile", np.zeros((_KNOTS, d)), np.zeros((_KNOTS, d)))
    return Filling(medians, none, scores, np.empty((0, d, 0)), np.empty((0, 0)), none)


def learn_filling(X: np.ndarray, targets: np.ndarray, weights: np.ndarray) -> Filling:
    """Learn from training rows.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    targets : ndarray of shape (n, m)
        What the marks may have to do with.
    weights : ndarray of shape (n,)
    """
    counted = weights > 0.0
    X, targets, weights = X[counted].astype(np.float64), targets[counted], weights[counted]
    missing = np.isnan(X)
    columns = np.flatnonzero(missing.any(axis=0) & ~missing.all(axis=0))
    shape = (0, X.shape[1], len(columns))
    plain = Filling(medians_of(X), columns, _scores(X), np.empty(shape), np.empty(shape[::2]), columns[:0])
    most = int(_WORK / max(1, len(columns) * X.shape[1] ** 2))
    few = np.unique(np.linspace(0, len(X) - 1, min(most, len(X))).astype(int))
    filling = _with_regressions(plain, X[few], weights[few])
    marked = useful_marks(filling(X), missing, _distinct(missing, columns), targets, weights)
    return replace(filling, marked=marked)


def _distinct(missing: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Of columns that are missing in the same rows, such as the numbers that a date becomes, the first."""
    first = {missing[:, column].tobytes(): column for column in columns[::-1].tolist()}
    return np.array(sorted(first.values()), dtype=int)


def _with_regressions(plain: Filling, X: np.ndarray, weights: np.ndarray) -> Filling:
    """With all rounds, if there are enough rows."""
    columns = plain.columns
    if len(X) < 2 * X.shape[1]:
        return plain
    unknown, scores, rounds = np.isnan(X[:, columns]), plain.scores.transform(plain(X)), []
    for _ in range(_ROUNDS):
        slopes, intercepts = _regressions(scores, unknown, columns, weights)
        _renew(scores, unknown, columns, scores @ slopes + intercepts)
        rounds.append((slopes, intercepts))
    return replace(plain, slopes=np.stack([a for a, _ in rounds]), intercepts=np.stack([b for _, b in rounds]))


def _scores(X: np.ndarray) -> QuantileScaling:
    """Normal scores of the known values of each column; values that are equal but for rounding have the same."""
    known = [np.sort(column[~np.isnan(column)]) for column in X.T]
    both = [_knots(some) if len(some) else (np.zeros(_KNOTS), np.zeros(_KNOTS)) for some in known]
    knots, scores = (np.column_stack(columns) for columns in zip(*both, strict=True))
    return QuantileScaling("quantile", knots, scores)


def _knots(known: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Some of these values, in increasing order, and the normal scores of their mean ranks."""
    knots = known[np.rint(np.linspace(0, len(known) - 1, _KNOTS)).astype(int)]
    near = _NEAR * np.abs(knots) + _NEAR * known[-1 - len(known) // 4] - _NEAR * known[len(known) // 4]
    for place in range(1, _KNOTS):
        if knots[place] <= knots[place - 1] + near[place]:
            knots[place], near[place] = knots[place - 1], near[place - 1]
    below, up_to = np.searchsorted(known, knots - near), np.searchsorted(known, knots + near, side="right")
    scores: np.ndarray = np.maximum.accumulate(ndtri((below + up_to) / (2.0 * len(known))))
    return knots, scores


def _renew(filled: np.ndarray, unknown: np.ndarray, columns: np.ndarray, found: np.ndarray) -> None:
    """Put what was found into the places that were missing."""
    filled[:, columns] = np.where(unknown, found, filled[:, columns])


def _regressions(
    filled: np.ndarray, unknown: np.ndarray, columns: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Slopes (d, k) and intercepts (k,) of one round."""
    centre, unit = filled.mean(axis=0), filled.std(axis=0)
    unit = np.where(unit > 0.0, unit, 1.0)
    Z = (filled - centre) / unit
    slopes, intercepts = np.empty((filled.shape[1], len(columns))), np.empty(len(columns))
    for place, column in enumerate(columns):
        known = ~unknown[:, place]
        w, b = _ridge(Z[known], column, weights[known])
        slopes[:, place] = w * unit[column] / unit
        intercepts[place] = centre[column] + unit[column] * b - centre @ slopes[:, place]
    return slopes, intercepts


def _ridge(Z: np.ndarray, column: int, weights: np.ndarray) -> tuple[np.ndarray, float]:
    """A column regressed on the others: slopes and intercept."""
    mean = np.average(Z, axis=0, weights=weights)
    A = (Z - mean) * np.sqrt(weights / weights.mean())[:, np.newaxis]
    products = A.T @ A
    right = products[:, column].copy()
    right[column] = 0.0
    left = products + _RIDGE * np.eye(len(mean))
    left[column], left[:, column] = 0.0, 0.0
    left[column, column] = 1.0
    w = np.linalg.solve(left, right)
    return w, float(mean[column] - mean @ w)
