"""The grown networks of an estimator."""

from __future__ import annotations

from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted


def grown_networks(estimator: BaseEstimator) -> list[BaseEstimator]:
    """The members of a fitted ensemble, or a single estimator; for a pipeline, those of its last step."""
    if isinstance(estimator, Pipeline):
        estimator = estimator[-1]
    check_is_fitted(estimator)
    networks = getattr(estimator, "members_", [estimator])
    if not all(hasattr(network, "history_") for network in networks):
        raise TypeError(f"{type(estimator).__name__} has no growth history; pass a scikit-scn estimator.")
    return networks
