"""Pure functions on one stretch of rows: the only performance-critical loops.

A stretch is processed in blocks whose hidden outputs stay in the processor's cache; no array of all rows by all
candidates is ever formed. Biases are the weights of a last input that is 1, and constant factors of a layer are folded
into the weights and the sums, so the outputs of a dense layer cost one matrix product and one pass of the activation.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy import sparse

from skscn.nodes import Nodes
from skscn.scaling import InputScaling
from skscn.supervision import Slopes, Sums

# Rows of inputs: dense, or sparse by rows.
Matrix: TypeAlias = np.ndarray | sparse.csr_array | sparse.csr_matrix

# Numbers in one block: half a megabyte of float64, which fits in the second-level cache.
_BLOCK = 65536


@dataclass(frozen=True)
class Inputs:
    """Rows of inputs and their scaling; None if they are already scaled and end with a 1."""

    X: Matrix
    scaling: InputScaling | None

    def block(self, rows: slice) -> np.ndarray:
        """Some rows scaled, with a 1 as the last input; sparse rows are made dense here."""
        return self.X[rows] if self.scaling is None else with_one(scaled(self.X[rows], self.scaling))

    def prepared(self) -> Inputs:
        """The same inputs, scaled once if they are dense."""
        if self.scaling is None or not isinstance(self.X, np.ndarray):
            return self
        return Inputs(with_one(scaled(self.X, self.scaling)), None)


def scaled(X: Matrix, scaling: InputScaling) -> np.ndarray:
    """Some rows, scaled; sparse rows are made dense here, so pass a block of them, not all."""
    return scaling.transform(X if isinstance(X, np.ndarray) else X.toarray())


def with_one(x: np.ndarray) -> np.ndarray:
    """Rows with a 1 as the last input."""
    extended = np.empty((x.shape[0], x.shape[1] + 1), x.dtype)
    extended[:, :-1] = x
    extended[:, -1] = 1.0
    return extended


def blocks(n_rows: int, width: int) -> Iterator[slice]:
    """Slices of rows such that an array of a slice by ``width`` columns fits in the cache."""
    step = max(16, _BLOCK // max(width, 1))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def candidate_sums(
    inputs: Inputs,
    residual: np.ndarray,
    roots: np.ndarray | None,
    nodes: Nodes,
    *,
    complete: bool,
    precision: type,
) -> Sums:
    """The row sums that supervision needs, for all candidates over one stretch of rows.

    ``residual`` carries the square roots ``roots`` of the sample weights; all sums are weighted. Hidden outputs have
    the given precision; sums of blocks are added up in double precision. Quartics and the Gram matrix are included if
    the sums are to be ``complete``.
    """
    layer, count = nodes.layer, len(nodes)
    folded: np.ndarray = layer.folded(nodes).astype(precision, copy=False)
    projections, squares = np.zeros((residual.shape[1], count)), np.zeros(count)
    fourth, gram = np.zeros(count), np.zeros((count, count))
    # Weights multiply the narrow side of each product. Products rather than np.einsum, which blocks other threads.
    p: np.ndarray = np.ones(len(residual), precision) if roots is None else (roots**2).astype(precision)
    e: np.ndarray = (residual if roots is None else residual * roots[:, np.newaxis]).T.astype(precision, copy=False)
    for rows in blocks(len(residual), max(folded.shape)):
        h = layer.values(inputs.block(rows).astype(precision, copy=False), folded)
        projections += e[:, rows] @ h
        if complete:
            gram += (h.T * p[rows]) @ h
        h *= h
        squares += p[rows] @ h
        if complete:
            h *= h
            fourth += p[rows] @ h
    projections *= layer.outer
    squares *= layer.outer**2
    if not complete:
        return Sums(projections, squares)
    return Sums(projections, squares, layer.outer**4 * fourth, layer.outer**2 * gram)


def candidate_slopes(inputs: Inputs, residual: np.ndarray, roots: np.ndarray | None, node: Nodes) -> Slopes:
    """How the sums of one candidate change with its weights and bias, over one stretch of rows."""
    # The bias is the weight of the last input.
    weights, none = np.vstack([node.weights, node.biases]), np.zeros(1)
    projections, squares = np.zeros((residual.shape[1], len(weights))), np.zeros(len(weights))
    for rows in blocks(residual.shape[0], len(weights)):
        x = inputs.block(rows)
        slope, h = (values[:, 0] for values in node.layer.slope_and_value(x, weights, none))
        if roots is not None:
            slope, h = slope * roots[rows], h * roots[rows]
        for total, factor in zip((*projections, squares), (*residual[rows].T, 2.0 * h), strict=True):
            total += (factor * slope) @ x
    return Slopes(projections, squares)


def columns(inputs: Inputs, n_rows: int, roots: np.ndarray | None, nodes: Nodes) -> np.ndarray:
    """Weighted hidden columns of a stretch, shape (k, n)."""
    layer, folded = nodes.layer, nodes.layer.folded(nodes)
    out = np.empty((len(nodes), n_rows))
    for rows in blocks(n_rows, max(folded.shape)):
        out[:, rows] = layer.columns(inputs.block(rows), folded)
    out *= layer.outer
    if roots is not None:
        out *= roots
    return out
