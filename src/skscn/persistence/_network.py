"""A grown network in a model file: its arrays, its history, and the conditions on them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from skscn.factor import Factor
from skscn.growth import HISTORY, StopReason, history_columns, history_of
from skscn.losses import LOSSES, Squared
from skscn.network import LinearColumns, Network, WeightedNodes
from skscn.nodes import IDENTITY, LAYERS, Deep, Dense, Identity, Layer, Nodes
from skscn.persistence._activations import Activations
from skscn.persistence._base import Field, Shelf, Sizes, UnusableError, at, check_keys, shortened
from skscn.persistence._composed import Added, Optional, Record, Several
from skscn.persistence._fields import Array, Enumerated, Scalar, Sparse, Triangle
from skscn.persistence._registered import Registered
from skscn.persistence._row_encoders import ROWS
from skscn.persistence._scalings import INPUT_SCALING, scaling
from skscn.persistence._values import Text

# Letters of shapes: d inputs, L nodes, p linear columns, q = p + L, m outputs, c classes, k members, n rows,
# s knots of a scaling, t steps, r rows out of bag.


def _check_network(network: Network) -> None:
    sizes = {block.output_weights.shape[1] for block in (network.linear, *network.layers)}
    if not network.layers or len(sizes) > 1:
        raise UnusableError("a network has no hidden layer, or layers with different numbers of outputs")
    if len(network.coefficients) != network.linear.size + network.n_nodes:
        raise UnusableError("a network has more or fewer directions than columns")
    if not all(block.nodes.layer.fits(block.nodes, network.n_features) for block in network.layers):
        raise UnusableError("the nodes of a network do not fit its inputs, or those below them")
    if all(isinstance(block.nodes.layer, Deep) for block in network.layers):
        raise UnusableError("a network has no first layer")
    if network.n_features == 0 or network.n_outputs == 0 or (network.single_output and network.n_outputs != 1):
        raise UnusableError("a network has no inputs or no outputs, or several where it should have one")
    if network.bounds is not None and len(network.bounds) != 2:
        raise UnusableError("a network does not have exactly two bounds")
    if network.factor is not None and network.factor.linear != network.linear.size:
        raise UnusableError("a network and its factor have different linear columns")
    if network.directions is None and network.factor is None:
        raise UnusableError("a network has neither directions nor a factor that they follow from")


class _Layers:
    """A registered layer; or one on top of others, with the nodes below it, each of which a file contains once."""

    plain = Registered("layers", LAYERS)
    tops = Registered("layers", {**LAYERS, "identity": Identity})

    def write(self, value: Layer, place: str, shelf: Shelf) -> dict[str, Any]:
        if not isinstance(value, Deep):
            return self.plain.write(value, place, shelf)
        below = [
            self._written(nodes, at(at(place, "below"), number), shelf) for number, nodes in enumerate(value.below)
        ]
        top = self.tops.write(value.top, at(place, "top"), shelf)
        return {"name": "deep", "top": top, "with_inputs": value.with_inputs, "below": below}

    def _written(self, nodes: Nodes, place: str, shelf: Shelf) -> Any:
        for number, known in enumerate(shelf.shared):
            if known is nodes:
                return number
        stored = _NODES.write(nodes, place, shelf)
        shelf.shared.append(nodes)
        return stored

    def read(self, stored: Any, place: str, shelf: Shelf, sizes: Sizes) -> Layer:
        if not isinstance(stored, dict) or stored.get("name") != "deep":
            layer: Layer = self.plain.read(stored, place, shelf, sizes)
            return layer
        check_keys(stored, ("name", "top", "with_inputs", "below"), place)
        if not isinstance(stored["below"], list) or not stored["below"]:
            raise UnusableError(f"there are no nodes below {place}")
        below = [
            self._known(nodes, at(at(place, "below"), number), shelf) for number, nodes in enumerate(stored["below"])
        ]
        top = self.tops.read(stored["top"], at(place, "top"), shelf, sizes)
        return Deep(top, tuple(below), _WITH_INPUTS.read(stored["with_inputs"], place, shelf, sizes))

    def _known(self, stored: Any, place: str, shelf: Shelf) -> Nodes:
        if isinstance(stored, dict):
            shelf.shared.append(_NODES.read(stored, place, shelf, {}))
            stored = len(shelf.shared) - 1
        if type(stored) is not int or not 0 <= stored < len(shelf.shared):
            raise UnusableError(f"{place} is {shortened(stored)}, and there are no such nodes")
        nodes: Nodes = shelf.shared[stored]
        return nodes


def _nodes(make: Callable[..., Nodes], inputs: str, count: str, **more: Field) -> Record:
    """Nodes; the letters of their inputs and of their number."""
    return Record(
        make,
        weights=Array(np.float64, inputs + count),
        biases=Array(np.float64, count),
        scopes=Array(np.float64, count, finite=False),
        **more,
    )


_WITH_INPUTS = Enumerated(False, True)
_NODES = _nodes(Nodes, "w", "L", layer=_Layers())


def _block(make: Callable[..., WeightedNodes], nodes: Record, count: str) -> Record:
    """Nodes and their output weights; the letter of their number."""
    return Record(make, nodes=nodes, output_weights=Array(np.float64, count + "m"))


_FACTOR = Record(
    Factor,
    triangle=Triangle("q"),
    coefficients=Array(np.float64, "qm"),
    residual_squares=Array(np.float64, "m", lowest=0.0),
    weight=Scalar(0.0),
    linear=Scalar(0, 2**31, whole=True),
)
# What has not changed since the first version.
_COMMON: dict[str, Field] = {
    "inputs": INPUT_SCALING,
    "outputs": scaling("m"),
    "bounds": Optional(Several(Array(np.float64, "m"), as_tuple=True)),
    "coefficients": Array(np.float64, "qm"),
    "single_output": Enumerated(False, True),
    "single_precision": Enumerated(False, True),
}
_PRESENT = Record(
    Network,
    _check_network,
    linear=_block(LinearColumns, _nodes(partial(Nodes, IDENTITY), "d", "p"), "p"),
    # Layers have different numbers of nodes; whether they fit together is checked afterwards.
    layers=Several(_block(WeightedNodes, _NODES, "L"), apart=True, as_tuple=True),
    loss=Registered("losses", LOSSES),
    factor=Optional(_FACTOR),
    directions=Optional(Sparse("q")),
    alpha=Added(Scalar(0.0), 0.0),
    shares=Added(Optional(Array(np.float64, "q", lowest=0.0, highest=1.0 + 1e-9)), None),
    **_COMMON,
)
# Version 0.1 had one dense layer under squared error, and kept no factor.
_FORMER = Record(
    dict,
    weights=Array(np.float64, "dL"),
    biases=Array(np.float64, "L"),
    output_weights=Array(np.float64, "Lm"),
    linear=Record(
        lambda weights, biases, output_weights: LinearColumns(Nodes(IDENTITY, weights, biases), output_weights),
        weights=Array(np.float64, "dp"),
        biases=Array(np.float64, "p"),
        output_weights=Array(np.float64, "pm"),
    ),
    activation=Activations(),
    directions=Sparse("q"),
    **_COMMON,
)


class _Networks:
    """A network, as this version or version 0.1 writes it."""

    def write(self, value: Network, place: str, shelf: Shelf) -> dict[str, Any]:
        return _PRESENT.write(value if shelf.updatable else value.without_factor(), place, shelf)

    def read(self, stored: Any, place: str, shelf: Shelf, sizes: Sizes) -> Network:
        if not isinstance(stored, dict) or "layers" in stored:
            network: Network = _PRESENT.read(stored, place, shelf, sizes)
            return network
        rest = _FORMER.read(stored, place, shelf, sizes)
        nodes = Nodes(Dense(rest.pop("activation")), rest.pop("weights"), rest.pop("biases"))
        former = Network(
            layers=(WeightedNodes(nodes, rest.pop("output_weights")),), loss=Squared(), factor=None, **rest
        )
        _check_network(former)
        return former


def shape_of_network(stored: dict[str, Any]) -> tuple[int, int]:
    """Inputs and nodes of a network, from the header of a file."""
    if "layers" not in stored:
        d, nodes = stored["weights"]
        return d, nodes
    return stored["linear"]["nodes"]["weights"][0], sum(block["nodes"]["biases"][0] for block in stored["layers"])


# Columns of a history that files of version 0.1 do not have, and what they would contain.
_NEW = {"round": 1, "polished": False}


class _History:
    """A history, as plain arrays."""

    columns = {name: Array(HISTORY[name].type, "t", finite=False) for name in HISTORY.names or ()}

    def write(self, value: np.ndarray, place: str, shelf: Shelf) -> dict[str, Any]:
        columns = history_columns(value)
        return {name: array.write(columns[name], at(place, name), shelf) for name, array in self.columns.items()}

    def read(self, stored: Any, place: str, shelf: Shelf, sizes: Sizes) -> np.ndarray:
        # Version 0.1 had neither losses with several rounds nor nodes that are polished together.
        present = stored if isinstance(stored, dict) else {}
        fields = {name: field for name, field in self.columns.items() if name not in _NEW or name in present}
        check_keys(stored, fields, place)
        columns = {name: a.read(stored[name], at(place, name), shelf, sizes) for name, a in fields.items()}
        nodes = columns["nodes"]
        for name, value in _NEW.items():
            columns.setdefault(name, np.full(len(nodes), value))
        steps = np.diff(columns["round"], prepend=1)
        if (nodes < 1).any() or (steps < 0).any() or ((np.diff(nodes, prepend=0) <= 0) & (steps == 0)).any():
            raise UnusableError(f"the nodes of {place} do not increase")
        return history_of(columns)


GROWN: dict[str, Field] = {
    **ROWS,
    "network_": _Networks(),
    "history_": _History(),
    "stop_reason_": Enumerated(*map(str, StopReason)),
    "held_out_": Array(np.int64, "h", lowest=0),
    "_seed": Scalar(0, 2**31, whole=True),
    # Version 0.1 did not count them.
    "n_rows_seen_": Added(Scalar(0, 2**53, whole=True), 0),
    "_weight_unit": Added(Scalar(np.finfo(float).tiny), 1.0),
    "_fingerprint": Added(Optional(Text()), None),
    # Version 0.1 had none.
    "_feature_importances": Added(Optional(Array(np.float64, "d", lowest=0.0, highest=1.0 + 1e-9)), None),
}
