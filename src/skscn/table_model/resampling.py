"""Rows at irregular times as rows at regular ones: means, last or interpolated values in steps of time."""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, NamedTuple

import numpy as np

from skscn.readers import TableFile
from skscn.readers.frames import FrameTable
from skscn.table_model.clock import GAP, duration
from skscn.table_model.series import labels_of
from skscn.tables.columns import Moment, Number, RowTime
from skscn.tables.learning import learn
from skscn.tables.values import read_values
from skscn.words import count, quoted

METHODS = ("mean", "last", "interpolated")
_SECONDS = {"s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_EVERY = re.compile(rf"(\d+(?:\.\d+)?) ?({'|'.join(_SECONDS)})(?::({'|'.join(METHODS)}))?")
_DAY = 86400e6


class ResampledTable(FrameTable):
    """A table that has been resampled."""


class _Steps(NamedTuple):
    """The ends of steps in microseconds, and of each its first and its last row, and where between them it ends."""

    ends: np.ndarray
    first: np.ndarray
    last: np.ndarray
    shares: np.ndarray


@dataclass(frozen=True)
class Resampling:
    """Steps of time, each of which becomes one row, at its end; a step without rows stays a gap.

    Attributes
    ----------
    time : str
        The column with the times.
    group : str or None
        The column that tells several series apart.
    step : int
        The length of a step in microseconds.
    method : str
        One of METHODS. Numbers become the mean or the last value of the rows of a step, or are interpolated between the
        rows around its end; all else becomes the last value.
    longest : int
        Microseconds between two rows above which nothing is interpolated between them.
    format : str or None
        How times are written, as in Moment.
    """

    time: str
    group: str | None
    step: int
    method: str
    longest: int
    format: str | None

    @classmethod
    def learn(cls, every: str, file: TableFile, time: Any, group: str | None, dates: str) -> Resampling:
        """The steps that a user asks for, such as "5min" or "1h:last", in a table."""
        found = _EVERY.fullmatch(every)
        step = 0 if found is None else round(float(found[1]) * _SECONDS[found[2]] * 1e6)
        if found is None or not step:
            raise ValueError(
                'every must be a time and perhaps how values are combined, such as "5min", "30s", "1h:last" or '
                f'"1d:interpolated"; got {quoted(every)}.'
            )
        if not isinstance(time, str):
            raise ValueError('every needs the times of the rows; name their column: time="COLUMN".')
        values = read_values(file.read([file.find(time)]).column(time), time)
        column = learn(time, values, 1, dates).column
        if not isinstance(column, Moment):
            raise ValueError(f"{quoted(time)} cannot be the time of the rows: it does not contain different dates.")
        moments = column.floats(values)
        usual = float(np.median(np.diff(np.unique(moments[~np.isnan(moments)])))) * _DAY
        return cls(time, group, step, found[3] or "mean", round(GAP * max(step, usual)), column.format)

    def __str__(self) -> str:
        return f"{duration(self.step / _DAY)}, {self.method}"

    def to_json(self) -> dict[str, Any]:
        """Itself as plain data that JSON can hold."""
        return asdict(self)

    @classmethod
    def from_json(cls, state: Any) -> Resampling:
        """The resampling that gave this state; ValueError for anything else."""
        names = {field.name for field in fields(cls)}
        if not isinstance(state, dict) or set(state) != names or state["method"] not in METHODS:
            raise ValueError("the resampling of the rows is not described by its fields")
        texts = [state["time"], state["group"] or "", state["format"] or ""]
        if not all(isinstance(text, str) for text in texts) or not all(
            type(state[name]) is int and 0 < state[name] < 2**62 for name in ("step", "longest")
        ):
            raise ValueError("the resampling of the rows has fields of other types")
        return cls(**state)

    @property
    def _column(self) -> RowTime:
        return RowTime(self.time, 0.0, False, self.format, False, ())

    def moment(self, value: Any) -> np.datetime64:
        """The time in a row."""
        return self._column.moment(value)

    def end(self, moment: np.datetime64) -> np.datetime64:
        """The end of the step that a moment is in."""
        return self._ends(moment.astype("datetime64[us]").astype(np.int64)).astype("datetime64[us]")

    def _ends(self, moments: Any) -> Any:
        return -(-moments // self.step) * self.step

    def __call__(self, file: TableFile) -> TableFile:
        """A table with a row for each step that has rows."""
        if isinstance(file, ResampledTable):
            return file
        for name in (self.time, *([] if self.group is None else [self.group])):
            file.find(name)
        table = file.read()
        labels = None if self.group is None else labels_of(self.group, table)
        resampled = self.rows({name: table.column(name) for name in file.names}, labels)
        result = ResampledTable(resampled, file.label)
        rows = count(len(resampled[self.time]), "row")
        result.notes = [*file.notes, f"{count(len(table), 'row')} became {rows} ({self})."]
        return result

    def rows(self, table: Mapping[str, Any], labels: np.ndarray | None = None) -> dict[str, Any]:
        """Columns resampled; ``labels`` say which of several series a row is of. Rows without a time are left out."""
        times = self._column.moments(read_values(table[self.time], self.time))
        known = np.flatnonzero(~np.isnat(times))
        moments = times.astype(np.int64)
        labels = np.zeros(len(times), int) if labels is None else labels
        order = known[np.lexsort((moments[known], labels[known]))]
        steps = (self._between if self.method == "interpolated" else self._within)(moments[order], labels[order])
        steps = _Steps(*(part[np.argsort(steps.ends, kind="stable")] for part in steps))
        columns: dict[str, Any] = {}
        for name, given in table.items():
            values = read_values(given, name)
            column = None if name in (self.time, self.group) else learn(name, values, 1).column
            if name == self.time:
                columns[name] = steps.ends.astype("datetime64[us]")
            elif isinstance(column, Number) or values.kind == "number":
                numbers = (column if isinstance(column, Number) else Number(name, 0.0, False)).floats(values)
                columns[name] = self._combined(numbers[order], steps)
            else:
                listed = given.to_pylist() if hasattr(given, "to_pylist") else list(given)
                last = _last_known(values.missing[order], steps)
                columns[name] = [None if place < 0 else listed[order[place]] for place in last.tolist()]
        return columns

    def _within(self, moments: np.ndarray, labels: np.ndarray) -> _Steps:
        """The steps that have rows, which are sorted by series and time."""
        ends = self._ends(moments)
        new = np.append(True, (ends[1:] != ends[:-1]) | (labels[1:] != labels[:-1]))[: len(ends)]
        first = np.flatnonzero(new)
        last = np.append(first[1:], len(ends)) - 1
        return _Steps(ends[first], first, last, np.ones(len(first)))

    def _between(self, moments: np.ndarray, labels: np.ndarray) -> _Steps:
        """The ends of steps between rows that are not far apart."""
        parts = []
        for label in np.unique(labels):
            places = np.flatnonzero(labels == label)
            course = moments[places]
            ends = np.arange(self._ends(course[0]), course[-1] + 1, self.step)
            after = np.searchsorted(course, ends)
            before = np.where(course[after] == ends, after, after - 1)
            distance = course[after] - course[before]
            shares = (ends - course[before]) / np.maximum(distance, 1)
            near = distance <= self.longest
            parts.append([ends[near], places[before[near]], places[after[near]], shares[near]])
        return _Steps(*(np.concatenate(part) for part in zip(*parts, strict=True)))

    def _combined(self, numbers: np.ndarray, steps: _Steps) -> np.ndarray:
        if self.method == "interpolated":
            start, end = numbers[steps.first], numbers[steps.last]
            return np.asarray(np.where(steps.first == steps.last, start, start + steps.shares * (end - start)))
        missing = np.isnan(numbers)
        if self.method == "last":
            last = _last_known(missing, steps)
            return np.where(last < 0, np.nan, numbers[last])
        sums = np.add.reduceat(np.where(missing, 0.0, numbers), steps.first)
        counts = np.add.reduceat((~missing).astype(float), steps.first)
        return np.asarray(np.where(counts > 0.0, sums / np.maximum(counts, 1.0), np.nan))


def _last_known(missing: np.ndarray, steps: _Steps) -> np.ndarray:
    """The last row of each step with a value; -1 where there is none."""
    latest = np.maximum.accumulate(np.where(missing, -1, np.arange(len(missing))))
    return np.asarray(np.where(latest[steps.last] >= steps.first, latest[steps.last], -1))


class ArrivingSteps:
    """Rows that arrive one by one, and the rows of steps that are complete."""

    def __init__(self, resampling: Resampling):
        self._resampling = resampling
        self._waiting: dict[Hashable, list[tuple[np.datetime64, Mapping[str, Any]]]] = {}
        self._answered: dict[Hashable, np.datetime64] = {}

    def is_waiting(self, label: Hashable, moment: np.datetime64) -> bool:
        """Whether the step of a moment is not complete."""
        waiting = self._waiting.get(label, [])
        return bool(waiting) and bool(self._resampling.end(waiting[-1][0]) == self._resampling.end(moment))

    def add(self, label: Hashable, moment: np.datetime64, row: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Take a row; the rows of the steps that are complete by it. ValueError if it is older than the last one."""
        resampling, waiting = self._resampling, self._waiting.setdefault(label, [])
        if np.isnat(moment):
            raise ValueError(f"{quoted(resampling.time)} is missing; resampling needs a time in every row.")
        if waiting and moment < waiting[-1][0]:
            raise ValueError(
                f"{quoted(resampling.time)} is {moment}, but the last row was at {waiting[-1][0]}; rows must come in "
                "order of time."
            )
        between = resampling.method == "interpolated"
        if not between and (not waiting or resampling.end(moment) == resampling.end(waiting[-1][0])):
            waiting.append((moment, row))
            return []
        together = [*waiting, (moment, row)] if between else list(waiting)
        self._waiting[label] = [(moment, row)]
        found = resampling.rows({name: np.array([known[name] for _, known in together], dtype=object) for name in row})
        found[resampling.time] = found[resampling.time].tolist()
        complete = [dict(zip(found, values, strict=True)) for values in zip(*found.values(), strict=True)]
        latest = self._answered.get(label)
        complete = [row for row in complete if latest is None or np.datetime64(row[resampling.time], "us") > latest]
        if complete:
            self._answered[label] = np.datetime64(complete[-1][resampling.time], "us")
        return complete
