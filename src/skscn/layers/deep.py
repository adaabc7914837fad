"""A layer on top of others: h(x) = g(wᵀz + b), where z has columns of the nodes below.

All layers are linked to the output, so depth only changes what candidates see: the residual, the inequality and the
output weights are those of the whole network (Wang and Li, DeepSCN, IJCNN 2018).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from skscn.layers._base import Graph, Layer, Nodes
from skscn.layers.identity import IDENTITY, Identity


@dataclass(frozen=True, eq=False)
class Deep(Layer):
    """Nodes that see the columns of nodes below, and perhaps the inputs.

    Attributes
    ----------
    top : Layer
        What nodes compute from what they see.
    below : tuple of Nodes
        Blocks of nodes that were grown before, each with its own layer.
    with_inputs : bool
        Whether they see the inputs as well, which then come first.
    """

    top: Layer
    below: tuple[Nodes, ...]
    with_inputs: bool

    @property
    def outer(self) -> float:
        """That of the nodes themselves."""
        return self.top.outer

    @property
    def bound(self) -> float:
        """That of the nodes themselves, whatever the layers below do with unseen rows."""
        return self.top.bound

    @property
    def differentiable(self) -> bool:
        """With respect to the weights of these nodes."""
        return self.top.differentiable

    @property
    def has_gradients(self) -> bool:
        """Whether all derivatives on the way down to the inputs are known."""
        own = self.top.has_gradients or isinstance(self.top, Identity)
        return own and all(block.layer.has_gradients for block in self.below)

    def width(self, n_inputs: int) -> int:
        """A weight for each column that is seen."""
        return n_inputs * self.with_inputs + sum(map(len, self.below))

    def fits(self, nodes: Nodes, n_inputs: int) -> bool:
        """Whether these nodes and all below can belong to a network."""
        return super().fits(nodes, n_inputs) and all(block.layer.fits(block, n_inputs) for block in self.below)

    def folded(self, nodes: Nodes) -> np.ndarray:
        """As for nodes that see inputs."""
        folded: np.ndarray = self.top.folded(nodes)
        return folded

    def values(self, x: np.ndarray, folded: np.ndarray, memory: None = None) -> np.ndarray:
        """The layers below, one after the other, and then these nodes."""
        return self.values_above(x, folded, {})

    def values_above(self, x: np.ndarray, folded: np.ndarray, known: dict[int, np.ndarray]) -> np.ndarray:
        """The same, given columns of nodes below for the same rows, by the identity of these; others are added."""
        return self.top.values(self._seen(x, known), folded)

    def columns(self, x: np.ndarray, folded: np.ndarray, memory: None = None) -> np.ndarray:
        """The same, contiguous in this shape."""
        return self.top.columns(self._seen(x, {}), folded)

    def _seen(self, x: np.ndarray, known: dict[int, np.ndarray]) -> np.ndarray:
        """Features of rows that end with a 1, which stays."""
        return np.hstack([self._joined(x[:, :-1], known), x[:, -1:]])

    def features(self, X: np.ndarray) -> np.ndarray:
        """Inputs, if they are seen, and the columns of the nodes below, each computed once."""
        return self._joined(X, {})

    def _joined(self, X: np.ndarray, known: dict[int, np.ndarray]) -> np.ndarray:
        parts = [X] if self.with_inputs else []
        for block in self.below:
            if id(block) not in known:
                layer = block.layer
                seen = layer._joined(X, known) if isinstance(layer, Deep) else layer.features(X)
                known[id(block)] = layer.hidden(seen, block)
            parts.append(known[id(block)])
        return np.hstack(parts)

    def hidden(self, X: np.ndarray, nodes: Nodes) -> np.ndarray:
        """From features."""
        return self.top.hidden(X, nodes)

    def slope_and_value(self, X: np.ndarray, weights: np.ndarray, biases: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """From features."""
        return self.top.slope_and_value(X, weights, biases)

    def gradients(self, X: np.ndarray, nodes: Nodes, output_weights: np.ndarray) -> Iterator[np.ndarray]:
        """With respect to features."""
        return self.top.gradients(X, nodes, output_weights)

    def pulled_back(self, X: np.ndarray, nodes: Nodes, factors: np.ndarray) -> np.ndarray:
        """Through these nodes, and from there through each block below."""
        pulled = self.top.pulled_back(self.features(X), nodes, factors)
        direct = X.shape[1] * self.with_inputs
        total = pulled[:, :direct].copy() if self.with_inputs else np.zeros(X.shape)
        ends = np.cumsum([direct, *map(len, self.below)])
        for block, start, stop in zip(self.below, ends, ends[1:], strict=False):
            total += block.layer.pulled_back(X, block, pulled[:, start:stop])
        return total

    def operators(self, graph: Graph, x: str, nodes: Nodes) -> str:
        """The operators of the nodes below, each once, and then of these."""
        return self._written(graph, x, nodes, {})

    def _written(self, graph: Graph, x: str, nodes: Nodes, known: dict[int, str]) -> str:
        seen = [x] if self.with_inputs else []
        for block in self.below:
            if id(block) not in known:
                layer = block.layer
                written = partial(layer._written, known=known) if isinstance(layer, Deep) else layer.operators
                known[id(block)] = written(graph, x, block)
            seen.append(known[id(block)])
        return self.top.operators(graph, graph("Concat", *seen, axis=1) if len(seen) > 1 else seen[0], nodes)


def readout(linear: Nodes, below: tuple[Nodes, ...], output_weights: np.ndarray) -> Nodes:
    """The outputs of a network as columns: linear ones and blocks of nodes, with the output weights of all of them."""
    first, rest = np.split(output_weights, [len(linear)])
    weights = np.vstack([linear.weights @ first, rest])
    return Nodes.of(Deep(IDENTITY, below, with_inputs=True), weights, linear.biases @ first)
