"""An orthonormal basis of the columns of fixed nodes, on rows that keep their targets."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import solve_triangular

from skscn.layers import Nodes
from skscn.output_weights import Admission, LeastSquares, Solution
from skscn.rows import Rows, Shard
from skscn.scaling import Scaling


class Stretch(NamedTuple):
    """The rows of one stretch: basis, in panels, √p as a column, targets, and outputs at some coefficients."""

    basis: list[np.ndarray]
    roots: np.ndarray
    y: np.ndarray
    f: np.ndarray

    @classmethod
    def of(cls, shard: Shard, rows: slice, coefficients: np.ndarray, outputs: Scaling) -> Stretch:
        """The residual of these rows is the target itself."""
        residual, roots = shard.storage.residual(rows), shard.roots_of(rows)
        basis, start = shard.storage.basis(rows, len(coefficients)), 0
        scaled = np.zeros_like(residual)
        for panel in basis:
            scaled += panel.T @ coefficients[start : start + len(panel)]
            start += len(panel)
        unit = np.ones((len(residual), 1)) if roots is None else roots[:, np.newaxis]
        return cls(basis, unit, residual / unit, outputs.inverse_transform(scaled / unit))

    @property
    def weights(self) -> np.ndarray:
        """p."""
        weights: np.ndarray = self.roots[:, 0] ** 2
        return weights


class ColumnBasis(LeastSquares):
    """An orthonormal basis of columns; the residual is left as it is."""

    def append_nodes(self, rows: Rows, nodes: Nodes) -> np.ndarray:
        """Add nodes in blocks; return the numbers of those that do not depend on the others."""
        return self._append_independent(rows, nodes)

    def _join(self, rows: Rows, block: Admission) -> None:
        block.coefficients.fill(0.0)
        super()._join(rows, block)


class Columns:
    """The columns of fixed nodes on open rows whose residual is the target.

    Parameters
    ----------
    rows : Rows
        Open, with an empty basis.
    outputs : Scaling
        Of the outputs f.
    linear : Nodes
    blocks : sequence of Nodes
        The nodes, one block after the other. Those that depend on others before them are left out.

    Attributes
    ----------
    triangle : ndarray of shape (k, k)
        R.
    """

    def __init__(self, rows: Rows, outputs: Scaling, linear: Nodes, blocks: Sequence[Nodes]):
        basis = ColumnBasis(rows.n_outputs)
        self.rows, self.outputs = rows, outputs
        self.linear = linear.take(basis.append_linear(rows, linear))
        self.blocks = [nodes.take(basis.append_nodes(rows, nodes)) for nodes in blocks]
        self.triangle = basis.factor

    def first(self, size: int) -> Columns:
        """The first columns only, at least the linear ones."""
        fewer = copy(self)
        fewer.triangle = self.triangle[:size, :size]
        ends = np.cumsum([len(self.linear), *(len(nodes) for nodes in self.blocks)])
        counts = np.clip(size - ends[:-1], 0, np.diff(ends))
        fewer.blocks = [nodes.take(slice(count)) for nodes, count in zip(self.blocks, counts, strict=True)]
        return fewer

    @property
    def nothing(self) -> np.ndarray:
        """The coefficients with which f is the offset of the scaling, of shape (k, m)."""
        return np.zeros((len(self.triangle), self.rows.n_outputs))

    def solution(self, coefficients: np.ndarray) -> Solution:
        """The output weights of coefficients; with fewer nodes, those of the projection on their columns."""
        size = len(self.triangle)
        inverse: np.ndarray = solve_triangular(self.triangle, np.eye(size)) if size else self.triangle
        return Solution(inverse @ coefficients, sparse.csc_array(inverse), coefficients)
