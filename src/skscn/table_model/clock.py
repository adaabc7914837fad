"""The times of rows whose order matters: whether they allow a model of earlier rows, and how they go on."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import narwhals as nw
import numpy as np

from skscn.judging.cautions import Caution
from skscn.readers import TableFile
from skscn.table_model.rows import TableRows
from skscn.table_model.series import Series, set_back
from skscn.words import count, quoted

if TYPE_CHECKING:
    from skscn.table_model.model import TableModel

# The fewest rows with a target, and how many times as many as the longest lag.
_FEWEST_ROWS = 100
_TIMES_THE_LAG = 4
# A step between rows is a gap if it is longer than the usual one by this factor.
GAP = 1.5
_MANY_GAPS = 0.05
# Steps are regular if they differ by less than this share.
_REGULAR = 0.01
_DAY = 86400e6


def check_series(model: TableModel, series: Series) -> None:
    """Raise ValueError if the order of the rows is needed but not known, or known while groups are to be held out."""
    if model.past is None:
        if model.group is not None and series.time is not None:
            raise ValueError(
                f"The rows are in order of time ({quoted(series.time)}) and would be tested on later rows, not on "
                'other groups. If they are several series, add lags="auto" or estimator="recurrent"; if their order '
                "does not matter, add time=False, and whole groups are held out."
            )
        return
    if series.time is None or series.moments is None:
        raise ValueError(
            f'{model.past.capitalize()} needs the order of the rows; name the column with their times: time="COLUMN".'
        )
    moments = series.moments
    if np.isnan(moments).any():
        raise ValueError(
            f"{quoted(series.time)} is missing in {count(int(np.isnan(moments).sum()), 'row')}, so it is not known "
            f"which row came before which; {model.past} needs a time in every row."
        )
    courses = series.courses().values()
    repeated = np.concatenate([course[1:][(np.diff(course) == 0.0) & ~set_back(course)] for course in courses])
    if len(repeated):
        first = written(np.datetime64(round(repeated.min() * 86400), "s"))
        several = ' If the rows are those of several machines, name the column that tells them apart: group="COLUMN".'
        raise ValueError(
            f"{quoted(series.time)} repeats: {count(len(repeated), 'row')} have the time of another row, the first at "
            f"{first}; {model.past} needs one row at a time.{several * (model.group is None)}"
        )


def check_length(model: TableModel, rows: TableRows) -> None:
    """Raise ValueError if there are too few rows for a model of earlier rows."""
    if model.past is None:
        return
    longest = max([model.delay or 0, *([] if isinstance(model.lags, str) else model.lags or [])])
    needed = max(_FEWEST_ROWS, _TIMES_THE_LAG * longest)
    if len(rows.y) < needed:
        why = f" with lags of up to {count(longest, 'row')}" if needed > _FEWEST_ROWS else ""
        raise ValueError(
            f"{model.past.capitalize()}{why} needs at least {needed} rows with a target; there are {len(rows.y)}."
        )


def _steps(series: Series) -> tuple[np.ndarray, float]:
    """The times between rows in days, and the usual one."""
    steps = np.concatenate([np.diff(course) for course in series.courses().values()])
    return steps, float(np.median(steps))


def gap_caution(model: TableModel, series: Series) -> tuple[Caution, bool] | None:
    """Gaps between rows, and whether there are many; None without gaps."""
    steps, usual = _steps(series)
    gaps = int(np.count_nonzero(steps > GAP * usual))
    if not gaps or model.past is None:
        return None
    values = {"recurrent": model.recurrent, "usual": duration(usual), "steps": gaps}
    return Caution("gaps", values), gaps > _MANY_GAPS * len(steps)


def clock_of(model: TableModel, series: Series) -> dict[str, Any] | None:
    """The facts about time by which a model of earlier rows recognises the rows that follow, and continues them."""
    if model.past is None or series.moments is None:
        return None
    (steps, usual), courses = _steps(series), series.courses()
    months = {_months_between(course) for course in courses.values()}
    last = {label: float(course[-1]) for label, course in courses.items()}
    return {
        "last_day": float(series.moments[-1]),
        "step_days": usual,
        "months": months.pop() if len(months) == 1 else None,
        "irregular": int(np.count_nonzero(np.abs(steps - usual) > _REGULAR * usual)),
        **({} if series.groups is None else {"last_days": last}),
        **({} if series.zone is None else {"zone": series.zone}),
    }


def clock_after(clock: Any, times: np.ndarray, labels: np.ndarray | None) -> Any:
    """The clock of ``clock_of`` after further rows at these times; ``labels`` say which series each is of."""
    if not isinstance(clock, dict) or not len(times):
        return clock
    days = times.astype("datetime64[us]").astype(np.int64) / _DAY
    after = {**clock, "last_day": float(days[-1])}
    if labels is not None:
        after["last_days"] = {**clock.get("last_days", {}), **dict(zip(labels.tolist(), days.tolist(), strict=True))}
    return after


def _months_between(moments: np.ndarray) -> int | None:
    """The number of months between any two rows, if it is always the same and the time within the month too."""
    times = (moments * _DAY).round().astype("datetime64[us]")
    months = times.astype("datetime64[M]")
    steps = np.unique(np.diff(months).astype(int))
    within = np.unique(times - months.astype("datetime64[us]"))
    return int(steps[0]) if len(steps) == 1 and len(within) == 1 and steps[0] > 0 else None


@dataclass(frozen=True)
class TrainingClock:
    """When training, or one of several series in it, ended and how rows went on; NaT where a file does not say."""

    last: np.datetime64
    step: np.timedelta64
    months: int | None = None
    irregular: int = 0
    zone: str | None = None

    @classmethod
    def read(cls, notes: Any, label: str | None = None) -> TrainingClock:
        """The clock that ``fit`` wrote down, of one of several series if it has a label."""
        if label is not None:
            ends = notes.get("last_days") if isinstance(notes, dict) else None
            notes = {**notes, "last_day": ends.get(label)} if isinstance(ends, dict) else None
        values = [notes.get(name) if isinstance(notes, dict) else None for name in ("last_day", "step_days")]
        if not all(isinstance(value, float | int) and abs(value) < 1e8 for value in values):
            return cls(np.datetime64("NaT", "us"), np.timedelta64("NaT", "us"))
        last, step = (round(value * _DAY) for value in values if value is not None)
        # Files of earlier versions have only these two.
        months, irregular = notes.get("months"), notes.get("irregular")
        return cls(
            np.datetime64(last, "us"),
            np.timedelta64(step, "us"),
            months if isinstance(months, int) and months > 0 else None,
            irregular if isinstance(irregular, int) else 0,
            zone if isinstance(zone := notes.get("zone"), str) else None,
        )

    def is_followed_by(self, first: np.datetime64) -> bool:
        """Whether a row at this time follows the last training row."""
        follows = self.last < first <= self.last + GAP * self.step
        return bool(follows or self.is_set_back(np.array([self.last, first]))[0])

    def is_set_back(self, times: np.ndarray) -> np.ndarray:
        """Which steps between times are those of clocks that are set back by an hour."""
        days = times.astype("datetime64[us]").astype(np.float64) / _DAY
        return set_back(np.where(np.isnat(times), np.nan, days), float(self.step / np.timedelta64(1, "D")))

    def is_before(self, first: np.datetime64) -> bool:
        """Whether rows are missing between the last training row and this time."""
        return bool(first > self.last + GAP * self.step)

    def written(self, moment: np.datetime64) -> str:
        """A time as it is written in files and messages: in the time zone of training, if it had one."""
        text = written(moment)
        if self.zone is None or np.isnat(moment):
            return text
        return datetime.fromisoformat(f"{text}+00:00").astimezone(_time_zone(self.zone)).isoformat(" ")

    def ahead(self, steps: int) -> np.ndarray:
        """The times of the rows that follow."""
        numbers = np.arange(1, steps + 1)
        if self.months is None:
            return np.asarray(self.last + numbers * self.step)
        month = self.last.astype("datetime64[M]")
        first = (month + self.months * numbers).astype("datetime64[us]")
        return np.asarray(first + (self.last - month.astype("datetime64[us]")))

    @property
    def pace(self) -> str:
        """How the times of the rows that follow are found, in words."""
        if self.months is not None:
            return f"in steps of {count(self.months, 'month')}, as in training"
        step = f"in steps of {duration(self.step / np.timedelta64(1, 'D'))}"
        if not self.irregular:
            return f"{step}, as in training"
        return f"{step}, the median in training, where {count(self.irregular, 'step')} differed from it"


def zone_of(file: TableFile, time: str) -> str | None:
    """The time zone of a column of times: that of its type, or the offset from UTC of the last row in a text file."""
    last = None
    for table in file.verbatim([time]):
        last = table.column(time)[-1:] if len(table) else last
    if last is None:
        return None
    column = nw.from_native(last, series_only=True)
    if isinstance(column.dtype, nw.Datetime):
        return column.dtype.time_zone
    # After a time of the day, or the year of a date would be an offset.
    found = re.search(r":\d\d(?:[.,]\d+)?(Z|[-+]\d\d:?\d\d)$", str(column.to_list()[0]).strip())
    return found.group(1) if found else None


def _time_zone(name: str) -> tzinfo:
    """A time zone by its name or its offset from UTC; UTC where it is not known."""
    if re.fullmatch(r"[-+]\d\d:?\d\d", name):
        return datetime.strptime(name, "%z").tzinfo or UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        return UTC


def written(moment: np.datetime64) -> str:
    """A time as it is written in messages, to the second."""
    return str(moment.astype("datetime64[s]")).replace("T", " ")


def duration(days: float) -> str:
    """A time between rows in words."""
    for unit, length in (("day", 1.0), ("hour", 1 / 24), ("minute", 1 / 1440)):
        if days >= 0.999 * length:
            return f"{days / length:.4g} {unit}{'' if abs(days / length - 1) < 1e-3 else 's'}"
    return f"{days * 86400:.4g} seconds"
