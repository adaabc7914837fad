"""Each distinct training row once, whatever the order and however often it was given."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.utils.validation import _check_sample_weight

from skscn.estimators._sample_weights import LARGEST_MEAN_COUNT
from skscn.estimators.data import finalised


@dataclass(frozen=True)
class DistinctRows:
    """Rows, usually each distinct row once with the total weight of its copies.

    Attributes
    ----------
    X, y, sample_weight : arrays
    inverse : ndarray
        The index of each training row that was given.
    groups : ndarray or None
        The number of each row's group, of which members hold out all rows or none.
    n_held_out : int
        How many rows at the end are only held out, by every member.
    """

    X: Any
    y: np.ndarray
    sample_weight: np.ndarray
    inverse: np.ndarray
    groups: np.ndarray | None = None
    n_held_out: int = 0

    @property
    def n_training(self) -> int:
        """How many rows members can be trained on."""
        return len(self.y) - self.n_held_out

    def with_held_out(self, X: Any, y: np.ndarray, sample_weight: np.ndarray) -> DistinctRows:
        """With these rows at the end, which are only held out."""
        both = [self.X, X]
        return replace(
            self,
            X=sparse.vstack(both, format="csr") if any(map(sparse.issparse, both)) else np.concatenate(both),
            y=np.concatenate([self.y, y]),
            sample_weight=np.concatenate([self.sample_weight, sample_weight]),
            n_held_out=len(y),
        )


def checked_weights(sample_weight: ArrayLike | None, X: Any) -> tuple[np.ndarray, float]:
    """Weights of all rows, 1 if none were given, and their unit."""
    weights: np.ndarray = _check_sample_weight(sample_weight, X, dtype=np.float64)
    largest = weights.max()
    if (weights < 0).any() or largest == 0:
        raise ValueError("sample_weight must contain numbers of at least 0, and not only zeros.")
    # Counts stay unchanged; weights too large for counts could overflow when summed.
    unit = float(largest) if largest > 2**53 else 1.0
    return weights / unit, unit


def distinct_rows(
    X: Any, y: np.ndarray, numbers: np.ndarray, sample_weight: np.ndarray, groups: np.ndarray | None = None
) -> DistinctRows:
    """Each distinct row of a group once; numbers are y as numbers. The order of the rows does not matter.

    Rows that repeat too often for weights to count them stay as they are: a few distinct rows, each repeated many
    times, could not be split into training rows and held-out rows.
    """
    columns = numbers.reshape(len(y), -1) if groups is None else np.column_stack([numbers, groups])
    constants = np.random.default_rng(0).integers(2**64, size=columns.shape[1] + X.shape[1], dtype=np.uint64)
    fingerprints = _hash(columns, constants[: columns.shape[1]]) + _hash(X, constants[columns.shape[1] :])
    _, first, inverse = np.unique(fingerprints, return_index=True, return_inverse=True)
    times = np.bincount(inverse, weights=sample_weight > 0)
    if times.sum() > LARGEST_MEAN_COUNT * np.count_nonzero(times):
        order = np.lexsort((sample_weight, inverse))
        return DistinctRows(X[order], y[order], sample_weight[order], np.argsort(order), _of(groups, order))
    totals = np.bincount(inverse, weights=sample_weight)
    return DistinctRows(X[first], y[first], totals, inverse, _of(groups, first))


def _of(groups: np.ndarray | None, rows: np.ndarray) -> np.ndarray | None:
    return None if groups is None else groups[rows]


def _hash(rows: Any, constants: np.ndarray) -> np.ndarray:
    """A 64-bit hash of each row, the same for equal rows, dense or sparse; 10⁶ others collide with probability 3e-8.

    Integer arithmetic wraps, so the sums are exact in any order; a 0 adds nothing.
    """
    if sparse.issparse(rows):
        rows = rows.copy()
        rows.sum_duplicates()
        mixed = sparse.csr_array((_mix(rows.data), rows.indices, rows.indptr), shape=rows.shape)
        return np.asarray(mixed @ constants)
    return np.asarray(_mix(rows) @ constants)


def _mix(values: np.ndarray) -> np.ndarray:
    """The bits of numbers, well mixed; 0 stays 0."""
    # Adding 0 turns −0 into 0.
    return finalised((np.asarray(values, dtype=np.float64) + 0.0).view(np.uint64))
