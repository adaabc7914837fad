"""What the three rules share: each node moves the output along one direction.

Let the rule keep an orthonormal basis Q of the hidden columns that it re-evaluates together with the new one, and let
h = Qr + ρq. Because the residual e is orthogonal to Q, re-evaluating those output weights is e ← e − q(qᵀe). The rules
differ only in the columns they keep: none (SC-I), the newest K − 1 (SC-II), all (SC-III).

Before the first node there may be linear columns, intercept and direct links; all rules solve for them together, and
only SC-III solves for them again with every node.

With R the triangular factor of the kept columns, q = (h − H R⁻¹ r)/ρ: a combination of hidden columns, the *direction*
u of this node. After L nodes the network's output is H U C, where U holds the directions and C the qᵀe.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy import sparse
from scipy.linalg import solve_triangular

from skscn.rows import Rows


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
        """Start with columns wᵀx + b, weights of shape (d, p); return which of them do not depend on the others."""
        kept = np.array(
            [self._append(rows, w, float(b), keep=True, linear=True) for w, b in zip(weights.T, biases, strict=True)],
            dtype=bool,
        )
        self.linear = int(kept.sum())
        return kept

    def append(self, rows: Rows, weight: np.ndarray, bias: float) -> bool:
        """Add a node to the network and re-evaluate; False, and no change, if it nearly depends on the kept ones."""
        return self._append(rows, weight, bias, keep=self.keeps_columns, linear=False)

    def _append(self, rows: Rows, weight: np.ndarray, bias: float, *, keep: bool, linear: bool) -> bool:
        appended = rows.append(weight, bias, keep=keep, linear=linear)
        if appended is None:
            return False
        kept = solve_triangular(self.factor, appended.projection) if len(self.factor) else np.zeros(0)
        self._directions.append(np.append(-kept, 1.0) / appended.remainder)
        self._coefficients.append(appended.coefficients)
        if keep:
            self._extend_factor(appended.projection, appended.remainder)
        return True

    def _forget(self, rows: Rows) -> None:
        """Let all kept columns go: their output weights stay as they are."""
        if len(self.factor):
            rows.rotate(np.zeros((len(self.factor), 0)))
            self.factor = np.zeros((0, 0))

    def _extend_factor(self, projection: np.ndarray, remainder: float) -> None:
        size = len(self.factor)
        factor = np.zeros((size + 1, size + 1))
        factor[:size, :size] = self.factor
        factor[:size, size] = projection
        factor[size, size] = remainder
        self.factor = factor

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
