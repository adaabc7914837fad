"""The hidden layer of the paper: h(x) = g(wᵀx + b)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from skscn.activations import Activation
from skscn.layers._base import Code, Graph, Layer, Nodes


@dataclass(frozen=True)
class Dense(Layer):
    """Nodes that use all inputs and apply one activation."""

    activation: Activation

    @classmethod
    def of(cls, activation: Activation) -> Dense:
        """With this activation."""
        return cls(activation)

    @property
    def outer(self) -> float:
        """The factor of the activation that is applied to sums."""
        return self.activation.core.outer

    @property
    def bound(self) -> float:
        """b_g."""
        return self.activation.bound

    @property
    def differentiable(self) -> bool:
        """Whether g′ is known."""
        return self.activation.derivative is not None

    @property
    def has_gradients(self) -> bool:
        """Whether g′ is known."""
        return self.differentiable

    def folded(self, nodes: Nodes) -> np.ndarray:
        """Weights above biases, times the inner factor of the activation."""
        folded: np.ndarray = self.activation.core.inner * super().folded(nodes)
        return folded

    def values(self, x: np.ndarray, folded: np.ndarray, memory: None = None) -> np.ndarray:
        """One matrix product and one pass of the activation."""
        return self.activation.core.value(x @ folded)

    def columns(self, x: np.ndarray, folded: np.ndarray, memory: None = None) -> np.ndarray:
        """The same, contiguous in this shape."""
        return self.activation.core.value(folded.T @ x.T)

    def hidden(self, X: np.ndarray, nodes: Nodes) -> np.ndarray:
        """Without a column of ones: in single precision, adding the bias is more accurate than multiplying it."""
        return self.activation.value(_inner(X, nodes.weights, nodes.biases)).T

    def slope_and_value(self, X: np.ndarray, weights: np.ndarray, biases: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """g′(z) and g(z)."""
        value, slope = self.activation.value_and_slope(_inner(X, weights, biases))
        return slope.T, value.T

    def gradients(self, X: np.ndarray, nodes: Nodes, output_weights: np.ndarray) -> Iterator[np.ndarray]:
        """Σ_l β_l g′(z_l) w_l for each output: g′ once, and one matrix product for each output."""
        assert self.activation.derivative is not None
        slopes = self.activation.derivative(_inner(X, nodes.weights, nodes.biases))
        transposed = nodes.weights.T.astype(X.dtype, copy=False)
        for weights in output_weights.T.astype(X.dtype, copy=False):
            yield (slopes * weights[:, np.newaxis]).T @ transposed

    def pulled_back(self, X: np.ndarray, nodes: Nodes, factors: np.ndarray) -> np.ndarray:
        """Through g′ and the weights."""
        assert self.activation.derivative is not None
        slopes = self.activation.derivative(_inner(X, nodes.weights, nodes.biases))
        pulled: np.ndarray = (slopes.T * factors) @ nodes.weights.T
        return pulled

    def operators(self, graph: Graph, x: str, nodes: Nodes) -> str:
        """As in the formula."""
        inner = graph("Add", graph("MatMul", x, graph.constant(nodes.weights)), graph.constant(nodes.biases))
        return graph.activation(self.activation, inner)

    def c_function(self, code: Code, nodes: Nodes) -> str:
        """As in the formula; a row of the table is a bias and its weights."""
        width, table = len(nodes.weights), code.table("weights", np.vstack([nodes.biases, nodes.weights]).T)
        body = f"""
            const real *w = {table} + {width + 1} * j;
            real z = w[0];
            for (int i = 0; i < {width}; i++) z += w[i + 1] * x[i];
            return {code.activation(self.activation)}(z);
        """
        return code.function("node", "real", "const real *x, int j", body)


def _inner(X: np.ndarray, weights: np.ndarray, biases: np.ndarray) -> np.ndarray:
    """z = wᵀx + b of shape (k, n), in the precision of the rows: there are few nodes and many rows."""
    z: np.ndarray = weights.T.astype(X.dtype) @ X.T
    z += biases.astype(X.dtype)[:, np.newaxis]
    return z
