"""The pooled search with its best candidates polished: a few nodes together, and from time to time all nodes.

Both use Levenberg–Marquardt steps with all output weights eliminated, on a sample of the rows. The nodes of a step are
polished before they are proposed. When the network has reached certain sizes, all its nodes are polished, block by
block, each block given the others; the result replaces the network only if the error on all rows is not larger.
"""

from __future__ import annotations

import numpy as np

from skscn.factor import Factor
from skscn.nodes import Layer, Nodes
from skscn.rows import Rows
from skscn.search.base import Pace
from skscn.search.polish import MANY_INPUTS, improvable
from skscn.search.pool import Pooled, Search, Sweep

# With fewer rows, polishing would mainly fit noise.
_ENOUGH_TO_POLISH = 100
# All nodes are polished if there are at least this many rows for each of their weights.
_ROWS_PER_WEIGHT = 10
# A weak pull of polished weights towards 0, relative to the largest scope.
_PULL = 1e-4
# Nodes of a step: what can be found together grows with the network.
_PACE = Pace(3, share=1 / 6, most=16)
# For each node of a step, the candidates that are polished, and the steps for each alone and for those chosen together.
# The first nodes matter most: a network of few nodes should be as good as possible.
_THOROUGH, _QUICK = (3, 5, 4), (2, 2, 2)
# Steps for the nodes of a block when all are polished.
_STEPS_PER_BLOCK = 3
# Damping of the first step, for nodes that are new and for those that have been polished before.
_DAMPED, _ALMOST_GAUSS_NEWTON = 1.0, 0.01
# All nodes are polished when the network reaches this size, and again whenever it has grown by this factor.
_FIRST, _FACTOR = 12, 1.5
# Rows on which all nodes are polished, or more if they have many weights; the most nodes of a block, and weights in it.
_ROWS, _BLOCK, _WEIGHTS = 4000, 16, 256


class Polished(Pooled):
    """The best of one pool, polished."""

    def degrees_per_node(self, n_features: int) -> float:
        """The weights of a polished node are fitted as well, but only for a few steps."""
        return 2.0 + min(n_features / 2, 4.0)

    def pace(self, layer: Layer, weight: float) -> Pace:
        """Nodes are added one by one where they cannot be polished."""
        return _PACE if layer.differentiable and weight >= _ENOUGH_TO_POLISH else Pace(1)

    def _together(self, search: Search, best_first: Nodes, count: int) -> Nodes:
        """The nodes to propose, polished together."""
        if not search.layer.differentiable or search.total < _ENOUGH_TO_POLISH:
            return super()._together(search, best_first, count)
        per_node, alone, together = _THOROUGH if count <= _PACE.least else _QUICK
        found = super()._together(search, best_first, per_node * count)
        found = search.polished(found, alone, *self._limits(_DAMPED), together=False)
        found = found.take(search.selected(found, count))
        if count > 1:
            found = search.polished(found, together, *self._limits(_DAMPED), together=True)
        return found.take(search.selected(found, count))

    def _limits(self, damping: float) -> tuple[float, float, float]:
        """How strongly weights are pulled towards 0, the longest step, and the damping of the first one."""
        return _PULL / max(self.scopes) ** 2, max(self.scopes), damping

    def is_due(self, before: int, nodes: int) -> bool:
        """Whether all nodes are polished once there are ``nodes`` of them, ``before`` the last step fewer."""
        size = float(_FIRST)
        while size <= before:
            size *= _FACTOR
        return size <= nodes

    def refined(self, rows: Rows, nodes: Nodes, factor: Factor, rng: np.random.Generator) -> Nodes | None:
        """All nodes polished, block by block in a random order; None where they cannot be polished."""
        needed = _ROWS_PER_WEIGHT * improvable(nodes.weights.T)
        if not rows.layer.differentiable or rows.weight < max(_ENOUGH_TO_POLISH, needed):
            return None
        search = Search(rows, rng, most_rows=max(_ROWS, needed))
        sweep = Sweep.of(search, factor)
        size = max(1, min(_BLOCK, _WEIGHTS // (1 + min(len(nodes.weights), MANY_INPUTS))))
        points = np.vstack([nodes.weights, nodes.biases])
        for block in np.array_split(rng.permutation(len(nodes)), -(-len(nodes) // size)):
            sweep.leave(block)
            found = search.polished(
                nodes.take(block), _STEPS_PER_BLOCK, *self._limits(_ALMOST_GAUSS_NEWTON), together=True
            )
            points[:-1, block], points[-1, block] = found.weights, found.biases
            if not sweep.join(found, block):
                return None
        return Nodes(nodes.layer, points[:-1], points[-1], nodes.scopes)
