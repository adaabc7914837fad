"""Settling: the output weights of fixed nodes are evaluated under a loss, from row sums in a basis of their columns.

With H = QR the columns of linear part and nodes on all rows, and Q orthonormal, the outputs are f = QA for coefficients
A = Rβ. Each iteration is one pass over the rows, which sends A and returns sums of the size of the basis. Since Q is
orthonormal, these sums are well conditioned, however close to each other the columns are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import cholesky, solve_triangular

from skscn.factor import Factor
from skscn.layers import Nodes
from skscn.losses import Loss
from skscn.output_weights import LeastSquares, Solution, solved
from skscn.rows import Operation, Rows
from skscn.scaling import Scaling

# The largest number of passes in which a loss is minimised by reweighting, and the change of the outputs, relative to
# the residual, with which it ends.
_PASSES, _CONVERGED = 20, 1e-3
# How often a step that increases the loss is halved.
_HALVINGS = 5


@dataclass(frozen=True)
class WorkingSums:
    """Row sums of weighted least squares on working targets z with weights c, in the basis Q.

    Attributes
    ----------
    gram, inner : ndarray of shape (k, k) and (k, m)
        QᵀcQ and Qᵀcz.
    squares : ndarray of shape (m,)
        zᵀcz.
    weight : float
        The sum of the weights.
    value : float
        The loss at the coefficients that were sent.
    """

    gram: np.ndarray
    inner: np.ndarray
    squares: np.ndarray
    weight: float
    value: float

    def __add__(self, other: WorkingSums) -> WorkingSums:
        """The sums over two sets of rows together."""
        return WorkingSums(
            self.gram + other.gram,
            self.inner + other.inner,
            self.squares + other.squares,
            self.weight + other.weight,
            self.value + other.value,
        )

    def factor(self, triangle: np.ndarray, linear: int) -> Factor:
        """The factor of the weighted problem for the columns QR."""
        # A weight that is almost 0 on all rows where a column is not leaves a matrix that is singular up to rounding.
        shift = 1e-14 * (np.trace(self.gram) + 1e-300) * np.eye(len(self.gram))
        lower = cholesky(self.gram + shift, lower=True)
        coefficients = solve_triangular(lower, self.inner, lower=True)
        left = np.maximum(self.squares - np.einsum("ij,ij->j", coefficients, coefficients), 0.0)
        return Factor(np.triu(lower.T @ triangle), coefficients, left, self.weight, linear)


@dataclass(frozen=True)
class Reweigh(Operation[WorkingSums]):
    """The row sums of the weighted least squares that follow from a loss at outputs f = QA."""

    size: int
    coefficients: np.ndarray
    outputs: Scaling
    loss: Loss

    def __call__(self, shard: Any, rows: slice) -> WorkingSums:
        """For the rows of one stretch, whose residual is the target itself."""
        basis, residual, roots = shard.storage.basis(rows, self.size), shard.storage.residual(rows), shard.roots_of(rows)
        q = np.concatenate(basis) if basis else np.zeros((0, len(residual)))
        p = np.ones(len(residual)) if roots is None else roots**2
        unit = 1.0 if roots is None else roots[:, np.newaxis]
        y, f = residual / unit, self.outputs.inverse_transform(q.T @ self.coefficients / unit)
        z, c = self.loss.working(y, f)
        c = np.ones(len(p)) if c is None else c
        t = self.outputs.transform(z)
        weighted = q * c
        return WorkingSums(
            weighted @ q.T,
            weighted @ (unit * t),
            (c * p) @ t**2,
            float(c @ p),
            float(p @ self.loss.value(y, f)),
        )


class ColumnBasis(LeastSquares):
    """An orthonormal basis of columns; the residual is left as it is."""

    def append_nodes(self, rows: Rows, nodes: Nodes) -> np.ndarray:
        """Add nodes in blocks; return the numbers of those that do not depend on the others."""
        return self._append_independent(rows, nodes)

    def _join(self, rows: Rows, block: Any) -> None:
        block.coefficients.fill(0.0)
        super()._join(rows, block)


class Settling:
    """Fixed nodes on open rows whose residual is the target, and the minimisation of a loss over their output weights.

    Parameters
    ----------
    rows : Rows
        Open, with an empty basis.
    outputs : Scaling
        Of the outputs f.
    linear : Nodes
    blocks : sequence of Nodes
        The nodes, one block after the other. Those that depend on others before them are left out.
    """

    def __init__(self, rows: Rows, outputs: Scaling, linear: Nodes, blocks: Sequence[Nodes]):
        basis = ColumnBasis(rows.n_outputs)
        self.rows, self.outputs = rows, outputs
        self.linear = linear.take(basis.append_linear(rows, linear))
        self.blocks = [nodes.take(basis.append_nodes(rows, nodes)) for nodes in blocks]
        self.triangle = basis.factor
        # f is the offset of the scaling, with which a fit begins.
        self.coefficients = np.zeros((rows.basis_size, rows.n_outputs))
        self.factor = Factor.empty(rows.basis_size, rows.n_outputs, len(self.linear))
        self.alpha = 0.0

    def reweight(self, loss: Loss, alpha: float | str) -> None:
        """Minimise the loss by weighted least squares, again and again; "gcv" chooses α in the first pass."""
        value, step, halvings = np.inf, np.zeros_like(self.coefficients), 0
        for number in range(_PASSES):
            sums = self.rows.backend.total(Reweigh(self.rows.basis_size, self.coefficients, self.outputs, loss))
            if sums.value > value and halvings < _HALVINGS:
                step, halvings = step / 2.0, halvings + 1
                self.coefficients = self.coefficients - step
                continue
            value, halvings = sums.value, 0
            self.factor = sums.factor(self.triangle, len(self.linear))
            if number == 0:
                self.alpha = self.factor.cross_validated() if alpha == "gcv" else float(alpha)
            step = self.triangle @ self.factor.output_weights(self.alpha) - self.coefficients
            self.coefficients = self.coefficients + step
            left = self.factor.residual_squares.sum() / self.factor.weight
            if (step**2).sum() / self.rows.weight <= _CONVERGED**2 * left:
                break

    def present(self) -> Solution:
        """The present output weights, and those of the projections on the first columns."""
        inverse: np.ndarray = solve_triangular(self.triangle, np.eye(len(self.triangle))) if len(self.triangle) else self.triangle
        return Solution(inverse @ self.coefficients, sparse.csc_array(inverse), self.coefficients)

    def solution(self) -> Solution:
        """The output weights of the weighted problem, and those of every smaller network with the same weights."""
        return solved(self.factor, self.alpha)
