"""The networks of a model: one, or the members of an ensemble, and how their growth ended."""

from __future__ import annotations

from typing import Any

from sklearn.pipeline import Pipeline

from skscn.cli._voice import count


def networks(estimator: Any) -> list[Any]:
    """The networks of a model: one, or the members of an ensemble."""
    last = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    return list(getattr(last, "members_", [last]))


def are_whole(estimator: Any) -> bool:
    """Whether every network has grown to its end."""
    grown = networks(estimator)
    return len(grown) == getattr(estimator, "n_members", 1) and all(one.stop_reason_ != "callback" for one in grown)


def describe_networks(estimator: Any) -> str:
    """How many networks and nodes a model has, in words."""
    nodes = [network.n_nodes_ for network in networks(estimator)]
    if len(nodes) == 1:
        return f"a network with {count(nodes[0], 'node')}"
    return f"{len(nodes)} networks with {min(nodes)} to {max(nodes)} nodes each"


def limit_reached(estimator: Any) -> list[str]:
    """What to say where the limit on nodes has ended growth, in at least half of the networks."""
    # Where early stopping threw most nodes away, it is not more of them that are wanted.
    ended = [
        network
        for network in networks(estimator)
        if network.stop_reason_ == "max_nodes" and 2 * network.n_nodes_ > network.max_nodes
    ]
    if 2 * len(ended) < len(networks(estimator)):
        return []
    most = ended[0].max_nodes
    kept = sorted({network.n_nodes_ for network in ended})
    which = f"{kept[0]}" if len(kept) == 1 else f"{kept[0]} to {kept[-1]}"
    fewer = f", and early stopping kept {which} of these nodes" if kept[0] < most else ""
    return [f"Growth ended at max_nodes={most}{fewer}; more nodes may be better: --set max_nodes={2 * most}."]
