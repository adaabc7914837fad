"""Nodes, and the layer that they belong to."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


class Layer(ABC):
    """Computes the columns of nodes from rows of inputs.

    Rows are scaled and end with an input that is 1, whose weight is the bias. A column is h = ``outer`` · value: the
    constant factor is applied to sums and output weights, where it is free.
    """

    @property
    def name(self) -> str:
        """Its name in messages."""
        return type(self).__name__.lower()

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

    def width(self, n_inputs: int) -> int:
        """How many weights a node has."""
        return n_inputs

    def folded(self, nodes: Nodes) -> Any:
        """The argument of :meth:`values` for these nodes: their weights above their biases, shape (d + 1, k)."""
        return np.vstack([nodes.weights, nodes.biases])

    @abstractmethod
    def values(self, x: np.ndarray, folded: Any) -> np.ndarray:
        """h/outer of shape (n, k), for rows that end with a 1."""

    def columns(self, x: np.ndarray, folded: Any) -> np.ndarray:
        """The same, in shape (k, n)."""
        return self.values(x, folded).T

    def hidden(self, X: np.ndarray, nodes: Nodes) -> np.ndarray:
        """h of shape (n, k), for rows that do not end with a 1; in their precision."""
        x = np.column_stack([X, np.ones(len(X), X.dtype)])
        return self.outer * self.values(x, self.folded(nodes).astype(X.dtype))

    def slope_and_value(self, X: np.ndarray, weights: np.ndarray, biases: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """g′(z) and g(z), each (n, k), for layers whose nodes are h = g(z) with z = wᵀx + b."""
        raise NotImplementedError(f"{type(self).__name__} has no derivative.")


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
        """The nodes of all blocks, which must belong to one layer."""
        weights = np.hstack([block.weights for block in blocks])
        biases = np.hstack([block.biases for block in blocks])
        return cls(blocks[0].layer, weights, biases, np.hstack([block.scopes for block in blocks]))

    def __len__(self) -> int:
        return len(self.biases)

    def take(self, chosen: np.ndarray | slice) -> Nodes:
        """Some of them, in this order."""
        return Nodes(self.layer, self.weights[:, chosen], self.biases[chosen], self.scopes[chosen])
