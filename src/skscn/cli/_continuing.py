"""Rows for a model with lags: where they are in time, and the earlier values that come with them."""

from __future__ import annotations

from typing import Any

import numpy as np

from skscn.cli._lags import GAP
from skscn.series import Lags
from skscn.tables import TableEncoder, TableFile, Target
from skscn.words import count, quoted


class Continuing:
    """Adds earlier values to encoded rows, which come some at a time and in order of time.

    Parameters
    ----------
    lags : Lags
        It moves on with the rows.
    encoder : TableEncoder or NumericColumns
    clock : dict or None
        When training ended, as ``fit`` wrote it down.
    target : Target or None
    file : TableFile
        The rows that will come.
    remarks : list of str
        What there is to say is added to it.
    """

    def __init__(
        self, lags: Lags, encoder: Any, clock: Any, target: Target | None, file: TableFile, remarks: list[str]
    ):
        self._lags, self._clock, self._n_rows, self._remarks = lags, clock, 0, remarks
        self._timed = encoder if isinstance(encoder, TableEncoder) and encoder.time_ is not None else None
        self._latest = np.datetime64("NaT")
        if self._timed is not None and self._timed.time_ not in file.names:
            raise ValueError(
                f"{file.label} lacks the column {quoted(str(self._timed.time_))}, the time of the rows, which a model "
                "with lags needs."
            )
        self._target = target if lags.target is not None and target is not None else None
        if self._timed is None:
            remarks.append(f"The rows of {file.label} are taken to follow the training rows.")
        if lags.target is not None:
            remarks.append(self._about_targets(file))

    def _about_targets(self, file: TableFile) -> str:
        name = "the target" if self._target is None else quoted(self._target.name)
        if self._target is not None and self._target.name in file.names:
            late = count(self._lags.delay_ or 1, "row")
            return f"Earlier values of {name} are read from {file.label}; each is used from {late} later on."
        self._target = None
        return f"{file.label} does not contain {name}: its earlier values are those known at the end of training."

    @property
    def types(self) -> dict[str, Any]:
        """The columns to read in addition to those that are encoded, and their types."""
        time = {} if self._timed is None else self._timed.time_types
        return {**time, **({} if self._target is None else {self._target.name: self._target.read_type})}

    def extended(self, X: np.ndarray, table: Any) -> np.ndarray:
        """Encoded rows with earlier values."""
        self._look_at_times(table)
        targets = None if self._target is None else _targets(self._target, table)
        result = self._lags.transform(X, targets=targets)
        self._lags.advance(X, targets=targets)
        self._n_rows += len(X)
        return result

    def _look_at_times(self, table: Any) -> None:
        if self._timed is None or not len(table):
            return
        times = self._timed.row_times(table)
        self._check_order(times)
        if not self._n_rows:
            self._begin(times[0])
        self._latest = times[-1]

    def _check_order(self, times: np.ndarray) -> None:
        """Raise ValueError if the time is missing in a row, falls, or repeats."""
        assert self._timed is not None, "rows without a time have no order"
        steps = np.diff(np.concatenate([[self._latest], times]))
        wrong = np.isnat(times) | (steps <= np.timedelta64(0))
        if not wrong.any():
            return
        place = int(wrong.argmax())
        how = "is missing" if np.isnat(times[place]) else "repeats" if steps[place] == np.timedelta64(0) else "falls"
        raise ValueError(
            f"{quoted(str(self._timed.time_))} {how} in row {self._n_rows + place + 1}; a model with lags needs rows "
            "in order of time, each with a time of its own."
        )

    def _begin(self, first: np.datetime64) -> None:
        """Continue from the end of training if the first row follows it; otherwise begin anew, and say so."""
        last, step = _read_clock(self._clock)
        if last < first <= last + GAP * step or not self._lags.depth_:
            return
        self._lags.restart()
        depth = count(self._lags.depth_, "row")
        written, end = (str(moment.astype("datetime64[s]")).replace("T", " ") for moment in (first, last))
        if first > last + GAP * step:
            self._remarks.append(
                f"Rows are missing between the end of training ({end}) and the first row ({written}), so earlier "
                f"values of the first {depth} are not known, and their predictions are worse; put the rows before them "
                "into the file."
            )
        else:
            self._remarks.append(
                f"The rows do not follow the end of training, so earlier values of the first {depth} are not known, "
                "and their predictions are worse."
            )


def _read_clock(clock: Any) -> tuple[np.datetime64, np.timedelta64]:
    """The time of the last training row, and the usual time between rows; NaT where the notes do not say."""
    values = [clock.get(name) if isinstance(clock, dict) else None for name in ("last_day", "step_days")]
    if not all(isinstance(value, float | int) and abs(value) < 1e8 for value in values):
        return np.datetime64("NaT", "us"), np.timedelta64("NaT", "us")
    last, step = (round(value * 86400e6) for value in values if value is not None)
    return np.datetime64(last, "us"), np.timedelta64(step, "us")


def _targets(target: Target, table: Any) -> np.ndarray:
    """The targets of a table, NaN where they are missing."""
    y, present = target.values(table.column(target.name))
    targets = np.full(len(table), np.nan)
    targets[np.asarray(present)] = y
    return targets
