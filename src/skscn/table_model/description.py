"""A fitted model in words: its networks and nodes, its columns, what it estimates, and how growth ended."""

from __future__ import annotations

from typing import Any

from skscn.estimators.networks import grown_networks, layer_sizes
from skscn.fitted_loss import estimated, loss_of
from skscn.following import is_recurrent
from skscn.growth import StopReason
from skscn.losses import LogLoss, Squared, name_of
from skscn.recurrent.predicting import ReservoirRegressor
from skscn.tables import TableEncoder
from skscn.words import count, listed


def are_whole(estimator: Any) -> bool:
    """Whether every network has grown to its end; asked after an interrupt, which recurrent ones do not note."""
    if is_recurrent(estimator):
        return False
    networks = grown_networks(estimator)
    complete = len(networks) == getattr(estimator, "n_members", 1)
    return complete and all(network.stop_reason_ != StopReason.CALLBACK for network in networks)


def describe_networks(estimator: Any) -> str:
    """How many networks and nodes a model has, in words."""
    layers = [layer_sizes(network) for network in grown_networks(estimator)]
    counts = [sum(sizes) for sizes in layers]
    if is_recurrent(estimator):
        what = "a recurrent network" if len(counts) == 1 else f"{len(counts)} recurrent networks as one,"
        return f"{what} with {count(sum(counts), 'node')}{_memory(estimator)}"
    if not any(counts):
        return (
            "a network without nodes: linear" if len(counts) == 1 else f"{len(counts)} networks without nodes: linear"
        )
    if len(counts) == 1:
        return f"a network with {count(counts[0], 'node')}{_depth(layers)}"
    nodes = f"{min(counts)} to {max(counts)} nodes" if min(counts) < max(counts) else count(counts[0], "node")
    return f"{len(counts)} networks with {nodes} each{_depth(layers)}"


def _depth(layers: list[tuple[int, ...]]) -> str:
    """The layers of networks, if one has several: their sizes, or in several networks their number."""
    fewest, most = min(map(len, layers)), max(map(len, layers))
    if most == 1:
        return ""
    if len(layers) == 1:
        return f" in {most} layers, of {listed(map(str, layers[0]))}"
    return f", in {f'{fewest} to ' if fewest < most else ''}{most} layers"


def _memory(estimator: ReservoirRegressor) -> str:
    """The memory of a recurrent network."""
    length = estimator.reservoir_.length
    line = f"a delay line of {count(length, 'row')}" if length else "no delay line"
    return f" and {line}{', with feedback' if estimator.feedback else ''}"


def estimates(estimator: Any) -> list[tuple[str, str]]:
    """The line that says what a model estimates, if it has not the default loss."""
    loss = loss_of(estimator)
    if loss is None or isinstance(loss, Squared | LogLoss):
        return []
    all_rows = "; RMSE, MAE and R² include them" if loss.weighs else ""
    return [("Estimates", f"{estimated(loss)}{all_rows} (loss {name_of(loss)})")]


def limit_reached(networks: list[Any]) -> list[str]:
    """What to say where the limit on nodes has ended growth, in at least half of the networks."""
    # Where early stopping threw most nodes away, it is not more of them that are wanted.
    ended = [
        network
        for network in networks
        if network.stop_reason_ == StopReason.MAX_NODES and 2 * network.n_nodes_ > _grown(network)
    ]
    if not ended or 2 * len(ended) < len(networks):
        return []
    most = min(map(_grown, ended))
    kept = sorted({network.n_nodes_ for network in ended})
    which = f"{kept[0]}" if len(kept) == 1 else f"{kept[0]} to {kept[-1]}"
    fewer = f", and early stopping kept {which} of these nodes" if kept[0] < most else ""
    return [
        f'Growth ended at max_nodes={most}{fewer}; more nodes may be better: parameters={{"max_nodes": {2 * most}}}.'
    ]


def _grown(network: Any) -> int:
    """How many nodes were grown: the limit, if that has ended growth."""
    return int(network.history_["nodes"][-1])


def describe_columns(encoder: TableEncoder) -> str:
    """How many columns there are, and as how many features they are encoded."""
    used, encoded = len(encoder.columns_), len(encoder.get_feature_names_out())
    if not used:
        return "no columns but the time"
    return f"{count(used, 'column')}" + (f" encoded as {count(encoded, 'feature')}" if encoded != used else "")
