"""Columns that are linear in the inputs, intercept and direct links: wᵀx + b itself."""

from dataclasses import dataclass

import numpy as np

from skscn.layers._base import Graph, Layer, Nodes


@dataclass(frozen=True)
class Identity(Layer):
    """Nodes without activation."""

    def values(self, x: np.ndarray, folded: np.ndarray, memory: None = None) -> np.ndarray:
        """One matrix product."""
        columns: np.ndarray = x @ folded
        return columns

    def columns(self, x: np.ndarray, folded: np.ndarray, memory: None = None) -> np.ndarray:
        """The same, contiguous in this shape."""
        columns: np.ndarray = folded.T @ x.T
        return columns

    def pulled_back(self, X: np.ndarray, nodes: Nodes, factors: np.ndarray) -> np.ndarray:
        """Through the weights."""
        pulled: np.ndarray = factors @ nodes.weights.T
        return pulled

    def operators(self, graph: Graph, x: str, nodes: Nodes) -> str:
        """As in the formula."""
        return graph("Add", graph("MatMul", x, graph.constant(nodes.weights)), graph.constant(nodes.biases))


IDENTITY = Identity()
