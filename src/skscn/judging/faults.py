"""Values that were recorded wrongly: markers for missing values, frozen sensors, and changes of units."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from skscn.judging.cautions import Caution

# A marker for a missing value lies outside the range of the others, by this many times that range: written with nines,
# or the largest value of a counter, or any other value that comes more than once.
_FAR_FOR_MARKERS, _FAR_FOR_OTHERS = 0.5, 10.0
_COUNTERS = (32767.0, -32768.0, 65535.0)
# Columns of fewer different values are states or classes, not measurements.
_FEWEST_OTHERS = 20
# A sensor is frozen if a run of equal values has at least this many rows, and this share of all rows, and if, given how
# often values repeat in the other rows, its probability is at most this.
_SHORTEST_RUN, _SHORTEST_SHARE = 20, 0.01
_BY_CHANCE = 1e-4
# Factors and offsets between units that are mixed up: °C, °F and K; powers of ten; others, as between bar and psi.
_SCALES = (*(10.0**power for power in range(1, 7)), 14.5038, 6.89476, 2.20462, 3.78541, 25.4, 3.28084, 3.6, 24.0, 60.0)
_CONVERSIONS = [(1.8, 32.0), (1.0, 273.15), *((scale, 0.0) for scale in _SCALES)]
_CONVERSIONS += [(1.0 / scale, -offset / scale) for scale, offset in _CONVERSIONS]
# A change of units is a step that is this many times as large as the others, on the side where these are smaller. Steps
# are compared in this many rows on each side, at the least, and at the most, and levels in some that are close.
_JUMP, _FEWEST, _SIDE, _CLOSE = 3.0, 30, 100, 5
# By how many typical steps the converted level may be off, and by which factor the converted steps.
_NEAR, _ALIKE = 6.0, 1.35
# Larger numbers are not looked at.
_LARGEST = 1e300


def find_faults(columns: Mapping[str, np.ndarray], numbers: np.ndarray, ordered: bool) -> list[Caution]:
    """Look for values that were recorded wrongly in columns of numbers; NaN are missing values.

    ``numbers`` are those of the rows in the file. Frozen sensors and changes of units show in rows in order of time
    only.
    """
    found = []
    for name, values in columns.items():
        # Differences of larger numbers overflow.
        known = np.abs(values) < _LARGEST
        values, places = values[known], numbers[known]
        markers = marker_rows(values)
        found += [
            Caution("marker", {"column": name, "rows": places[rows], "value": float(values[rows[0]])})
            for rows in markers
        ]
        rest = np.delete(np.arange(len(values)), np.concatenate(markers) if markers else [])
        if ordered:
            values, places = values[rest], places[rest]
            found += [
                Caution("frozen", {"column": name, "rows": places[run], "value": float(values[run.start])})
                for run in frozen_runs(values)
            ]
            found += [
                Caution("units", {"column": name, "rows": places[rows], "scale": scale, "offset": offset})
                for rows, scale, offset in unit_changes(values)
            ]
    return found


def marker_rows(values: np.ndarray) -> list[np.ndarray]:
    """The places of values such as -9999 that stand for missing ones, for each such value."""
    found: list[np.ndarray] = []
    rest = np.arange(len(values))
    while True:
        distinct, counts = np.unique(values[rest], return_counts=True)
        if len(distinct) < _FEWEST_OTHERS:
            return found
        # The lowest, or the highest: by its distance from its neighbour, in units of the range of the others.
        low = (distinct[1] - distinct[0]) / (distinct[-1] - distinct[1])
        high = (distinct[-1] - distinct[-2]) / (distinct[-2] - distinct[0])
        value, repeated, far = (distinct[0], counts[0], low) if low > high else (distinct[-1], counts[-1], high)
        # Zero is a flow that stops, or a load.
        others = repeated > 1 and value != 0.0 and far > _FAR_FOR_OTHERS
        if not (far > _FAR_FOR_MARKERS if _looks_like_marker(value) else others):
            return found
        found.append(rest[values[rest] == value])
        rest = rest[values[rest] != value]


def _looks_like_marker(value: float) -> bool:
    """Whether a number consists of nines, or is a limit of a counter, or enormous."""
    digits = f"{abs(value):.10g}".replace(".", "")
    return (set(digits) == {"9"} and len(digits) > 1) or value in _COUNTERS or abs(value) >= 1e20


def frozen_runs(values: np.ndarray) -> list[slice]:
    """Stretches of rows in which a value that otherwise changes stays the same."""
    shortest = max(_SHORTEST_RUN, _SHORTEST_SHARE * len(values))
    if len(values) < 2 * shortest or len(np.unique(values)) < _FEWEST_OTHERS:
        return []
    starts = np.flatnonzero(np.r_[True, np.diff(values) != 0.0])
    lengths = np.diff(np.r_[starts, len(values)])
    found: list[slice] = []
    # The longest first: how often values repeat is counted in the others.
    for place in np.argsort(-lengths, kind="stable"):
        others = np.ones(len(lengths), dtype=bool)
        others[[*(np.searchsorted(starts, run.start) for run in found), place]] = False
        if lengths[place] < shortest or not others.any():
            break
        repeating = 1.0 - others.sum() / lengths[others].sum()
        if len(values) * repeating ** (lengths[place] - 1) > _BY_CHANCE:
            break
        found.append(slice(int(starts[place]), int(starts[place] + lengths[place])))
    # A value that comes again and again for long, such as that of a valve which is closed, is a state of the plant.
    states, times = np.unique([values[run.start] for run in found], return_counts=True)
    again = set(states[times > 1].tolist())
    return sorted((run for run in found if values[run.start] not in again), key=lambda run: run.start)


class UnitChange(NamedTuple):
    """A stretch of rows whose values are ``scale`` times what they would be, plus ``offset``."""

    rows: slice
    scale: float
    offset: float


def unit_changes(values: np.ndarray) -> list[UnitChange]:
    """Stretches of rows that are in other units than those before, until the next jump or to the end."""
    steps = np.abs(np.diff(values))
    largest = np.lib.stride_tricks.sliding_window_view(np.pad(steps, _SIDE), _SIDE).max(axis=1)
    # The largest of the steps before and after each of them.
    before, after = largest[: len(steps)], largest[_SIDE + 1 :]
    jumps: dict[int, tuple[float, float] | None] = {}
    for place in (np.flatnonzero(steps > _JUMP * np.minimum(before, after)) + 1).tolist():
        sides = steps[max(place - 1 - _SIDE, 0) : place - 1], steps[place : place + _SIDE]
        if min(map(len, sides)) >= _FEWEST:
            levels = (np.median(values[max(place - _CLOSE, 0) : place]), np.median(values[place : place + _CLOSE]))
            jumps[place] = _conversion(*levels, *map(np.median, sides))
    found, end = [], 0
    for start, conversion in jumps.items():
        if conversion is not None and start > end:
            end = next((place for place in jumps if place > start), len(values))
            found += [UnitChange(slice(start, end), *conversion)] if end - start >= _FEWEST else []
    return found


def _conversion(level: float, new_level: float, step: float, new_step: float) -> tuple[float, float] | None:
    """The factor and offset between units that turn a level with typical steps into another; None if there is none."""
    if not step > 0.0:
        return None
    for scale, offset in _CONVERSIONS:
        tolerance = _NEAR * max(new_step, scale * step)
        near = abs(new_level - (scale * level + offset)) <= tolerance < 0.5 * abs(new_level - level)
        if near and 1.0 / _ALIKE <= new_step / (scale * step) <= _ALIKE:
            return scale, offset
    return None
