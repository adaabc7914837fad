"""A function of one input and its approximation by a network, as in Figure 3 of the paper."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator

from skscn.estimators.networks import grown_networks
from skscn.network import Network
from skscn.plot.style import BLUE, GREY, ORANGE, axes_for
from skscn.scaling import scaling_of_columns

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike


class FitDisplay:
    """The target and its approximation as functions of one input, and the positions of the nodes.

    Parameters
    ----------
    x : ndarray of shape (n,)
        The input.
    y_true, y_pred : ndarray of shape (n,)
        Target and prediction.
    nodes : ndarray of shape (L,) or None, default=None
        The transition of each node, where wx + b = 0: the steepest point of a sigmoid, the centre of a gaussian.

    Attributes
    ----------
    ax_ : matplotlib Axes
    lines_ : list of matplotlib artists
        The lines of target and prediction, followed by the marks of the nodes on the x axis, if they are drawn.

    Examples
    --------
    >>> from skscn import SCNRegressor
    >>> from skscn.datasets import make_db1
    >>> from skscn.plot import FitDisplay
    >>> db1 = make_db1(random_state=0)
    >>> model = SCNRegressor(max_nodes=20, random_state=0).fit(db1.data, db1.target)
    >>> display = FitDisplay.from_estimator(model, db1.test_data, db1.test_target)
    >>> len(display.nodes) == model.n_nodes_
    True
    """

    def __init__(self, x: np.ndarray, y_true: np.ndarray, y_pred: np.ndarray, nodes: np.ndarray | None = None):
        order = np.argsort(x, kind="stable")
        self.x, self.y_true, self.y_pred, self.nodes = x[order], y_true[order], y_pred[order], nodes

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: ArrayLike,
        y: ArrayLike,
        *,
        ax: Axes | None = None,
        title: str | None = None,
        show_nodes: bool = True,
    ) -> FitDisplay:
        """Draw the predictions of a fitted estimator of one input for the rows X, together with the targets y."""
        y_pred, X = estimator.predict(X), np.asarray(X)
        if X.ndim != 2 or X.shape[1] != 1:
            raise ValueError(f"FitDisplay draws functions of one input; X has shape {X.shape}.")
        nodes = np.concatenate([_transitions(network.network_) for network in grown_networks(estimator)])
        return cls(X[:, 0], np.asarray(y), y_pred, nodes).plot(ax, title=title, show_nodes=show_nodes)

    def plot(self, ax: Axes | None = None, *, title: str | None = None, show_nodes: bool = True) -> FitDisplay:
        """Draw on ``ax``, or on new axes."""
        self.ax_ = ax = axes_for(ax)
        self.lines_ = ax.plot(self.x, self.y_true, color=GREY, alpha=0.6, linewidth=3.0, label="target")
        self.lines_ += ax.plot(self.x, self.y_pred, color=ORANGE, linewidth=1.2, label="network")
        if show_nodes and self.nodes is not None:
            inside = self.nodes[(self.nodes >= self.x[0]) & (self.nodes <= self.x[-1])]
            # Height as a share of the axes: at the bottom, whatever the targets are.
            foot: dict[str, Any] = {"transform": ax.get_xaxis_transform(), "markersize": 8, "label": "nodes"}
            self.lines_ += ax.plot(inside, np.full_like(inside, 0.02), "|", color=BLUE, **foot)
        ax.set(title=title, xlabel="x", ylabel="f(x)")
        return self


def _transitions(network: Network) -> np.ndarray:
    """The x at which wx + b = 0, for each node; NaN or infinite where there is none."""
    with np.errstate(divide="ignore", invalid="ignore"):
        scaled = -network.biases / network.weights[0]
        return scaling_of_columns(network.inputs).inverse_transform(scaled[:, np.newaxis])[:, 0]
