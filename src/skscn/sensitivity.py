"""How strongly the outputs of a network depend on each input: mean squared gradients.

For outputs f_q(x) = Σ_l β_lq h_l(x) + a_qᵀx, the mean over the rows of Σ_q (∂f_q/∂x_j)², for each input j.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from skscn.nodes import Nodes, blocks


class SlicedRows(Protocol):
    """Scaled rows that are read by slices: an array, or what makes arrays of blocks of rows."""

    @property
    def shape(self) -> tuple[int, ...]:
        """n and d."""
        ...

    def __getitem__(self, rows: slice, /) -> np.ndarray:
        """Some rows."""
        ...


def mean_squared_gradients(
    nodes: Nodes,
    output_weights: np.ndarray,
    linear: Nodes | None,
    linear_weights: np.ndarray | None,
    X: SlicedRows,
    *,
    units: np.ndarray | None = None,
    sample_weight: np.ndarray | None = None,
    above: Sequence[tuple[Nodes, np.ndarray]] = (),
) -> np.ndarray:
    """Σ_q (∂f_q/∂x_j)² for each input, on average over rows; one pass of g′ and one matrix product for each output.

    Parameters
    ----------
    nodes : Nodes
        Of a layer with gradients; there may be none.
    output_weights : ndarray of shape (L, m)
        β.
    linear : Nodes or None
        Columns that are linear in the inputs.
    linear_weights : ndarray of shape (p, m), or None
        Their output weights.
    X : ndarray of shape (n, d), or SlicedRows
        At least one row, scaled; gradients are computed in the precision of the rows.
    units : ndarray of shape (d,), default=None
        By which gradients are multiplied, for instance the :func:`spreads` of the inputs.
    sample_weight : ndarray of shape (n,), default=None
    above : sequence of tuples of Nodes and ndarray of shape (k, m)
        Further layers, on top of others, and their output weights.

    Returns
    -------
    squares : ndarray of shape (d,)
    """
    n_rows, n_inputs = X.shape
    straight = np.zeros((n_inputs, output_weights.shape[1]))
    if linear is not None and linear_weights is not None:
        straight += linear.weights @ linear_weights
    p = np.ones(n_rows) if sample_weight is None else sample_weight
    squares = np.zeros(n_inputs)
    for rows in blocks(n_rows, max(n_inputs, len(nodes))):
        gradients = nodes.layer.gradients(X[rows], nodes, output_weights)
        for output, (gradient, constant) in enumerate(zip(gradients, straight.T, strict=True)):
            gradient += constant
            for block, weights in above:
                factors = np.broadcast_to(weights[:, output], (len(gradient), len(block)))
                gradient += block.layer.pulled_back(X[rows], block, factors)
            if units is not None:
                gradient *= units
            gradient *= gradient
            squares += p[rows] @ gradient
    return np.asarray(squares / p.sum())


def spreads(X: SlicedRows, sample_weight: np.ndarray | None = None) -> np.ndarray:
    """The standard deviation of each column; exactly 0 if it is constant."""
    n_rows, n_inputs = X.shape
    p = np.ones(n_rows) if sample_weight is None else sample_weight
    sums, squares = np.zeros(n_inputs), np.zeros(n_inputs)
    # Relative to one of the rows, the sums lose few digits, and those of a constant column none.
    first = X[0:1]
    for rows in blocks(n_rows, n_inputs):
        moved = X[rows] - first
        sums += p[rows] @ moved
        moved *= moved
        squares += p[rows] @ moved
    variances = squares / p.sum() - (sums / p.sum()) ** 2
    return np.asarray(np.sqrt(np.maximum(variances, 0.0)))


def shares(squares: np.ndarray) -> np.ndarray:
    """Non-negative numbers divided by their sum; equal shares if all are 0."""
    largest = squares.max()
    if largest == 0.0:
        return np.full(len(squares), 1.0 / len(squares))
    # First by the largest, so that neither a tiny nor a huge sum matters.
    relative = squares / largest
    return np.asarray(relative / relative.sum())
