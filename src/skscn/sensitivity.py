"""How strongly the outputs of a network depend on each input: mean squared gradients.

For outputs f_q(x) = Σ_l β_lq h_l(x) + a_qᵀx, the mean over the rows of Σ_q (∂f_q/∂x_j)², for each input j.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from skscn.network import Network
from skscn.nodes import Deep, Nodes, blocks, scaled
from skscn.scaling import InputScaling
from skscn.threads import single_threaded

# The largest number of training rows that the gradients of feature importances are averaged over.
MOST_ROWS = 2000


class SlicedRows(Protocol):
    """Scaled rows that are read by slices: an array, or what makes arrays of blocks of rows."""

    @property
    def shape(self) -> tuple[int, ...]:
        """n and d."""
        ...

    def __getitem__(self, rows: slice, /) -> np.ndarray:
        """Some rows."""
        ...


@dataclass(frozen=True)
class _ScaledRows:
    """Rows that are scaled, and made dense, block by block."""

    X: Any
    scaling: InputScaling

    @property
    def shape(self) -> tuple[int, int]:
        """n and d."""
        n_rows, n_inputs = self.X.shape
        return n_rows, n_inputs

    def __getitem__(self, rows: slice) -> np.ndarray:
        return scaled(self.X[rows], self.scaling)


def feature_importances(network: Network, X: Any, sample_weight: np.ndarray | None) -> np.ndarray | None:
    """The share of each input in the mean squared gradient; None if gradients are not known, or not finite.

    Which training rows these are depends only on the number of all rows, and BLAS is limited to one thread, so the
    result does not depend on where the rows are. A gradient times the standard deviation of its input does not depend
    on the unit of the input.
    """
    if not network.has_gradients:
        return None
    rows, linear = _ScaledRows(X, network.inputs), network.linear
    first = [block for block in network.layers if not isinstance(block.nodes.layer, Deep)]
    with single_threaded():
        squares = mean_squared_gradients(
            Nodes.joined([block.nodes for block in first]),
            np.vstack([block.output_weights for block in first]),
            linear.nodes,
            linear.output_weights,
            rows,
            units=spreads(rows, sample_weight),
            sample_weight=sample_weight,
            above=[(block.nodes, block.output_weights) for block in network.layers if block not in first],
        )
    return shares(squares) if np.isfinite(squares).all() else None


def sampled(n_rows: int) -> np.ndarray:
    """The numbers of the rows that represent all of them, in increasing order."""
    if n_rows <= MOST_ROWS:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng(0).choice(n_rows, MOST_ROWS, replace=False))


def why_none(network: Network) -> str:
    """Why a network has no importances, and what to do about it."""
    layer = network.nodes.layer
    if network.has_gradients:
        reason = "it was saved by an earlier version, its fit has not ended, or gradients are not finite; fit it again"
    elif layer.activation is not None and layer.activation.derivative is None:
        reason = f"the derivative of the activation {layer.activation.name!r} is not known; pass an Activation with one"
    else:
        reason = f"the gradients of the layer {type(layer).__name__} are not known; use another layer"
    return f"This model has no feature_importances_: {reason}, or use sklearn.inspection.permutation_importance."


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
