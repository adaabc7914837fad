"""Feature importance: which inputs matter, and how predictions change with them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from skscn.estimators.networks import sign_of
from skscn.plot.effects import Effect, PairEffect, grid
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
_PAIR_GRID = 12
_CYCLE_GRID = 25
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


def dependences(data: ReportData, order: list[Importance]) -> list[Effect]:
    """For the most important inputs."""
    found: list[Effect] = []
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
    data: ReportData,
    name: str,
    columns: list[int],
    values: Iterable[Any],
    encoded: Iterable[ArrayLike],
    kind: str,
    shown: np.ndarray | None = None,
) -> Effect:
    """Mean responses when columns are set to each of some encoded values.

    scikit-learn's partial_dependence sets one column at a time, and cannot set a category in all of its indicators.
    """
    coverage = PICTURED_COVERAGE if data.has_intervals and len(data.outputs) == 1 else None
    found = [[part.mean(axis=0) for part in data.set_rows(columns, row, coverage)] for row in encoded]
    limits = None if coverage is None else np.array([np.concatenate(ends) for _, *ends in found])
    responses, sign = np.array([responses for responses, *_ in found]), 0
    if kind == "number" and shown is not None:
        sign = sign_of(data.estimator, columns[0])
    return Effect(name, list(values), responses, kind, limits, shown, sign)


def _on_category(data: ReportData, name: str) -> Effect:
    columns = data.inputs[name]
    return _set_in_turn(data, name, columns, data.categories(name), np.eye(len(columns)), "category")


def _on_source_category(data: ReportData, name: str) -> Effect:
    """Of many categories, on those that have columns of their own."""
    source = data.sources[name]
    texts = [*source.categories, *(["\0"] if source.others else []), *([None] if source.missing else [])]
    encoded = source.encode(text_values(texts))
    return _set_in_turn(data, name, data.inputs[name], data.categories(name)[: len(texts)], encoded, "category")


def _on_number(data: ReportData, name: str, columns: list[int]) -> Effect:
    """On the first of some columns; the others, which mark missing values, are 0."""
    shown = data.sample_rows[:, columns[0]]
    values = grid(shown)
    encoded = [[value, *[0.0] * (len(columns) - 1)] for value in values]
    return _set_in_turn(data, name, columns, values.tolist(), encoded, "number", shown)


def together(data: ReportData, order: list[Importance]) -> PairEffect | None:
    """The effect of the two most important inputs that are numbers, on the first output; None with a memory."""
    if data.followed is not None:
        return None
    names = [each.name for each in order[:_INPUTS_SHOWN] if _is_number(data, each.name)][:2]
    if len(names) < 2:
        return None
    first, second = (data.inputs[name] for name in names)
    shown = data.sample_rows[:, first[0]], data.sample_rows[:, second[0]]
    grids = grid(shown[0], _PAIR_GRID), grid(shown[1], _PAIR_GRID)
    if min(map(len, grids)) < 2:
        return None
    output = 1 if data.classifies and len(data.estimator.classes_) == 2 else 0
    marks = [0.0] * (len(first) - 1), [0.0] * (len(second) - 1)
    responses = [
        [data.set_rows([*first, *second], [x, *marks[0], y, *marks[1]], None)[0][:, output].mean() for x in grids[0]]
        for y in grids[1]
    ]
    signs = sign_of(data.estimator, first[0]), sign_of(data.estimator, second[0])
    return PairEffect((names[0], names[1]), grids, np.array(responses), shown, signs)


def _is_number(data: ReportData, name: str) -> bool:
    """Whether an input is one number, perhaps with a mark where it is missing."""
    if name in data.sources:
        return bool(data.sources[name].kind == "number")
    return len(data.inputs[name]) == 1


def _on_source_number(data: ReportData, name: str) -> Effect:
    return _on_number(data, name, data.inputs[name])


def _on_flag(data: ReportData, name: str) -> Effect:
    columns = data.inputs[name]
    encoded = [[value, *[0.0] * (len(columns) - 1)] for value in (0.0, 1.0)]
    return _set_in_turn(data, name, columns, ["false", "true"], encoded, "category")


def _unmarked(encoded: ArrayLike, columns: list[int]) -> np.ndarray:
    """Encoded values with 0 in the column that marks missing values, if there is one."""
    values = np.asarray(encoded)
    return np.pad(values, ((0, 0), (0, len(columns) - values.shape[1])))


def _on_clock(data: ReportData, name: str) -> Effect:
    hours = np.arange(25.0)
    ticks = np.minimum(hours * 3600e6, _DAY - 1.0)
    columns = data.inputs[name]
    encoded = data.sources[name].encode(ColumnValues("time", ticks, np.zeros(len(ticks), dtype=bool)))
    return _set_in_turn(data, name, columns, hours.tolist(), _unmarked(encoded, columns), "number")


def _on_cycles(data: ReportData, name: str) -> list[Effect]:
    """On each cycle of the time of the rows, which has a sine and a cosine."""
    columns, found = iter(data.inputs[name]), []
    for cycle, *pair in zip(data.sources[name].cycles, columns, columns, strict=True):
        words, many, start = _CYCLES[cycle]
        places = np.linspace(0.0, many, _CYCLE_GRID)
        encoded = np.column_stack(waves(start + places / many))
        found.append(_set_in_turn(data, f"{name}: {words}", pair, places.tolist(), encoded, "number"))
    return found


def _on_date(data: ReportData, name: str) -> Effect:
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

    shown = data.sample_rows[:, columns[0]].astype("datetime64[D]")
    return _set_in_turn(data, name, columns, starts.astype("datetime64[D]").tolist(), map(moved, starts), "date", shown)


_OF_KIND: dict[str, Callable[[ReportData, str], Effect]] = {
    "number": _on_source_number,
    "boolean": _on_flag,
    "date": _on_date,
    "time": _on_clock,
    "category": _on_source_category,
    "category with target means": _on_source_category,
}
