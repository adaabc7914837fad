"""Stochastic Configuration Networks for Python."""

from skscn.activations import ACTIVATIONS, Activation
from skscn.estimators import SCNClassifier, SCNRegressor
from skscn.network import Network

__version__ = "0.1.0"

__all__ = ["ACTIVATIONS", "Activation", "Network", "SCNClassifier", "SCNRegressor", "__version__"]
