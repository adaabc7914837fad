"""Columns that might replace the present ones: nodes grown anew, added and removed, on recent rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.linalg import qr, solve_triangular

from skscn.configuration import Configuration
from skscn.estimators import SCNRegressor
from skscn.factor import Factor
from skscn.growth import grow
from skscn.layers import IDENTITY, Dense, Nodes
from skscn.online._columns import StreamColumns
from skscn.online._recursive import SMALLEST_PENALTY, RecursiveWeights
from skscn.output_weights import LeastSquares
from skscn.rows import open_rows
from skscn.scaling import Scaling

# There are at least this number of rows for each node.
ROWS_PER_NODE = 6
# Nodes without a lower validation error before growth ends: fewer than in a fit, as the next network comes soon.
_PATIENCE = 10
# Nodes that are added to a network: this share of those there are, and at least _FEWEST.
_SHARE, _FEWEST = 0.25, 5


def regrown(X: np.ndarray, T: np.ndarray, layer: Dense, max_nodes: int, seed: int) -> StreamColumns:
    """A new network, grown like any other."""
    network = SCNRegressor(
        max_nodes=max(1, min(max_nodes, len(X) // ROWS_PER_NODE)),
        activation=layer.activation,
        scaling="robust",
        n_iter_no_change=_PATIENCE,
        random_state=seed,
    )
    found = network.fit(X, T[:, 0] if T.shape[1] == 1 else T).network_
    assert isinstance(found.inputs, Scaling)
    return StreamColumns(found.inputs, found.nodes)


def extended(
    columns: StreamColumns,
    X: np.ndarray,
    T: np.ndarray,
    configuration: Configuration,
    max_nodes: int,
    seed: int,
) -> StreamColumns:
    """The present nodes and some more, accepted by the supervisory inequality, without those that are of no use."""
    nodes = columns.nodes
    most = min(len(nodes) + max(_FEWEST, int(_SHARE * len(nodes))), len(X) // ROWS_PER_NODE)
    rows = open_rows(X, T, layer=nodes.layer, scaling=columns.inputs)
    rule, d = LeastSquares(T.shape[1]), X.shape[1]
    with rows:
        rule.append_linear(rows, Nodes.of(IDENTITY, np.eye(d, d + 1, k=1), np.eye(1, d + 1)[0]))
        for j in range(len(nodes)):
            # A node whose column depends on those before it on these rows is left out.
            rule.append(rows, nodes.take(slice(j, j + 1)))
        pace = configuration.pace(nodes.layer, float(len(X)))
        for _ in grow(rows, configuration, rule, max_nodes=most, tol=0.0, pace=pace, seed=seed):
            pass
        if not rule.nodes:
            return StreamColumns(columns.inputs, nodes.take(slice(0)))
        factor = rule.final_factor(rows, rule.nodes)
    kept = useful(factor, configuration.degrees_per_node(d), max_nodes)
    chosen = rule.grown.take(kept)
    # Products with arrays in another memory order differ in their last bits, and copies in files are contiguous.
    return StreamColumns(columns.inputs, replace(chosen, weights=np.ascontiguousarray(chosen.weights)))


def cross_validated(columns: StreamColumns, X: np.ndarray, T: np.ndarray, degrees_per_node: float) -> float:
    """The score of generalised cross-validation of columns on rows, by which proposals are compared."""
    H = columns.of(X)
    scaled = (T - T.mean(axis=0)) / np.maximum(T.std(axis=0), np.finfo(float).tiny)
    weights = RecursiveWeights.of_rows(H, scaled, forgetting=1.0, alpha=SMALLEST_PENALTY).weights
    squares = float(((scaled - H @ weights) ** 2).sum())
    return _score(squares, len(X), H.shape[1] - len(columns.nodes), len(columns.nodes), degrees_per_node)


def _score(squares: float, weight: float, linear: int, nodes: int, degrees_per_node: float) -> float:
    return squares / max(weight - linear - degrees_per_node * nodes, 1.0) ** 2


def useful(factor: Factor, degrees_per_node: float, most: int) -> np.ndarray:
    """The numbers of the nodes to keep: one after the other, the node is removed that increases the error least.

    Until there are at most ``most``, and then as long as generalised cross-validation improves. Removing node j and
    solving for the others increases the sum of squared errors by exactly ‖βⱼ‖²/[(HᵀH)⁻¹]ⱼⱼ.
    """
    triangle, coefficients, linear = factor.triangle, factor.coefficients, factor.linear
    squares = float(factor.residual_squares.sum())
    kept = np.arange(len(triangle) - linear)
    while len(kept):
        increases = error_increases(triangle, coefficients)[linear:]
        j = int(increases.argmin())
        before, after = (
            _score(squares + more, factor.weight, linear, count, degrees_per_node)
            for more, count in ((0.0, len(kept)), (float(increases[j]), len(kept) - 1))
        )
        if len(kept) <= most and after >= before:
            break
        rotation, triangle = qr(np.delete(triangle, linear + j, axis=1), mode="economic")
        coefficients, squares = rotation.T @ coefficients, squares + float(increases[j])
        kept = np.delete(kept, j)
    return kept


def error_increases(triangle: np.ndarray, coefficients: np.ndarray) -> np.ndarray:
    """By how much the sum of squared errors increases if a column is removed, for each column; from R and C alone."""
    inverse = solve_triangular(triangle, np.eye(len(triangle)))
    weights = inverse @ coefficients
    increases: np.ndarray = (weights**2).sum(axis=1) / (inverse**2).sum(axis=1)
    return increases
