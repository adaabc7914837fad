"""Forecasts of the rows that follow the training rows, by a model whose predictions come back as inputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from skscn.following import is_recurrent
from skscn.readers.arrow import arrow
from skscn.table_model.arriving import ArrivingRows, check_one_sequence
from skscn.table_model.clock import TrainingClock
from skscn.table_model.series import check_has_group, check_known, labels_of
from skscn.tables import TableEncoder, TableFile, outside_sentences
from skscn.words import count, listed, quoted

if TYPE_CHECKING:
    import pyarrow as pa

    from skscn.table_model.model import TableModel

_OUTPUTS = ("prediction", "lower", "upper")


class Forecast(NamedTuple):
    """A table of forecasts, remarks on its rows, the series in it, and the name of its column of times."""

    table: pa.Table
    remarks: list[str]
    labels: list[str | None]
    time: str | None


@dataclass(frozen=True, eq=False)
class RowsAhead:
    """The rows to forecast: their encoded inputs, and their times; None if the times of training are not known.

    ``label`` says which of several series they belong to.
    """

    X: np.ndarray
    moments: np.ndarray | None
    label: str | None
    clock: TrainingClock

    def times(self, name: str | None) -> dict[str, Any]:
        """The column of the times, or of the numbers of the rows."""
        if self.moments is None or name is None:
            return {"row": np.arange(1, len(self.X) + 1)}
        name = f"{name} (time)" if name in _OUTPUTS else name
        return {name: arrow().array([self.clock.written(moment) for moment in self.moments])}


def forecast(model: TableModel, steps: int | None, inputs: TableFile | None, coverage: float | None) -> Forecast:
    """Forecast the rows that follow the end of training, from their inputs if the model has any."""
    _check_feedback(model)
    remarks: list[str] = []
    ahead = _rows_ahead(model, steps, remarks) if inputs is None else _rows_of(model, inputs, steps, remarks)
    time = _time_of(model)
    tables = [
        arrow().table({**_group(model, rows), **rows.times(time), **_columns(model, rows, coverage)}) for rows in ahead
    ]
    table = arrow().concat_tables(tables)
    return Forecast(table, list(dict.fromkeys(remarks)), [rows.label for rows in ahead], time)


def _check_feedback(model: TableModel) -> None:
    """Raise ValueError for a model that cannot forecast."""
    if not is_recurrent(model.estimator_) or not model.knows_targets:
        raise ValueError(
            f"{model.subject} predicts rows from their inputs and cannot run ahead of them; to forecast, fit a model "
            'with estimator="recurrent" and feedback=True, or predict a table with the inputs of later rows.'
        )
    check_one_sequence(model.estimator_, model.group_)
    if model.encoder_ is None and model.estimator_.n_features_in_:
        raise ValueError(f"{model.subject} does not name its inputs; use the method forecast of its estimator.")


def _group(model: TableModel, rows: RowsAhead) -> dict[str, Any]:
    """The column that says which of several series is forecast."""
    if model.group_ is None:
        return {}
    name = f"{model.group_} (group)" if model.group_ in (*_OUTPUTS, _time_of(model)) else model.group_
    return {name: arrow().array([rows.label] * len(rows.X))}


def _columns(model: TableModel, rows: RowsAhead, coverage: float | None) -> dict[str, np.ndarray]:
    """The columns of the forecast, and of its intervals if there are to be any."""
    estimator, inputs, n_rows = model.estimator_, rows.X if rows.X.shape[1] else None, len(rows.X)
    columns = [estimator.forecast(n_rows, inputs, group=rows.label)]
    if coverage is not None:
        limits = estimator.forecast_interval(n_rows, inputs, group=rows.label, coverage=coverage)
        if np.isnan(limits).any():
            raise ValueError(
                "The model has no forecast intervals, because too few targets are known in its training rows; leave "
                "them out."
            )
        columns += limits
    return dict(zip(_OUTPUTS, map(model.bounded, columns), strict=False))


def _rows_ahead(model: TableModel, steps: int | None, remarks: list[str]) -> list[RowsAhead]:
    """Rows whose inputs are known ahead: the place of their time in the day, the week and the year, or none."""
    time = _time_of(model)
    needed = [] if model.encoder_ is None else [name for name in model.encoder_.read_types if name != time]
    if needed:
        raise ValueError(
            f"The forecast needs the values of {listed(map(quoted, needed))} in the rows that follow; give a table of "
            "them as inputs."
        )
    if steps is None:
        raise ValueError("Say how many rows to forecast, for example steps=96.")
    labels = [None] if model.group_ is None else list(model.estimator_.states_)
    return [_going_on(model, steps, label, remarks) for label in labels]


def _going_on(model: TableModel, steps: int, label: str | None, remarks: list[str]) -> RowsAhead:
    """The rows that follow the last one of a series, without inputs of their own."""
    clock, time = TrainingClock.read(model.clock_, label), _time_of(model)
    moments = None if time is None or np.isnat(clock.last) else clock.ahead(steps)
    if not isinstance(model.encoder_, TableEncoder) or moments is None:
        return RowsAhead(np.empty((steps, 0)), moments, label, clock)
    remarks.append(f"{time} goes on from the end of training ({clock.written(clock.last)}) {clock.pace}.")
    return RowsAhead(model.encoder_.transform(arrow().table({str(time): moments})), moments, label, clock)


def _rows_of(model: TableModel, file: TableFile, steps: int | None, remarks: list[str]) -> list[RowsAhead]:
    """The rows of a table, which must be those that follow the training rows."""
    encoder, group = model.columns(file), model.group_
    check_has_group(group, file)
    times = encoder.time_types if isinstance(encoder, TableEncoder) and encoder.time_ is not None else {}
    types = {**encoder.read_types, **times, **({} if group is None else {group: "string"})}
    tables = list(file.batches(types, missing=encoder.placeholders_))
    table = arrow().concat_tables(tables) if tables else None
    if table is None or group is None:
        return [_given_rows(model, file, table, steps, None, remarks)]
    labels = labels_of(group, table)
    check_known(group, labels, model.estimator_.states_)
    places = {label: np.flatnonzero(labels == label) for label in np.unique(labels).tolist()}
    return [_given_rows(model, file, table.take(rows), steps, label, remarks) for label, rows in places.items()]


def _given_rows(
    model: TableModel, file: TableFile, table: Any, steps: int | None, label: str | None, remarks: list[str]
) -> RowsAhead:
    """The first rows of a table, of one series; ValueError if they do not follow the training rows or are too few."""
    encoder: Any = model.columns(file)
    clock = TrainingClock.read(model.clock_, label)
    arriving = ArrivingRows(model, encoder, file, [], "a forecast", "-", label)
    if table is not None and arriving.begin_anew(table):
        raise ValueError(
            f"The first row of {file.label} does not follow the end of training ({clock.written(clock.last)}), as a "
            "forecast needs it."
        )
    n_rows = 0 if table is None else len(table)
    if not n_rows or (steps is not None and n_rows < steps):
        asked = "there are none to forecast" if steps is None else f"steps={steps} asks for more"
        whose = "" if label is None else f" of {quoted(label)}"
        raise ValueError(f"{file.label} has {count(n_rows, 'row')} of inputs{whose}, and {asked}; add rows to it.")
    table = table if steps is None else table.slice(0, steps)
    X = encoder.transform(table)
    outside = encoder.looking_outside()
    outside.add(X, table)
    remarks += [*outside.missing_sentences(), *outside_sentences(outside.found())]
    timed = isinstance(encoder, TableEncoder) and encoder.time_ is not None
    return RowsAhead(X, encoder.row_times(table) if timed else None, label, clock)


def _time_of(model: TableModel) -> str | None:
    return model.encoder_.time_ if isinstance(model.encoder_, TableEncoder) else None
