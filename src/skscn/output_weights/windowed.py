"""SC-II: the newest K output weights are re-evaluated after each node, the older ones stay (Theorem 8)."""

from typing import ClassVar

import numpy as np
from scipy.linalg import qr

from skscn.layers import Nodes
from skscn.output_weights._base import Admission, OutputWeights
from skscn.rows import Rows


class Windowed(OutputWeights):
    """The rule of Algorithm SC-II, with a basis of the sliding window: O(N K²) per node, whatever L."""

    # The window slides with every node.
    takes_blocks: ClassVar[bool] = False

    def append_linear(self, rows: Rows, nodes: Nodes) -> np.ndarray:
        """Solve for the linear columns together, then keep them fixed: the window is for nodes."""
        kept = super().append_linear(rows, nodes)
        self._forget(rows)
        return kept

    def join(self, rows: Rows, block: Admission) -> None:
        """Add a node, then drop the oldest column so that K − 1 remain to be solved with the next one."""
        super().join(rows, block)
        if len(self.factor) == self.window:
            self._release_oldest(rows)

    def _release_oldest(self, rows: Rows) -> None:
        """Without its first column the factor is upper Hessenberg; a rotation makes it triangular again."""
        rotation, factor = qr(self.factor[:, 1:], mode="economic")
        self.factor = factor
        rows.rotate(rotation)
