"""Partial effects: how predictions change with one input, or with two together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
from sklearn.base import is_classifier
from sklearn.utils import check_array, check_random_state

from skscn.estimators.networks import sign_of
from skscn.extras import optional
from skscn.following import is_recurrent
from skscn.plot.style import BLUE, GREEN, GREY, ORANGE, PURPLE, axes_for, legend_above, time_axis
from skscn.readers import as_file
from skscn.tables.columns import Category, Moment, Number
from skscn.tables.text import dates, stripped
from skscn.tables.values import ColumnValues, read_values
from skscn.words import count, not_found, quoted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from skscn.tables.columns import Column

# Lines of several outputs: colour and dashes, so that either tells them apart.
LINES = ((BLUE, "none"), (ORANGE, "6 2"), (GREEN, "2 2"), (PURPLE, "8 2 2 2"), (GREY, "4 4"))
# Values of an input, and of each of two; the values themselves, if they are few; the most categories.
_GRID, _PAIR_GRID, _FEW_VALUES, _CATEGORIES = 30, 15, 12, 12
# The share of the rows' curves within the band.
_SHARE = 0.9
# Bars of the histogram of the data, the height of the highest, and the place that it takes, as shares of the picture.
_BARS, _HEIGHT, _PLACE = 30, 0.12, 0.16
_DAY = np.timedelta64(1, "D")
_WORDS = {1: "↗ never decreases", -1: "↘ never increases"}


@dataclass(frozen=True, eq=False)
class Effect:
    """Mean prediction when an input is set to a value in all rows (partial dependence).

    Attributes
    ----------
    name : str
        The input.
    values : list
        Numbers, dates, or names of categories.
    responses : ndarray of shape (values, outputs)
    kind : str
        "number", "date" or "category".
    limits : ndarray of shape (values, 2) or None
        The ends of a band around a single output.
    data : ndarray or None
        The values of the input in the rows, those of categories as places in ``values``.
    sign : int
        1 if no prediction ever decreases with the input, −1 if none ever increases, else 0.
    """

    name: str
    values: list[Any]
    responses: np.ndarray
    kind: str
    limits: np.ndarray | None = None
    data: np.ndarray | None = None
    sign: int = 0


@dataclass(frozen=True, eq=False)
class PairEffect:
    """Mean prediction when two inputs are set to values in all rows.

    Attributes
    ----------
    names : tuple of two str
    values : tuple of two ndarrays
    responses : ndarray of shape (values of the second, values of the first)
    data : tuple of two ndarrays
        The values of the inputs in the rows.
    signs : tuple of two int
        As for a single input.
    """

    names: tuple[str, str]
    values: tuple[np.ndarray, np.ndarray]
    responses: np.ndarray
    data: tuple[np.ndarray, np.ndarray]
    signs: tuple[int, int] = (0, 0)


class EffectDisplay:
    """Partial effects: the mean prediction when one input, or two, are set to the same values in all rows.

    The band shows how much the effect depends on the other inputs: it contains 90 % of the curves of single rows
    (individual conditional expectation), each moved to the same mean. The bars below are a histogram of the data;
    where they are missing, a curve extrapolates. Where the model is certain to be monotone, the picture says so. The
    effect of two inputs is a filled contour, with the rows as points.

    Parameters
    ----------
    effect : Effect or PairEffect
    outputs : sequence of str or None
        Names of the outputs or classes, if there are several; the first five are drawn.
    unit : str
        What is predicted.

    Attributes
    ----------
    ax_ : matplotlib Axes
    lines_ : list of matplotlib artists
        The curve of each output, or the bars of categories.
    band_, contour_ : matplotlib artists or None

    Examples
    --------
    >>> import numpy as np
    >>> from skscn import SCNRegressor
    >>> from skscn.plot import EffectDisplay
    >>> X = np.random.default_rng(0).uniform(size=(200, 2))
    >>> model = SCNRegressor(monotone=[1, 0], random_state=0).fit(X, X[:, 0] ** 2 + X[:, 1])
    >>> effect = EffectDisplay.from_estimator(model, X, 0).effect
    >>> bool((np.diff(effect.responses[:, 0]) >= 0).all()), effect.sign
    (True, 1)
    """

    band_: Any
    contour_: Any

    def __init__(
        self, *, effect: Effect | PairEffect, outputs: Sequence[str] | None = None, unit: str = "mean prediction"
    ):
        self.effect, self.unit = effect, unit
        many = 1 if isinstance(effect, PairEffect) else effect.responses.shape[1]
        self.outputs = [f"output {k + 1}" for k in range(many)] if outputs is None else list(outputs)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        features: str | int | Sequence[str | int],
        *,
        values: Any = None,
        max_rows: int = 300,
        random_state: int | np.random.RandomState | None = 0,
        ax: Axes | None = None,
    ) -> EffectDisplay:
        """Draw the effect of an input of a fitted model, or of two together, on rows X.

        Parameters
        ----------
        estimator : TableModel, or a fitted estimator
            One whose predictions do not depend on earlier rows.
        X : array-like, data frame or table of shape (n_samples, n_features)
            Rows as ``predict`` takes them.
        features : str, int, or sequence of two
            The column or columns, by name or place. Two must hold numbers, and the model have one output or two
            classes.
        values : array-like, or sequence of two, default=None
            Where to evaluate the effect of columns of numbers. By default at their values, if they are few, or at
            evenly spaced ones, without the outermost hundredths of the rows.
        max_rows : int, default=300
            The most rows, drawn at random.
        random_state : int, RandomState instance or None, default=0
            Seed of the draw.
        ax : matplotlib Axes, default=None
        """
        if getattr(estimator, "uses_past", False) or is_recurrent(estimator):
            raise ValueError(
                "EffectDisplay sets inputs row by row, and this model depends on earlier rows; write a report of it."
            )
        rows = _SampledRows.of(X, max_rows, random_state, estimator)
        pair = not isinstance(features, str) and np.ndim(features) == 1
        wanted: Any = features if pair else [features]
        places = [rows.find(feature) for feature in wanted]
        outputs, unit = None, "mean prediction"
        if is_classifier(estimator):
            classes, unit = list(map(str, estimator.classes_)), "mean probability"
            unit, outputs = (f"{unit} of {classes[1]}", None) if len(classes) == 2 else (unit, classes)
        effect = _pair(estimator, rows, places, values) if pair else _effect(estimator, rows, places[0], values)
        return cls(effect=effect, outputs=outputs, unit=unit).plot(ax)

    def plot(self, ax: Axes | None = None, *, ylim: tuple[float, float] | None = None) -> EffectDisplay:
        """Draw on ``ax``, or on new axes; ``ylim`` is the range of predictions, by default that of the effect."""
        self.ax_ = ax = axes_for(ax)
        self.lines_, self.band_, self.contour_ = list[Any](), None, None
        if isinstance(self.effect, PairEffect):
            self._plot_pair(ax, self.effect)
            return self
        effect, categories = self.effect, self.effect.kind == "category"
        (self._plot_bars if categories else self._plot_curves)(ax, effect)
        if ylim is not None:
            ax.set_ylim(ylim)
        if effect.data is not None and len(effect.data):
            _plot_data(ax, effect.data, len(effect.values) if categories else None)
        if effect.sign:
            ax.set_title(_WORDS[effect.sign], loc="right", fontsize="medium")
        if effect.kind == "date":
            time_axis(ax, np.array(effect.values, dtype="datetime64[us]"))
        # A name is shown literally, even if it contains what could be a formula.
        ax.set_xlabel(effect.name, parse_math=False)
        ax.set_ylabel(self.unit)
        if len(self.outputs) > 1:
            legend_above(ax)
        return self

    def _plot_curves(self, ax: Axes, effect: Effect) -> None:
        if effect.limits is not None:
            self.band_ = ax.fill_between(effect.values, *effect.limits.T, color=BLUE, alpha=0.15, linewidth=0)
        few: dict[str, Any] = {"marker": "o", "markersize": 3.5} if len(effect.values) < 15 else {}
        for responses, name, (colour, dashes) in zip(effect.responses.T, self.outputs, LINES, strict=False):
            style: Any = "-" if dashes == "none" else (0, tuple(map(float, dashes.split())))
            self.lines_ += ax.plot(effect.values, responses, color=colour, linestyle=style, label=name, **few)

    def _plot_bars(self, ax: Axes, effect: Effect) -> None:
        """Bars from the mean over the categories to that of each, since 0 may be far away."""
        places, many = np.arange(len(effect.values)), min(len(self.outputs), len(LINES))
        for k, (responses, name, (colour, _)) in enumerate(zip(effect.responses.T, self.outputs, LINES, strict=False)):
            mean, width = responses.mean(), 0.8 / many
            at = places + (k - (many - 1) / 2) * width
            self.lines_.append(ax.bar(at, responses - mean, width, bottom=mean, color=colour, alpha=0.8, label=name))
            ax.axhline(mean, color=colour, linewidth=0.8)
        if effect.limits is not None:
            self.band_ = ax.vlines(places, *effect.limits.T, color=GREY, linewidth=2.0)
        ax.set_xticks(places, labels=list(map(str, effect.values)), parse_math=False)

    def _plot_pair(self, ax: Axes, effect: PairEffect) -> None:
        self.contour_ = ax.contourf(*effect.values, effect.responses, levels=12, cmap="viridis")
        ax.figure.colorbar(self.contour_, ax=ax, label=self.unit)
        x, y = effect.data
        inside = np.logical_and(*((v.min() <= z) & (z <= v.max()) for v, z in zip(effect.values, (x, y), strict=True)))
        ax.scatter(x[inside], y[inside], s=6, color="white", edgecolors=GREY, linewidths=0.5)
        labels = [
            f"{name} ({_WORDS[sign]})" if sign else name for name, sign in zip(effect.names, effect.signs, strict=True)
        ]
        ax.set_xlabel(labels[0], parse_math=False)
        ax.set_ylabel(labels[1], parse_math=False)


def _plot_data(ax: Axes, data: np.ndarray, categories: int | None) -> None:
    """A histogram of the data, below the curve."""
    low, high = ax.get_ylim()
    ax.set_ylim(low - _PLACE * (high - low), high)
    if categories is None:
        left, right = ax.get_xlim()
        numbers = optional("matplotlib.dates", "A picture").date2num(data) if data.dtype.kind == "M" else data
        counts, edges = np.histogram(numbers[(left <= numbers) & (numbers <= right)], _BARS, (left, right))
    else:
        counts, edges = np.bincount(data, minlength=categories), np.arange(categories + 1) - 0.5
    heights = _HEIGHT * counts / max(counts.max(), 1)
    ax.bar(edges[:-1], heights, np.diff(edges), align="edge", color=GREY, alpha=0.4, transform=ax.get_xaxis_transform())
    if categories is None:
        ax.set_xlim(left, right)


@dataclass(frozen=True, eq=False)
class _SampledRows:
    """Some rows of an array, or of a frame of any library."""

    X: Any
    names: list[str]
    inputs: list[str]
    learnt: dict[str, Column]

    @classmethod
    def of(cls, X: Any, most: int, random_state: Any, estimator: Any) -> _SampledRows:
        table = X if isinstance(X, np.ndarray | list) else as_file(X).read()
        if isinstance(table, np.ndarray | list):
            table = check_array(table, dtype=None, ensure_all_finite=False)
            table = table.astype(np.float64) if table.dtype.kind in "biu" else table
            names = inputs = [f"x{j}" for j in range(table.shape[1])]
        else:
            table = nw.from_native(getattr(table, "frame", table), eager_only=True, pass_through=False)
            names = list(table.columns)
            inputs = _inputs_of(estimator) or names
        if len(table) > most:
            table = table[np.sort(check_random_state(random_state).permutation(len(table))[:most])]
        encoder = getattr(estimator, "encoder_", None)
        columns = getattr(getattr(encoder, "table", encoder), "columns_", [])
        return cls(table, names, inputs, {column.name: column for column in columns})

    def find(self, feature: str | int) -> int:
        """The place of a column."""
        if isinstance(feature, str):
            if feature not in self.names:
                raise ValueError(not_found("column", feature, self.names))
            feature = self.names.index(feature)
        if not 0 <= feature < len(self.names):
            raise ValueError(f"There is no column {feature}; there are {count(len(self.names), 'column')}.")
        if self.names[feature] not in self.inputs:
            raise ValueError(not_found("input", self.names[feature], self.inputs))
        return int(feature)

    def column(self, place: int) -> ColumnValues:
        """The values of a column; text is what the model reads it as."""
        values = self.X[:, place] if isinstance(self.X, np.ndarray) else self.X[self.names[place]]
        column, learnt = read_values(values, self.names[place]), self.learnt.get(self.names[place])
        if column.is_text and isinstance(learnt, Moment):
            return dates(stripped(column), learnt.format)
        if isinstance(learnt, Category):
            return column.categories() or column
        if not column.is_text or not isinstance(learnt, Number):
            return column
        numbers = learnt.floats(column)
        return ColumnValues("number", numbers, np.isnan(numbers))

    def set(self, columns: dict[int, Any]) -> Any:
        """The rows once for each value of some columns; of categories, the values are places of rows that have them."""
        size = len(self.X)
        repeated = self.X[np.tile(np.arange(size), len(next(iter(columns.values()))))]
        for place, values in columns.items():
            if isinstance(self.X, np.ndarray):
                if values.dtype.kind == "i":
                    values = self.X[values, place]
                repeated[:, place] = np.repeat(values, size)
            elif values.dtype.kind == "i":
                repeated = repeated.with_columns(self.X[self.names[place]][np.repeat(values, size)])
            else:
                new = nw.new_series(self.names[place], np.repeat(values, size), backend=self.X.implementation)
                repeated = repeated.with_columns(new)
        return repeated if isinstance(repeated, np.ndarray) else repeated.to_native()

    def responses(self, estimator: Any, columns: dict[int, Any]) -> np.ndarray:
        """Predictions, or probabilities, of shape (values, rows, outputs)."""
        rows = self.set(columns)
        if is_classifier(estimator):
            found = np.asarray(estimator.predict_proba(rows))
            found = found[:, 1:] if found.shape[1] == 2 else found
        else:
            found = np.asarray(estimator.predict(rows))
        return found.reshape(-1, len(self.X), found.shape[1] if found.ndim > 1 else 1)


def _inputs_of(estimator: Any) -> list[str]:
    """The columns that a model uses, if it knows their names."""
    named = getattr(estimator, "feature_names_in_", [])
    return list(getattr(getattr(estimator, "encoder_", None), "read_types", named))


def _effect(estimator: Any, rows: _SampledRows, place: int, given: Any) -> Effect:
    """The effect of one column, with a band if there is one output."""
    column, name = rows.column(place), rows.names[place]
    kind, shown, values, data = _grid_of(column, name, given)
    found = rows.responses(estimator, {place: values})
    responses, limits = found.mean(axis=1), None
    if found.shape[2] == 1:
        own = found[..., 0] - found[..., 0].mean(axis=0) + responses.mean()
        limits = np.quantile(own, [0.5 - _SHARE / 2, 0.5 + _SHARE / 2], axis=1).T
    return Effect(name, shown, responses, kind, limits, data, _sign(estimator, name, place))


def _grid_of(column: ColumnValues, name: str, given: Any) -> tuple[str, list[Any], np.ndarray, np.ndarray]:
    """The kind of a column, values of it to show and to set, and its values in the rows."""
    known = ~column.missing
    if not known.any():
        raise ValueError(f"{quoted(name)} has no values in these rows.")
    if column.kind == "number":
        data = column.floats()[known]
        values = grid(data) if given is None else np.asarray(given, dtype=np.float64)
        return "number", values.tolist(), values, data
    if given is not None:
        raise ValueError(f"values are for numeric columns, but {quoted(name)} is {column.holds}; leave them out.")
    if column.kind == "date":
        data = column.data[known].astype("datetime64[us]")
        values = _dates(data)
        return "date", list(values), values, data
    codes, first = np.unique(column.data[known], return_index=True)
    sizes = np.array([np.count_nonzero(column.data[known] == code) for code in codes])
    order = np.argsort(-sizes, kind="stable")[:_CATEGORIES]
    shown = [column.levels[code] if column.is_text else str(code) for code in codes[order].tolist()]
    return "category", shown, np.flatnonzero(known)[first[order]], np.repeat(np.arange(len(order)), sizes[order])


def _pair(estimator: Any, rows: _SampledRows, places: Sequence[int], given: Any) -> PairEffect:
    """The effect of two columns of numbers."""
    if len(places) != 2 or places[0] == places[1]:
        raise ValueError("features must be one column, or two different ones.")
    columns, names = [rows.column(place) for place in places], [rows.names[place] for place in places]
    for column, name in zip(columns, names, strict=True):
        if column.kind != "number":
            raise ValueError(f"Effects of two inputs are drawn for numbers, and {quoted(name)} is {column.holds}.")
    data = np.array([column.floats() for column in columns])
    data = data[:, ~np.isnan(data).any(axis=0)]
    grids = [grid(x, _PAIR_GRID) for x in data] if given is None else [np.asarray(v, dtype=np.float64) for v in given]
    first, second = np.meshgrid(*grids)
    found = rows.responses(estimator, {places[0]: first.ravel(), places[1]: second.ravel()})
    if found.shape[2] != 1:
        raise ValueError("Effects of two inputs are drawn for one output, or two classes; draw one input at a time.")
    signs = [_sign(estimator, name, place) for name, place in zip(names, places, strict=True)]
    responses = found.mean(axis=(1, 2)).reshape(first.shape)
    return PairEffect((names[0], names[1]), (grids[0], grids[1]), responses, (data[0], data[1]), (signs[0], signs[1]))


def _sign(estimator: Any, name: str, place: int) -> int:
    """1 or −1 if predictions are certain never to decrease or increase with a column, else 0."""
    groups = getattr(getattr(estimator, "encoder_", None), "groups_", None)
    if groups is not None:
        # A table model.
        return sign_of(estimator.estimator_, groups[name][0]) if groups.get(name) else 0
    names = list(getattr(estimator, "feature_names_in_", []))
    return sign_of(estimator, names.index(name) if name in names else place)


def grid(values: np.ndarray, most: int = _GRID) -> np.ndarray:
    """The values themselves, if they are few; else evenly spaced ones, without the outermost hundredths."""
    distinct = np.unique(values)
    if len(distinct) <= min(_FEW_VALUES, most):
        return distinct
    low, high = np.quantile(values, (0.01, 0.99))
    return np.linspace(low, high, most) if low < high else distinct[[0, -1]]


def _dates(moments: np.ndarray) -> np.ndarray:
    """Moments whole weeks apart, or whole days if they span few weeks: the place in the week and the day stays."""
    span = (moments.max() - moments.min()) / _DAY
    step = 7 if span > 8 * 7 else 1
    steps = np.unique(np.linspace(0, span // step, min(_GRID, int(span // step) + 1)).round().astype(int))
    found: np.ndarray = moments.min() + step * steps * _DAY
    return found
