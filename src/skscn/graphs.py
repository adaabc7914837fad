"""Operators and constants of an ONNX graph, collected one after the other, and how they come before another graph."""

from __future__ import annotations

from typing import Any

import numpy as np

from skscn.extras import optional

_PURPOSE = "ONNX"


class Operators:
    """Each call returns the name of the output of an operator, or of a constant; names begin with a prefix."""

    def __init__(self, prefix: str) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self._prefix, self._onnx = prefix, optional("onnx", _PURPOSE)

    def node(self, kind: str, *inputs: str, output: str | None = None, domain: str = "", **attributes: Any) -> str:
        """An operator."""
        output = output or f"{self._prefix}{len(self.nodes)}"
        self.nodes.append(self._onnx.helper.make_node(kind, list(inputs), [output], domain=domain, **attributes))
        return output

    def constant(self, value: Any) -> str:
        """A constant, in the type that it has; whole numbers have 64 bits on every system."""
        name, value = f"{self._prefix}constant {len(self.constants)}", np.asarray(value)
        value = value.astype(np.int64) if value.dtype.kind == "i" else value
        self.constants.append(self._onnx.numpy_helper.from_array(value, name))
        return name

    def put_before(self, graph: Any, inputs: list[Any], outputs: list[Any] | None = None) -> None:
        """Let these operators compute the first input of a graph: ``inputs`` replace it, ``outputs`` are added."""
        parts = [
            (graph.graph.node, [*self.nodes, *graph.graph.node]),
            (graph.graph.input, [*inputs, *graph.graph.input[1:]]),
            (graph.graph.output, [*graph.graph.output, *(outputs or ())]),
        ]
        for whole, some in parts:
            del whole[:]
            whole.extend(some)
        graph.graph.initializer.extend(self.constants)
        self._onnx.checker.check_model(graph)


def number_columns(name: str, width: int | None) -> Any:
    """An input or output of a graph: rows of numbers."""
    onnx = optional("onnx", _PURPOSE)
    return onnx.helper.make_tensor_value_info(name, onnx.TensorProto.DOUBLE, [None, width])


def make_way(graph: Any, names: set[str], prefix: str) -> str:
    """Give names with a prefix to what is called so within a graph; the name of its first input then."""
    for node in graph.graph.node:
        for ends in (node.input, node.output):
            for place, name in enumerate(ends):
                ends[place] = f"{prefix}{name}" if name in names else name
    for named in (*graph.graph.initializer, *graph.graph.input, *graph.graph.value_info):
        named.name = f"{prefix}{named.name}" if named.name in names else named.name
    return str(graph.graph.input[0].name)
