"""One small network that imitates an ensemble: nodes of the members, chosen greedily and polished to reproduce it.

The outputs of the ensemble are known without noise, and at any point. So nodes can be chosen among those of all members
by forward selection, each time the one that leaves least of the outputs unexplained, and then be polished together,
without overfitting. If some members see quantiles of the inputs, the network sees both. Tables of few rows are
completed by points between neighbouring rows, as in model compression (Buciluă, Caruana and Niculescu-Mizil,
2006). Output weights are evaluated as in any network, with the predictions of the ensemble as targets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from operator import itemgetter
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import orth, qr
from sklearn.neighbors import NearestNeighbors

from skscn.estimators.ensemble.members import select_columns
from skscn.estimators.parameters import SCOPES
from skscn.factor import Factor
from skscn.fit.data import ArrayData, split_rows
from skscn.fit.trainer import NetworkSpec, Refit
from skscn.growth import HISTORY
from skscn.losses import Squared
from skscn.network import Network, sampled
from skscn.nodes import IDENTITY, Dense, Inputs, Nodes
from skscn.output_weights import LeastSquares
from skscn.rows import Rows
from skscn.scaling import (
    InputScaling,
    QuantileScaling,
    Scaling,
    WithJumps,
    WithQuantiles,
    scale_inputs,
    scaling_of_columns,
)
from skscn.search import Polished
from skscn.search.pool import Search
from skscn.supervision import Sums, forward_selection

# Rows that are enough to choose nodes, to polish them, and for their output weights; and for each node.
_ENOUGH_ROWS, _ROWS_PER_NODE = 5000, 25
# A point between rows is on the line from a row to one of this number of its nearest neighbours.
_NEIGHBOURS = 5
# How often all nodes are polished.
_POLISHINGS = 4
# The share of a column's squared norm, next to those before it, below which a Gram matrix cannot tell it from 0.
_DEPENDENT = 1e-8
# The share of the rows that chooses the penalty of output weights, where outputs are not what is predicted.
_HELD_OUT = 0.2


class _Imitation(Polished):
    """Polishing where there is no noise: any number of weights for each row, in double precision."""

    rows_per_weight = 0

    def _open(self, rows: Rows, rng: np.random.Generator, most_rows: int) -> Search:
        return Search(rows, rng, most_rows=most_rows, moderate=0.0)


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
        The members.
    features : sequence of ndarray of int
        The columns of X that each member has.
    weights : ndarray of shape (n_members,)
    X : ndarray or sparse matrix of shape (n, d)
        Rows that are encoded.
    sample_weight : ndarray of shape (n,)
    max_nodes : int
    """
    if not all(isinstance(block.nodes.layer, Dense) for network in networks for block in network.layers):
        raise ValueError("compact is for ensembles of networks with one layer of dense nodes.")
    if any(network.signs is not None for network in networks):
        raise ValueError("compact does not keep monotone inputs; predict with the ensemble.")
    first, inputs = networks[0], _common_inputs(networks, features, X)
    width = len(inputs.sources)
    X, sample_weight = _with_points_between(X, sample_weight, inputs, _ROWS_PER_NODE * max_nodes)
    pairs = zip(networks, features, strict=True)
    nodes = Nodes.joined([_rescaled(*pair, inputs) for pair in pairs if _is_part(pair[0].inputs, inputs)])
    direct = width if max(network.linear.size for network in networks) > 1 else 0
    linear = Nodes(IDENTITY, np.eye(width, direct + 1, k=1), np.eye(1, direct + 1)[0])
    outputs = np.tensordot(
        weights,
        [network.link(select_columns(X, own)) for network, own in zip(networks, features, strict=True)],
        1,
    )
    linked = first.loss.has_link
    loss = first.loss if linked else Squared()
    data = ArrayData.regression(X, loss.mean(outputs), sample_weight)
    links = replace(data, targets=outputs.reshape(len(outputs), -1)[data.numbers])
    targets = first.outputs.transform(links.targets)
    known, hidden = (block.layer.evaluate(block, Inputs(data.X, inputs)).T for block in (linear, nodes))
    chosen, history = _chosen(known, hidden, targets, max_nodes)
    found = nodes.take(chosen)
    # With fewer nodes than there may be, nothing is left unexplained.
    if len(chosen) == max_nodes:
        found, error = _polished(links, inputs, first.outputs, linear, found)
        history = history[: len(found)]
        history["train_rmse"][-1], history["polished"][-1] = error, True
    history["train_rmse"] *= first.outputs.rmse(np.ones(len(targets.T)))
    spec = NetworkSpec(
        nodes.layer,
        loss,
        inputs,
        first.outputs,
        linear,
        bounded=first.bounds is not None,
        single_output=first.single_output,
        single_precision=first.single_precision,
    )
    everything = np.arange(len(targets))
    kept, others = split_rows(len(targets), _HELD_OUT, None, seed=0) if linked else (everything, everything[:0])
    refit = Refit(data.keep(kept), data.take(others), data if linked else None, spec, "gcv", None, averaged=False)
    network = refit.network([found], loss, final=True).without_factor()
    return network if linked else replace(network, loss=first.loss), history[: network.n_nodes]


def _common_inputs(networks: Sequence[Network], features: Sequence[np.ndarray], X: Any) -> InputScaling:
    """The scaling of the first network for all columns, with the jumps of all networks, and quantiles if some have."""
    scaling, jumps = scale_inputs(networks[0].inputs.name, X), set[tuple[int, float]]()
    for network, own in zip(networks, features, strict=True):
        if isinstance(network.inputs, WithJumps):
            jumps |= set(zip(own[network.inputs.columns].tolist(), network.inputs.thresholds.tolist(), strict=True))
    inputs: Any = scaling
    if jumps:
        columns, thresholds = zip(*sorted(jumps), strict=True)
        inputs = WithJumps(scaling, np.array(columns), np.array(thresholds))
    if isinstance(scaling, QuantileScaling) or all(network.inputs.name != "quantile" for network in networks):
        return inputs
    quantiles = scale_inputs("quantile", X)
    assert isinstance(quantiles, QuantileScaling)
    return WithQuantiles(inputs, quantiles)


def _is_part(own: InputScaling, inputs: InputScaling) -> bool:
    """Whether the nodes of a network can be nodes of the common inputs."""
    return own.name == inputs.name or (isinstance(inputs, WithQuantiles) and own.name == inputs.quantiles.name)


def _with_points_between(
    X: Any, sample_weight: np.ndarray, inputs: InputScaling, wanted: int
) -> tuple[Any, np.ndarray]:
    """Rows with weights: some of many; if there are fewer than wanted, and not sparse, points between them as well."""
    few = sampled(X.shape[0], _ENOUGH_ROWS)
    X, sample_weight = X[few], sample_weight[few]
    counted = np.flatnonzero(sample_weight > 0.0)
    missing, neighbours = min(wanted, _ENOUGH_ROWS) - len(counted), min(_NEIGHBOURS, len(counted) - 1)
    if sparse.issparse(X) or missing <= 0 or neighbours < 1:
        return X, sample_weight
    rng = np.random.default_rng(0)
    near = NearestNeighbors(n_neighbors=neighbours).fit(inputs.transform(X[counted])).kneighbors(return_distance=False)
    begins = rng.integers(len(counted), size=missing)
    start, end = counted[begins], counted[near[begins, rng.integers(neighbours, size=missing)]]
    between = X[start] + rng.random((missing, 1)) * (X[end] - X[start])
    return np.concatenate([X, between]), np.concatenate([sample_weight, sample_weight[start]])


def _polished(
    data: ArrayData, inputs: InputScaling, outputs: Scaling, linear: Nodes, nodes: Nodes
) -> tuple[Nodes, float]:
    """The nodes polished for the targets, and the root mean square of what they leave of these, scaled."""
    search, best, found = _Imitation(SCOPES), (np.inf, nodes), nodes
    with Rows(data.open_backend(inputs, outputs, None), nodes.layer) as rows:
        for number in range(_POLISHINGS + 1):
            rows.restart()
            rule = LeastSquares(rows.n_outputs)
            rule.append_linear(rows, linear)
            found = found.take(rule.append_independent(rows, found))
            best = min(best, (rows.rmse, found), key=itemgetter(0))
            factor = Factor(rule.factor, rule.coefficients(), rows.residual_squares, rows.weight, rule.fixed)
            if number < _POLISHINGS:
                # If nodes became dependent on others, blocks of other nodes may not.
                polished = search.polish(rows, found, factor, 0.0, np.random.default_rng(number))
                found = found if polished is None else polished
    return best[1], best[0]


def _rescaled(network: Network, features: np.ndarray, inputs: InputScaling) -> Nodes:
    """The nodes of a network as nodes of all inputs, in another scaling; in one of quantiles, as they are."""
    nodes, own = network.nodes, network.inputs
    weights, biases = np.zeros((len(inputs.sources), len(nodes))), nodes.biases
    common = inputs.scaling if isinstance(inputs, WithQuantiles) else inputs
    by_quantiles = isinstance(inputs, WithQuantiles) and own.name == inputs.quantiles.name
    first = len(common.sources) if by_quantiles else 0
    weights[first + features] = nodes.weights[: len(features)]
    if isinstance(own, WithJumps) and isinstance(common, WithJumps):
        places = list(zip(common.columns.tolist(), common.thresholds.tolist(), strict=True))
        jumps = zip(features[own.columns].tolist(), own.thresholds.tolist(), strict=True)
        weights[[len(common.scaling.sources) + places.index(jump) for jump in jumps]] = nodes.weights[len(features) :]
    scaling, own = scaling_of_columns(common), scaling_of_columns(own)
    if not isinstance(scaling, QuantileScaling) and not isinstance(own, QuantileScaling):
        # An input that is constant has an infinite scale, and is 0 in any case.
        scale = np.where(np.isfinite(scaling.scale), scaling.scale, 0.0)[features]
        weights[features] *= (scale / own.scale)[:, np.newaxis]
        biases = biases + ((scaling.offset[features] - own.offset) / own.scale) @ nodes.weights[: len(features)]
    return Nodes(nodes.layer, weights, biases)


def _chosen(linear: np.ndarray, hidden: np.ndarray, targets: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """The numbers of up to ``most`` hidden columns, by forward selection for what linear ones leave of the targets.

    Also a history, with the root mean square of what is left after each of them.
    """
    basis = orth(linear)
    left, rest = (values - basis @ (basis.T @ values) for values in (hidden, targets))
    gram, squares = left.T @ left, (hidden**2).sum(axis=0)

    def score(sums: Sums, explained: np.ndarray, chosen: list[int]) -> np.ndarray:
        there = sums.squares > _DEPENDENT * squares
        there[chosen] = False
        scores = np.full(len(squares), -np.inf)
        np.divide((sums.projections**2).sum(axis=0), sums.squares, out=scores, where=there)
        return scores

    sums = Sums(rest.T @ left, gram.diagonal(), gram=gram)
    chosen = forward_selection(sums, most, score, orthogonal=True)
    moves = qr(left[:, chosen], mode="economic")[0].T @ rest
    explained = np.cumsum((moves**2).sum(axis=1))
    history = np.zeros(len(chosen), HISTORY)
    history["nodes"], history["round"] = np.arange(1, len(chosen) + 1), 1
    history["train_rmse"] = np.sqrt(np.maximum((rest**2).sum() - explained, 0.0) / targets.size)
    for name in ("scope", "contraction", "slack", "validation_rmse"):
        history[name] = np.nan
    history["candidates"][:1] = len(squares)
    return chosen, history
