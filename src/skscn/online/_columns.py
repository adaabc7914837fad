"""The columns of a row: an intercept, the scaled inputs and the nodes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from skscn.layers import Dense, Nodes
from skscn.scaling import Scaling, scale_inputs


@dataclass(frozen=True, eq=False)
class StreamColumns:
    """How columns are computed from rows; inputs far outside the range of the rows it was made for are clipped.

    Attributes
    ----------
    inputs : Scaling
    nodes : Nodes
        Of the dense layer; there may be none.
    """

    inputs: Scaling
    nodes: Nodes

    @classmethod
    def linear(cls, layer: Dense, X: np.ndarray) -> StreamColumns:
        """Without nodes, with the scaling that suits these rows: robust, and clipped."""
        inputs = scale_inputs("robust", X)
        assert isinstance(inputs, Scaling)
        return cls(inputs, Nodes.none(layer, X.shape[1]))

    @property
    def count(self) -> int:
        """How many columns there are."""
        return 1 + len(self.inputs.offset) + len(self.nodes)

    def of(self, X: np.ndarray) -> np.ndarray:
        """The columns of rows X, shape (n, count)."""
        width = 1 + X.shape[1]
        columns = np.empty((len(X), self.count))
        columns[:, 0] = 1.0
        columns[:, 1:width] = self.inputs.transform(X)
        if len(self.nodes):
            layer = self.nodes.layer
            np.multiply(layer.values(columns[:, :width], self._folded), layer.outer, out=columns[:, width:])
        return columns

    @cached_property
    def _folded(self) -> np.ndarray:
        """Biases above weights, as the intercept is the first column."""
        return np.roll(self.nodes.layer.folded(self.nodes), 1, axis=0)
