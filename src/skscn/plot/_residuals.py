"""The distribution of the residuals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import norm
from sklearn.base import BaseEstimator

from skscn.fitted_loss import row_weights
from skscn.losses import OUTLIER
from skscn.plot.style import BLUE, GREY, ORANGE, PURPLE, axes_for
from skscn.words import count

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D
    from numpy.typing import ArrayLike

_SHARES = (0.05, 0.5, 0.95)


# How far beyond the ordinary residuals the axis reaches at most if there are outliers, in widths of their range.
_BEYOND = 0.5
# The height of the axes, relative to the histogram, that leaves place for a legend.
_HEADROOM = 1.35


class ResidualDisplay:
    """A histogram of true minus predicted values, with the 5 %, 50 % and 95 % quantiles of all of them.

    The curve is the normal distribution with the same mean and standard deviation as the values in the histogram. If
    rows have weights, outliers are not part of the histogram: they are marked by crosses at the bottom, and those
    beyond the axis by crosses at its ends.

    Parameters
    ----------
    residuals : ndarray of shape (n,)
        True minus predicted values of one output.
    row_weights : ndarray of shape (n,), default=None
        What the rows count for under a loss that weighs rows; outliers are those below 0.2. None for other losses.

    Attributes
    ----------
    quantiles : ndarray of shape (3,)
        The 5 %, 50 % and 95 % quantiles.
    outliers : ndarray of shape (k,)
        The places of the rows that look like outliers.
    ax_ : matplotlib Axes
    bars_, curve_, quantile_lines_, outlier_marks_ : matplotlib artists
        There is no curve if all residuals are equal, and there are no marks (None) without outliers.

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

    With a loss that weighs rows, outliers are marked:

    >>> y[:3] += 2000
    >>> model = SCNRegressor(loss="welsch", max_nodes=10, random_state=0).fit(X, y)
    >>> ResidualDisplay.from_estimator(model, X, y).outliers[:3].tolist()
    [0, 1, 2]
    """

    def __init__(self, *, residuals: np.ndarray, row_weights: np.ndarray | None = None):
        self.residuals, self.row_weights = residuals, row_weights
        self.quantiles = np.quantile(residuals, _SHARES)
        self.outliers = np.flatnonzero(np.zeros(0) if row_weights is None else row_weights < OUTLIER)

    @classmethod
    def from_estimator(
        cls, estimator: BaseEstimator, X: ArrayLike, y: ArrayLike, *, ax: Axes | None = None
    ) -> ResidualDisplay:
        """Draw the residuals of a fitted regressor of one output on rows X with targets y.

        Outliers are marked if the regressor has a loss that weighs rows.
        """
        return cls.from_predictions(y, estimator.predict(X), row_weights=row_weights(estimator, X, y), ax=ax)

    @classmethod
    def from_predictions(
        cls, y_true: ArrayLike, y_pred: ArrayLike, *, row_weights: ArrayLike | None = None, ax: Axes | None = None
    ) -> ResidualDisplay:
        """Draw the residuals of given predictions of one output, with the weights of the rows if they have any."""
        residuals = np.asarray(y_true) - np.asarray(y_pred)
        if residuals.ndim != 1:
            raise ValueError(f"ResidualDisplay draws one output; y has shape {residuals.shape}.")
        weights = None if row_weights is None else np.asarray(row_weights)
        if weights is not None and weights.shape != residuals.shape:
            raise ValueError(f"There are {len(residuals)} rows; row_weights has shape {weights.shape}.")
        return cls(residuals=residuals, row_weights=weights).plot(ax)

    def plot(self, ax: Axes | None = None) -> ResidualDisplay:
        """Draw on ``ax``, or on new axes."""
        self.ax_ = ax = axes_for(ax)
        shown = self._ordinary()
        _, _, self.bars_ = ax.hist(shown, bins=_bins(shown), density=True, color=BLUE, alpha=0.6)
        self.curve_ = self._draw_normal(shown)
        self.quantile_lines_ = [
            ax.axvline(value, color=GREY, linestyle="-" if share == 0.5 else ":", zorder=3)
            for share, value in zip(_SHARES, self.quantiles, strict=True)
        ]
        self.outlier_marks_ = self._draw_outliers(shown) if len(self.outliers) else None
        ax.set(xlabel="residual (true − predicted)", ylabel="density")
        return self

    def _ordinary(self) -> np.ndarray:
        """The residuals of the rows that are not outliers; all, if there are no other rows."""
        ordinary = np.delete(self.residuals, self.outliers)
        return ordinary if len(ordinary) else self.residuals

    def _draw_normal(self, shown: np.ndarray) -> Line2D | None:
        mean, deviation = shown.mean(), shown.std()
        if deviation == 0.0:
            return None
        places = np.linspace(shown.min(), shown.max(), 200)
        return self.ax_.plot(places, norm.pdf(places, mean, deviation), color=ORANGE, label="normal distribution")[0]

    def _draw_outliers(self, shown: np.ndarray) -> Line2D:
        """Crosses at the bottom; the axis ends not far beyond the other residuals, so that these can be told apart."""
        residuals = self.residuals[self.outliers]
        reach = _BEYOND * np.ptp(shown) or np.ptp(self.residuals)
        places = residuals.clip(shown.min() - reach, shown.max() + reach)
        beyond = int(np.count_nonzero(places != residuals))
        label = count(len(residuals), "outlier") + (f", {beyond:,} beyond the axis" if beyond else "")
        at_the_bottom = self.ax_.get_xaxis_transform()
        height = np.full(len(places), 0.02)
        marks = self.ax_.plot(places, height, "x", color=PURPLE, label=label, transform=at_the_bottom, clip_on=False)[0]
        self._limit(min(places.min(), shown.min()), max(places.max(), shown.max()))
        self.ax_.legend(loc="upper left")
        return marks

    def _limit(self, low: float, high: float) -> None:
        """The range of the axes, whatever quantiles lie outside it."""
        margin = 0.05 * (high - low) or 1.0
        self.ax_.set(xlim=(low - margin, high + margin), ylim=(0.0, _HEADROOM * self.ax_.get_ylim()[1]))


def _bins(shown: np.ndarray) -> int:
    """Freedman and Diaconis' number of bins, within bounds: a far outlier must not make it a million."""
    width = 2.0 * np.subtract(*np.quantile(shown, (0.75, 0.25))) / len(shown) ** (1 / 3)
    return int(np.clip(np.ptp(shown) / width, 5, 60)) if width > 0.0 else 5
