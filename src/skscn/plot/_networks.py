"""The grown networks of an estimator."""

from __future__ import annotations

from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted


def grown_networks(estimator) -> list:
    """A fitted estimator's members, if it is an ensemble, or the estimator alone; of a pipeline, its last step's."""
    if isinstance(estimator, Pipeline):
        estimator = estimator[-1]
    check_is_fitted(estimator)
    networks = getattr(estimator, "members_", [estimator])
    if not all(hasattr(network, "history_") for network in networks):
        raise TypeError(f"{type(estimator).__name__} has no history of growth; a network of scikit-scn is needed.")
    return networks
