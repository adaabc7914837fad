"""Phase 2: evaluating the output weights; one file per rule.

``ALGORITHMS`` maps the paper's name of an algorithm to the rule that defines it.
"""

from skscn.output_weights._base import Admission, OutputWeights, Solution
from skscn.output_weights.constructive import Constructive
from skscn.output_weights.least_squares import LeastSquares, solved
from skscn.output_weights.windowed import Windowed

ALGORITHMS: dict[str, type[OutputWeights]] = {"SC-I": Constructive, "SC-II": Windowed, "SC-III": LeastSquares}

__all__ = [
    "ALGORITHMS",
    "Admission",
    "Constructive",
    "LeastSquares",
    "OutputWeights",
    "Solution",
    "Windowed",
    "solved",
]
