"""How the error falls while a network grows."""

from __future__ import annotations

import numpy as np

from skscn.plot._networks import grown_networks
from skscn.plot._style import BLUE, GREY, ORANGE, axes_for, logarithmic, plain_numbers, scope_colours


class ConvergenceDisplay:
    """Training and validation error against the number of nodes.

    The steps of one network are coloured by the scope λ that their node was accepted in; of an ensemble, every member
    is a thin line.

    Parameters
    ----------
    histories : list of structured ndarray
        `history_` of each network.
    kept : list of int
        How many nodes each network has kept.

    Attributes
    ----------
    ax_ : matplotlib Axes
    train_lines_, validation_lines_ : list of matplotlib artists
        One line a network; validation errors only where rows were held out.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from skscn import SCNRegressor
    >>> from skscn.plot import ConvergenceDisplay
    >>> model = SCNRegressor(max_nodes=10, random_state=0).fit(*load_diabetes(return_X_y=True))
    >>> display = ConvergenceDisplay.from_estimator(model)
    >>> len(display.train_lines_)
    1
    """

    def __init__(self, *, histories: list[np.ndarray], kept: list[int]):
        self.histories, self.kept = histories, kept

    @classmethod
    def from_estimator(cls, estimator, *, ax=None) -> ConvergenceDisplay:
        """Draw how a fitted network or ensemble has grown."""
        networks = grown_networks(estimator)
        display = cls(histories=[n.history_ for n in networks], kept=[n.n_nodes_ for n in networks])
        return display.plot(ax)

    def plot(self, ax=None) -> ConvergenceDisplay:
        """Draw on ``ax``, or on new axes."""
        self.ax_ = ax = axes_for(ax)
        alone = len(self.histories) == 1
        thickness = {"linewidth": 1.4} if alone else {"linewidth": 0.8, "alpha": 0.7}
        self.train_lines_, self.validation_lines_ = [], []
        for history in self.histories:
            self.train_lines_ += ax.plot(history["nodes"], history["train_rmse"], color=BLUE, **thickness)
            if np.isfinite(history["validation_rmse"]).any():
                self.validation_lines_ += ax.plot(
                    history["nodes"], history["validation_rmse"], color=ORANGE, linestyle="--", **thickness
                )
        if alone:
            self._colour_by_scope(self.histories[0], self.kept[0])
        self._describe("" if alone else f" of {len(self.histories)} members")
        return self

    def _colour_by_scope(self, history: np.ndarray, kept: int) -> None:
        points = self.ax_.scatter(
            history["nodes"], history["train_rmse"], s=14, zorder=3, **scope_colours(history["scope"])
        )
        bar = self.ax_.figure.colorbar(points, ax=self.ax_, label="scope λ")
        plain_numbers(bar.ax.yaxis)
        if history.size and kept < history["nodes"][-1]:
            self.ax_.axvline(kept, color=GREY, linestyle=":", label=f"kept: {kept} nodes")

    def _describe(self, whose: str) -> None:
        self.train_lines_[0].set_label(f"training{whose}")
        if self.validation_lines_:
            self.validation_lines_[0].set_label(f"held-out rows{whose}")
        self.ax_.set(xlabel="nodes", ylabel="RMSE of the scaled target")
        logarithmic(self.ax_, np.concatenate([history["train_rmse"] for history in self.histories]))
        self.ax_.legend(frameon=False)
