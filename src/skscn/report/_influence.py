"""Feature importance: which inputs matter, and how predictions change with them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from skscn.plot.importance import permutation_importance
from skscn.report._data import PICTURED_COVERAGE, ROWS_SET_ALONE, SEED, ReportData
from skscn.tables.columns import RowTime, waves
from skscn.tables.values import ColumnValues, read_values, text_values

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

_REPEATS = 5
# Shuffles in all; with very many inputs each is shuffled once.
_SHUFFLES = 500
_INPUTS_SHOWN = 6
_GRID = 30
_CYCLE_GRID = 25
_FEW_VALUES = 12
# In microseconds.
_DAY = 86400e6
# A cycle of the time of the rows: what is counted, how many there are, and where the first begins in cycles since 1970,
# which began on a Thursday.
_CYCLES = {
    "day": ("hour of the day", 24, 0.0),
    "week": ("days since Monday", 7, 4.0 / 7.0),
    "year": ("months since 1 January", 12, 0.0),
}


@dataclass(frozen=True)
class Importance:
    """How far the score falls when an input is shuffled or moved along time: mean, smallest and largest of several."""

    name: str
    mean: float
    low: float
    high: float


def importances(data: ReportData) -> list[Importance]:
    """All inputs, the most important first."""
    if not data.inputs:
        return []
    rows, y, scoring = data.sample_rows, data.y[data.sample], None
    if data.followed is not None:
        first = data.followed.first
        rows, y, scoring = first.X, first.y, first.score
    falls = permutation_importance(
        data.estimator,
        rows,
        y,
        data.inputs.values(),
        scoring=scoring,
        n_repeats=max(1, min(_REPEATS, _SHUFFLES // len(data.inputs))),
        ordered=data.followed is not None,
        random_state=SEED,
    )
    found = [
        Importance(name, float(fall.mean()), float(fall.min()), float(fall.max()))
        for name, fall in zip(data.inputs, falls, strict=True)
    ]
    return sorted(found, key=lambda importance: -importance.mean)


@dataclass(frozen=True)
class Dependence:
    """Mean prediction when an input is set to a value in all rows (partial dependence).

    Attributes
    ----------
    name : str
        The input, or one of its columns.
    values : list
        Numbers, dates, or names of categories.
    responses : ndarray of shape (values, outputs)
    kind : str
        "number", "date" or "category".
    limits : ndarray of shape (values, 2) or None
        The mean ends of the prediction intervals of a single output.
    """

    name: str
    values: list[Any]
    responses: np.ndarray
    kind: str
    limits: np.ndarray | None = None


def dependences(data: ReportData, order: list[Importance]) -> list[Dependence]:
    """For the most important inputs."""
    found: list[Dependence] = []
    for importance in order[:_INPUTS_SHOWN]:
        name = importance.name
        if isinstance(data.sources.get(name), RowTime):
            found += _on_cycles(data, name)
        elif name in data.sources:
            found.append(_OF_KIND[data.sources[name].kind](data, name))
        elif data.is_one_hot(name):
            found.append(_on_category(data, name))
        else:
            found += [_on_number(data, data.columns[column], [column]) for column in data.inputs[name]]
    return found[:_INPUTS_SHOWN]


def _set_in_turn(
    data: ReportData, name: str, columns: list[int], values: Iterable[Any], encoded: Iterable[ArrayLike], kind: str
) -> Dependence:
    """Mean responses when columns are set to each of some encoded values.

    scikit-learn's partial_dependence sets one column at a time, and cannot set a category in all of its indicators.
    """
    coverage = PICTURED_COVERAGE if data.has_intervals and len(data.outputs) == 1 else None
    found = [[part.mean(axis=0) for part in data.set_rows(columns, row, coverage)] for row in encoded]
    limits = None if coverage is None else np.array([np.concatenate(ends) for _, *ends in found])
    return Dependence(name, list(values), np.array([responses for responses, *_ in found]), kind, limits)


def _on_category(data: ReportData, name: str) -> Dependence:
    columns = data.inputs[name]
    return _set_in_turn(data, name, columns, data.categories(name), np.eye(len(columns)), "category")


def _on_source_category(data: ReportData, name: str) -> Dependence:
    """Of many categories, on those that have columns of their own."""
    source = data.sources[name]
    texts = [*source.categories, *(["\0"] if source.others else []), *([None] if source.missing else [])]
    encoded = source.encode(text_values(texts))
    return _set_in_turn(data, name, data.inputs[name], data.categories(name)[: len(texts)], encoded, "category")


def _on_number(data: ReportData, name: str, columns: list[int]) -> Dependence:
    """On the first of some columns; the others, which mark missing values, are 0."""
    grid = _grid(data.sample_rows[:, columns[0]])
    encoded = [[value, *[0.0] * (len(columns) - 1)] for value in grid]
    return _set_in_turn(data, name, columns, grid.tolist(), encoded, "number")


def _on_source_number(data: ReportData, name: str) -> Dependence:
    return _on_number(data, name, data.inputs[name])


def _on_flag(data: ReportData, name: str) -> Dependence:
    columns = data.inputs[name]
    encoded = [[value, *[0.0] * (len(columns) - 1)] for value in (0.0, 1.0)]
    return _set_in_turn(data, name, columns, ["false", "true"], encoded, "category")


def _unmarked(encoded: ArrayLike, columns: list[int]) -> np.ndarray:
    """Encoded values with 0 in the column that marks missing values, if there is one."""
    values = np.asarray(encoded)
    return np.pad(values, ((0, 0), (0, len(columns) - values.shape[1])))


def _on_clock(data: ReportData, name: str) -> Dependence:
    hours = np.arange(25.0)
    ticks = np.minimum(hours * 3600e6, _DAY - 1.0)
    columns = data.inputs[name]
    encoded = data.sources[name].encode(ColumnValues("time", ticks, np.zeros(len(ticks), dtype=bool)))
    return _set_in_turn(data, name, columns, hours.tolist(), _unmarked(encoded, columns), "number")


def _on_cycles(data: ReportData, name: str) -> list[Dependence]:
    """On each cycle of the time of the rows, which has a sine and a cosine."""
    columns, found = iter(data.inputs[name]), []
    for cycle, *pair in zip(data.sources[name].cycles, columns, columns, strict=True):
        words, many, start = _CYCLES[cycle]
        places = np.linspace(0.0, many, _CYCLE_GRID)
        encoded = np.column_stack(waves(start + places / many))
        found.append(_set_in_turn(data, f"{name}: {words}", pair, places.tolist(), encoded, "number"))
    return found


def _on_date(data: ReportData, name: str) -> Dependence:
    """Rows are moved as a whole: by weeks, or by days if they span few weeks, so that each keeps its own hour.

    Setting one moment in all rows would show hours and days of the week that the grid happens to hit.
    """
    columns = data.inputs[name]
    days = data.sample_rows[:ROWS_SET_ALONE, columns[0]]
    step = 7.0 if np.ptp(days) > 8 * 7.0 else 1.0
    starts = np.arange(np.floor(days.min() / step), np.floor(days.max() / step) + 1.0)
    starts = step * np.unique(np.linspace(starts[0], starts[-1], min(_GRID, len(starts))).round())
    source = data.sources[name]

    def moved(start: float) -> np.ndarray:
        ticks = ((start + days % step) * _DAY).round().astype("datetime64[us]")
        return _unmarked(source.encode(read_values(ticks, name)), columns)

    return _set_in_turn(data, name, columns, starts.astype("datetime64[D]").tolist(), map(moved, starts), "date")


_OF_KIND: dict[str, Callable[[ReportData, str], Dependence]] = {
    "number": _on_source_number,
    "boolean": _on_flag,
    "date": _on_date,
    "time": _on_clock,
    "category": _on_source_category,
    "category with target means": _on_source_category,
}


def _grid(values: np.ndarray) -> np.ndarray:
    """The values themselves, if they are few; else evenly spread ones, without the outermost hundredths."""
    distinct = np.unique(values)
    if len(distinct) <= _FEW_VALUES:
        return distinct
    low, high = np.quantile(values, (0.01, 0.99))
    return np.linspace(low, high, _GRID) if low < high else distinct[[0, -1]]
