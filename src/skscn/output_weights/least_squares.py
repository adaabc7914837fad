"""SC-III: all output weights solve the global least squares problem after each node (Theorem 7)."""

import numpy as np
from scipy import sparse
from scipy.linalg import solve_triangular

from skscn.factor import Factor
from skscn.output_weights._base import OutputWeights, Solution
from skscn.rows import Rows


class LeastSquares(OutputWeights):
    """The rule of Algorithm SC-III, with an orthonormal basis that grows by one vector per node: O(N L) each."""

    regularises = True

    def output_weights(self, nodes: int | None = None) -> np.ndarray:
        """β = R⁻¹ Qᵀ T; the triangular solve is backward stable where the product U C is not quite."""
        coefficients = self.coefficients(nodes)
        size = len(coefficients)
        return solve_triangular(self.factor[:size, :size], coefficients) if size else coefficients

    def final_factor(self, rows: Rows, nodes: int) -> Factor:
        """R and C of the first nodes; the residual then still contained what later nodes removed from it."""
        size, coefficients = self._columns(nodes), self.coefficients()
        residual_squares = rows.residual_squares + (coefficients[size:] ** 2).sum(axis=0)
        triangle = np.ascontiguousarray(self.factor[:size, :size])
        return Factor(triangle, coefficients[:size], residual_squares, rows.weight, self.linear)

    def solution(self, rows: Rows, nodes: int) -> Solution:
        """The output weights of the first nodes, regularised; with the same α, those of every smaller network too."""
        factor = self.final_factor(rows, nodes)
        alpha = self.chosen(factor)
        return super().solution(rows, nodes) if alpha == 0.0 else solved(factor, alpha)

    def solved(self, factor: Factor) -> Solution:
        """The output weights that follow from a factor of these columns, perhaps of more rows."""
        return solved(factor, self.chosen(factor))

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
    return Solution(ridge.output_weights(), directions, ridge.coefficients)
