"""Plots of networks as Display objects, as in scikit-learn; matplotlib is imported when one is drawn."""

from skscn.plot._convergence import ConvergenceDisplay
from skscn.plot._fit import FitDisplay
from skscn.plot._forecast import ForecastDisplay
from skscn.plot._horizon import HorizonDisplay
from skscn.plot._prediction_error import PredictionErrorDisplay
from skscn.plot._residuals import ResidualDisplay
from skscn.plot._scopes import ScopeDisplay
from skscn.plot._series import SeriesDisplay
from skscn.plot._stream import StreamDisplay
from skscn.plot.effects import EffectDisplay
from skscn.plot.importance import ImportanceDisplay

__all__ = [
    "ConvergenceDisplay",
    "EffectDisplay",
    "FitDisplay",
    "ForecastDisplay",
    "HorizonDisplay",
    "ImportanceDisplay",
    "PredictionErrorDisplay",
    "ResidualDisplay",
    "ScopeDisplay",
    "SeriesDisplay",
    "StreamDisplay",
]
