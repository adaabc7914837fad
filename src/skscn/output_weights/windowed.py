"""SC-II: the newest K output weights are re-evaluated after each node, the older ones stay (Theorem 8)."""

from typing import ClassVar

import numpy as np
from scipy.linalg import qr

from skscn.output_weights._base import Accept, OutputWeights
from skscn.rows import Rows


class Windowed(OutputWeights):
    """The rule of Algorithm SC-II, by a basis of the window that slides: O(N K²) a node, whatever L."""

    # The window slides with every node.
    takes_blocks: ClassVar[bool] = False

    def append_linear(self, rows: Rows, weights: np.ndarray, biases: np.ndarray) -> np.ndarray:
        """Solve for the linear columns together, then leave them: the window is for nodes."""
        kept = super().append_linear(rows, weights, biases)
        self._forget(rows)
        return kept

    def append(self, rows: Rows, weights: np.ndarray, biases: np.ndarray, accept: Accept | None = None) -> np.ndarray:
        """Add a node, then let the oldest column go so that K − 1 stay to be solved with the next one."""
        passed = super().append(rows, weights, biases, accept)
        if passed.all() and len(self.factor) == self.window:
            self._release_oldest(rows)
        return passed

    def _release_oldest(self, rows: Rows) -> None:
        """Without its first column the factor is upper Hessenberg; a rotation makes it triangular again."""
        rotation, factor = qr(self.factor[:, 1:], mode="economic")
        self.factor = factor
        rows.rotate(rotation)
