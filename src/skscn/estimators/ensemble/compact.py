"""One small network that imitates an ensemble: nodes of the members, chosen greedily to reproduce its outputs.

The outputs of the ensemble are known for any rows, and without noise, so nodes can be selected among those of all
members as in forward regression: each time the one that leaves least of the outputs unexplained.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from skscn.estimators.ensemble.members import select_columns
from skscn.factor import Factor
from skscn.growth import HISTORY
from skscn.losses import Penalised
from skscn.network import LinearColumns, Network, WeightedNodes, sampled
from skscn.nodes import IDENTITY, Dense, Inputs, Nodes
from skscn.output_weights import solved
from skscn.scaling import InputScaling, QuantileScaling, scale_inputs
from skscn.supervision import Sums, forward_selection

# Rows that are enough to choose nodes and their output weights, since outputs have no noise.
_ENOUGH_ROWS = 5000
# The share of a column's squared norm, next to those before it, below which a Gram matrix cannot tell it from 0.
_DEPENDENT = 1e-8


def imitate(
    networks: Sequence[Network],
    features: Sequence[np.ndarray],
    weights: np.ndarray,
    X: Any,
    sample_weight: np.ndarray,
    max_nodes: int,
) -> tuple[Network, np.ndarray]:
    """The network that imitates the weighted mean of the outputs of some, and the history of its nodes.

    Parameters
    ----------
    networks : sequence of Network
    features : sequence of ndarray of int
        The columns of X that each of them has.
    weights : ndarray of shape (n_networks,)
    X, sample_weight : ndarray or sparse matrix of shape (n, d) and ndarray of shape (n,)
        Rows that are encoded, and their weights.
    max_nodes : int
    """
    if not all(isinstance(block.nodes.layer, Dense) for network in networks for block in network.layers):
        raise ValueError("compact is for members with one layer of dense nodes; use such an estimator.")
    inputs, few = scale_inputs(networks[0].inputs.name, X), sampled(X.shape[0], _ENOUGH_ROWS)
    X, p = X[few], sample_weight[few]
    # The range of the outputs is that of all training rows, some of which a member may not have seen.
    template = max(networks, key=_range)
    f = sum(
        weight * network.link(select_columns(X, own))
        for network, own, weight in zip(networks, features, weights, strict=True)
    )
    if isinstance(template.loss, Penalised) and template.loss.quadratic:
        # An error of an output matters as far as it changes what is predicted.
        p = p * template.loss.curvatures(f).mean(axis=1)
    targets, roots = template.outputs.transform(f), np.sqrt(p)
    nodes = Nodes.joined([_rescaled(*pair, inputs, X.shape[1]) for pair in zip(networks, features, strict=True)])
    links = X.shape[1] if max(network.linear.size for network in networks) > 1 else 0
    linear = Nodes(IDENTITY, np.eye(X.shape[1], links + 1, k=1), np.eye(1, links + 1)[0])
    known, hidden = (block.layer.evaluate(block, Inputs(X, inputs)).T for block in (linear, nodes))
    independent = _independent(roots[:, np.newaxis] * known)
    linear, known = linear.take(independent), known[:, independent]
    chosen = _chosen(*(roots[:, np.newaxis] * values for values in (known, hidden, targets)), max_nodes)
    nodes, columns = nodes.take(chosen), np.hstack([known, hidden[:, chosen]])
    factor = Factor.empty(columns.shape[1], targets.shape[1], len(linear)).with_rows(columns, targets, roots)
    solution = solved(factor, factor.cross_validated())
    first, others = np.split(np.ascontiguousarray(solution.output_weights), [len(linear)])
    network = replace(
        template,
        linear=LinearColumns(linear, first),
        layers=(WeightedNodes(nodes, others),),
        inputs=inputs,
        directions=solution.directions,
        coefficients=np.ascontiguousarray(solution.coefficients),
        factor=None,
        alpha=0.0,
        shares=None,
    )
    return network, _history(factor, network, hidden.shape[1])


def _range(network: Network) -> float:
    """How far apart the bounds of the outputs are, in units of the target."""
    return 0.0 if network.bounds is None else float(network.outputs.scale @ (network.bounds[1] - network.bounds[0]))


def _rescaled(network: Network, features: np.ndarray, inputs: InputScaling, n_inputs: int) -> Nodes:
    """The nodes of a network as nodes of all inputs, in another scaling; in one of quantiles, as they are."""
    nodes, own = network.nodes, network.inputs
    weights, biases = np.zeros((n_inputs, len(nodes))), nodes.biases
    weights[features] = nodes.weights
    if not isinstance(inputs, QuantileScaling) and not isinstance(own, QuantileScaling):
        # An input that is constant, whose scale is infinite, is 0 in any case.
        scale = np.where(np.isfinite(inputs.scale), inputs.scale, 0.0)[features]
        weights[features] *= (scale / own.scale)[:, np.newaxis]
        biases = biases + ((inputs.offset[features] - own.offset) / own.scale) @ nodes.weights
    return Nodes(nodes.layer, weights, biases)


def _independent(columns: np.ndarray) -> np.ndarray:
    """The numbers of the columns that do not depend on those before them."""
    left = np.linalg.qr(columns, mode="r").diagonal() ** 2
    return np.flatnonzero(left > _DEPENDENT * (columns**2).sum(axis=0)[: len(left)])


def _chosen(linear: np.ndarray, hidden: np.ndarray, targets: np.ndarray, most: int) -> np.ndarray:
    """The numbers of up to ``most`` hidden columns, by forward selection for the targets that linear ones leave."""
    basis = np.linalg.qr(linear)[0]
    left = hidden - basis @ (basis.T @ hidden)
    gram, squares = left.T @ left, (hidden**2).sum(axis=0)

    def score(sums: Sums, explained: np.ndarray, chosen: list[int]) -> np.ndarray:
        there = sums.squares > _DEPENDENT * squares
        scores: np.ndarray = np.where(there, (sums.projections**2).sum(axis=0), -np.inf)
        scores[there] /= sums.squares[there]
        scores[chosen] = -np.inf
        return scores

    sums = Sums(targets.T @ left, gram.diagonal(), gram=gram)
    return forward_selection(sums, most, score, orthogonal=True)


def _history(factor: Factor, network: Network, candidates: int) -> np.ndarray:
    """One row per node, with the difference from the ensemble's outputs as the error."""
    moves = factor.coefficients[factor.linear :] ** 2
    squares = factor.residual_squares + np.cumsum(moves[::-1], axis=0)[::-1] - moves
    history = np.zeros(len(moves), HISTORY)
    history["nodes"], history["round"] = np.arange(1, len(moves) + 1), 1
    history["train_rmse"] = [network.outputs.rmse(each / factor.weight) for each in squares]
    for name in ("scope", "contraction", "slack", "validation_rmse"):
        history[name] = np.nan
    history["candidates"][:1] = candidates
    return history
