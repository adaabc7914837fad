"""Which missing values are worth a mark, a column of 0 and 1: those that the error of a quick model decreases with.

A mark tells of targets if values are not missing at random, or if what is filled in is far from the truth where the
target depends on it in other ways than linearly. Otherwise it is one more column that a network has to ignore. The
quick model is ridge regression on the columns and on random nodes, and its error that of generalised cross-validation.
"""

from __future__ import annotations

import numpy as np

# Rows, random nodes, and the most inputs of a node of the quick model.
_MOST_ROWS = 2000
_NODES = 150
_INPUTS = 4
_RIDGES = np.geomspace(1e-3, 1e4, 15)
# More marks must decrease its mean squared error by this factor.
_WORTH = 0.98
# A mark is tried before the others if it moves a target by this many standard errors in a linear model.
_STANDARD_ERRORS = 3.0
# How often further columns are permuted to find out by how much the error changes by chance.
_PERMUTATIONS = 10
# Marks that the columns determine move nothing.
_DEPENDENT = 1e-6


def useful_marks(
    filled: np.ndarray, missing: np.ndarray, candidates: np.ndarray, targets: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """The columns to mark: none, those that move a target, or all candidates.

    Parameters
    ----------
    filled : ndarray of shape (n, d)
        Rows without missing values.
    missing : ndarray of bool, shape (n, d)
        Where they were missing.
    candidates : ndarray of int
    targets : ndarray of shape (n, m)
    weights : ndarray of shape (n,)
    """
    few, roots = _some_rows(weights)
    columns = _standard(filled[few])
    marks, wanted = missing[np.ix_(few, candidates)].astype(np.float64), _standard(targets[few])
    moving = _standard_errors(columns * roots, roots, marks * roots, wanted * roots) >= _STANDARD_ERRORS
    best, lowest = candidates[:0], _error(columns, wanted, roots)
    for kept in (moving, np.ones_like(moving)):
        error = _error(np.hstack([columns, _standard(marks[:, kept])]), wanted, roots) if kept.any() else np.inf
        if error < _WORTH * lowest:
            best, lowest = candidates[kept], error
    return best


def decreases_error(filled: np.ndarray, more: np.ndarray, targets: np.ndarray, weights: np.ndarray) -> bool:
    """Whether the error of the quick model is lower with further columns than without, or with their rows permuted."""
    few, roots = _some_rows(weights)
    columns, more, wanted = _standard(filled[few]), _standard(more[few]), _standard(targets[few])
    rng = np.random.default_rng(0)
    permuted = [more[rng.permutation(len(few))] for _ in range(_PERMUTATIONS)]
    error, *others = [_error(np.hstack([columns, some]), wanted, roots) for some in (more, more[:, :0], *permuted)]
    return error < _WORTH * min(others)


def _some_rows(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows for the quick model, which have a weight, and the roots of their weights."""
    counted = np.flatnonzero(weights > 0.0)
    few = counted[np.unique(np.linspace(0, len(counted) - 1, _MOST_ROWS).astype(int))]
    return few, np.sqrt(weights[few] / weights[few].mean())[:, np.newaxis]


def _standard(values: np.ndarray) -> np.ndarray:
    """Columns with mean 0 and standard deviation 1."""
    with np.errstate(over="ignore", invalid="ignore"):
        spread = values.std(axis=0)
        usable = np.isfinite(spread) & (spread > 0.0)
        return np.asarray((values - values.mean(axis=0)) / np.where(usable, spread, 1.0) * usable)


def _standard_errors(columns: np.ndarray, ones: np.ndarray, marks: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """By how many standard errors each mark moves a target, at most, in a linear model with all columns."""
    basis = np.linalg.qr(np.hstack([ones, columns]))[0]
    marks, rest = marks - basis @ (basis.T @ marks), targets - basis @ (basis.T @ targets)
    sizes, noise = np.linalg.norm(marks, axis=0)[:, np.newaxis], np.sqrt(np.mean(rest**2, axis=0))
    usable = (sizes > _DEPENDENT * np.sqrt(len(marks))) & (noise > _DEPENDENT)
    moved = np.abs(marks.T @ rest) / np.where(usable, sizes * noise, 1.0)
    return np.asarray(np.where(usable, moved, 0.0).max(axis=1, initial=0.0))


def _error(columns: np.ndarray, targets: np.ndarray, roots: np.ndarray) -> float:
    """The error of the quick model, by generalised cross-validation, which chooses the ridge as well."""
    A, T = (roots * some for some in (np.hstack([columns, np.tanh(_sums(columns))]), targets))
    A, T = (some - roots * ((roots.T @ some) / (roots.T @ roots)) for some in (A, T))
    squares, vectors = np.linalg.eigh(A.T @ A)
    squares = np.maximum(squares, 0.0)
    parts = ((vectors.T @ (A.T @ T)) ** 2).sum(axis=1)
    # Shrinkage of each direction, one row for each ridge.
    kept = 1.0 / (squares + _RIDGES[:, np.newaxis])
    rest = (T**2).sum() - 2.0 * kept @ parts + (kept**2 * squares) @ parts
    free = np.maximum(1.0 - (1.0 + (kept * squares).sum(axis=1)) / len(T), np.finfo(float).eps)
    return float((rest / free**2).min() / len(T))


def _sums(columns: np.ndarray) -> np.ndarray:
    """What random nodes see: some inputs each, in scopes between 0.3 and 3, with a transition at a random row."""
    rng, width = np.random.default_rng(0), columns.shape[1]
    weights = rng.normal(size=(width, _NODES)) * np.exp(rng.uniform(np.log(0.3), np.log(3.0), _NODES))
    places = rng.random((width, _NODES)).argsort(axis=0).argsort(axis=0)
    weights *= places < rng.integers(1, _INPUTS + 1, _NODES)
    at = columns[rng.integers(len(columns), size=_NODES)]
    return np.asarray(columns @ weights - (at * weights.T).sum(axis=1))
