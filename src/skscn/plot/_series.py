"""Target and prediction over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator

from skscn.plot.style import BLUE, GREY, ORANGE, axes_for, legend_above, time_axis

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike

# Lower and upper ends of intervals.
Ends: TypeAlias = "tuple[ArrayLike, ArrayLike]"
# A step between rows that is longer than _GAP times the median step is a gap, which no line crosses.
_GAP = 10.0
# True values are outside the picture where they are further from the range of all but 5 % of them than it is wide: six
# standard deviations from the mean of a normal distribution.
_CENTRAL = (0.025, 0.975)


class SeriesDisplay:
    """True and predicted values over time, with the prediction intervals as a band.

    Rows are sorted by time. If there are too many to tell apart, each point of the lines is the mean over a period of
    time, and the range of the true values in it is shaded. A few true values that are far from all others do not set
    the scale of the plot: they are outside it.

    Parameters
    ----------
    times : ndarray of shape (n,)
        When each row was measured: datetime64, or numbers that increase with time. Rows without a time (NaT) are
        skipped.
    y_true, y_pred : ndarray of shape (n,)
        Targets and predictions.
    interval : tuple of two ndarrays of shape (n,), or None, default=None
        Lower and upper ends of the prediction intervals.

    Attributes
    ----------
    ax_ : matplotlib Axes
    true_line_, predicted_line_ : matplotlib artists
    band_ : matplotlib artist or None
        The intervals.
    envelope_ : matplotlib artist or None
        From the smallest to the largest true value of each period, if there is more than one value in them.
    n_outside_ : int
        The number of true values outside the plot.

    Examples
    --------
    >>> import numpy as np
    >>> from skscn import SCNRegressor
    >>> from skscn.plot import SeriesDisplay
    >>> X = np.sin(np.arange(200.0)[:, np.newaxis] / 9.0)
    >>> model = SCNRegressor(max_nodes=5, random_state=0).fit(X[:100], X[:100, 0] ** 2)
    >>> times = np.datetime64("2025-01-01") + np.arange(100, 200)
    >>> display = SeriesDisplay.from_estimator(model, X[100:], X[100:, 0] ** 2, times=times)
    >>> print(display.times[0])
    2025-04-11
    """

    def __init__(
        self,
        *,
        times: np.ndarray,
        y_true: np.ndarray,
        y_pred: np.ndarray,
        interval: Ends | None = None,
    ):
        order = np.argsort(times, kind="stable")
        order = order[~np.isnan(times[order])]
        self.times, self.y_true, self.y_pred = times[order], y_true[order], y_pred[order]
        self.interval = None if interval is None else tuple(np.asarray(end)[order] for end in interval)

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: ArrayLike,
        y: ArrayLike,
        *,
        times: ArrayLike,
        coverage: float | None = None,
        max_points: int = 400,
        ax: Axes | None = None,
    ) -> SeriesDisplay:
        """Draw the predictions of a fitted regressor for the rows X, with their targets y, over time.

        ``coverage`` asks an ensemble for intervals that contain this share of the targets.
        """
        interval = None if coverage is None else estimator.predict_interval(X, coverage=coverage)
        return cls.from_predictions(
            y, estimator.predict(X), times=times, interval=interval, max_points=max_points, ax=ax
        )

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_pred: ArrayLike,
        *,
        times: ArrayLike,
        interval: Ends | None = None,
        max_points: int = 400,
        ax: Axes | None = None,
    ) -> SeriesDisplay:
        """Draw given predictions of one output over time."""
        y_true, y_pred, times = np.asarray(y_true), np.asarray(y_pred), np.asarray(times)
        if y_true.ndim != 1:
            raise ValueError(f"SeriesDisplay draws one output; y has shape {y_true.shape}.")
        if times.shape != y_true.shape:
            raise ValueError(f"There are {len(y_true)} rows, and times has shape {times.shape}; give one time per row.")
        if np.isnan(times).all():
            raise ValueError("No row has a time; give a time for at least one row.")
        display = cls(times=times, y_true=y_true, y_pred=y_pred, interval=interval)
        return display.plot(ax, max_points=max_points)

    def plot(self, ax: Axes | None = None, *, max_points: int = 400) -> SeriesDisplay:
        """Draw on ``ax``, or on new axes; ``max_points`` is the largest number of points of a line."""
        self.ax_ = ax = axes_for(ax)
        stretches = _Stretches(self.times, max_points)
        times = stretches.times
        self.band_ = self.envelope_ = None
        if self.interval is not None:
            lower, upper = map(stretches.means, self.interval)
            self.band_ = ax.fill_between(times, lower, upper, color=BLUE, alpha=0.2, linewidth=0.0, label="interval")
        if stretches.several:
            low, high = stretches.ends(self.y_true)
            self.envelope_ = ax.fill_between(
                times, low, high, color=GREY, alpha=0.3, linewidth=0.0, label="range of true"
            )
        few: dict[str, Any] = {"marker": "o", "markersize": 2.5} if len(times) <= 60 else {}
        (self.true_line_,) = ax.plot(times, stretches.means(self.y_true), color=GREY, label="true", **few)
        (self.predicted_line_,) = ax.plot(
            times, stretches.means(self.y_pred), color=ORANGE, linewidth=1.1, label="predicted", **few
        )
        self._describe()
        self._limit()
        return self

    def _limit(self) -> None:
        """Leave true values that are far from all others out of the picture."""
        low, high = np.quantile(self.y_true, _CENTRAL)
        outside = np.abs(self.y_true - (low + high) / 2) > 1.5 * (high - low)
        self.n_outside_ = int(np.count_nonzero(outside)) if high > low else 0
        if self.n_outside_:
            shown = [self.y_true[~outside], self.y_pred, *(self.interval or ())]
            lowest, highest = min(map(np.min, shown)), max(map(np.max, shown))
            margin = 0.05 * (highest - lowest)
            self.ax_.set_ylim(lowest - margin, highest + margin)

    def _describe(self) -> None:
        self.ax_.set_ylabel("value")
        legend_above(self.ax_)
        time_axis(self.ax_, self.times)


class _Stretches:
    """Sorted times in periods of equal length, or one by one if there are few; gaps are marked by NaN."""

    def __init__(self, times: np.ndarray, most: int):
        self.several = len(times) > most
        span = times[-1] - times[0]
        if self.several and span > span * 0:
            places = np.minimum(((times - times[0]) / span * most).astype(int), most - 1)
        else:
            places = np.arange(len(times)) * min(most, len(times)) // len(times)
        self._starts = np.flatnonzero(np.diff(places, prepend=-1))
        self._sizes = np.diff(np.append(self._starts, len(times)))
        firsts, lasts = times[self._starts], times[self._starts + self._sizes - 1]
        centres = firsts + (lasts - firsts) / 2
        steps = np.diff(centres) / np.where(span > span * 0, span, span + 1)
        self._gaps = np.flatnonzero(steps > _GAP * np.median(steps)) + 1 if len(steps) > 2 else np.zeros(0, dtype=int)
        self.times = np.insert(centres, self._gaps, centres[self._gaps - 1])

    def means(self, values: np.ndarray) -> np.ndarray:
        """The mean of each period."""
        return self._broken(np.add.reduceat(values, self._starts) / self._sizes)

    def ends(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The smallest and the largest value of each period."""
        smallest, largest = (reduce.reduceat(values, self._starts) for reduce in (np.minimum, np.maximum))
        return self._broken(smallest), self._broken(largest)

    def _broken(self, values: np.ndarray) -> np.ndarray:
        return np.insert(values.astype(np.float64), self._gaps, np.nan)
