"""The distribution of the residuals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import norm
from sklearn.base import BaseEstimator

from skscn.plot.style import BLUE, GREY, ORANGE, axes_for

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D
    from numpy.typing import ArrayLike

_SHARES = (0.05, 0.5, 0.95)


class ResidualDisplay:
    """A histogram of true minus predicted values, with its 5 %, 50 % and 95 % quantiles.

    The curve is the normal distribution with the same mean and standard deviation.

    Parameters
    ----------
    residuals : ndarray of shape (n,)
        True minus predicted values of one output.

    Attributes
    ----------
    quantiles : ndarray of shape (3,)
        The 5 %, 50 % and 95 % quantiles.
    ax_ : matplotlib Axes
    bars_, curve_, quantile_lines_ : matplotlib artists
        There is no curve if all residuals are equal.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from skscn import SCNRegressor
    >>> from skscn.plot import ResidualDisplay
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = SCNRegressor(max_nodes=10, random_state=0).fit(X, y)
    >>> low, middle, high = ResidualDisplay.from_estimator(model, X, y).quantiles
    >>> bool(low < middle < high)
    True
    """

    def __init__(self, *, residuals: np.ndarray):
        self.residuals = residuals
        self.quantiles = np.quantile(residuals, _SHARES)

    @classmethod
    def from_estimator(
        cls, estimator: BaseEstimator, X: ArrayLike, y: ArrayLike, *, ax: Axes | None = None
    ) -> ResidualDisplay:
        """Draw the residuals of a fitted regressor of one output on rows X with targets y."""
        return cls.from_predictions(y, estimator.predict(X), ax=ax)

    @classmethod
    def from_predictions(cls, y_true: ArrayLike, y_pred: ArrayLike, *, ax: Axes | None = None) -> ResidualDisplay:
        """Draw the residuals of given predictions of one output."""
        residuals = np.asarray(y_true) - np.asarray(y_pred)
        if residuals.ndim != 1:
            raise ValueError(f"ResidualDisplay draws one output; y has shape {residuals.shape}.")
        return cls(residuals=residuals).plot(ax)

    def plot(self, ax: Axes | None = None) -> ResidualDisplay:
        """Draw on ``ax``, or on new axes."""
        self.ax_ = ax = axes_for(ax)
        _, _, self.bars_ = ax.hist(self.residuals, bins=self._bins(), density=True, color=BLUE, alpha=0.6)
        self.curve_ = self._draw_normal()
        self.quantile_lines_ = [
            ax.axvline(value, color=GREY, linestyle="-" if share == 0.5 else ":", zorder=3)
            for share, value in zip(_SHARES, self.quantiles, strict=True)
        ]
        ax.set(xlabel="residual (true − predicted)", ylabel="density")
        return self

    def _bins(self) -> int:
        """Freedman and Diaconis' number of bins, within bounds: a far outlier must not make it a million."""
        width = 2.0 * np.subtract(*np.quantile(self.residuals, (0.75, 0.25))) / len(self.residuals) ** (1 / 3)
        return int(np.clip(np.ptp(self.residuals) / width, 5, 60)) if width > 0.0 else 5

    def _draw_normal(self) -> Line2D | None:
        mean, deviation = self.residuals.mean(), self.residuals.std()
        if deviation == 0.0:
            return None
        places = np.linspace(self.residuals.min(), self.residuals.max(), 200)
        return self.ax_.plot(places, norm.pdf(places, mean, deviation), color=ORANGE, label="normal distribution")[0]
