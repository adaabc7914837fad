"""The scikit-learn estimators, a thin layer on top of :mod:`skscn.growth`."""

from skscn.estimators.classifier import SCNClassifier
from skscn.estimators.deep import DeepSCNClassifier, DeepSCNRegressor
from skscn.estimators.ensemble import SCNEnsembleClassifier, SCNEnsembleRegressor
from skscn.estimators.regressor import IRVFLRegressor, ModifiedQuickpropRegressor, SCNRegressor

__all__ = [
    "DeepSCNClassifier",
    "DeepSCNRegressor",
    "IRVFLRegressor",
    "ModifiedQuickpropRegressor",
    "SCNClassifier",
    "SCNEnsembleClassifier",
    "SCNEnsembleRegressor",
    "SCNRegressor",
]
