"""SC-III: all output weights solve the global least squares problem after each node (Theorem 7)."""

import numpy as np
from scipy.linalg import solve_triangular

from skscn.output_weights._base import OutputWeights


class LeastSquares(OutputWeights):
    """The rule of Algorithm SC-III, by an orthonormal basis that grows by one vector a node: O(N L) each."""

    def output_weights(self, nodes: int | None = None) -> np.ndarray:
        """β = R⁻¹ Qᵀ T; the triangular solve is backward stable where the product U C is not quite."""
        coefficients = self.coefficients(nodes)
        size = len(coefficients)
        if size == 0:
            return coefficients
        return solve_triangular(self.factor[:size, :size], coefficients)
