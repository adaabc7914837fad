"""How the error decreases while a network grows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator

from skscn.estimators.networks import grown_networks, growth_of
from skscn.plot.style import (
    BLUE,
    GREY,
    ORANGE,
    PALE,
    axes_for,
    legend_below,
    logarithmic,
    opacities,
    plain_numbers,
    scope_colours,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D


class ConvergenceDisplay:
    """Training and validation error against the number of nodes.

    The steps of a single network are coloured by the scope λ of the accepted node; for an ensemble, every member is a
    thin line. Steps that early stopping has discarded are paler. Of a recurrent network, those are drawn that were
    compared on later rows.

    Parameters
    ----------
    histories : list of structured ndarray
        `history_` of each network; of the last round, if there were several.
    kept : list of int
        The number of nodes of them that each network has kept.
    what : str, default="members"
        What the networks are, if there are several.

    Attributes
    ----------
    ax_ : matplotlib Axes
    train_lines_, validation_lines_ : list of matplotlib artists
        One line per network, up to the last kept node; validation errors only if rows were held out.
    undone_lines_ : list of matplotlib artists
        The continuation of the lines for nodes that were not kept.

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

    def __init__(self, *, histories: list[np.ndarray], kept: list[int], what: str = "members"):
        self.histories, self.kept, self.what = histories, kept, what

    @classmethod
    def from_estimator(cls, estimator: BaseEstimator, *, ax: Axes | None = None) -> ConvergenceDisplay:
        """Draw the growth of a fitted network or ensemble."""
        if hasattr(estimator, "reservoir_"):
            compared = [steps for network in grown_networks(estimator) for steps in _compared(network.history_)]
            kept = [int(history["nodes"].max(initial=0)) for history in compared]
            return cls(histories=compared, kept=kept, what="networks compared").plot(ax)
        growths = [growth_of(network) for network in grown_networks(estimator)]
        display = cls(histories=[growth.steps for growth in growths], kept=[growth.kept for growth in growths])
        return display.plot(ax)

    def plot(self, ax: Axes | None = None) -> ConvergenceDisplay:
        """Draw on ``ax``, or on new axes."""
        self.ax_ = ax = axes_for(ax)
        alone = len(self.histories) == 1
        style = {"linewidth": 1.4 if alone else 0.8}
        self.train_lines_: list[Line2D] = []
        self.validation_lines_: list[Line2D] = []
        self.undone_lines_: list[Line2D] = []
        for history, kept in zip(self.histories, self.kept, strict=True):
            self.train_lines_.append(self._draw(history, kept, "train_rmse", color=BLUE, **style))
            if np.isfinite(history["validation_rmse"]).any():
                line = self._draw(history, kept, "validation_rmse", color=ORANGE, linestyle="--", **style)
                self.validation_lines_.append(line)
        if alone:
            self._colour_by_scope(self.histories[0], self.kept[0])
        self._describe("" if alone else f" of {len(self.histories)} {self.what}")
        return self

    def _draw(self, history: np.ndarray, kept: int, error: str, **style: Any) -> Line2D:
        """The line of the kept nodes; a paler one continues from its end."""
        n_kept = int((history["nodes"] <= kept).sum())
        (line,) = self.ax_.plot(history["nodes"][:n_kept], history[error][:n_kept], **style)
        if n_kept < len(history):
            rest = history[max(n_kept - 1, 0) :]
            self.undone_lines_ += self.ax_.plot(rest["nodes"], rest[error], alpha=PALE, **style)
        return line

    def _colour_by_scope(self, history: np.ndarray, kept: int) -> None:
        points = self.ax_.scatter(
            history["nodes"],
            history["train_rmse"],
            s=14,
            zorder=3,
            alpha=opacities(history["nodes"] <= kept, 1.0),
            **scope_colours(history["scope"]),
        )
        bar = self.ax_.figure.colorbar(points, ax=self.ax_, label="scope λ")
        plain_numbers(bar.ax.yaxis)
        if history.size and kept < history["nodes"][-1]:
            self.ax_.axvline(kept, color=GREY, linestyle=":", label=f"kept: {kept} nodes")

    def _describe(self, whose: str) -> None:
        self.train_lines_[0].set_label(f"training{whose}")
        if self.validation_lines_:
            self.validation_lines_[0].set_label(f"held-out rows{whose}")
        if self.undone_lines_ and whose:
            self.undone_lines_[-1].set_label("not kept")
        self.ax_.set(xlabel="nodes", ylabel="RMSE")
        logarithmic(self.ax_, np.concatenate([history["train_rmse"] for history in self.histories]))
        legend_below(self.ax_)


def _compared(history: np.ndarray) -> list[np.ndarray]:
    """The steps of each network that was compared with others on later rows."""
    judged = history[np.isfinite(history["validation_rmse"])]
    return [judged[judged["round"] == number] for number in np.unique(judged["round"])] or [history]
