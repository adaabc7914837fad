"""A forecast with its fan of intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from skscn.plot.style import BLUE, GREY, ORANGE, axes_for, legend_above, time_axis

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from skscn.recurrent import RecurrentSCNRegressor, ReservoirState


class ForecastDisplay:
    """A forecast, the intervals that widen with its horizon, and the true values before and after its start.

    Parameters
    ----------
    times : ndarray of shape (n + steps,)
        When each row is: datetime64, or numbers. The first n rows are known, the others forecast.
    y_true : ndarray of shape (n + steps,)
        True values; NaN where they are not known.
    forecast : ndarray of shape (steps,)
    intervals : dict of float to tuple of two ndarrays of shape (steps,)
        Coverage -> lower and upper limits.

    Attributes
    ----------
    ax_ : matplotlib Axes
    true_line_, forecast_line_, start_line_ : matplotlib artists
        The last marks where the forecast starts.
    bands_ : list of matplotlib artists
        The widest interval first.

    Examples
    --------
    >>> import numpy as np
    >>> from skscn import RecurrentSCNRegressor
    >>> from skscn.plot import ForecastDisplay
    >>> wave = np.sin(np.arange(400) / 5)
    >>> model = RecurrentSCNRegressor(max_nodes=10, feedback=True, max_candidates=100, random_state=0)
    >>> model = model.fit(None, wave[:300])
    >>> display = ForecastDisplay.from_estimator(model, 50, y_before=wave[250:300], y_after=wave[300:350])
    >>> len(display.forecast), len(display.bands_)
    (50, 2)
    """

    def __init__(
        self,
        *,
        times: np.ndarray,
        y_true: np.ndarray,
        forecast: np.ndarray,
        intervals: dict[float, tuple[np.ndarray, np.ndarray]],
    ):
        self.times, self.y_true, self.forecast, self.intervals = times, y_true, forecast, intervals

    @classmethod
    def from_estimator(
        cls,
        estimator: RecurrentSCNRegressor,
        steps: int,
        X: ArrayLike | None = None,
        *,
        y_before: ArrayLike = (),
        y_after: ArrayLike | None = None,
        times: ArrayLike | None = None,
        coverages: Sequence[float] = (0.5, 0.9),
        state: ReservoirState | None = None,
        ax: Axes | None = None,
    ) -> ForecastDisplay:
        """Draw a forecast of a fitted recurrent network with one output.

        Parameters
        ----------
        estimator : RecurrentSCNRegressor
            Fitted with ``feedback=True``.
        steps : int
            How many rows to forecast.
        X : array-like of shape (steps, n_features), default=None
            The inputs of these rows; None in models without inputs.
        y_before : array-like of shape (n,), default=()
            The last values before the forecast.
        y_after : array-like of shape (steps,), default=None
            What came; NaN where it is not known.
        times : array-like of shape (n + steps,), default=None
            When each row is; by default 0 is the last known row, and 1 the first forecast one.
        coverages : sequence of float, default=(0.5, 0.9)
            The shares of the targets that the intervals are meant to contain.
        state : ReservoirState, default=None
            Where to start; by default at the end of training.
        ax : matplotlib Axes, default=None
        """
        forecast = estimator.forecast(steps, X, state=state)
        if forecast.ndim != 1:
            raise ValueError(f"ForecastDisplay draws one output; the model has {forecast.shape[1]}.")
        intervals = {
            coverage: estimator.forecast_interval(steps, X, state=state, coverage=coverage) for coverage in coverages
        }
        before = np.asarray(y_before, dtype=np.float64)
        after = np.full(steps, np.nan) if y_after is None else np.asarray(y_after, dtype=np.float64)
        if after.shape != (steps,):
            raise ValueError(f"y_after has the shape {after.shape} for steps={steps}; give one value for each step.")
        rows = np.arange(1 - len(before), steps + 1) if times is None else np.asarray(times)
        if rows.shape != (len(before) + steps,):
            raise ValueError(f"There are {len(before) + steps} rows, and times has the shape {rows.shape}.")
        truth = np.concatenate([before, after])
        return cls(times=rows, y_true=truth, forecast=forecast, intervals=intervals).plot(ax)

    def plot(self, ax: Axes | None = None) -> ForecastDisplay:
        """Draw on ``ax``, or on new axes."""
        self.ax_ = ax = axes_for(ax)
        n = len(self.y_true) - len(self.forecast)
        ahead = self.times[n:]
        self.bands_ = [
            ax.fill_between(
                ahead, *limits, color=BLUE, alpha=0.15 + 0.1 * place, linewidth=0.0, label=f"{coverage:.0%} interval"
            )
            for place, (coverage, limits) in enumerate(sorted(self.intervals.items(), reverse=True))
        ]
        few: dict[str, Any] = {"marker": "o", "markersize": 2.5} if np.isnan(self.y_true).any() else {}
        (self.true_line_,) = ax.plot(self.times, self.y_true, color=GREY, label="true", **few)
        (self.forecast_line_,) = ax.plot(ahead, self.forecast, color=ORANGE, linewidth=1.3, label="forecast")
        self.start_line_ = ax.axvline(self.times[max(n - 1, 0)], color=GREY, linestyle=":", linewidth=1.0)
        ax.set_ylabel("value")
        legend_above(ax)
        time_axis(ax, self.times)
        return self
