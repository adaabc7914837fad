"""What a fit minimises, as rounds of weighted least squares; one file per loss.

Rows, growth and output weights are weighted least squares and nothing else, so that the theorems hold for each round as
they are. A loss stands above them.
"""

from skscn.losses._base import Loss, RowFunction, StatisticsOf
from skscn.losses._penalised import Penalised
from skscn.losses._robust import OUTLIER
from skscn.losses.absolute import Absolute
from skscn.losses.bisquare import Bisquare
from skscn.losses.huber import Huber
from skscn.losses.kde import KernelDensity
from skscn.losses.log_loss import LogLoss
from skscn.losses.poisson import Poisson
from skscn.losses.quantile import Quantile
from skscn.losses.squared import Squared
from skscn.losses.welsch import Welsch

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
    "name_of",
]
