"""The order of the rows of a table, and the groups that they belong to: patients, or series of several machines."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from skscn.judging.cautions import Caution
from skscn.tables import TableFile
from skscn.tables.columns import Moment
from skscn.tables.learning import learn, rises
from skscn.tables.values import read_values
from skscn.words import count, listed, quoted

if TYPE_CHECKING:
    import pyarrow as pa

# A column of dates is the time of the rows if it has values in most rows, and several of them.
_SHARE_OF_ROWS = 0.5
_FEWEST_MOMENTS = 10
# Clocks are set back in these months, on the northern or the southern half of the earth, before this time of the day.
_MONTHS_OF_CHANGE = (4, 9, 10, 11)
_HOUR, _EARLY = 1.0 / 24.0, 4.0 / 24.0
# Labels that a message names, and whole numbers below which floats are exact.
_NAMED, _LARGEST = 5, 2**53


@dataclass(frozen=True)
class Series:
    """The column with the time of the rows, if there is one, their order by it, notes about it, and cautions.

    ``moments`` are the times of the rows, in days since 1970 and in this order; NaN where they are missing. Of several
    series, ``groups`` says which one each row belongs to, in this order. ``zone`` is the time zone that the file gives.
    """

    time: str | None = None
    order: np.ndarray | None = None
    notes: list[str] = field(default_factory=list)
    cautions: list[Caution] = field(default_factory=list)
    moments: np.ndarray | None = None
    groups: np.ndarray | None = None
    zone: str | None = None

    def courses(self) -> dict[str | None, np.ndarray]:
        """The times of each of the series, by their labels; None is the label of the only one."""
        assert self.moments is not None, "a series has moments"
        if self.groups is None:
            return {None: self.moments}
        return {label: self.moments[self.groups == label] for label in np.unique(self.groups).tolist()}


def with_groups(series: Series, groups: np.ndarray | None) -> Series:
    """The series with labels of its rows, which are given in the order of the table."""
    ordered = groups if groups is None or series.order is None else groups[series.order]
    return replace(series, groups=ordered)


def find_series(
    table: pa.Table,
    inputs: list[str],
    time: str | Literal[False] | None,
    *,
    dates: str = "auto",
    tested: bool = True,
    past: bool = False,
    cycles: bool = True,
    groups: np.ndarray | None = None,
) -> Series:
    """Find out whether rows are in order of time; of a column that was named, put them in order.

    ``time`` is that column, None to look for one, or False if the order of the rows is to be ignored.

    ``dates`` is how those are read that can be read day first or month first, as in TableEncoder; ``tested`` whether
    there will be tests to speak of; ``past`` whether predictions depend on earlier rows, whose order then cannot be
    ignored; ``cycles`` whether the hour of the day and the like may be inputs; ``groups`` which of several series
    each row belongs to, whose rows need not be in order together.
    """
    if isinstance(time, str):
        return _ordered(time, _moments(time, table.column(time), dates), _notes_on(time, tested, past, cycles), groups)
    rising = {name: moments for name in inputs if (moments := _dates(name, table.column(name), dates)) is not None}
    rising = {name: moments for name, moments in rising.items() if _is_clock(moments)}
    if not rising:
        return Series()
    name = max(rising, key=lambda name: len(np.unique(rising[name])))
    if time is False:
        return Series(cautions=[Caution("shuffled", {"time": name})])
    return _ordered(name, rising[name], _notes_on(name, tested, past, cycles), groups)


def _dates(name: str, values: pa.ChunkedArray, order: str) -> np.ndarray | None:
    """The days since 1970 of a column of dates, NaN where they are missing; None for other columns."""
    read = read_values(values, name)
    # A table may have very many columns of numbers.
    column = None if read.kind == "number" else learn(name, read, 1, order).column
    return column.floats(read) if isinstance(column, Moment) else None


def _moments(name: str, values: pa.ChunkedArray, order: str) -> np.ndarray:
    moments = _dates(name, values, order)
    if moments is None:
        raise ValueError(
            f"{quoted(name)} cannot be the time of the rows: it does not contain different dates; name a column with "
            "the date and time of each row."
        )
    return moments


def _is_clock(moments: np.ndarray) -> bool:
    """Whether moments rise with the rows, or fall, but for a few."""
    known = moments[~np.isnan(moments)]
    enough = len(known) > _SHARE_OF_ROWS * len(moments) and len(np.unique(known)) >= _FEWEST_MOMENTS
    return enough and any(rises(_unfolded(some, None)[0]) for some in (known, known[::-1]))


def _notes_on(name: str, tested: bool, past: bool, cycles: bool) -> list[str]:
    """What a series means for the model."""
    tests = "the model is tested on later rows than those it was trained on, and " if tested else ""
    may_be = ", but its cycles, such as the hour of the day, may be" if cycles else ""
    ignored = "" if past else f" If {name} is an attribute like any other, use time=False."
    return [
        f"The rows are a time series ordered by {name}: {tests}early stopping and intervals use the last rows.",
        f"The time itself is not an input{may_be}.{ignored}",
    ]


def _ordered(name: str, moments: np.ndarray, notes: list[str], groups: np.ndarray | None) -> Series:
    """The series by these moments; a row without one stays where it is, behind the row before it."""
    backwards = not rises(moments) and rises(moments[::-1])
    places = np.arange(len(moments))[:: -1 if backwards else 1]
    keys, set_back_at = _unfolded(moments[places], None if groups is None else groups[places])
    order = places[np.argsort(_filled(keys), kind="stable")]
    if set_back_at:
        notes.append(
            f"{name} is local time: clocks are set back by an hour on {listed(set_back_at)}, and the rows of the hour "
            "that comes twice stay in their order."
        )
    missing = int(np.count_nonzero(np.isnan(moments)))
    moved = int(np.count_nonzero(order != np.arange(len(order))))
    if moved and groups is None:
        how = "the newest rows came first" if backwards else f"{count(moved, 'row')} moved"
        notes.append(f"Sorted by {name}: {how}.")
    if missing:
        notes.append(f"{name} is missing in {count(missing, 'row')}, which stay after the row before them.")
    return Series(name, order if moved else None, notes, moments=moments[order])


def set_back(moments: np.ndarray, usual: float | None = None) -> np.ndarray:
    """Which steps between rows are those of clocks that are set back by an hour, early on a Sunday in autumn.

    Times are in days since 1970, in the order of the rows; ``usual`` is the usual step, by default the median.
    """
    steps, later = np.diff(moments), np.nan_to_num(moments[1:])
    if usual is None:
        usual = float(np.median(steps[steps > 0.0])) if np.any(steps > 0.0) else np.nan
    month = (later * 86400.0).astype("datetime64[s]").astype("datetime64[M]").astype(int) % 12 + 1
    # 1970-01-01 was a Thursday.
    early_on_sunday = (np.floor(later) % 7 == 3) & (later % 1.0 < _EARLY) & np.isin(month, _MONTHS_OF_CHANGE)
    passed = steps + _HOUR
    plausible = (steps <= 0.0) & (passed > 0.0) & (passed < 2.0 * usual) & (usual < 2.0 * _HOUR)
    return np.asarray(early_on_sunday & plausible)


def _unfolded(moments: np.ndarray, groups: np.ndarray | None) -> tuple[np.ndarray, list[str]]:
    """Times by which rows can be sorted, and the dates on which clocks are set back.

    The first rows of an hour that comes twice are in its first half, the second ones in its second half.
    """
    keys, dates = moments.copy(), dict[str, None]()
    labels = np.zeros(len(moments), dtype=int) if groups is None else groups
    for label in np.unique(labels).tolist():
        places = np.flatnonzero((labels == label) & ~np.isnan(moments))
        course = moments[places]
        for step in np.flatnonzero(set_back(course)).tolist():
            hour = np.floor(course[step + 1] / _HOUR + 1e-6) * _HOUR
            within = np.flatnonzero((course > hour - 1e-9) & (course < hour + _HOUR - 1e-9))
            keys[places[within]] = hour + (course[within] - hour + _HOUR * (within > step)) / 2.0
            dates[str(np.datetime64(int(hour + 1e-6), "D"))] = None
    return keys, list(dates)


def _filled(moments: np.ndarray) -> np.ndarray:
    """Missing moments take the one before them; the first ones the first there is."""
    known = np.flatnonzero(~np.isnan(moments))
    return moments[known[np.maximum(np.searchsorted(known, np.arange(len(moments)), side="right") - 1, 0)]]


def labels_of(name: str, table: Any, *, several: bool = False) -> np.ndarray:
    """The group that each row belongs to, as text; ValueError if one is missing, or if there should be several."""
    return group_labels(name, table.column(name), several=several)


def group_labels(name: str, values: Any, *, several: bool = False) -> np.ndarray:
    """As :func:`labels_of`, of the values of a column."""
    column = read_values(values, name)
    written = column.categories()
    if written is None:
        raise ValueError(f"{quoted(name)} cannot tell groups apart: it holds {column.holds}.")
    if written.missing.any():
        first = int(np.argmax(written.missing)) + 1
        raise ValueError(
            f"{quoted(name)} is missing in {count(int(written.missing.sum()), 'row')}, the first of which is row "
            f"{first}; with groups, every row needs to belong to one."
        )
    labels = written.of_rows(np.array(list(map(_plain, written.levels)), dtype=str), "")
    if several and len(labels) and np.all(labels == labels[0]):
        raise ValueError(
            f"{quoted(name)} is {quoted(labels[0])} in all rows, so no group can be held out; leave group out."
        )
    return labels


def _plain(label: str) -> str:
    """A label without what depends on how it was read: a whole number is the same as text and with decimals."""
    try:
        number = float(label)
    except ValueError:
        return label.strip()
    return str(int(number)) if number.is_integer() and abs(number) < _LARGEST else label.strip()


def check_has_group(name: str | None, file: TableFile) -> None:
    """Raise ValueError if a table lacks the column that tells its series apart."""
    if name is not None and name not in file.names:
        raise ValueError(
            f"{file.label} lacks the column {quoted(name)}, which says which of several series a row belongs to."
        )


def check_known(name: str, labels: np.ndarray, known: Collection[Any]) -> None:
    """Raise ValueError for rows of a series that was not in training."""
    new = [label for label in np.unique(labels).tolist() if label not in known]
    if not new:
        return
    raise ValueError(
        f"{quoted(name)} has the value {quoted(new[0])}, which was not in training (it had {named(known)}); leave "
        "these rows out, or fit a model with them."
    )


def named(labels: Collection[Any]) -> str:
    """Some of the labels, in words."""
    some = listed([quoted(str(label)) for label in list(labels)[:_NAMED]])
    return f"{some}{' and others' if len(labels) > _NAMED else ''}"
