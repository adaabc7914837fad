"""The error of forecasts by their horizon."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from skscn.following import Begin, FreeRuns, free_runs
from skscn.plot.style import GREEN, GREY, ORANGE, axes_for, legend_above

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from skscn.recurrent import RecurrentSCNRegressor


class HorizonDisplay:
    """How the error of forecasts grows with their horizon, compared with two forecasts that need no model.

    Persistence predicts the last known value for all rows; the mean is that of the true values shown, which no forecast
    could know.

    Parameters
    ----------
    runs : FreeRuns
        Forecasts from several starts, and what came.

    Attributes
    ----------
    ax_ : matplotlib Axes
    line_, persistence_line_, mean_line_ : matplotlib artists

    Examples
    --------
    >>> import numpy as np
    >>> from skscn import RecurrentSCNRegressor
    >>> from skscn.plot import HorizonDisplay
    >>> wave = np.sin(np.arange(500) / 5)
    >>> model = RecurrentSCNRegressor(max_nodes=10, feedback=True, max_candidates=100, random_state=0)
    >>> model = model.fit(None, wave[:300])
    >>> runs = HorizonDisplay.from_estimator(model, None, wave[300:], steps=50, state="end").runs
    >>> bool((runs.rmse < runs.persistence_rmse).all())
    True
    """

    def __init__(self, *, runs: FreeRuns):
        self.runs = runs

    @classmethod
    def from_estimator(
        cls,
        estimator: RecurrentSCNRegressor,
        X: ArrayLike | None,
        y: ArrayLike,
        *,
        steps: int = 100,
        runs: int = 40,
        state: Begin = None,
        ax: Axes | None = None,
    ) -> HorizonDisplay:
        """Draw the errors of forecasts that start at rows X with targets y, in order of time.

        Parameters
        ----------
        estimator : RecurrentSCNRegressor
            Fitted with ``feedback=True``, with one output.
        X : array-like of shape (n_samples, n_features) or None
            None in models without inputs.
        y : array-like of shape (n_samples,)
            NaN where unknown.
        steps : int, default=100
            The longest horizon.
        runs : int, default=40
            At most this number of starts, evenly spread over the rows.
        state : ReservoirState, "end" or None, default=None
            The state before the first row; "end" if the rows follow the training rows.
        ax : matplotlib Axes, default=None
        """
        targets = np.asarray(y, dtype=np.float64)
        if targets.ndim != 1:
            raise ValueError(f"HorizonDisplay draws one output; y has shape {targets.shape}.")
        rows = np.empty((len(targets), 0)) if X is None else np.asarray(X, dtype=np.float64)
        found = free_runs(estimator, rows, targets, steps=steps, runs=runs, state=state)
        if found is None:
            raise ValueError(f"{len(targets)} rows are too few for steps={steps}; give more rows than steps.")
        return cls(runs=found).plot(ax)

    def plot(self, ax: Axes | None = None) -> HorizonDisplay:
        """Draw on ``ax``, or on new axes."""
        self.ax_ = ax = axes_for(ax)
        ahead = np.arange(1, self.runs.steps + 1)
        known = np.isfinite(self.runs.rmse)
        style: dict[str, Any] = {"marker": "o", "markersize": 2.5} if known.sum() <= 60 else {}
        lines = (("forecast", self.runs.rmse, ORANGE, "-"), ("persistence", self.runs.persistence_rmse, GREEN, "--"))
        self.line_, self.persistence_line_ = (
            ax.plot(ahead[known], rmse[known], color=colour, linestyle=dashes, label=label, **style)[0]
            for label, rmse, colour, dashes in lines
        )
        self.mean_line_ = ax.axhline(float(np.nanstd(self.runs.truths)), color=GREY, linestyle=":", label="mean")
        ax.set(xlabel="rows ahead", ylabel="RMSE", xlim=(0, self.runs.steps + 1))
        ax.set_ylim(bottom=0.0)
        legend_above(ax)
        return self
