"""Pure functions on one stretch of rows: the only hot loops.

A stretch is walked in blocks whose hidden outputs stay in the processor's cache; no array of all rows by all
candidates is ever formed.
"""

from collections.abc import Iterator

import numpy as np
from scipy import sparse

from skscn.activations import Activation
from skscn.scaling import InputScaling
from skscn.supervision import Slopes, Sums

# Numbers in one block: half a megabyte of float64, a part of the second-level cache.
_BLOCK = 65536


def blocks(n_rows: int, width: int) -> Iterator[slice]:
    """Slices of rows such that an array of a slice by ``width`` columns fits in the cache."""
    step = max(16, _BLOCK // max(width, 1))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def hidden(x: np.ndarray, weights: np.ndarray, biases: np.ndarray, activation: Activation) -> np.ndarray:
    """h = g(xw + b) for one block of scaled rows x, one column a node."""
    z = x @ weights
    z += biases
    return activation.value(z)


def scaled(X, scaling: InputScaling) -> np.ndarray:
    """Some rows, scaled; sparse rows are made dense here, so hand over a block of them, not all."""
    return scaling.transform(X.toarray() if sparse.issparse(X) else X)


def hidden_blocks(
    X, weights: np.ndarray, biases: np.ndarray, activation: Activation, scaling: InputScaling
) -> Iterator[tuple[slice, np.ndarray]]:
    """Walk through all rows: each block's place and its hidden outputs."""
    for rows in blocks(X.shape[0], max(weights.shape)):
        yield rows, hidden(scaled(X[rows], scaling), weights, biases, activation)


def candidate_sums(
    X,
    residual: np.ndarray,
    row_weights: np.ndarray | None,
    weights: np.ndarray,
    biases: np.ndarray,
    activation: Activation,
    scaling: InputScaling,
    quartics: bool,
) -> Sums:
    """The row sums that supervision needs, for all candidates over one stretch of rows.

    ``residual`` and ``row_weights`` carry the square roots of the sample weights, so plain sums are weighted sums.
    """
    count = biases.shape[0]
    projections, squares = np.zeros((residual.shape[1], count)), np.zeros(count)
    fourth = np.zeros(count) if quartics else None
    for rows, h in hidden_blocks(X, weights, biases, activation, scaling):
        if fourth is not None:
            h2 = h * h
            fourth += np.einsum("ij,ij->j", h2, h2 if row_weights is None else h2 * row_weights[rows, np.newaxis] ** 2)
        if row_weights is not None:
            h *= row_weights[rows, np.newaxis]
        projections += residual[rows].T @ h
        squares += np.einsum("ij,ij->j", h, h)
    return Sums(projections, squares, fourth)


def candidate_slopes(
    X,
    residual: np.ndarray,
    row_weights: np.ndarray | None,
    weight: np.ndarray,
    bias: float,
    activation: Activation,
    scaling: InputScaling,
) -> Slopes:
    """How the sums of one candidate change with its weights and bias, over one stretch of rows."""
    assert activation.derivative is not None
    projections, squares = np.zeros((residual.shape[1], len(weight) + 1)), np.zeros(len(weight) + 1)
    for rows in blocks(X.shape[0], len(weight)):
        x = scaled(X[rows], scaling)
        z = x @ weight + bias
        slope = activation.derivative(z)
        h = activation.value(z)
        if row_weights is not None:
            slope = slope * row_weights[rows]
            h = h * row_weights[rows]
        for total, factor in zip((*projections, squares), (*residual[rows].T, 2.0 * h), strict=True):
            moved = factor * slope
            total[:-1] += moved @ x
            total[-1] += moved.sum()
    return Slopes(projections, squares)


def column(
    X,
    row_weights: np.ndarray | None,
    weight: np.ndarray,
    bias: float,
    activation: Activation,
    scaling: InputScaling,
    out: np.ndarray,
) -> float:
    """Write one weighted hidden column of a stretch to ``out``; return its sum of squares."""
    for rows, h in hidden_blocks(X, weight[:, np.newaxis], np.atleast_1d(bias), activation, scaling):
        out[rows] = h[:, 0]
    if row_weights is not None:
        out *= row_weights
    return float(out @ out)
