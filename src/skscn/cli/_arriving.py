"""Rows that come some at a time, for a model of earlier rows: their order, and whether they follow training."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from skscn.cli._clock import GAP, TrainingClock
from skscn.cli._groups import check_has_group, check_known, labels_of
from skscn.readers.arrow import arrow
from skscn.tables import TableEncoder, TableFile, Target
from skscn.words import quoted


class ArrivingRows:
    """Looks at the times of rows before they are predicted.

    Parameters
    ----------
    encoder : TableEncoder or NumericColumns
    clock : dict or None
        When training ended, as ``fit`` wrote it down.
    file : TableFile
        The rows that will come.
    remarks : list of str
        What there is to say is added to it.
    what : str
        The kind of model, such as "a model with lags".
    lost : str
        What is lost if the rows do not follow the training rows; empty if nothing is.
    label : str or None
        Which one of several series the rows belong to.
    """

    def __init__(
        self,
        encoder: Any,
        clock: Any,
        file: TableFile,
        remarks: list[str],
        what: str,
        lost: str,
        label: str | None = None,
    ):
        self._clock, self._remarks, self._what, self._lost = TrainingClock.read(clock, label), remarks, what, lost
        self._whose = "" if label is None else f"{quoted(label)}: "
        self._n_rows, self._latest, self._noted = 0, np.datetime64("NaT"), False
        self._timed = encoder if isinstance(encoder, TableEncoder) and encoder.time_ is not None else None
        if self._timed is not None and self._timed.time_ not in file.names:
            raise ValueError(
                f"{file.label} lacks the column {quoted(str(self._timed.time_))}, the time of the rows, which {what} "
                "needs."
            )
        if self._timed is None:
            remarks.append(f"The rows of {file.label} are taken to follow the training rows.")

    def begin_anew(self, table: Any) -> bool:
        """Whether these are the first rows and do not follow the training rows; ValueError if they are not in order."""
        if self._timed is None or not len(table):
            return False
        times = self._timed.row_times(table)
        self._check_order(times)
        anew = not self._n_rows and bool(self._lost) and not self._clock.is_followed_by(times[0])
        if anew:
            self._remarks.append(f"{self._whose}{self._about(times[0])}")
        self._note_gaps(times)
        self._n_rows, self._latest = self._n_rows + len(times), times[-1]
        return anew

    def _note_gaps(self, times: np.ndarray) -> None:
        """Say once that rows are missing, and where."""
        steps = np.diff(np.concatenate([[self._latest], times]))
        gaps = np.flatnonzero(steps > GAP * self._clock.step)
        if len(gaps) and not self._noted:
            self._noted = True
            self._remarks.append(
                f"{self._whose}Rows are missing before row {self._n_rows + int(gaps[0]) + 1:,} "
                f"({self._clock.written(times[gaps[0]])}): {self._what} counts rows, and the predictions after a gap "
                "are worse."
            )

    def _check_order(self, times: np.ndarray) -> None:
        """Raise ValueError if the time is missing in a row, falls, or repeats."""
        assert self._timed is not None, "rows without a time have no order"
        known = np.concatenate([[self._latest], times])
        steps = np.diff(known)
        wrong = np.isnat(times) | ((steps <= np.timedelta64(0)) & ~self._clock.is_set_back(known))
        if not wrong.any():
            return
        place = int(wrong.argmax())
        how = "is missing" if np.isnat(times[place]) else "repeats" if steps[place] == np.timedelta64(0) else "falls"
        raise ValueError(
            f"{self._whose}{quoted(str(self._timed.time_))} {how} in row {self._n_rows + place + 1}; {self._what} "
            "needs rows in order of time, each with a time of its own."
        )

    def _about(self, first: np.datetime64) -> str:
        if self._clock.is_before(first):
            last, first_time = map(self._clock.written, (self._clock.last, first))
            return (
                f"Rows are missing between the end of training ({last}) and the first row ({first_time}), so "
                f"{self._lost}; put the rows before them into the file."
            )
        return f"The rows do not follow the end of training, so {self._lost}."


class SeriesPart(NamedTuple):
    """Rows of one series: its label, None if it is the only one, their places, and whether they begin anew."""

    label: str | None
    rows: np.ndarray
    anew: bool


class ArrivingSeries:
    """Rows of one or several series, told apart by a column.

    Parameters
    ----------
    encoder, clock, file, remarks, what, lost
        As in ArrivingRows.
    group : str or None
        The column that says which of several series a row belongs to.
    known : collection of str
        The series that were in training.
    """

    def __init__(
        self,
        encoder: Any,
        clock: Any,
        file: TableFile,
        remarks: list[str],
        what: str,
        lost: str,
        group: str | None,
        known: Collection[Any],
    ):
        check_has_group(group, file)
        self._group, self._known = group, known
        self._arrival = partial(ArrivingRows, encoder, clock, file, remarks, what, lost)
        self._arriving: dict[str | None, ArrivingRows] = {} if group is not None else {None: self._arrival()}
        self._timed = encoder if isinstance(encoder, TableEncoder) and encoder.time_ is not None else None

    @property
    def types(self) -> dict[str, Any]:
        """The columns of the time and of the series, as far as there are any, and their types."""
        times = {} if self._timed is None else self._timed.time_types
        return {**times, **({} if self._group is None else {self._group: arrow().string()})}

    def labels(self, table: Any) -> np.ndarray | None:
        """Which of several series each row belongs to; ValueError for one that was not in training."""
        if self._group is None:
            return None
        labels = labels_of(self._group, table)
        check_known(self._group, labels, self._known)
        return labels

    def parts(self, table: Any) -> list[SeriesPart]:
        """The rows of each series; ValueError if they are not in order."""
        labels = self.labels(table)
        if labels is None:
            return [SeriesPart(None, np.arange(len(table)), self._arriving[None].begin_anew(table))]
        places = {label: np.flatnonzero(labels == label) for label in np.unique(labels).tolist()}
        return [SeriesPart(label, rows, self._begin_anew(label, table.take(rows))) for label, rows in places.items()]

    def _begin_anew(self, label: str, table: Any) -> bool:
        if label not in self._arriving:
            self._arriving[label] = self._arrival(label=label)
        return self._arriving[label].begin_anew(table)


def targets_of(target: Target, table: Any) -> np.ndarray:
    """The targets of a table, NaN where they are missing."""
    y, present = target.values(table.column(target.name))
    targets = np.full(len(table), np.nan)
    targets[np.asarray(present)] = y
    return targets
