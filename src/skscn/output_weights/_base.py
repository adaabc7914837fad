"""What the three rules share: each node moves the output along one direction.

Let the rule keep an orthonormal basis Q of the hidden columns that it re-evaluates together with the new one, and let
h = Qr + ρq. Because the residual e is orthogonal to Q, re-evaluating those output weights is e ← e − q(qᵀe). The rules
differ only in the columns they keep: none (SC-I), the newest K − 1 (SC-II), all (SC-III).

Before the first node there may be linear columns, intercept and direct links; all rules solve for them together, and
only SC-III solves for them again with every node.

With R the triangular factor of the kept columns, q = (h − H R⁻¹ r)/ρ: a combination of hidden columns, the *direction*
u of this node. After L nodes the network's output is H U C, where U holds the directions and C the qᵀe.

Several nodes come in together: the parts V of their columns that are orthogonal to Q are formed on all rows in one
block, and a Cholesky factorisation of VᵀV does for them what taking them one after the other would do.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy import sparse
from scipy.linalg import solve_triangular

from skscn.rows import Columns, Rows
from skscn.supervision import SMALLEST_REMAINDER, Sums

# ‖v‖², relative to what it was, that must be left of a column when those before it in its block are taken out; the
# Cholesky factor of others would not be accurate.
_SMALLEST_PART = 1e-3
# Linear columns that are brought in together.
_LINEAR_BLOCK = 16

# Says whether candidate number j may come in, given the row sums of its block and ‖e_q‖² when it is its turn.
Accept = Callable[[Sums, int, np.ndarray], bool]


@dataclass(frozen=True)
class Solution:
    """What a network keeps of its output weights: β = U C of shape (columns, m), and how it came about."""

    output_weights: np.ndarray
    directions: sparse.csc_array
    coefficients: np.ndarray


class OutputWeights:
    """One rule for the output weights, with its state while a network grows.

    Parameters
    ----------
    n_outputs : int
        m.
    window : int
        K of SC-II; the other rules have no use for it.
    alpha : float or "gcv"
        Regularisation of the final output weights; rules that leave earlier ones as they are have no use for it.
    """

    keeps_columns: ClassVar[bool] = True
    # Whether several nodes can be brought in together.
    takes_blocks: ClassVar[bool] = True

    def __init__(self, n_outputs: int, window: int = 15, alpha: float | str = 0.0):
        self.n_outputs = n_outputs
        self.window = window
        self.alpha = alpha
        self.factor = np.zeros((0, 0))
        self.linear = 0
        self._directions: list[np.ndarray] = []
        self._coefficients: list[np.ndarray] = []

    @property
    def nodes(self) -> int:
        """L, the number of nodes so far."""
        return len(self._directions) - self.linear

    def append_linear(self, rows: Rows, weights: np.ndarray, biases: np.ndarray) -> np.ndarray:
        """Start with columns wᵀx + b, weights of shape (d, p).

        Return the numbers of those that do not depend on the others, in the order in which they came in.
        """
        kept: list[int] = []
        left = np.split(np.arange(len(biases)), range(_LINEAR_BLOCK, len(biases), _LINEAR_BLOCK))
        while left:
            block = left.pop(0)
            if not len(block):
                continue
            passed = self._append(rows, weights[:, block], biases[block], keep=True, linear=True)
            if passed.all():
                kept.extend(block)
            elif len(block) > 1:
                # Those that say little beside the others are looked at one by one, after them.
                left = [block[passed], *left, *block[~passed, np.newaxis]]
        self.linear = len(kept)
        return np.array(kept, dtype=int)

    def append(self, rows: Rows, weights: np.ndarray, biases: np.ndarray, accept: Accept | None = None) -> np.ndarray:
        """Add nodes, weights of shape (d, k), to the network and re-evaluate.

        Return which of them may come in: are accepted, and do not nearly depend on the kept ones and on those before
        them. If one may not, nothing has changed.
        """
        return self._append(rows, weights, biases, keep=self.keeps_columns, accept=accept)

    def _append(
        self,
        rows: Rows,
        weights: np.ndarray,
        biases: np.ndarray,
        *,
        keep: bool,
        linear: bool = False,
        accept: Accept | None = None,
    ) -> np.ndarray:
        columns = rows.open(weights, biases, linear=linear)
        passed, factor, coefficients = _one_by_one(columns, rows.residual_squares, keep, accept)
        if passed.all():
            transform = solve_triangular(factor, np.eye(len(factor))) if keep else np.diag(1.0 / factor.diagonal())
            rows.join(transform, coefficients, keep=keep)
            self._note_directions(columns.projection, transform, keep)
            self._coefficients.extend(coefficients)
            if keep:
                self._extend_factor(columns.projection, factor)
        return passed

    def _note_directions(self, projection: np.ndarray, transform: np.ndarray, keep: bool) -> None:
        """Each direction as a combination of the kept columns and of those in its block up to its own."""
        kept = projection @ transform
        if len(self.factor):
            kept = solve_triangular(self.factor, kept)
        for j in range(len(transform)):
            first = 0 if keep else j
            self._directions.append(np.concatenate([-kept[:, j], transform[first : j + 1, j]]))

    def _forget(self, rows: Rows) -> None:
        """Let all kept columns go: their output weights stay as they are."""
        if len(self.factor):
            rows.rotate(np.zeros((len(self.factor), 0)))
            self.factor = np.zeros((0, 0))

    def _extend_factor(self, projection: np.ndarray, factor: np.ndarray) -> None:
        below = np.zeros((len(factor), len(self.factor)))
        self.factor = np.block([[self.factor, projection], [below, factor]])

    def _columns(self, nodes: int | None) -> int:
        return self.linear + (self.nodes if nodes is None else nodes)

    def coefficients(self, nodes: int | None = None) -> np.ndarray:
        """C of shape (columns, m): how far each column moved the output along its direction; linear columns first."""
        return np.array(self._coefficients[: self._columns(nodes)]).reshape(-1, self.n_outputs)

    def directions(self, nodes: int | None = None) -> sparse.csc_array:
        """U, upper triangular: column j combines columns into the direction of column j; linear columns first."""
        columns = self._directions[: self._columns(nodes)]
        size = len(columns)
        starts = np.cumsum([0, *map(len, columns)])
        # Each column ends on the diagonal and reaches up over the hidden columns that were kept when it came.
        indices = [np.arange(end - len(column), end) for end, column in enumerate(columns, start=1)]
        values = np.concatenate([np.zeros(0), *columns])
        return sparse.csc_array((values, np.concatenate([np.zeros(0, int), *indices]), starts), shape=(size, size))

    def solution(self, rows: Rows, nodes: int) -> Solution:
        """The final output weights of the first ``nodes`` nodes."""
        return Solution(self.output_weights(nodes), self.directions(nodes), self.coefficients(nodes))

    def leave_one_out(self, rows: Rows, numbers: np.ndarray) -> np.ndarray:
        """By how much the model would miss the named training rows had it not seen them, the nodes being given."""
        return rows.leave_one_out(numbers)

    def output_weights(self, nodes: int | None = None) -> np.ndarray:
        """β of shape (columns, m), linear columns first, as after the first ``nodes`` nodes (all by default)."""
        return self.directions(nodes) @ self.coefficients(nodes)


def _one_by_one(
    columns: Columns, residual_squares: np.ndarray, orthogonal: bool, accept: Accept | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What adding the columns one after the other would do: which may come in, the factor of V, and the coefficients.

    In ``orthogonal`` directions the factor is Cholesky's, VᵀV = RᵀR, and each column is judged by what is left of it
    beside those before it. Else every column is a direction of its own.
    """
    sums, left, inner = columns.sums, columns.gram.copy(), columns.inner.copy()
    factor, coefficients = np.zeros_like(left), np.zeros_like(inner)
    passed = np.zeros(len(left), dtype=bool)
    smallest = np.maximum(SMALLEST_REMAINDER**2 * sums.squares, _SMALLEST_PART * left.diagonal())
    for j in range(len(left)):
        # The residual is orthogonal to the basis, so ⟨e, h⟩ = ⟨e, v⟩.
        current = Sums(inner.T, sums.squares, sums.quartics)
        if not left[j, j] > smallest[j] or not (accept is None or accept(current, j, residual_squares)):
            continue
        passed[j] = True
        factor[j] = left[j] / np.sqrt(left[j, j])
        coefficients[j] = inner[j] / np.sqrt(left[j, j])
        inner -= np.outer(factor[j], coefficients[j])
        residual_squares = residual_squares - coefficients[j] ** 2
        if orthogonal:
            left -= np.outer(factor[j], factor[j])
    return passed, np.triu(factor), coefficients
