"""What a fit minimises, as rounds of weighted least squares; one file per loss.

Rows, growth and output weights are weighted least squares and nothing else, so that the theorems hold for each round as
they are. A loss stands above them.
"""

from skscn.losses._base import Loss
from skscn.losses.squared import Squared

LOSSES: dict[str, type[Loss]] = {"squared": Squared}

__all__ = ["LOSSES", "Loss", "Squared"]
