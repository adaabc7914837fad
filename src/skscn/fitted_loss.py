"""The loss of a fitted model: what it estimates, and which rows look like outliers to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.pipeline import Pipeline

from skscn.fit.validation import read_rows
from skscn.losses import LogLoss, Loss, Poisson, Quantile

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def loss_of(estimator: Any) -> Loss | None:
    """The loss of a fitted model, in an ensemble that of the first member; None for models of other packages."""
    network = getattr(_members(_last(estimator))[0], "network_", None)
    loss: Loss | None = getattr(network, "loss", None)
    return loss


def estimated(loss: Loss) -> str:
    """What predictions estimate under a loss, in words."""
    if isinstance(loss, Quantile):
        return "the median" if loss.quantile == 0.5 else f"the {loss.quantile:g} quantile"
    if isinstance(loss, Poisson):
        return "the mean of a count or a rate"
    if isinstance(loss, LogLoss):
        return "the probabilities of the classes"
    return "the centre of the target, hardly influenced by outliers" if loss.weighs else "the mean"


def row_weights(estimator: Any, X: ArrayLike, y: ArrayLike) -> np.ndarray | None:
    """What rows X with targets y count for under the loss of a fitted model, shape (n,).

    1 for an ordinary row, near 0 for an outlier; in an ensemble the mean over its members. The scale of the residuals
    is that of the training rows. None if the loss does not weigh rows.
    """
    loss = loss_of(estimator)
    if loss is None or not loss.weighs:
        return None
    if isinstance(estimator, Pipeline) and len(estimator) > 1:
        X = estimator[:-1].transform(X)
    last = _last(estimator)
    rows = read_rows(last, X)
    targets = np.asarray(y, dtype=np.float64).reshape(rows.shape[0], -1)
    columns = getattr(last, "features_", [np.arange(rows.shape[1])])
    weights = [_own_weights(*pair, rows, targets) for pair in zip(_members(last), columns, strict=True)]
    return np.asarray(np.mean(weights, axis=0))


def _own_weights(member: Any, columns: np.ndarray, rows: Any, targets: np.ndarray) -> np.ndarray:
    network = member.network_
    outputs = network.link(rows if len(columns) == rows.shape[1] else rows[:, columns])
    if targets.shape != outputs.shape:
        raise ValueError(f"The model predicts {outputs.shape[1]} outputs; y has {targets.shape[1]}.")
    weights: np.ndarray = network.loss.row_weights(targets, outputs)
    return weights


def _last(estimator: Any) -> Any:
    return estimator[-1] if isinstance(estimator, Pipeline) else estimator


def _members(estimator: Any) -> list[Any]:
    members: list[Any] = getattr(estimator, "members_", [estimator])
    return members
