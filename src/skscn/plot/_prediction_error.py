"""Predicted against true values: scikit-learn's Display, with prediction intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.metrics import PredictionErrorDisplay as _PredictionErrorDisplay
from sklearn.utils import check_random_state

from skscn.extras import optional
from skscn.plot.style import BLUE, GREY, ORANGE, axes_for

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import LineCollection, PolyCollection
    from numpy.typing import ArrayLike

# More intervals than _MOST_INTERVALS hide each other: a band is drawn instead, with a point for each _ROWS_PER_POINT.
_MOST_INTERVALS = 200
_ROWS_PER_POINT = 20
Kind: TypeAlias = Literal["actual_vs_predicted", "residual_vs_predicted"]


class PredictionErrorDisplay(_PredictionErrorDisplay):
    """True values, or residuals, against predictions, optionally with the prediction intervals of an ensemble.

    Parameters
    ----------
    y_true, y_pred : ndarray of shape (n,)
        Targets and predictions.
    interval : tuple of two ndarrays of shape (n,), or None, default=None
        Lower and upper ends of the prediction intervals.

    Attributes
    ----------
    scatter_, line_, ax_, figure_
        As in scikit-learn.
    interval_lines_ : matplotlib artist or None
        The intervals, one line each; those that miss the true value are orange.
    interval_band_ : matplotlib artist or None
        For more than 200 intervals, a band through their mean ends; rows outside their own interval are orange points.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from skscn import SCNEnsembleRegressor
    >>> from skscn.plot import PredictionErrorDisplay
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = SCNEnsembleRegressor(n_members=3, random_state=0).fit(X, y)
    >>> display = PredictionErrorDisplay.from_estimator(model, X[:50], y[:50], coverage=0.9)
    >>> lower, upper = display.interval
    >>> bool((lower < display.y_pred).all() and (display.y_pred < upper).all())
    True
    """

    def __init__(
        self, *, y_true: np.ndarray, y_pred: np.ndarray, interval: tuple[np.ndarray, np.ndarray] | None = None
    ):
        super().__init__(y_true=y_true, y_pred=y_pred)
        self.interval = interval

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: ArrayLike,
        y: ArrayLike,
        *,
        coverage: float | None = None,
        kind: Kind = "actual_vs_predicted",
        subsample: int | float | None = 1000,
        random_state: int | np.random.RandomState | None = None,
        ax: Axes | None = None,
        scatter_kwargs: dict[str, Any] | None = None,
        line_kwargs: dict[str, Any] | None = None,
    ) -> PredictionErrorDisplay:
        """Draw the predictions of a fitted regressor for the rows X against the targets y.

        ``coverage`` asks an ensemble for intervals with this share of the targets; the other parameters are those
        of scikit-learn's Display.
        """
        return cls.from_predictions(
            y,
            estimator.predict(X),
            interval=None if coverage is None else estimator.predict_interval(X, coverage=coverage),
            kind=kind,
            subsample=subsample,
            random_state=random_state,
            ax=ax,
            scatter_kwargs=scatter_kwargs,
            line_kwargs=line_kwargs,
        )

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_pred: ArrayLike,
        *,
        interval: tuple[ArrayLike, ArrayLike] | None = None,
        kind: Kind = "actual_vs_predicted",
        subsample: int | float | None = 1000,
        random_state: int | np.random.RandomState | None = None,
        ax: Axes | None = None,
        scatter_kwargs: dict[str, Any] | None = None,
        line_kwargs: dict[str, Any] | None = None,
    ) -> PredictionErrorDisplay:
        """Draw given predictions of one output, with intervals if they are given."""
        columns = [np.asarray(values) for values in (y_true, y_pred, *(interval or ()))]
        if columns[0].ndim != 1:
            raise ValueError(f"PredictionErrorDisplay draws one output; y has shape {columns[0].shape}.")
        if subsample is not None:
            wanted = subsample if subsample >= 1 else round(subsample * len(columns[0]))
            rows = check_random_state(random_state).permutation(len(columns[0]))[: int(wanted)]
            columns = [values[rows] for values in columns]
        ends = (columns[2], columns[3]) if interval is not None else None
        display = cls(y_true=columns[0], y_pred=columns[1], interval=ends)
        return display.plot(ax, kind=kind, scatter_kwargs=scatter_kwargs, line_kwargs=line_kwargs)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        kind: Kind = "actual_vs_predicted",
        scatter_kwargs: dict[str, Any] | None = None,
        line_kwargs: dict[str, Any] | None = None,
    ) -> PredictionErrorDisplay:
        """Draw on ``ax``, or on new axes."""
        super().plot(
            axes_for(ax),
            kind=kind,
            scatter_kwargs={"color": BLUE, "alpha": 0.6, "s": 14, **(scatter_kwargs or {})},
            line_kwargs={"color": GREY, "alpha": 1.0, **(line_kwargs or {})},
        )
        across, up = ("predicted", "true" if kind == "actual_vs_predicted" else "residual (true − predicted)")
        self.ax_.set(xlabel=across, ylabel=up)
        # Round numbers rather than scikit-learn's, which divide the range.
        for axis in (self.ax_.xaxis, self.ax_.yaxis):
            axis.set_major_locator(optional("matplotlib.ticker", "A picture").MaxNLocator(6))
        self.interval_lines_ = self.interval_band_ = None
        if self.interval is not None:
            lower, upper = self.interval
            missed = (self.y_true < lower) | (self.y_true > upper)
            base = 0.0 if kind == "actual_vs_predicted" else self.y_pred
            if len(self.y_pred) <= _MOST_INTERVALS:
                self.interval_lines_ = self._draw_lines(lower - base, upper - base, missed)
            else:
                self.interval_band_ = self._draw_band(lower - base, upper - base, missed)
        return self

    def _draw_lines(self, lower: np.ndarray, upper: np.ndarray, missed: np.ndarray) -> LineCollection:
        style = {"colors": np.where(missed, ORANGE, GREY), "alpha": np.where(missed, 0.9, 0.4), "linewidth": 0.9}
        lines: LineCollection = self.ax_.vlines(self.y_pred, lower, upper, zorder=0, **style)
        return lines

    def _draw_band(self, lower: np.ndarray, upper: np.ndarray, missed: np.ndarray) -> PolyCollection:
        alpha = self.scatter_.get_alpha()
        self.scatter_.set_color(np.where(missed, ORANGE, BLUE))
        self.scatter_.set_alpha(alpha)
        groups = np.array_split(np.argsort(self.y_pred, kind="stable"), len(self.y_pred) // _ROWS_PER_POINT)
        # The band reaches as far as the points do.
        groups = [groups[0][:1], *groups, groups[-1][-1:]]
        places, low, high = ([values[group].mean() for group in groups] for values in (self.y_pred, lower, upper))
        band: PolyCollection = self.ax_.fill_between(places, low, high, color=GREY, alpha=0.25, linewidth=0.0, zorder=0)
        return band
