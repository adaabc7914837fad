"""The operators of a network and of what comes before it: scaling, and what fills in missing numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from skscn.network import Network
from skscn.onnx._graph import GraphBuilder
from skscn.scaling import InputScaling, QuantileScaling, WithJumps, WithQuantiles
from skscn.tables.filling import Filling

_LARGEST = np.finfo(np.float64).max


def weighted_sum(graph: GraphBuilder, x: str, model: Any, response: Callable[[Any, str], str]) -> str:
    """The weighted sum of the members' responses."""
    shares = []
    for member, features, weight in zip(model.members_, model.features_, model.weights_, strict=True):
        columns = graph("Gather", x, graph.constant(features.astype(np.int64)), axis=1)
        shares.append(graph("Mul", response(member, columns), graph.constant(weight)))
    return shares[0] if len(shares) == 1 else graph("Sum", *shares)


def network_outputs(graph: GraphBuilder, x: str, network: Network) -> str:
    """Predictions of shape (rows, outputs)."""
    x = scaled_rows(graph, x, network.inputs)
    straight = graph("MatMul", x, graph.constant(network.linear.direct_weights))
    outputs = graph("Add", straight, graph.constant(network.linear.intercept))
    if network.n_nodes:
        hidden = hidden_columns(graph, x, network)
        outputs = graph("Add", outputs, graph("MatMul", hidden, graph.constant(network.output_weights)))
    if network.bounds is not None:
        outputs = graph.clip(outputs, *network.bounds)
    unscaled = graph("Mul", outputs, graph.constant(network.outputs.scale))
    unscaled = graph.clip(graph("Add", unscaled, graph.constant(network.outputs.offset)), -_LARGEST, _LARGEST)
    return network.loss.operators(graph, unscaled, network.n_outputs)


def hidden_columns(graph: GraphBuilder, x: str, network: Network) -> str:
    """The output of each node for scaled rows."""
    columns = [block.nodes.layer.operators(graph, x, block.nodes) for block in network.layers]
    return columns[0] if len(columns) == 1 else graph("Concat", *columns, axis=1)


def scaled_rows(graph: GraphBuilder, x: str, scaling: InputScaling) -> str:
    if isinstance(scaling, WithJumps):
        columns = graph("Gather", x, graph.constant(scaling.columns.astype(np.int64)), axis=1)
        jumps = graph("Cast", graph("Greater", columns, graph.constant(scaling.thresholds)), to=graph.double)
        return graph("Concat", scaled_rows(graph, x, scaling.scaling), jumps, axis=1)
    if isinstance(scaling, WithQuantiles):
        both = scaled_rows(graph, x, scaling.scaling), scaled_rows(graph, x, scaling.quantiles)
        return graph("Concat", *both, axis=1)
    if isinstance(scaling, QuantileScaling):
        return _quantiles(graph, x, scaling)
    moved = graph("Sub", x, graph.constant(scaling.offset))
    return graph.clip(graph("Div", moved, graph.constant(scaling.scale)), scaling.low, scaling.high)


def _quantiles(graph: GraphBuilder, x: str, scaling: QuantileScaling) -> str:
    """Linear interpolation between knots: the first share plus the part of each following rise that lies before x."""
    knots, shares = scaling.knots.T.astype(np.float64), scaling.shares.T
    widths = np.diff(knots, axis=1)
    # Where a knot occurs twice there is no rise between the two.
    widths = np.where(widths > 0.0, widths, np.inf)
    beside = graph("Unsqueeze", x, graph.constant(np.array([2])))
    passed = graph("Div", graph("Sub", beside, graph.constant(knots[:, :-1])), graph.constant(widths))
    rises = graph("Mul", graph.clip(passed, 0.0, 1.0), graph.constant(np.diff(shares, axis=1)))
    return graph(
        "Add", graph("ReduceSum", rises, graph.constant(np.array([2])), keepdims=0), graph.constant(shares[:, 0])
    )


def filled_rows(graph: GraphBuilder, x: str, filling: Filling) -> str:
    """Rows without missing numbers, and the marks; what is filled in is computed for all columns of all rows."""
    missing, width = graph("IsNaN", x), filling.n_features
    filled = graph("Where", missing, graph.constant(filling.medians), x)
    if filling.slopes.size:
        # Other columns keep the median.
        estimated = graph.constant(np.isin(np.arange(width), filling.columns))
        unknown = graph("And", missing, estimated)
        scores = _quantiles(graph, filled, filling.scores)
        for some, constants in zip(filling.slopes, filling.intercepts, strict=True):
            slopes, intercepts = np.zeros((width, width)), np.zeros(width)
            slopes[:, filling.columns], intercepts[filling.columns] = some, constants
            found = graph("Add", graph("MatMul", scores, graph.constant(slopes)), graph.constant(intercepts))
            scores = graph("Where", unknown, found, scores)
        filled = graph("Where", unknown, _quantiles(graph, scores, filling.values), filled)
    if not len(filling.marked):
        return filled
    marks = graph("Gather", missing, graph.constant(filling.marked.astype(np.int64)), axis=1)
    return graph("Concat", filled, graph("Cast", marks, to=graph.double), axis=1)
