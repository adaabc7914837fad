"""Forecasts of a recurrent network with feedback: a fan from within the rows, and the error by horizon."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from skscn.following import FreeRuns, free_runs, state_after
from skscn.plot import ForecastDisplay, HorizonDisplay
from skscn.report._followed import FollowedRows
from skscn.report._pictures import WIDE, Picture, picture
from skscn.report._words import alike, number, percent
from skscn.words import count

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# The longest horizon, as a number of rows and as a share of them, and from how many rows forecasts start.
_LONGEST, _SHARE, _RUNS = 100, 1 / 3, 40
_COVERAGE = 0.9


@dataclass(frozen=True)
class HorizonRow:
    """Errors at one horizon: those of forecasts, of the last known value, and what share of them the former are."""

    rows: int
    forecast: str
    persistence: str
    ratio: float


@dataclass(frozen=True)
class Forecasts:
    """Pictures, a table, and what there is to say."""

    fan: Picture
    by_horizon: Picture
    table: list[HorizonRow]
    sentence: str


def forecasts(followed: FollowedRows | None) -> Forecasts | None:
    """What forecasts from within the rows come to; None for models that do not forecast, or too few rows."""
    if followed is None or not followed.estimator.feedback or followed.y.shape[1] > 1:
        return None
    y = followed.y[:, 0]
    steps = min(_LONGEST, int(_SHARE * len(y)))
    if steps < 2:
        return None
    model, state = followed.estimator, followed.state
    runs = free_runs(model, followed.X, y, steps=steps, runs=_RUNS, coverage=_COVERAGE, state=state)
    if runs is None:
        return None
    return Forecasts(
        picture(partial(_draw_fan, followed, steps), "A forecast from within these rows", _describe_fan, WIDE),
        picture(HorizonDisplay(runs=runs).plot, "Error by horizon", _describe_horizons),
        _table(runs),
        _sentence(runs),
    )


def _draw_fan(followed: FollowedRows, steps: int, ax: Axes) -> ForecastDisplay:
    """The forecast of the last rows, behind as many rows before."""
    y, start = followed.y[:, 0], len(followed.y) - steps
    state = state_after(followed.estimator, followed.X[:start], y[:start], followed.state)
    shown = slice(max(0, start - steps), None)
    times = np.arange(1, len(y) + 1) if followed.times is None else followed.times
    return ForecastDisplay.from_estimator(
        followed.estimator,
        steps,
        followed.X[start:] if followed.X.shape[1] else None,
        y_before=y[shown.start : start],
        y_after=y[start:],
        times=times[shown],
        state=state,
        ax=ax,
    )


def _describe_fan(display: ForecastDisplay) -> str:
    steps = len(display.forecast)
    truth = display.y_true[-steps:]
    known = ~np.isnan(truth)
    parts = [f"The last {count(steps, 'row')}, forecast from the rows before the dotted line."]
    for coverage, (lower, upper) in sorted(display.intervals.items()):
        if np.isnan(lower).any():
            continue
        inside = np.mean((lower <= truth)[known] & (truth <= upper)[known]) if known.any() else np.nan
        first, last = alike([upper[0] - lower[0], upper[-1] - lower[-1]])
        parts.append(
            f"The {percent(coverage)} interval widens from {first} to {last} and contains {percent(inside)} of the "
            "true values."
        )
    return " ".join(parts)


def _describe_horizons(display: HorizonDisplay) -> str:
    runs = display.runs
    first, last = runs.horizons[[0, -1]]
    errors, references = alike(runs.rmse[[first - 1, last - 1]]), alike(runs.persistence_rmse[[first - 1, last - 1]])
    return (
        f"{count(len(runs.last), 'forecast')} from starts that are evenly spread over the rows. The RMSE is "
        f"{errors[0]} {count(int(first), 'row')} ahead and {errors[1]} {count(int(last), 'row')} ahead; that of the "
        f"last known value is {references[0]} and {references[1]}. The dotted line is the error of the mean of all."
    )


def _table(runs: FreeRuns) -> list[HorizonRow]:
    own, last = (errors[runs.horizons - 1] for errors in (runs.rmse, runs.persistence_rmse))
    texts = zip(runs.horizons.tolist(), alike(own), alike(last), own / np.where(last > 0.0, last, np.nan), strict=True)
    return [HorizonRow(rows, forecast, persistence, float(ratio)) for rows, forecast, persistence, ratio in texts]


def _sentence(runs: FreeRuns) -> str:
    """Whether forecasts are worth it, and whether their intervals hold."""
    worse = [rows for rows in runs.horizons.tolist() if runs.rmse[rows - 1] >= runs.persistence_rmse[rows - 1]]
    if not worse:
        said = f"Up to {count(runs.steps, 'row')} ahead, forecasts have a smaller error than the last known value."
    elif len(worse) == len(runs.horizons):
        said = "Forecasts are no better than the last known value, which needs no model."
    else:
        ahead = ", ".join(map(str, worse))
        said = f"Forecasts are no better than the last known value {ahead} rows ahead."
    if np.isnan(runs.held):
        return said
    few = ", which is too few" if runs.held < runs.coverage - 0.1 else ""
    return f"{said} Their {percent(runs.coverage)} intervals contain {percent(runs.held)} of the true values{few}."


def persistence_sentence(followed: FollowedRows | None, error: float) -> list[str]:
    """A comparison of the mean absolute error one step ahead with that of the last known value."""
    if followed is None or not followed.estimator.feedback or not len(followed.persistence):
        return []
    last = float(np.abs(followed.persistence[:, 0]).mean())
    than = f"the model's error is {percent(1.0 - error / last)} smaller" if error < last else "the model is no better"
    return [
        "Predictions are one step ahead: the true values of all earlier rows are known. Predicting the last known "
        f"value would be off by {number(last)}: {than}."
    ]
