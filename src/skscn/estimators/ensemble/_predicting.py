"""Predictions of all members for many rows, block by block, and their weighted mean and spread."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from skscn.estimators.ensemble.out_of_bag import positive

# Number of rows that members predict at a time.
_BLOCK = 8192


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
