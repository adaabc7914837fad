"""Stochastic Configuration Networks for Python."""

from skscn.activations import ACTIVATIONS, Activation
from skscn.estimators import (
    IRVFLRegressor,
    ModifiedQuickpropRegressor,
    SCNClassifier,
    SCNEnsembleClassifier,
    SCNEnsembleRegressor,
    SCNRegressor,
)
from skscn.network import Network
from skscn.rows import Chunks

__version__ = "0.1.0"

__all__ = [
    "ACTIVATIONS",
    "Activation",
    "Chunks",
    "IRVFLRegressor",
    "ModifiedQuickpropRegressor",
    "Network",
    "SCNClassifier",
    "SCNEnsembleClassifier",
    "SCNEnsembleRegressor",
    "SCNRegressor",
    "__version__",
]
