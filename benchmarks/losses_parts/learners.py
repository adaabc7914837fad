"""The learners that are compared: ours, and others of scikit-learn."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import HistGradientBoostingRegressor

from losses_parts.experiments import Method
from skscn import SCNEnsembleRegressor, SCNRegressor


def network(seed: int, **parameters: Any) -> SCNRegressor:
    """One of our networks."""
    return SCNRegressor(random_state=seed, **parameters)


def ensemble(seed: int, **parameters: Any) -> SCNEnsembleRegressor:
    """Ten of our networks, with the ensemble's way of early stopping."""
    member = SCNRegressor(early_stopping=True, validation_fraction=0.2, **parameters)
    return SCNEnsembleRegressor(member, random_state=seed)


def own(make: Any) -> Method:
    return Method(make, ours=True)


def boosting(seed: int, **parameters: Any) -> HistGradientBoostingRegressor:
    return HistGradientBoostingRegressor(random_state=seed, **parameters)


class MedianScaler(TransformerMixin, BaseEstimator):
    """Targets less their median, over 1.4826 times their median absolute deviation.

    RobustScaler divides by the interquartile range, which one-sided outliers spoil if they are a quarter of the rows.
    """

    def fit(self, y, _=None):
        self.center_ = np.median(y, axis=0)
        deviation = 1.4826 * np.median(np.abs(y - self.center_), axis=0)
        self.scale_ = np.where(deviation > 0.0, deviation, 1.0)
        return self

    def transform(self, y):
        return (y - self.center_) / self.scale_

    def inverse_transform(self, y):
        return self.center_ + self.scale_ * y


def robustly_scaled(model: Any) -> TransformedTargetRegressor:
    """A learner whose targets are scaled by their median absolute deviation."""
    return TransformedTargetRegressor(model, transformer=MedianScaler())
