"""Which output weights a new node re-evaluates: only its own (SC-I), those in a window (SC-II), or all (SC-III).

The rules share their algebra; each node moves the output along one direction. Let the rule keep an orthonormal basis Q
of the hidden columns that it re-evaluates together with the new one, and let h = Qr + ρq. Because the residual e is
orthogonal to Q, re-evaluating those output weights is e ← e − q(qᵀe). The rules differ only in the columns they keep:
none (SC-I), the newest K − 1 (SC-II), all (SC-III).

Before the first node there may be linear columns, intercept and direct links; all rules solve for them together, and
only SC-III solves for them again with every node.

With R the triangular factor of the kept columns, q = (h − H R⁻¹ r)/ρ: a combination of hidden columns, the *direction*
u of this node. After L nodes the network's output is H U C, where U holds the directions and C the qᵀe.

With a ridge penalty α‖β‖² on the output weights that a rule evaluates, all of this is the same on more rows: each
column has a further row, in which it is √α, all others are 0, and the target is 0. These rows are not stored: R tells
what is in them. A column that is no longer evaluated takes its row with it.

Several nodes are added together: the parts V of their columns that are orthogonal to Q are formed on all rows in one
block, and a Cholesky factorisation of VᵀV has the same effect as adding them one after the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import qr, solve_triangular
from scipy.linalg.lapack import dpotrf, dtrtri, dtrtrs

from skscn.factor import Factor
from skscn.nodes import Nodes
from skscn.rows import Rows
from skscn.supervision import SMALLEST_REMAINDER, Sums

# ‖v‖², relative to its initial value, that must be left of a column when those before it in its block are removed;
# with less, the Cholesky factor would not be accurate.
_SMALLEST_PART = 1e-3
# Number of columns that are added together where they need no supervision.
_BLOCK = 16


@dataclass(frozen=True)
class Solution:
    """The output weights that a network keeps: β = U C of shape (columns, m), its factors, and the penalty α."""

    output_weights: np.ndarray
    directions: sparse.csc_array
    coefficients: np.ndarray
    alpha: float = 0.0


class Ridge(NamedTuple):
    """The ridge penalty as further rows √α β = 0 of the kept columns, with the basis Q = (Q₁; Q₂), Q₂ = √α R⁻¹.

    Attributes
    ----------
    alpha : float
    absent : ndarray of shape (b, b)
        Q₂ᵀQ₂, which Q₁ᵀQ₁ lacks to be the identity.
    inner : ndarray of shape (b, m)
        Q₁ᵀe on the training rows, since e is orthogonal to Q on all rows.
    squares : ndarray of shape (m,)
        α‖β_q‖², what these rows add to ‖e_q‖².
    """

    alpha: float
    absent: np.ndarray
    inner: np.ndarray
    squares: np.ndarray


class Admission:
    """Columns that have been opened, and the effect of adding them one after the other.

    With ``orthogonal`` directions the factor is the Cholesky factor, VᵀV = RᵀR, and each column must add something to
    those before it. Otherwise every column is its own direction.

    Attributes
    ----------
    sums : Sums
        Row sums of each column against the residual that the columns admitted before it leave; with those of a ridge,
        if there is one.
    residual_squares : ndarray of shape (m, k + 1)
        ‖e_q‖² of these residuals, likewise, and of the one that is left in the end.
    factor, coefficients : ndarray of shape (k, k) and (k, m)
        Of those admitted.
    """

    sums: Sums
    residual_squares: np.ndarray
    factor: np.ndarray
    coefficients: np.ndarray

    def __init__(self, rows: Rows, nodes: Nodes, *, orthogonal: bool, ridge: Ridge | None = None):
        self.nodes, self.columns = nodes, rows.open(nodes, None if ridge is None else ridge.absent)
        self.orthogonal, self._ridge = orthogonal, ridge
        self._first, self._squares = rows.residual_squares, self.columns.sums.squares
        self._gram, self._inner = self.columns.gram, self.columns.inner
        if ridge is not None:
            self._first, self._squares = self._first + ridge.squares, self._squares + ridge.alpha
            self._gram = self._gram + ridge.alpha * np.eye(len(self._gram))
            self._inner = self._inner + self.columns.projection.T @ ridge.inner

    def admit(self, usable: np.ndarray) -> np.ndarray:
        """Admit those of the columns that are usable and do not depend on those before; return which these are.

        Each is removed from the residual and from the columns after it. If all are admitted, which is the rule, one
        Cholesky factorisation does the same.
        """
        gram, inner, residual_squares = self._gram.copy(), self._inner.copy(), self._first
        smallest = np.maximum(SMALLEST_REMAINDER**2 * self._squares, _SMALLEST_PART * gram.diagonal())
        if self.orthogonal and len(gram) > 1 and usable.all():
            factor, failed = dpotrf(gram, lower=0, clean=1)
            sizes = factor.diagonal()
            if not failed and (sizes**2 > smallest).all():
                self.factor, self.coefficients = factor, dtrtrs(factor, inner, trans=1)[0]
                explained = np.cumsum(self.coefficients**2, axis=0).T
                self.residual_squares = residual_squares[:, np.newaxis] - np.pad(explained, ((0, 0), (1, 0)))
                sums = self.columns.sums
                self.sums = Sums(self.coefficients.T * sizes, self._squares, sums.quartics, remainders=sizes**2)
                return usable.copy()
        admitted, met = np.zeros(len(gram), dtype=bool), np.empty_like(inner.T)
        remainders = np.empty(len(gram))
        self.factor, self.coefficients = np.zeros_like(gram), np.zeros_like(inner)
        self.residual_squares = np.empty((inner.shape[1], len(gram) + 1))
        for j in range(len(gram)):
            # The residual is orthogonal to the basis, so ⟨e, h⟩ = ⟨e, v⟩.
            met[:, j], self.residual_squares[:, j], remainders[j] = inner[j], residual_squares, gram[j, j]
            if not usable[j] or gram[j, j] <= smallest[j]:
                continue
            admitted[j], size = True, np.sqrt(gram[j, j])
            row, coefficients = gram[j] / size, inner[j] / size
            self.factor[j, j:], self.coefficients[j] = row[j:], coefficients
            inner -= np.outer(row, coefficients)
            residual_squares = residual_squares - coefficients**2
            if self.orthogonal:
                gram -= np.outer(row, row)
            elif self._ridge is not None:
                # Its output weight is not evaluated again, and no longer penalised.
                residual_squares = residual_squares - self._ridge.alpha * (coefficients / size) ** 2
        self.residual_squares[:, -1] = residual_squares
        self.sums = Sums(met, self._squares, self.columns.sums.quartics, remainders=remainders)
        return admitted


class OutputWeights:
    """One rule for the output weights, with its state while a network grows.

    Parameters
    ----------
    n_outputs : int
        m.
    window : int
        K of SC-II; ignored by the other rules.
    alpha : float or "gcv"
        The ridge penalty: of the final output weights, in a rule that regularises these; in others, of the output
        weights that are evaluated with each node.

    Attributes
    ----------
    nodes : int
        L, the number of nodes so far, without those of layers below.
    linear, below : int
        The numbers of columns before the first node: linear ones, and those of layers below.
    factor : ndarray of shape (b, b)
        R of the columns that are kept.
    """

    # Whether the columns of nodes, and linear ones, are solved for again together with those of later nodes.
    keeps_columns: ClassVar[bool] = True
    keeps_linear: ClassVar[bool] = True
    # Whether all output weights are regularised at the end, and not while the network grows.
    regularises: ClassVar[bool] = False
    # Whether several nodes can be added together.
    takes_blocks: ClassVar[bool] = True

    def __init__(self, n_outputs: int, window: int = 15, alpha: float | str = 0.0):
        self.n_outputs = n_outputs
        self.window = window
        self.alpha = alpha
        # The penalty while the network grows.
        self.penalty = 0.0 if self.regularises else float(alpha)
        self.restart()

    def restart(self) -> None:
        """Forget all columns."""
        self.factor = np.zeros((0, 0))
        self.nodes = self.linear = self.below = 0
        self.linear_nodes: Nodes | None = None
        self._joined: list[Nodes] = []
        self._directions: list[np.ndarray] = []
        self._coefficients: list[np.ndarray] = []

    @property
    def fixed(self) -> int:
        """How many columns there were before the first node: linear ones, and those of layers below."""
        return self.linear + self.below

    @property
    def grown(self) -> Nodes:
        """The nodes, without linear columns and layers below; there must be some."""
        if len(self._joined) > 1:
            self._joined = [self._joined[0].joined(self._joined)]
        return self._joined[0]

    def append_linear(self, rows: Rows, nodes: Nodes) -> np.ndarray:
        """Start with linear columns.

        Return the numbers of those that do not depend on the others, in the order in which they were added.
        """
        kept = self.append_independent(rows, nodes)
        self.linear, self.linear_nodes = len(kept), nodes.take(kept)
        if not self.keeps_linear:
            self._forget(rows)
        return kept

    def _forget(self, rows: Rows) -> None:
        """Drop all kept columns: their output weights stay unchanged."""
        if len(self.factor):
            rows.rotate(np.zeros((len(self.factor), 0)))
            self.factor = np.zeros((0, 0))

    def append_independent(self, rows: Rows, nodes: Nodes) -> np.ndarray:
        """Add columns in blocks, without supervision; return the numbers of those that do not depend on the others."""
        kept: list[int] = []
        left = np.split(np.arange(len(nodes)), range(_BLOCK, len(nodes), _BLOCK))
        while left:
            numbers = left.pop(0)
            if not len(numbers):
                continue
            block = Admission(rows, nodes.take(numbers), orthogonal=True)
            passed = block.admit(np.ones(len(numbers), dtype=bool))
            if passed.all():
                self._join(rows, block)
                kept.extend(numbers)
            elif len(numbers) > 1:
                # Columns that add little to the others are checked one by one, after them.
                left = [numbers[passed], *left, *numbers[~passed, np.newaxis]]
        return np.array(kept, dtype=int)

    def begin_layer(self) -> None:
        """Let the nodes so far be those of layers below: the next ones see their columns instead of the inputs."""
        self.below = len(self._directions) - self.linear
        self.nodes, self.linear_nodes, self._joined = 0, None, []

    def open(self, rows: Rows, nodes: Nodes) -> Admission:
        """Form the columns of nodes, to be judged one after the other; nothing is changed yet."""
        return Admission(rows, nodes, orthogonal=self.keeps_columns, ridge=self._ridge() if self.penalty else None)

    def _ridge(self) -> Ridge:
        size = len(self.factor)
        beta = self.output_weights()[len(self._directions) - size :]
        # Q₂/√α.
        inverse = solve_triangular(self.factor, np.eye(size)) if size else self.factor
        absent, inner = self.penalty * (inverse.T @ inverse), self.penalty * (inverse.T @ beta)
        return Ridge(self.penalty, absent, inner, self.penalty * (beta**2).sum(axis=0))

    def join(self, rows: Rows, block: Admission) -> None:
        """Add the nodes of a block, all of which were admitted, to the network and re-evaluate."""
        self._join(rows, block)
        self._joined = [*self._joined, block.nodes]
        block.nodes.layer.join(block.nodes, self.nodes)
        self.nodes += len(block.factor)

    def append(self, rows: Rows, nodes: Nodes) -> np.ndarray:
        """Add nodes that were accepted before.

        Return which of them can be added: those that do not nearly depend on the kept columns and on those before
        them. If one cannot, nothing is changed.
        """
        block = self.open(rows, nodes)
        passed = block.admit(np.ones(len(nodes), dtype=bool))
        if passed.all():
            self.join(rows, block)
        return passed

    def _join(self, rows: Rows, block: Admission) -> None:
        """Move the output along the directions of a block; keep them in the basis, if they are evaluated again."""
        projection, size, count = block.columns.projection, len(self.factor), len(block.factor)
        # From columns to directions.
        transform = np.diag(1.0 / block.factor.diagonal())
        if block.orthogonal:
            transform = dtrtri(block.factor, lower=0)[0]
        rows.join(transform, block.coefficients, keep=block.orthogonal)
        # New lists, so that a shallow copy can grow by itself.
        self._coefficients = [*self._coefficients, *block.coefficients]
        # Each direction is a combination of the kept columns and the columns of its block up to its own.
        kept = dtrtrs(self.factor, projection @ transform)[0] if size else projection @ transform
        starts = [0 if block.orthogonal else j for j in range(count)]
        added = [np.concatenate([-kept[:, j], transform[first : j + 1, j]]) for j, first in enumerate(starts)]
        self._directions = [*self._directions, *added]
        if block.orthogonal:
            extended = np.zeros((size + count, size + count))
            extended[:size, :size], extended[:size, size:], extended[size:, size:] = (
                self.factor,
                projection,
                block.factor,
            )
            self.factor = extended

    def coefficients(self, nodes: int | None = None) -> np.ndarray:
        """C of shape (columns, m): how far each column moved the output along its direction; linear columns first."""
        stop = None if nodes is None else self.fixed + nodes
        return np.array(self._coefficients[:stop]).reshape(-1, self.n_outputs)

    def directions(self, nodes: int | None = None) -> sparse.csc_array:
        """U, upper triangular: column j combines columns into the direction of column j; linear columns first."""
        columns = self._directions[: None if nodes is None else self.fixed + nodes]
        size = len(columns)
        starts = np.cumsum([0, *map(len, columns)])
        # Each column ends on the diagonal and extends up over the hidden columns that were kept when it was added.
        indices = [np.arange(end - len(column), end) for end, column in enumerate(columns, start=1)]
        values = np.concatenate([np.zeros(0), *columns])
        return sparse.csc_array((values, np.concatenate([np.zeros(0, int), *indices]), starts), shape=(size, size))

    def solution(self, rows: Rows, nodes: int) -> Solution:
        """The final output weights of the first ``nodes`` nodes."""
        return Solution(self.output_weights(nodes), self.directions(nodes), self.coefficients(nodes), self.penalty)

    def final_factor(self, rows: Rows, nodes: int) -> Factor | None:
        """The factor of the first nodes, which further rows can join; None if some output weights are fixed."""
        return None

    def leave_one_out(self, rows: Rows, numbers: np.ndarray) -> np.ndarray:
        """Leave-one-out residuals of the training rows with these numbers, for fixed nodes."""
        return rows.leave_one_out(numbers)

    def output_weights(self, nodes: int | None = None) -> np.ndarray:
        """β of shape (columns, m), linear columns first, as after the first ``nodes`` nodes (all by default)."""
        beta: np.ndarray = self.directions(nodes) @ self.coefficients(nodes)
        return beta


class Constructive(OutputWeights):
    """Algorithm SC-I, steps 18 to 20 (Theorem 6): only the output weight of the new node, β_L = ⟨e, h⟩/‖h‖².

    No column is kept, so that the direction of a node is its own column: q = h/‖h‖ and e ← e − q⟨q, e⟩ = e − β_L h.
    """

    keeps_columns: ClassVar[bool] = False
    keeps_linear: ClassVar[bool] = False


class Windowed(OutputWeights):
    """Algorithm SC-II (Theorem 8): the newest K output weights by least squares on their columns, older ones stay.

    The basis has the newest K − 1 columns, so a node costs O(N K²), whatever L.
    """

    keeps_linear: ClassVar[bool] = False
    # The window slides with every node.
    takes_blocks: ClassVar[bool] = False

    def join(self, rows: Rows, block: Admission) -> None:
        """Add a node; then drop the oldest column, so that K − 1 remain to be solved for with the next one."""
        super().join(rows, block)
        if len(self.factor) == self.window:
            # Without its first column the factor is upper Hessenberg; a rotation makes it triangular again.
            rotation, self.factor = qr(self.factor[:, 1:], mode="economic")
            rows.rotate(rotation)


class LeastSquares(OutputWeights):
    """Algorithm SC-III (Theorem 7): all output weights solve the least squares problem min ‖T − Hβ‖² after each node.

    The basis Q of all hidden columns grows by one vector with each node, O(N L): H = QR, and β = R⁻¹QᵀT.
    """

    regularises = True

    def output_weights(self, nodes: int | None = None) -> np.ndarray:
        """β = R⁻¹ Qᵀ T; the triangular solve is backward stable where the product U C is not quite."""
        coefficients = self.coefficients(nodes)
        size = len(coefficients)
        return dtrtrs(self.factor[:size, :size], coefficients)[0] if size else coefficients

    def final_factor(self, rows: Rows, nodes: int) -> Factor:
        """R and C of the first nodes; the residual then still contained what later nodes removed from it."""
        size, coefficients = self.fixed + nodes, self.coefficients()
        residual_squares = rows.residual_squares + (coefficients[size:] ** 2).sum(axis=0)
        triangle = np.ascontiguousarray(self.factor[:size, :size])
        return Factor(triangle, coefficients[:size], residual_squares, rows.weight, self.linear)

    def solution(self, rows: Rows, nodes: int) -> Solution:
        """The output weights of the first nodes, regularised; with the same α, those of every smaller network too."""
        factor = self.final_factor(rows, nodes)
        alpha = self.chosen(factor)
        return super().solution(rows, nodes) if alpha == 0.0 else solved(factor, alpha)

    def chosen(self, factor: Factor) -> float:
        """α for a factor."""
        return factor.cross_validated() if self.alpha == "gcv" else float(self.alpha)

    def leave_one_out(self, rows: Rows, numbers: np.ndarray) -> np.ndarray:
        """With the same regularisation as the output weights."""
        factor = self.final_factor(rows, self.nodes)
        alpha = self.chosen(factor)
        if alpha == 0.0:
            return super().leave_one_out(rows, numbers)
        return rows.leave_one_out(numbers, factor.smoother(alpha), factor.coefficients)


def solved(factor: Factor, alpha: float) -> Solution:
    """The output weights that follow from a factor, regularised if α > 0, and those of every smaller network."""
    ridge = factor.regularised(alpha) if alpha > 0.0 else factor
    directions = sparse.csc_array(solve_triangular(ridge.triangle, np.eye(len(ridge.triangle))))
    return Solution(ridge.output_weights(), directions, ridge.coefficients, alpha)


ALGORITHMS: dict[str, type[OutputWeights]] = {"SC-I": Constructive, "SC-II": Windowed, "SC-III": LeastSquares}


__all__ = ["ALGORITHMS", "Admission", "Constructive", "LeastSquares", "OutputWeights", "Solution", "Windowed", "solved"]
