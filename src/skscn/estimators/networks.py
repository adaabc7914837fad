"""The grown networks of a fitted estimator, for programs and plots."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from skscn.estimators.training import last_round


def grown_networks(estimator: Any) -> list[Any]:
    """The members of a fitted ensemble, or a single estimator; for a pipeline, those of its last step."""
    if isinstance(estimator, Pipeline):
        estimator = estimator[-1]
    check_is_fitted(estimator)
    networks: list[Any] = getattr(estimator, "members_", [estimator])
    if not all(hasattr(network, "history_") for network in networks):
        raise TypeError(f"{type(estimator).__name__} has no growth history; pass a scikit-scn estimator.")
    return networks


class Growth(NamedTuple):
    """How a network was grown, in the last round if there were several: its steps, and how many nodes were kept."""

    steps: np.ndarray
    kept: int


def growth_of(network: Any) -> Growth:
    """The growth of a fitted network."""
    return Growth(last_round(network.history_), network.network_.layers[0].size)
