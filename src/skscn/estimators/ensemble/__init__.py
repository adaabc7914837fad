"""Ensembles of growing networks: members with different rows, columns or draws, and the rows unseen by each."""

from skscn.estimators.ensemble._classifier import SCNEnsembleClassifier
from skscn.estimators.ensemble._regressor import SCNEnsembleRegressor

__all__ = ["SCNEnsembleClassifier", "SCNEnsembleRegressor"]
