"""SC-I: only the new node's output weight is evaluated, β_L = ⟨e, h⟩/‖h‖²; the others stay (Theorem 6)."""

from typing import ClassVar

import numpy as np

from skscn.layers import Nodes
from skscn.output_weights._base import OutputWeights
from skscn.rows import Rows


class Constructive(OutputWeights):
    """The rule of Algorithm SC-I, steps 18 to 20."""

    keeps_columns: ClassVar[bool] = False

    def append_linear(self, rows: Rows, nodes: Nodes) -> np.ndarray:
        """Solve for the linear columns together, then keep them fixed."""
        kept = super().append_linear(rows, nodes)
        self._forget(rows)
        return kept
