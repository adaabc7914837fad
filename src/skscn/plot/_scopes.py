"""The scopes λ of the accepted nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import BaseEstimator

from skscn.estimators.networks import grown_networks, growth_of
from skscn.plot.style import axes_for, logarithmic, opacities, scope_colours

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class ScopeDisplay:
    """The scope λ of each accepted node, in the order of growth; nodes that were not kept are paler.

    Parameters
    ----------
    nodes : ndarray of int
        The number of nodes after each step; for an ensemble, the steps of all members, one member after the other.
    scopes : ndarray of float
        The scope of each step.
    kept : ndarray of bool, default=None
        Whether the node of each step was kept by early stopping; None means that all were.

    Attributes
    ----------
    ax_ : matplotlib Axes
    points_ : matplotlib artist

    Examples
    --------
    >>> from skscn import SCNRegressor
    >>> from skscn.datasets import make_db1
    >>> from skscn.plot import ScopeDisplay
    >>> db1 = make_db1(random_state=0)
    >>> model = SCNRegressor(max_nodes=5, random_state=0, scopes=(50, 200)).fit(db1.data, db1.target)
    >>> display = ScopeDisplay.from_estimator(model)
    >>> bool(50 <= display.scopes.min() <= display.scopes.max() <= 200)
    True
    """

    def __init__(self, *, nodes: np.ndarray, scopes: np.ndarray, kept: np.ndarray | None = None):
        self.nodes, self.scopes = nodes, scopes
        self.kept = np.ones(len(nodes), dtype=bool) if kept is None else kept

    @classmethod
    def from_estimator(cls, estimator: BaseEstimator, *, ax: Axes | None = None) -> ScopeDisplay:
        """Draw the scopes of a fitted network, or of all members of an ensemble."""
        if hasattr(estimator, "reservoir_"):
            scopes = estimator.reservoir_.nodes.scopes
            # Products have none.
            drawn = np.flatnonzero(scopes > 0.0)
            return cls(nodes=drawn + 1, scopes=scopes[drawn]).plot(ax)
        growths = [growth_of(network) for network in grown_networks(estimator)]
        steps = np.concatenate([growth.steps[["nodes", "scope"]] for growth in growths])
        kept = np.concatenate([growth.steps["nodes"] <= growth.kept for growth in growths])
        return cls(nodes=steps["nodes"], scopes=steps["scope"], kept=kept).plot(ax)

    def plot(self, ax: Axes | None = None) -> ScopeDisplay:
        """Draw on ``ax``, or on new axes."""
        self.ax_ = axes_for(ax)
        alpha = opacities(self.kept, 0.85)
        self.points_ = self.ax_.scatter(self.nodes, self.scopes, s=16, alpha=alpha, **scope_colours(self.scopes))
        self.ax_.set(xlabel="nodes", ylabel="scope λ")
        logarithmic(self.ax_, self.scopes)
        return self
