"""Missing numbers filled in: each by ridge regression on the other columns of its row, and marked where that tells.

Regressions are learnt in rounds: the first one sees medians where other columns are missing, the next ones what the
round before has filled in. Each round is one product of matrices, which exported models repeat.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from skscn.tables.marks import useful_marks

_ROUNDS = 6
# The most products of numbers for the regressions of a round, which are learnt on fewer rows of more columns; with
# fewer rows than twice the columns there are none.
_WORK = 2e9
# The ridge: as much as this many further rows in which other columns tell nothing.
_RIDGE = 10.0


@dataclass(frozen=True, eq=False)
class Filling:
    """How missing numbers are filled in.

    Attributes
    ----------
    medians : ndarray of shape (d,)
    columns : ndarray of int, shape (k,)
        Those that had missing values in training, in increasing order; in any other, a missing value is the median.
    slopes : ndarray of shape (rounds, d, k)
        By how much what is filled in changes with each column; no column depends on itself.
    intercepts : ndarray of shape (rounds, k)
    low, high : ndarray of shape (k,)
        The range in training, which what is filled in does not leave.
    marked : ndarray of int, shape (j,)
        The columns whose missing values are marked, each by a further column of 0 and 1.
    """

    medians: np.ndarray
    columns: np.ndarray
    slopes: np.ndarray
    intercepts: np.ndarray
    low: np.ndarray
    high: np.ndarray
    marked: np.ndarray

    @property
    def n_features(self) -> int:
        """d."""
        return len(self.medians)

    @property
    def width(self) -> int:
        """The number of columns with the marks, d + j."""
        return len(self.medians) + len(self.marked)

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """X of shape (n, d) without missing values, and the marks: shape (n, d + j), of the same type."""
        missing = np.isnan(X)
        filled = np.where(missing, self.medians, X)
        rows = np.flatnonzero(missing[:, self.columns].any(axis=1))
        unknown, some = missing[np.ix_(rows, self.columns)], filled[rows]
        for slopes, intercepts in zip(self.slopes, self.intercepts, strict=True):
            _renew(some, unknown, self.columns, np.clip(some @ slopes + intercepts, self.low, self.high))
        filled[rows] = some
        return np.hstack([filled, missing[:, self.marked]], dtype=X.dtype, casting="same_kind")


def fill_medians(X: np.ndarray, medians: np.ndarray) -> np.ndarray:
    """X with medians in the place of missing values."""
    return np.where(np.isnan(X), medians, X).astype(X.dtype, copy=False)


def medians_of(X: np.ndarray) -> np.ndarray:
    """The median of what is known in each column; 0 where nothing is."""
    known = (column[~np.isnan(column)] for column in np.asarray(X, dtype=np.float64).T)
    # Halves, because the sum of two huge numbers overflows.
    return np.array([np.median(some / 2.0) * 2.0 if len(some) else 0.0 for some in known])


def learn_filling(X: np.ndarray, candidates: np.ndarray, targets: np.ndarray, weights: np.ndarray) -> Filling:
    """Learn from training rows.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    candidates : ndarray of int
        The columns that can be marked.
    targets : ndarray of shape (n, m)
        What the marks may have to do with.
    weights : ndarray of shape (n,)
    """
    counted = weights > 0.0
    X, targets, weights = X[counted].astype(np.float64), targets[counted], weights[counted]
    missing = np.isnan(X)
    columns = np.flatnonzero(missing.any(axis=0) & ~missing.all(axis=0))
    low, high = np.nanmin(X[:, columns], axis=0), np.nanmax(X[:, columns], axis=0)
    shape = (0, X.shape[1], len(columns))
    plain = Filling(medians_of(X), columns, np.empty(shape), np.empty(shape[::2]), low, high, columns[:0])
    most = int(_WORK / max(1, len(columns) * X.shape[1] ** 2))
    few = np.unique(np.linspace(0, len(X) - 1, min(most, len(X))).astype(int))
    with np.errstate(over="ignore", invalid="ignore"):
        filling = _with_regressions(plain, X[few], weights[few])
        if not (np.isfinite(filling.slopes).all() and np.isfinite(filling.intercepts).all()):
            filling = plain
    could = candidates[np.isin(candidates, columns)]
    return replace(filling, marked=useful_marks(filling(X), missing, could, targets, weights))


def _with_regressions(plain: Filling, X: np.ndarray, weights: np.ndarray) -> Filling:
    """With all rounds, if there are enough rows."""
    columns = plain.columns
    if len(X) < 2 * X.shape[1]:
        return plain
    filled, unknown, rounds = plain(X), np.isnan(X[:, columns]), []
    for _ in range(_ROUNDS):
        slopes, intercepts = _regressions(filled, unknown, columns, weights)
        _renew(filled, unknown, columns, np.clip(filled @ slopes + intercepts, plain.low, plain.high))
        rounds.append((slopes, intercepts))
    return replace(plain, slopes=np.stack([a for a, _ in rounds]), intercepts=np.stack([b for _, b in rounds]))


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
