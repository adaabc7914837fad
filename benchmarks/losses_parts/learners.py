"""The learners that are compared: ours and others, each on one thread, and how to install those that are optional."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import HistGradientBoostingRegressor

from losses_parts.experiments import Method
from skscn import SCNEnsembleRegressor, SCNRegressor

PACKAGES = ("catboost", "lightgbm", "xgboost")


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


def lightgbm(seed: int, kind: str = "LGBMRegressor", **parameters: Any) -> Any:
    import lightgbm

    return getattr(lightgbm, kind)(n_jobs=1, verbose=-1, random_state=seed, **parameters)


def catboost(seed: int, kind: str = "CatBoostRegressor", **parameters: Any) -> Any:
    import catboost

    fixed = {"thread_count": 1, "verbose": False, "allow_writing_files": False}
    return getattr(catboost, kind)(random_seed=seed, **fixed, **parameters)


def xgboost(seed: int, **parameters: Any) -> Any:
    import xgboost

    return xgboost.XGBClassifier(n_jobs=1, random_state=seed, **parameters)


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


def how_to_install(missing: list[str]) -> str:
    """What to say about packages that are not installed."""
    names = " ".join(missing)
    return (
        f"Not installed: {', '.join(missing)}. What they were measured with earlier is in the tables, nothing new; to "
        f"measure them: .venv/bin/pip install {names}"
    )
