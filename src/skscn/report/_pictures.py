"""Pictures that follow the page's colours, with words for those who do not see them.

A picture holds no text of the user's: names are on the page around it.
"""

from __future__ import annotations

import io
import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.calibration import CalibrationDisplay

from skscn.estimators.networks import GrownSteps
from skscn.extras import optional
from skscn.following import FreeRuns, free_runs, state_after
from skscn.plot import (
    ConvergenceDisplay,
    EffectDisplay,
    ForecastDisplay,
    HorizonDisplay,
    PredictionErrorDisplay,
    ResidualDisplay,
    ScopeDisplay,
    SeriesDisplay,
)
from skscn.plot.effects import Effect, PairEffect
from skscn.plot.style import BLUE, GREEN, GREY, ORANGE, PURPLE
from skscn.report._data import SEED, FollowedRows, ReportData
from skscn.words import alike, count, enumerated, number, percent, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# The longest horizon, as a number of rows and as a share of them, and from how many rows forecasts start.
_LONGEST, _SHARE, _RUNS = 100, 1 / 3, 40
_FORECAST_COVERAGE = 0.9
_UNDONE = "Paler colours show later nodes, which were tried but not kept."
_CERTAIN = {1: " No prediction decreases with this input.", -1: " No prediction increases with this input."}
_SVG = "{http://www.w3.org/2000/svg}"
_XLINK = "{http://www.w3.org/1999/xlink}"
_INK, _LINE = "#010203", "#040506"
# Colours that the page's style sheet has its own idea of, on light and on dark ground.
_VARIABLES = {
    _INK: "currentColor",
    "#000000": "currentColor",
    _LINE: "var(--line)",
    BLUE: "var(--blue)",
    ORANGE: "var(--orange)",
    GREEN: "var(--green)",
    PURPLE: "var(--purple)",
    GREY: "var(--grey)",
}
_LOOK = {
    "svg.fonttype": "none",
    "font.size": 10.5,
    "text.color": _INK,
    "axes.labelcolor": _INK,
    "axes.edgecolor": _LINE,
    "axes.facecolor": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": _LINE,
    "grid.linewidth": 0.5,
    "xtick.color": _LINE,
    "ytick.color": _LINE,
    "xtick.labelcolor": _INK,
    "ytick.labelcolor": _INK,
    "legend.fontsize": 9.5,
    "legend.frameon": False,
    "figure.facecolor": "none",
}


@dataclass(frozen=True)
class Picture:
    """An SVG element, what it is called, and what is seen on it."""

    svg: str
    title: str
    alt: str


_SIZE, WIDE = (4.0, 2.8), (13.0, 3.6)


def picture(
    draw: Callable[..., Any], title: str, describe: Callable[[Any], str], size: tuple[float, float] = _SIZE
) -> Picture:
    """Draw a picture: ``draw(ax=...)`` gives a Display, of which ``describe`` says what is seen."""
    matplotlib, figures = (optional(name, "A report") for name in ("matplotlib", "matplotlib.figure"))
    with matplotlib.rc_context({**_LOOK, "svg.hashsalt": title}):
        figure = figures.Figure(figsize=size, layout="constrained")
        display = draw(ax=figure.subplots())
        file = io.StringIO()
        figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    alt = describe(display)
    return Picture(_for_the_page(file.getvalue(), alt), title, alt)


def _for_the_page(svg: str, alt: str) -> str:
    """An element to stand in a page: named, sized and coloured by it, without what only a file needs."""
    root = ET.fromstring(svg)
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in (f"{_SVG}metadata", f"{_SVG}style"):
                parent.remove(child)
        if parent.tag == f"{_SVG}g":
            parent.attrib.pop("id", None)
        if (link := parent.attrib.pop(f"{_XLINK}href", None)) is not None:
            parent.set("href", link)
    root.attrib = {"viewBox": root.attrib["viewBox"], "role": "img", "aria-label": alt}
    ET.register_namespace("", _SVG.strip("{}"))
    return themed(ET.tostring(root, encoding="unicode"))


def themed(text: str) -> str:
    """Markup whose colours are those of the page's style sheet."""
    for colour, variable in _VARIABLES.items():
        text = text.replace(colour, variable)
    return text


def growth_pictures(data: ReportData) -> list[Picture]:
    """Convergence and scopes."""
    estimator = data.estimator
    return [
        picture(
            partial(ConvergenceDisplay.from_estimator, estimator), "Error while the network grew", _describe_convergence
        ),
        picture(partial(ScopeDisplay.from_estimator, estimator), "Scope λ of each node", _describe_scopes),
    ]


def _describe_convergence(display: ConvergenceDisplay) -> str:
    growths = [GrownSteps(*pair) for pair in zip(display.histories, display.kept, strict=True)]
    histories = [growth.kept_steps for growth in growths if growth.kept]
    undone = _UNDONE if display.undone_lines_ else ""
    if not histories:
        if undone:
            return f"No nodes were kept: the linear part alone does best on held-out rows. {undone}"
        return "No nodes were needed: the linear part alone reaches the requested error."
    first, last = (np.mean([history["train_rmse"][i] for history in histories]) for i in (0, -1))
    nodes = float(np.mean([growth.kept for growth in growths if growth.kept]))
    whose = "" if len(display.histories) == 1 else f", on average over {len(display.histories)} {display.what}"
    text = (
        f"The training error decreases from {number(first)} after the first step to {number(last)} with "
        f"{number(nodes)} node{'' if nodes == 1 else 's'}{whose}."
    )
    if display.validation_lines_:
        held_out = np.mean([history["validation_rmse"][-1] for history in histories])
        text += f" The error on held-out rows is then {number(held_out)}."
    return f"{text} {undone}".rstrip()


def _describe_scopes(display: ScopeDisplay) -> str:
    undone = "" if display.kept.all() else _UNDONE
    if not display.kept.any():
        return f"The network has no nodes, so there are no scopes. {undone}".rstrip()
    low, middle, high = np.quantile(display.scopes[display.kept], (0.0, 0.5, 1.0))
    if low == high:
        return f"All nodes have the scope λ = {number(low)}. {undone}".rstrip()
    text = f"The scopes of the nodes range from {number(low)} to {number(high)}; their median is {number(middle)}."
    return f"{text} {undone}".rstrip()


def error_pictures(data: ReportData, output: int, coverage: float | None) -> list[Picture]:
    """Predicted against true values, and residuals, of one output."""
    y, predictions = data.y[:, output], data.predictions[:, output]
    interval = None
    if coverage is not None:
        interval = tuple(end[:, output] for end in data.limits(coverage, sampled=True))
    of_sample = partial(
        _draw_predictions,
        y[data.sample],
        predictions[data.sample],
        random_state=SEED,
    )
    correlation = np.corrcoef(y, predictions)[0, 1] if y.std() > 0.0 < predictions.std() else np.nan
    return [
        picture(
            partial(of_sample, interval=interval),
            "True against predicted",
            partial(_describe_predictions, correlation=correlation, coverage=coverage),
        ),
        picture(
            partial(of_sample, kind="residual_vs_predicted"),
            "Residual against predicted",
            _describe_residuals_over_range,
        ),
        picture(
            partial(ResidualDisplay.from_predictions, y, predictions, row_weights=data.row_weights),
            "Distribution of the residuals",
            _describe_residuals,
        ),
    ]


def _draw_predictions(*args: Any, **kwargs: Any) -> PredictionErrorDisplay:
    """As many dots, they have to be small; and a picture that is wider than high needs no equal axes."""
    display = PredictionErrorDisplay.from_predictions(*args, scatter_kwargs={"s": 9, "alpha": 0.6}, **kwargs)
    display.ax_.set_aspect("auto")
    return display


def _describe_predictions(display: PredictionErrorDisplay, *, correlation: float, coverage: float | None) -> str:
    text = (
        f"{count(len(display.y_true), 'row')}: true values from {number(display.y_true.min())} to "
        f"{number(display.y_true.max())}, predictions from {number(display.y_pred.min())} to "
        f"{number(display.y_pred.max())}, correlation {number(correlation)}; the closer to the dashed line, the better."
    )
    if coverage is None:
        return text
    if display.interval_band_ is None:
        return (
            f"{text} Vertical lines are {percent(coverage)} prediction intervals; they are orange where they do not "
            "contain the true value."
        )
    return (
        f"{text} The band is the mean {percent(coverage)} prediction interval of rows with similar predictions; rows "
        "outside their own interval are orange."
    )


def _describe_residuals_over_range(display: PredictionErrorDisplay) -> str:
    residuals = display.y_true - display.y_pred
    order = np.argsort(display.y_pred)
    sizes = _in_thirds(residuals[order], ("for small", "for medium", "for large"))
    return f"The mean absolute residual is {sizes} predictions."


def _in_thirds(residuals: np.ndarray, words: tuple[str, ...]) -> str:
    """The mean size of the first, middle and last third of residuals, each with its words."""
    if len(residuals) < len(words):
        return f"{number(np.abs(residuals).mean())} for all"
    sizes = [np.abs(part).mean() for part in np.array_split(residuals, len(words))]
    return enumerated([f"{size} {word}" for size, word in zip(alike(sizes), words, strict=True)])


def series_picture(data: ReportData, output: int, coverage: float | None) -> Picture | None:
    """Target and prediction of one output over time; None if the times of the rows are not known."""
    if data.times is None:
        return None
    interval = None
    if coverage is not None:
        lower, upper = data.limits(coverage)
        interval = lower[:, output], upper[:, output]
    draw = partial(
        SeriesDisplay.from_predictions,
        data.y[:, output],
        data.predictions[:, output],
        times=data.times,
        interval=interval,
    )
    return picture(draw, "True and predicted values over time", partial(_describe_series, coverage=coverage), WIDE)


def _describe_series(display: SeriesDisplay, *, coverage: float | None) -> str:
    first, last = (str(time.astype("datetime64[m]")).replace("T", " ") for time in display.times[[0, -1]])
    sizes = _in_thirds(display.y_true - display.y_pred, ("in the first", "in the middle", "in the last"))
    text = f"{count(len(display.times), 'row')} from {first} to {last}. The mean absolute residual is {sizes}"
    text += " third of the rows." if len(display.times) >= 3 else " rows."
    if display.envelope_ is not None:
        text += " Lines are means over short stretches of time; grey shading is the range of the true values in them."
    if display.n_outside_:
        low, high = map(number, (display.y_true.min(), display.y_true.max()))
        values, are = count(display.n_outside_, "true value"), "is" if display.n_outside_ == 1 else "are"
        text += f" {values} far from all others {are} outside the plot; all true values range from {low} to {high}."
    if display.interval is None or coverage is None:
        return text
    lower, upper = display.interval
    held = np.mean((lower <= display.y_true) & (display.y_true <= upper))
    band = f"The blue band is the {percent(coverage)} prediction interval"
    return f"{text} {band}, which contains {percent(held)} of the true values."


def _describe_residuals(display: ResidualDisplay) -> str:
    low, middle, high = map(number, display.quantiles)
    marked, outliers = "", len(display.outliers)
    if outliers:
        are = "is marked by a cross; it is" if outliers == 1 else "are marked by crosses; they are"
        marked = f" {count(outliers, 'outlier')} {are} not part of the histogram."
    return (
        f"{percent(0.9)} of the residuals are between {low} and {high}; their median is {middle}. The curve is a "
        f"normal distribution with the same mean and standard deviation as the histogram.{marked}"
    )


def reliability_picture(data: ReportData) -> Picture:
    """How often a class is the true one, by the probability that it was given."""
    classes = data.estimator.classes_
    if len(classes) == 2:
        probabilities, happened = data.probabilities[:, 1], data.y == classes[1]
        title = f"Reliability: probability of {shortened(str(classes[1]))}"
    else:
        probabilities, happened = data.probabilities.max(axis=1), data.predictions == data.y
        title = "Reliability: probability of the predicted class"
    draw = partial(_draw_reliability, happened.astype(int), np.clip(probabilities, 0.0, 1.0))
    return picture(draw, title, _describe_reliability)


def _draw_reliability(happened: np.ndarray, probabilities: np.ndarray, ax: Axes) -> CalibrationDisplay:
    display = CalibrationDisplay.from_predictions(
        happened, probabilities, n_bins=10, strategy="quantile", pos_label=1, color=BLUE, name="network", ax=ax
    )
    ax.set(xlabel="predicted probability", ylabel="observed share")
    return display


def _describe_reliability(display: CalibrationDisplay) -> str:
    gap = np.abs(display.prob_true - display.prob_pred)
    return (
        f"Rows are divided into {len(gap)} groups by predicted probability. The observed share differs from the "
        f"predicted probability by {percent(gap.mean())} on average and by {percent(gap.max())} at most; on the dotted "
        "line, the two are equal."
    )


def dependence_picture(dependence: Effect, unit: str, shown: dict[int, str], limits: tuple[float, float]) -> Picture:
    """Mean prediction against the values of one input; ``shown`` are numbers and names of outputs or classes."""
    draw = partial(_draw_dependence, dependence, unit, shown, limits)
    return picture(draw, f"dependence on {dependence.name}", lambda _: _describe_dependence(dependence, unit, shown))


def dependence_limits(dependences: list[Effect], shown: list[int]) -> tuple[float, float]:
    """One range for all pictures: what hardly matters has to look like it."""
    parts = [part for each in dependences for part in (each.responses[:, shown], each.limits) if part is not None]
    responses = np.concatenate([part.ravel() for part in parts])
    low, high = float(responses.min()), float(responses.max())
    margin = 0.05 * (high - low) or 0.05 * abs(high) or 1.0
    return low - margin, high + margin


def _draw_dependence(
    dependence: Effect, unit: str, shown: dict[int, str], limits: tuple[float, float], ax: Axes
) -> None:
    effect = replace(dependence, name="value of the input", responses=dependence.responses[:, list(shown)])
    EffectDisplay(effect=effect, unit=unit).plot(ax, ylim=limits)
    legend = ax.get_legend()
    if legend is not None:
        # The page has one for all pictures.
        legend.remove()
    ax.locator_params(axis="y", nbins=6)
    if dependence.kind == "date":
        last = len(dependence.values) - 1
        marked = [dependence.values[place] for place in sorted({0, last // 2, last})]
        ax.set_xticks(marked, labels=list(map(str, marked)))
    else:
        ax.locator_params(axis="x", nbins=6)


def pair_picture(effect: PairEffect, unit: str) -> Picture:
    """Mean prediction against the values of two inputs."""
    draw = EffectDisplay(effect=replace(effect, names=("horizontal input", "vertical input")), unit=unit).plot
    title = f"{effect.names[0]} (horizontal) and {effect.names[1]} (vertical) together"
    return picture(draw, title, lambda _: _describe_pair(effect, unit))


def _describe_pair(effect: PairEffect, unit: str) -> str:
    ends = []
    for word, place in (("lowest", effect.responses.argmin()), ("highest", effect.responses.argmax())):
        row, column = np.unravel_index(place, effect.responses.shape)
        at = f"{number(effect.values[0][column])} and {number(effect.values[1][row])}"
        ends.append(f"{word} ({number(effect.responses[row, column])}) at {at}")
    return f"The {unit} is {ends[0]}, and {ends[1]}. Points are rows; where there are none, the model extrapolates."


def _describe_dependence(dependence: Effect, unit: str, shown: dict[int, str]) -> str:
    output, name = next(iter(shown.items()))
    responses = dependence.responses[:, output]
    low, high = np.argmin(responses), np.argmax(responses)
    written = str if dependence.kind == "date" else number
    return (
        f"The {unit} of {name} is lowest ({number(responses[low])}) at {written(dependence.values[low])} and highest "
        f"({number(responses[high])}) at {written(dependence.values[high])}.{_describe_band(dependence.limits)}"
        f"{_CERTAIN.get(dependence.sign, '')}"
    )


def _describe_band(limits: np.ndarray | None) -> str:
    if limits is None:
        return ""
    widths = np.ptp(limits, axis=1)
    narrow, wide = alike([widths.min(), widths.max()])
    return f" The band of mean prediction intervals is {narrow if narrow == wide else f'{narrow} to {wide}'} wide."


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
    runs = free_runs(model, followed.X, y, steps=steps, runs=_RUNS, coverage=_FORECAST_COVERAGE, state=state)
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
        f"last known value is {references[0]} and {references[1]}. The dotted line is the "
        "error of always predicting the mean."
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
