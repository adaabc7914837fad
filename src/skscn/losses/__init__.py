"""What a fit minimises, as rounds of weighted least squares; one file per loss.

Rows, growth and output weights are weighted least squares and nothing else, so that the theorems hold for each round as
they are. A loss stands above them.
"""

from skscn.losses.base import Loss, Penalised, RowFunction, Squared, StatisticsOf, plausible
from skscn.losses.likelihood import LogLoss, Poisson, are_counts
from skscn.losses.robust import OUTLIER, Absolute, Bisquare, Huber, KernelDensity, Quantile, Welsch

LOSSES: dict[str, type[Loss]] = {
    "squared": Squared,
    "huber": Huber,
    "welsch": Welsch,
    "bisquare": Bisquare,
    "kde": KernelDensity,
    "absolute": Absolute,
    "quantile": Quantile,
    "poisson": Poisson,
    "log_loss": LogLoss,
}


def name_of(loss: Loss) -> str:
    """The name by which estimators know a loss."""
    return next((name for name, cls in LOSSES.items() if type(loss) is cls), type(loss).__name__)


__all__ = [
    "LOSSES",
    "OUTLIER",
    "Absolute",
    "Bisquare",
    "Huber",
    "KernelDensity",
    "LogLoss",
    "Loss",
    "Penalised",
    "Poisson",
    "Quantile",
    "RowFunction",
    "Squared",
    "StatisticsOf",
    "Welsch",
    "are_counts",
    "name_of",
    "plausible",
]
