"""Several reservoirs as one, whose output is their mean.

All of them are driven by the same inputs; where outputs come back, it is the mean that does. The joined reservoir has
the longest of the delay lines and the nodes of all, each of which hears only nodes of its own reservoir. So the matrix
of feedback weights stays lower triangular, and the echo state property holds for the whole as it does for its parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.linalg import qr

from skscn.factor import Factor
from skscn.recurrent.nodes import RecurrentNodes

# Columns that depend on those before, up to this share of their size, are left out of the factor.
_DEPENDENT = 1e-7


def joined_nodes(blocks: Sequence[RecurrentNodes]) -> RecurrentNodes:
    """The nodes of several reservoirs, one block after the other."""
    width, before, placed = max(nodes.width for nodes in blocks), 0, []
    for nodes in blocks:
        inner = nodes.factors - nodes.width
        placed.append(
            replace(
                nodes,
                weights=np.pad(nodes.weights, ((0, width - nodes.width), (0, 0))),
                sources=nodes.sources + before,
                factors=np.where(inner >= 0, inner + width + before, nodes.factors),
            )
        )
        before += len(nodes)
    return RecurrentNodes.joined(placed)


def joined_weights(blocks: Sequence[RecurrentNodes], weights: Sequence[np.ndarray]) -> np.ndarray:
    """Output weights (1 + p + L, m) of the joined nodes, from those of each reservoir."""
    width = max(nodes.width for nodes in blocks)
    linear = np.zeros((1 + width, weights[0].shape[1]))
    inner = []
    for nodes, own in zip(blocks, weights, strict=True):
        linear[: 1 + nodes.width] += own[: 1 + nodes.width]
        inner.append(own[1 + nodes.width :])
    return np.vstack([linear, *inner]) / len(blocks)


def factor_of(columns: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, Factor]:
    """The columns that do not depend on the others, of which the first is constant, and their factor."""
    whole = Factor.empty(columns.shape[1], targets.shape[1], linear=1).with_rows(columns, targets)
    inner = whole.triangle[1:, 1:]
    units = np.sqrt((inner**2).sum(axis=0))
    varying = np.flatnonzero(units > _DEPENDENT * np.sqrt((whole.triangle[:, 1:] ** 2).sum(axis=0)))
    if not len(varying):
        kept = np.zeros(1, dtype=np.int64)
    else:
        triangle, order = qr(inner[:, varying] / units[varying], mode="r", pivoting=True)
        rank = int((np.abs(triangle.diagonal()) > _DEPENDENT).sum())
        kept = np.append(0, 1 + np.sort(varying[order[:rank]]))
    return kept, Factor.empty(len(kept), targets.shape[1], linear=1).with_rows(columns[:, kept], targets)
