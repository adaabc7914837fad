"""SC-I: only the new node's output weight is evaluated, β_L = ⟨e, h⟩/‖h‖²; the others stay (Theorem 6)."""

from typing import ClassVar

from skscn.output_weights._base import OutputWeights


class Constructive(OutputWeights):
    """The rule of Algorithm SC-I, steps 18 to 20."""

    keeps_columns: ClassVar[bool] = False
