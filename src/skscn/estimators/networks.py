"""The grown networks of a fitted estimator, for programs and plots, and what comes before them, for exports."""

from __future__ import annotations

from copy import copy
from typing import Any, NamedTuple

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from skscn.growth import last_round
from skscn.losses import LogLoss
from skscn.series import Lags
from skscn.tables import TableEncoder
from skscn.tables.filling import Filling, median_filling
from skscn.tables.row_encoder import RowEncoder


def grown_networks(estimator: Any) -> list[Any]:
    """The members of a fitted ensemble, or a single estimator; for a pipeline, those of its last step."""
    if isinstance(estimator, Pipeline):
        estimator = estimator[-1]
    check_is_fitted(estimator)
    networks: list[Any] = getattr(estimator, "members_", [estimator])
    if not all(hasattr(network, "history_") for network in networks):
        raise TypeError(f"{type(estimator).__name__} has no growth history; pass a scikit-scn estimator.")
    return networks


def layer_sizes(network: Any) -> tuple[int, ...]:
    """The number of nodes in each layer of a grown network; a recurrent one has one layer."""
    if not hasattr(network, "network_"):
        return (network.n_nodes_,)
    sizes: tuple[int, ...] = network.network_.layer_sizes
    return sizes


def filling_of(estimator: Any) -> Filling | None:
    """How a fitted estimator fills in missing numbers; None if it refuses them."""
    encoder: RowEncoder | None = getattr(estimator, "encoder_", None)
    medians: np.ndarray | None = getattr(estimator, "_medians", None)
    if encoder is not None:
        return encoder.filling
    return None if medians is None else median_filling(medians)


def parts_of(estimator: Any) -> list[Any]:
    """A fitted step as the steps of an export: what encodes a table, what fills in missing numbers, and the rest.

    Lags that add no column are no step at all.
    """
    if isinstance(estimator, Lags):
        check_is_fitted(estimator)
        return [estimator] if estimator.lags_ or estimator.means_ else []
    filling = filling_of(estimator)
    if filling is None:
        return [estimator]
    table = None if estimator.encoder_ is None else estimator.encoder_.table
    core = copy(estimator)
    core.encoder_, core._medians, core.n_features_in_ = None, None, filling.width
    vars(core).pop("feature_names_in_", None)
    return [*([] if table is None else [table]), filling, core]


def without_table(estimator: Any) -> tuple[TableEncoder | None, Any]:
    """What encodes the tables of a fitted estimator, if it does that itself, and the estimator for encoded rows.

    Missing numbers are still filled in by the estimator.
    """
    encoder: RowEncoder | None = getattr(estimator, "encoder_", None)
    if encoder is None or encoder.table is None:
        return None, estimator
    core = copy(estimator)
    core.encoder_ = encoder.for_encoded()
    core.n_features_in_ = core.encoder_.n_columns
    vars(core).pop("feature_names_in_", None)
    return encoder.table, core


def sign_of(estimator: Any, column: int) -> int:
    """1 or −1 if no prediction of a fitted estimator ever decreases or increases with a column of its rows, else 0."""
    encoder: RowEncoder | None = getattr(estimator, "encoder_", None)
    places, members = [column] if encoder is None else encoder.groups[column], getattr(estimator, "members_", None)
    signs = set()
    for number, member in enumerate([estimator] if members is None else members):
        own = getattr(getattr(member, "network_", None), "signs", None)
        if own is None or not places:
            return 0
        features = np.arange(len(own)) if members is None else estimator.features_[number]
        signs |= {int(sign) for sign in own[features == places[0]]}
    return signs.pop() if len(signs) == 1 else 0


class GrownSteps(NamedTuple):
    """How a network was grown, in the last round if there were several: its steps, and how many nodes were kept."""

    steps: np.ndarray
    kept: int

    @property
    def kept_steps(self) -> np.ndarray:
        """The steps that added a node that was kept."""
        before = np.concatenate([[0], self.steps["nodes"]])[:-1]
        steps: np.ndarray = self.steps[before < self.kept]
        return steps


def growth_of(network: Any) -> GrownSteps:
    """The growth of a fitted network."""
    return GrownSteps(last_round(network.history_), sum(block.size for block in network.network_.stack))


def is_multilabel(classifier: Any) -> bool:
    """Whether a fitted network has several labels that do not exclude each other."""
    loss = classifier.network_.loss
    return isinstance(loss, LogLoss) and not loss.exclusive
