"""A grown network in a model file: its arrays, its history, and the conditions on them."""

from __future__ import annotations

from typing import Any

import numpy as np

from skscn.estimators.training import HISTORY, history_columns, history_of
from skscn.network import LinearColumns, Network
from skscn.persistence._activations import Activations
from skscn.persistence._base import Field, Shelf, Sizes, UnusableError, at, check_keys
from skscn.persistence._composed import OneOf, Optional, Record, Several
from skscn.persistence._fields import Array, Choice, Scalar, Sparse
from skscn.scaling import SCALINGS, QuantileScaling, Scaling

# Letters of shapes: d inputs, L nodes, p linear columns, q = p + L, m outputs, c classes, k members, n rows,
# s knots of a scaling, t steps, r rows out of bag.


def _scaling(letter: str) -> Record:
    return Record(
        Scaling,
        _check_scaling,
        name=Choice(*SCALINGS),
        offset=Array(np.float64, letter),
        scale=Array(np.float64, letter, finite=False),
        low=Scalar(),
        high=Scalar(),
    )


def _check_scaling(scaling: Scaling) -> None:
    if not (scaling.scale > 0.0).all() or scaling.low > scaling.high:
        raise UnusableError("a scaling divides by numbers that are not above 0, or has its limits the wrong way round")


def _check_quantiles(scaling: QuantileScaling) -> None:
    if len(scaling.knots) == 0 or (np.diff(scaling.knots, axis=0) < 0.0).any():
        raise UnusableError("the knots of a scaling do not increase")


_QUANTILES = Record(
    QuantileScaling,
    _check_quantiles,
    name=Choice(*SCALINGS),
    knots=Array(np.float64, "sd"),
    shares=Array(np.float64, "sd"),
)


def _check_network(network: Network) -> None:
    if len(network.coefficients) != network.linear.size + network.n_nodes:
        raise UnusableError("a network has more or fewer directions than columns")
    if network.n_features == 0 or network.n_outputs == 0 or (network.single_output and network.n_outputs != 1):
        raise UnusableError("a network has no inputs or no outputs, or several where it should have one")
    if network.bounds is not None and len(network.bounds) != 2:
        raise UnusableError("a network has a number of bounds other than two")


_NETWORK = Record(
    Network,
    _check_network,
    weights=Array(np.float64, "dL"),
    biases=Array(np.float64, "L"),
    output_weights=Array(np.float64, "Lm"),
    linear=Record(
        LinearColumns,
        weights=Array(np.float64, "dp"),
        biases=Array(np.float64, "p"),
        output_weights=Array(np.float64, "pm"),
    ),
    activation=Activations(),
    inputs=OneOf("scalings", {"Scaling": _scaling("d"), "QuantileScaling": _QUANTILES}),
    outputs=_scaling("m"),
    bounds=Optional(Several(Array(np.float64, "m"), as_tuple=True)),
    directions=Sparse("q"),
    coefficients=Array(np.float64, "qm"),
    single_output=Choice(False, True),
    single_precision=Choice(False, True),
)


class _History:
    """A history, as plain arrays."""

    columns = {name: Array(HISTORY[name].type, "t", finite=False) for name in HISTORY.names or ()}

    def write(self, value: np.ndarray, place: str, shelf: Shelf) -> dict[str, Any]:
        columns = history_columns(value)
        return {name: array.write(columns[name], at(place, name), shelf) for name, array in self.columns.items()}

    def read(self, stored: Any, place: str, shelf: Shelf, sizes: Sizes) -> np.ndarray:
        check_keys(stored, self.columns, place)
        columns = {name: a.read(stored[name], at(place, name), shelf, sizes) for name, a in self.columns.items()}
        if (np.diff(columns["nodes"], prepend=0) < 1).any():
            raise UnusableError(f"the nodes of {place} do not increase")
        return history_of(columns)


GROWN: dict[str, Field] = {
    "network_": _NETWORK,
    "history_": _History(),
    "stop_reason_": Choice("tol", "max_nodes", "no candidate", "early stopping", "callback"),
    "held_out_": Array(np.int64, "h", lowest=0),
    "_seed": Scalar(0, 2**31, whole=True),
}
