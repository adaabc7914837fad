"""Rows that a fitted model reads some at a time: encoded, with earlier values or a state, in order of time."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from math import ceil
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from skscn.adaptive_intervals import check_coverage, conformal_rank
from skscn.following import Begin, GroupRows, is_recurrent, limits_of_stretches, predict_stretches, state_after
from skscn.judging.sketch import RowSketch
from skscn.recurrent import ReservoirState
from skscn.recurrent.predicting import ReservoirRegressor
from skscn.series import Lags
from skscn.table_model.clock import GAP, TrainingClock, clock_after
from skscn.table_model.series import check_has_group, check_known, labels_of
from skscn.tables import TableEncoder, TableFile, Target, outside_sentences
from skscn.words import count, quoted

if TYPE_CHECKING:
    import pyarrow as pa

    from skscn.table_model.model import TableModel

# Numbers that are encoded at a time.
ENCODED_AT_A_TIME = 2**22


class ArrivingRows:
    """The times of rows that are to be predicted, which must be in order.

    Parameters
    ----------
    model : TableModel
    encoder : TableEncoder or NumericColumns
    file : TableFile
        The rows that will come.
    remarks : list of str
        Remarks on the rows are added to it.
    what : str
        The kind of model, such as "a model with lags".
    lost : str
        What is lost if the rows do not follow the training rows; empty if nothing is.
    label : str or None
        Which one of several series the rows belong to.
    """

    def __init__(
        self,
        model: TableModel,
        encoder: Any,
        file: TableFile,
        remarks: list[str],
        what: str,
        lost: str,
        label: str | None = None,
    ):
        self._clock, self._remarks = TrainingClock.read(model.clock_, label), remarks
        self._what, self._lost, self._whose = what, lost, "" if label is None else f"{quoted(label)}: "
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
    """Rows of one or several series, told apart by a column; parameters are as in ArrivingRows."""

    def __init__(self, model: TableModel, encoder: Any, file: TableFile, remarks: list[str], what: str, lost: str):
        check_has_group(model.group_, file)
        self._group, self._known = model.group_, model.labels
        self._arrival = partial(ArrivingRows, model, encoder, file, remarks, what, lost)
        self._arriving: dict[str | None, ArrivingRows] = {} if model.group_ is not None else {None: self._arrival()}
        self._timed = encoder if isinstance(encoder, TableEncoder) and encoder.time_ is not None else None

    @property
    def types(self) -> dict[str, Any]:
        """The columns of the time and of the series, as far as there are any, and their types."""
        times = {} if self._timed is None else self._timed.time_types
        return {**times, **({} if self._group is None else {self._group: "string"})}

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


@dataclass(frozen=True, eq=False)
class Batch:
    """Some rows of a table, encoded; methods take which of them are wanted, as a mask.

    ``table`` is the part of the Arrow table that they come from; a row that arrives alone has none.
    """

    model: TableModel
    X: np.ndarray
    table: Any = None

    def predict(self, rows: Any = slice(None)) -> np.ndarray:
        """Predictions, within the bounds of the model."""
        return self.model.bounded(self._predict(rows))

    def predict_interval(self, coverage: float, rows: Any = slice(None)) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper limits, within the bounds of the model."""
        lower, upper = self._limits(coverage, rows)
        return self.model.bounded(lower), self.model.bounded(upper)

    def _predict(self, rows: Any) -> np.ndarray:
        return np.asarray(self.estimator.predict(self.X[rows]))

    def _limits(self, coverage: float, rows: Any) -> tuple[np.ndarray, np.ndarray]:
        return interval_limits(self.estimator, self.X[rows], coverage, self.model.errors_)

    @property
    def estimator(self) -> Any:
        """The estimator of encoded rows."""
        return self.model.estimator_

    def predict_proba(self, rows: Any = slice(None)) -> np.ndarray:
        """The probabilities of classes."""
        return np.asarray(self.estimator.predict_proba(self.X[rows]))


def interval_limits(
    estimator: Any, X: np.ndarray, coverage: float, errors: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """The limits of intervals: those of the estimator, or predictions plus and minus a quantile of sorted errors."""
    if errors is None:
        lower, upper = estimator.predict_interval(X, coverage=coverage)
        return lower, upper
    check_coverage(coverage)
    predicted, rank = np.asarray(estimator.predict(X)), ceil(conformal_rank(len(errors), coverage))
    half = errors[min(max(rank, 1), len(errors)) - 1]
    never_negative = getattr(getattr(estimator, "network_", None), "never_negative", False)
    return np.where(never_negative, np.maximum(predicted - half, 0.0), predicted - half), predicted + half


@dataclass(frozen=True, eq=False)
class FollowingBatch(Batch):
    """Rows of a recurrent network, of one or several series, and the targets that become known after each of them."""

    y: np.ndarray | None = None
    parts: tuple[GroupRows, ...] = ()

    def _predict(self, rows: Any) -> np.ndarray:
        return np.asarray(predict_stretches(self.estimator, self.X, self.y, self.parts)[rows])

    def _limits(self, coverage: float, rows: Any) -> tuple[np.ndarray, np.ndarray]:
        lower, upper = limits_of_stretches(self.estimator, self.X, self.y, self.parts, coverage)
        return lower[rows], upper[rows]

    def state_after(self, part: GroupRows) -> ReservoirState:
        """The state after the rows of one of the series."""
        known = None if self.y is None else self.y[part.rows]
        return state_after(self.estimator, self.X[part.rows], known, part.state)


def check_one_sequence(estimator: ReservoirRegressor, group: str | None) -> None:
    """Raise ValueError for a model of several sequences that were not told apart by a column."""
    if group is None and len(estimator.states_) > 1:
        raise ValueError(
            f"The model was fitted on {len(estimator.states_)} sequences, which no column tells apart; use the "
            'estimator itself, or fit with group="COLUMN".'
        )


class _SeriesStates:
    """The states before the rows of a recurrent network: that at the end of training if they follow it, or a cold one.

    Parameters are as in ArrivingRows.
    """

    def __init__(self, model: TableModel, encoder: Any, file: TableFile, remarks: list[str]):
        estimator, target = model.estimator_, model.target_
        check_one_sequence(estimator, model.group_)
        lost = "the network starts from a cold state, and its first predictions are worse"
        self._model, self._estimator = model, estimator
        self._arriving = ArrivingSeries(model, encoder, file, remarks, "a recurrent network", lost)
        # What came last of each series.
        self._before: dict[Hashable, tuple[FollowingBatch, GroupRows]] = {}
        self._target = target if estimator.feedback and target is not None and target.name in file.names else None
        if estimator.feedback:
            remarks.append(self._about_targets(file, target))

    def _about_targets(self, file: TableFile, target: Target | None) -> str:
        name = "the target" if target is None else quoted(target.name)
        if self._target is not None:
            return f"Values of {name} are read from {file.label}; each is an input of the next row."
        return (
            f"{file.label} does not contain {name}: predictions come back in its place (a free run), and errors grow "
            "with each row."
        )

    @property
    def types(self) -> dict[str, Any]:
        """The columns to read in addition to those that are encoded, and their types."""
        return {**self._arriving.types, **({} if self._target is None else {self._target.name: self._target.read_type})}

    def batch(self, X: np.ndarray, table: Any) -> FollowingBatch:
        """The rows that come next."""
        y = None if self._target is None else targets_of(self._target, table)
        arrived = self._arriving.parts(table)
        parts = tuple(GroupRows(part.label, part.rows, self._state_before(part)) for part in arrived)
        batch = FollowingBatch(self._model, X, table, y, parts)
        self._before |= {part.label: (batch, part) for part in parts}
        return batch

    def _state_before(self, arrived: SeriesPart) -> Begin:
        if arrived.anew:
            return None
        if arrived.label in self._before:
            batch, part = self._before[arrived.label]
            return batch.state_after(part)
        return "end" if arrived.label is None else self._estimator.states_[arrived.label]

    def after(self) -> dict[Hashable, ReservoirState]:
        """The state after the rows so far, of each series that had some."""
        return {label: batch.state_after(part) for label, (batch, part) in self._before.items()}


class _EarlierValues:
    """The earlier values of encoded rows, which come some at a time and in order of time.

    Parameters are as in ArrivingRows. ``lags`` moves on with the rows; that of the model does not.
    """

    def __init__(self, model: TableModel, encoder: Any, file: TableFile, remarks: list[str]):
        lags = deepcopy(model.lags_)
        assert lags is not None, "the model has lags"
        self.lags = lags
        lost = f"earlier values of the first {count(lags.depth_, 'row')} are not known, and their predictions are worse"
        what = "a model with lags"
        self._arriving = ArrivingSeries(model, encoder, file, remarks, what, lost if lags.depth_ else "")
        self._target = model.target_ if lags.target is not None else None
        if lags.target is not None:
            remarks.append(self._about_targets(file))

    def _about_targets(self, file: TableFile) -> str:
        name = "the target" if self._target is None else quoted(self._target.name)
        if self._target is not None and self._target.name in file.names:
            late = count(self.lags.delay_ or 1, "row")
            return f"Earlier values of {name} are read from {file.label}; each is used from {late} later on."
        self._target = None
        return f"{file.label} does not contain {name}: its earlier values are those known at the end of training."

    @property
    def types(self) -> dict[str, Any]:
        """The columns to read in addition to those that are encoded, and their types."""
        return {**self._arriving.types, **({} if self._target is None else {self._target.name: self._target.read_type})}

    def extended(self, X: np.ndarray, table: Any) -> np.ndarray:
        """Encoded rows with earlier values."""
        anew = [part.label for part in self._arriving.parts(table) if part.anew]
        if anew:
            self.lags.restart(None if anew == [None] else anew)
        targets = None if self._target is None else targets_of(self._target, table)
        groups = self._arriving.labels(table)
        result = self.lags.transform(X, groups=groups, targets=targets)
        self.lags.advance(X, groups=groups, targets=targets)
        return result


class RowReader:
    """The rows of a table as a fitted model reads them: iterating gives encoded rows, some at a time.

    Parameters
    ----------
    model : TableModel
        Fitted; it stays as it is.
    file : TableFile
    extra : dict
        Columns to read besides those that the model needs, and their types.
    without : tuple of str
        Columns that are no inputs of a model that does not name its inputs.

    Attributes
    ----------
    remarks : list of str
        Remarks on the order of the rows, and on what is missing in them; complete after the last row.
    outside : Outside
        The inputs outside the training range so far.
    n_rows : int
        How many rows there were.
    clock : dict or None
        The clock of the model after these rows.
    """

    def __init__(self, model: TableModel, file: TableFile, extra: dict[str, Any], without: tuple[str, ...] = ()):
        self.model, self.file, self.remarks, self.n_rows = model, file, list[str](), 0
        self.encoder = model.columns(file, without)
        self.outside, self.clock = self.encoder.looking_outside(), model.clock_
        about = model, self.encoder, file, self.remarks
        self._earlier = None if model.lags_ is None else _EarlierValues(*about)
        self._states = _SeriesStates(*about) if is_recurrent(model.estimator_) else None
        own = self._earlier or self._states
        self._types = {**extra, **({} if own is None else own.types), **self.encoder.read_types}

    def __iter__(self) -> Iterator[Batch]:
        encoder = self.encoder
        rows = max(1, ENCODED_AT_A_TIME // max(1, _width(self.model.estimator_)))
        for table in self.file.batches(self._types, missing=encoder.placeholders_):
            for start in range(0, len(table), rows):
                part = table.slice(start, rows)
                X = encoder.transform(part)
                X = X if self._earlier is None else self._earlier.extended(X, part)
                batch = Batch(self.model, X, part) if self._states is None else self._states.batch(X, part)
                self.n_rows += len(part)
                yield batch
                self._keep_time(part)

    def _keep_time(self, table: pa.Table) -> None:
        """Let the clock go on to the last of these rows."""
        if self._earlier is None and self._states is None:
            return
        if isinstance(self.encoder, TableEncoder) and self.encoder.time_ is not None:
            group = self.model.group_
            labels = None if group is None else labels_of(group, table)
            self.clock = clock_after(self.clock, self.encoder.row_times(table), labels)

    @property
    def lags(self) -> Lags | None:
        """The lags after the rows so far; None if the model has none."""
        return None if self._earlier is None else self._earlier.lags

    def notes(self) -> list[str]:
        """Remarks on all rows that were read, and on inputs that are missing or outside the training range."""
        return [*self.remarks, *self.outside.missing_sentences(), *outside_sentences(self.outside.found())]


class TargetRows(NamedTuple):
    """The rows of a batch that have a target: which ones they are, their targets, and their numbers in the file."""

    batch: Batch
    present: np.ndarray
    y: np.ndarray
    numbers: np.ndarray


class SupervisedReader(RowReader):
    """The rows of a table that have a target.

    Parameters
    ----------
    model, file, extra
        As in RowReader.
    target : Target
    whole : bool
        Whether rows without a target are needed as well.

    Attributes
    ----------
    missing : int
        How many rows had none.
    sketch : RowSketch
        Of the rows that had one.
    """

    def __init__(
        self,
        model: TableModel,
        file: TableFile,
        target: Target,
        extra: dict[str, Any] | None = None,
        *,
        whole: bool = False,
    ):
        super().__init__(model, file, {target.name: target.read_type, **(extra or {})}, without=(target.name,))
        self.target, self.missing, self.sketch, self._whole = target, 0, RowSketch(), whole

    def parts(self) -> Iterator[TargetRows]:
        """The rows that have a target, some at a time; ValueError at the end if there are none.

        With ``whole``, parts without any are given too.
        """
        start = 1
        for batch in self:
            y, present = self.target.values(batch.table.column(self.target.name))
            present = np.asarray(present)
            self.missing += len(present) - len(y)
            numbers = start + np.flatnonzero(present)
            start += len(present)
            if len(y):
                self.outside.add(batch.X[present], batch.table.filter(present))
                self.sketch.add(batch.X[present], y)
            if len(y) or self._whole:
                yield TargetRows(batch, present, y, numbers)
        if not self.sketch.rows:
            raise ValueError(f"{self.file.label} has no row with a value of {quoted(self.target.name)}.")


def _width(estimator: Any) -> int:
    """How many numbers a row becomes: its inputs, or the columns of a reservoir."""
    if is_recurrent(estimator):
        return len(estimator.reservoir_.output_weights)
    return int(estimator.n_features_in_)
