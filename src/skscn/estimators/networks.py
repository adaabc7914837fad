"""The grown networks of a fitted estimator, for programs and plots."""

from __future__ import annotations

from typing import Any

from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted


def grown_networks(estimator: Any) -> list[Any]:
    """The members of a fitted ensemble, or a single estimator; for a pipeline, those of its last step."""
    if isinstance(estimator, Pipeline):
        estimator = estimator[-1]
    check_is_fitted(estimator)
    networks: list[Any] = getattr(estimator, "members_", [estimator])
    if not all(hasattr(network, "history_") for network in networks):
        raise TypeError(f"{type(estimator).__name__} has no growth history; pass a scikit-scn estimator.")
    return networks
