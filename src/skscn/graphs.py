"""Operators and constants of an ONNX graph, collected one after the other."""

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
