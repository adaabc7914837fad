"""The scikit-learn estimators, thin on top of :mod:`skscn.growth`."""

from skscn.estimators._classifier import SCNClassifier
from skscn.estimators._regressor import SCNRegressor

__all__ = ["SCNClassifier", "SCNRegressor"]
