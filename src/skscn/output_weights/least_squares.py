"""SC-III: all output weights solve the global least squares problem after each node (Theorem 7)."""

import numpy as np
from scipy import sparse
from scipy.linalg import solve_triangular

from skscn.output_weights._base import OutputWeights, Solution
from skscn.output_weights._ridge import cross_validated, regularised, smoother
from skscn.rows import Rows


class LeastSquares(OutputWeights):
    """The rule of Algorithm SC-III, with an orthonormal basis that grows by one vector per node: O(N L) each."""

    def output_weights(self, nodes: int | None = None) -> np.ndarray:
        """β = R⁻¹ Qᵀ T; the triangular solve is backward stable where the product U C is not quite."""
        return _solve(self.factor, self.coefficients(nodes))

    def solution(self, rows: Rows, nodes: int) -> Solution:
        """The output weights of the first nodes, regularised; with the same α, those of every smaller network too."""
        alpha = self.chosen_alpha(rows, nodes)
        if alpha == 0.0:
            return super().solution(rows, nodes)
        size = self._columns(nodes)
        factor, coefficients = regularised(self.factor[:size, :size], self.coefficients(nodes), self.linear, alpha)
        directions = sparse.csc_array(solve_triangular(factor, np.eye(size)))
        return Solution(_solve(factor, coefficients), directions, coefficients)

    def chosen_alpha(self, rows: Rows, nodes: int) -> float:
        """α for the first nodes."""
        if self.alpha != "gcv":
            return float(self.alpha)
        size, coefficients = self._columns(nodes), self.coefficients()
        # The residual then still contained what later nodes removed from it.
        residual_squares = float(rows.residual_squares.sum() + (coefficients[size:] ** 2).sum())
        return cross_validated(
            self.factor[:size, :size], coefficients[:size], self.linear, residual_squares, rows.weight
        )

    def leave_one_out(self, rows: Rows, numbers: np.ndarray) -> np.ndarray:
        """With the same regularisation as the output weights."""
        alpha = self.chosen_alpha(rows, self.nodes)
        if alpha == 0.0:
            return super().leave_one_out(rows, numbers)
        return rows.leave_one_out(numbers, smoother(self.factor, self.linear, alpha), self.coefficients())


def _solve(factor: np.ndarray, coefficients: np.ndarray) -> np.ndarray:
    size = len(coefficients)
    return solve_triangular(factor[:size, :size], coefficients) if size else coefficients
