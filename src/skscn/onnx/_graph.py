"""Operators of a graph that skl2onnx builds, and those of the activations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from skscn.activations import ACTIVATIONS, Activation
from skscn.extras import optional

PURPOSE = "ONNX"


class GraphBuilder:
    """Adds operators to a graph of skl2onnx; each call returns the name of the operator's output."""

    def __init__(self, scope: Any, container: Any):
        self.scope, self.container = scope, container
        types = optional("onnx", PURPOSE).TensorProto
        self.double, self.integer = types.DOUBLE, types.INT64

    def __call__(self, kind: str, *inputs: str, **attributes: Any) -> str:
        output: str = self.scope.get_unique_variable_name(kind.lower())
        name = self.scope.get_unique_operator_name(kind)
        self.container.add_node(kind, list(inputs), [output], name=name, **attributes)
        return output

    def constant(self, value: Any) -> str:
        """A constant; numbers are in double precision unless they are integers."""
        value = np.asarray(value)
        value = value if value.dtype.kind in "biO" else value.astype(np.float64)
        name: str = self.scope.get_unique_variable_name("constant")
        tensor = optional("onnx.numpy_helper", PURPOSE).from_array(
            np.ascontiguousarray(value).reshape(value.shape), name
        )
        self.container.initializers.append(tensor)
        return name

    def name(self, output: str, variable: Any) -> None:
        """Make an output one of the model's outputs."""
        self.container.add_node(
            "Identity", [output], [variable.full_name], name=self.scope.get_unique_operator_name("Identity")
        )

    def activation(self, activation: Activation, z: str) -> str:
        """A registered activation function."""
        if activation.name not in OPERATORS or activation != ACTIVATIONS.get(activation.name):
            known = ", ".join(OPERATORS)
            raise ValueError(f"The activation {activation.name!r} has no counterpart in ONNX; use one of {known}.")
        return OPERATORS[activation.name](self, z)

    def clip(self, x: str, low: Any, high: Any) -> str:
        """Clip between limits that broadcast."""
        return self("Min", self("Max", x, self.constant(low)), self.constant(high))


def _gaussian(graph: GraphBuilder, z: str) -> str:
    z = graph.clip(z, -40.0, 40.0)
    return graph("Exp", graph("Neg", graph("Mul", z, z)))


def _cosine(graph: GraphBuilder, z: str) -> str:
    # Older versions of ONNX Runtime have no cosine in double precision.
    return graph("Sin", graph("Add", z, graph.constant(np.pi / 2.0)))


def _operator(kind: str) -> Callable[[GraphBuilder, str], str]:
    return lambda graph, z: graph(kind, z)


# For each registered activation, its operators.
OPERATORS: dict[str, Callable[[GraphBuilder, str], str]] = {
    "sigmoid": _operator("Sigmoid"),
    "tanh": _operator("Tanh"),
    "gaussian": _gaussian,
    "sine": _operator("Sin"),
    "cosine": _cosine,
    "relu": _operator("Relu"),
}
