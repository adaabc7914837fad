"""Nodes, and the layer that they belong to."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self

import numpy as np

from skscn.activations import Activation


class Graph(Protocol):
    """What a layer needs to write itself as ONNX operators: each call returns the name of an output."""

    def __call__(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """An operator."""
        ...

    def constant(self, value: Any) -> str:
        """A constant."""
        ...

    def activation(self, activation: Activation, z: str) -> str:
        """An activation function."""
        ...


class Code(Protocol):
    """What a layer or a loss needs to write itself in C, where ``real`` is the type of numbers."""

    def table(self, hint: str, values: np.ndarray) -> str:
        """The name of a table of numbers, row by row."""
        ...

    def number(self, value: float) -> str:
        """A number."""
        ...

    def math(self, name: str) -> str:
        """A function of math.h, in the precision of ``real``."""
        ...

    def function(self, hint: str, returns: str, parameters: str, body: str) -> str:
        """The name of a function."""
        ...

    def activation(self, activation: Activation) -> str:
        """The name of a function real → real."""
        ...

    def softmax(self) -> str:
        """The name of a function ``void (real *f, int n)`` that works in place."""
        ...

    def logistic(self) -> str:
        """The name of a function real → real."""
        ...


class Layer(ABC):
    """Computes the columns of nodes from rows of inputs.

    Rows are scaled and end with an input that is 1, whose weight is the bias. A column is h = ``outer`` · value: the
    constant factor is applied to sums and output weights, where it is free. Fields of a subclass, a dataclass, are its
    parameters, which model files contain: activations, numbers and strings.
    """

    # g, in layers that have one.
    activation: Activation | None = None
    # Whether a column depends on the rows before, so that rows must be processed in order.
    carries: ClassVar[bool] = False

    @classmethod
    def of(cls, activation: Activation) -> Self:
        """The layer that an estimator with this activation uses."""
        return cls()

    @property
    def outer(self) -> float:
        """The constant factor."""
        return 1.0

    @property
    def bound(self) -> float:
        """The largest absolute value of a column; infinity where none is known."""
        return np.inf

    @property
    def differentiable(self) -> bool:
        """Whether gradient-based searches can use it: see :meth:`slope_and_value`."""
        return False

    @property
    def has_gradients(self) -> bool:
        """Whether :meth:`gradients` is defined."""
        return False

    def width(self, n_inputs: int) -> int:
        """How many weights a node has."""
        return n_inputs

    def fits(self, nodes: Nodes, n_inputs: int) -> bool:
        """Whether nodes that a file contains can belong to it."""
        return len(nodes.weights) == self.width(n_inputs)

    def after(self, nodes: Nodes) -> Layer:
        """The layer of the next nodes, once these have joined the network; another one if they depend on these."""
        return self

    def folded(self, nodes: Nodes) -> Any:
        """The argument of :meth:`values` for these nodes: their weights above their biases, shape (d + 1, k)."""
        return np.vstack([nodes.weights, nodes.biases])

    def memory(self, nodes: Nodes) -> Any:
        """What these nodes know of the rows before the first one; :meth:`values` changes it as rows pass by."""
        return None

    @abstractmethod
    def values(self, x: np.ndarray, folded: Any, memory: Any = None) -> np.ndarray:
        """h/outer of shape (n, k), for rows that end with a 1; for layers that carry, the rows after the last call."""

    def columns(self, x: np.ndarray, folded: Any, memory: Any = None) -> np.ndarray:
        """The same, in shape (k, n)."""
        return self.values(x, folded, memory).T

    def features(self, X: np.ndarray) -> np.ndarray:
        """What nodes see of rows that do not end with a 1; searches draw directions among these."""
        return X

    def hidden(self, X: np.ndarray, nodes: Nodes) -> np.ndarray:
        """h of shape (n, k) from :meth:`features`, in their precision; to be defined if these are not the inputs."""
        x = np.column_stack([X, np.ones(len(X), X.dtype)])
        return self.outer * self.values(x, self.folded(nodes).astype(X.dtype), self.memory(nodes))

    def slope_and_value(self, X: np.ndarray, weights: np.ndarray, biases: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """g′(z) and g(z), each (n, k), for layers whose nodes are h = g(z) with z = wᵀx + b."""
        raise NotImplementedError(f"{type(self).__name__} has no derivative.")

    def gradients(self, X: np.ndarray, nodes: Nodes, output_weights: np.ndarray) -> Iterator[np.ndarray]:
        """For each output, Σ_l β_l ∂h_l/∂x of shape (n, d), for :meth:`features` x.

        Feature importances need it; if a subclass defines it, :attr:`has_gradients` is true. Arrays may be overwritten.
        """
        raise NotImplementedError(f"{type(self).__name__} has no gradients.")

    def pulled_back(self, X: np.ndarray, nodes: Nodes, factors: np.ndarray) -> np.ndarray:
        """Σ_l u_l ∂h_l/∂x of shape (n, d), for scaled inputs and factors u of shape (n, k): the chain rule."""
        raise NotImplementedError(f"{type(self).__name__} has no gradients.")

    def operators(self, graph: Graph, x: str, nodes: Nodes) -> str:
        """The output h of these nodes in an ONNX graph, from scaled inputs that do not end with a 1."""
        raise ValueError(f"Nodes of the layer {type(self).__name__} have no counterpart in ONNX.")

    def c_function(self, code: Code, nodes: Nodes) -> str:
        """The name of a C function ``real (const real *x, int j)``: the output h of node j, from scaled inputs."""
        raise ValueError(f"Nodes of the layer {type(self).__name__} have no counterpart in C.")


@dataclass(frozen=True, eq=False)
class Nodes:
    """Nodes of one layer, as candidates and in the network.

    Attributes
    ----------
    layer : Layer
        The layer that computes their outputs.
    weights : ndarray of shape (d, k)
        w.
    biases : ndarray of shape (k,)
        b.
    scopes : ndarray of shape (k,)
        λ, the scopes that they were drawn from; NaN if unknown.
    """

    layer: Layer
    weights: np.ndarray
    biases: np.ndarray
    scopes: np.ndarray

    @classmethod
    def of(cls, layer: Layer, weights: np.ndarray, biases: np.ndarray, scopes: Any = np.nan) -> Nodes:
        """Nodes with these weights (d, k) and biases (k,); a single scope applies to all."""
        return cls(layer, weights, biases, np.broadcast_to(np.asarray(scopes, dtype=float), biases.shape))

    @classmethod
    def none(cls, layer: Layer, n_inputs: int) -> Nodes:
        """No nodes yet."""
        return cls.of(layer, np.zeros((layer.width(n_inputs), 0)), np.zeros(0))

    @classmethod
    def joined(cls, blocks: Sequence[Nodes]) -> Nodes:
        """The nodes of all blocks; where some have fewer weights than others, the rest are 0."""
        width = max(len(block.weights) for block in blocks)
        weights = np.hstack([_padded(block.weights, width) for block in blocks])
        biases = np.hstack([block.biases for block in blocks])
        return cls(blocks[0].layer, weights, biases, np.hstack([block.scopes for block in blocks]))

    def __len__(self) -> int:
        return len(self.biases)

    def take(self, chosen: np.ndarray | slice) -> Nodes:
        """Some of them, in this order."""
        return Nodes(self.layer, self.weights[:, chosen], self.biases[chosen], self.scopes[chosen])


def _padded(weights: np.ndarray, width: int) -> np.ndarray:
    missing = width - len(weights)
    return np.pad(weights, ((0, missing), (0, 0))) if missing else weights
