"""``skscn forecast``: the rows that follow the training rows, from a model whose predictions come back as inputs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from skscn.cli._arguments import open_data
from skscn.cli._arriving import ArrivingRows
from skscn.cli._batches import check_one_sequence
from skscn.cli._clock import TrainingClock
from skscn.cli._groups import check_has_group, check_known, labels_of
from skscn.cli._models import Model, open_model
from skscn.cli._outputs import TABLE_ENDINGS, check_output
from skscn.cli._table_output import table_writer
from skscn.cli._voice import Voice
from skscn.following import is_recurrent
from skscn.readers.arrow import arrow
from skscn.recurrent import RecurrentSCNRegressor
from skscn.tables import TableEncoder, TableFile, outside_sentences
from skscn.words import count, listed, quoted

_OUTPUTS = ("prediction", "lower", "upper")


def run_forecast(
    model_path: Path, steps: int | None, inputs: Path | None, out: Path | None, coverage: float | None, voice: Voice
) -> None:
    """Forecast the rows that follow the end of training, and write them."""
    if out is not None:
        check_output(out, [model_path, *([] if inputs is None else [inputs])], TABLE_ENDINGS)
    model = open_model(model_path)
    _check_feedback(model)
    ahead = _rows_ahead(model, steps) if inputs is None else _rows_of_file(model, open_data(inputs), steps)
    time = _time_of(model)
    tables = [
        arrow().table({**_group(model, rows), **rows.times(time), **_forecast(model.estimator, rows, coverage)})
        for rows in ahead
    ]
    n_rows = sum(map(len, tables))
    with table_writer(out) as write:
        for table in tables:
            write(table)
    voice.notes(list(dict.fromkeys(model.remarks)))
    if out is not None:
        voice.note(f"Wrote {count(n_rows, 'forecast')} to {out}.")
    if voice.as_json:
        facts = {"model": str(model_path), "steps": n_rows, "out": str(out), "coverage": coverage, "time": time}
        (written_times,) = ahead[-1].times(time).values()
        ends = {"first": str(written_times[0]), "last": str(written_times[-1])}
        groups = {} if model.group is None else {"groups": [rows.label for rows in ahead]}
        voice.result({**facts, **ends, **groups, "notes": list(dict.fromkeys(model.remarks))}, [])


def _group(model: Model, rows: RowsAhead) -> dict[str, Any]:
    """The column that says which of several series is forecast."""
    if model.group is None:
        return {}
    name = f"{model.group} (group)" if model.group in (*_OUTPUTS, _time_of(model)) else model.group
    return {name: arrow().array([rows.label] * len(rows.X))}


def _forecast(estimator: RecurrentSCNRegressor, rows: RowsAhead, coverage: float | None) -> dict[str, np.ndarray]:
    """The columns of the forecast, and of its intervals if there are to be any."""
    inputs, group, n_rows = rows.X if rows.X.shape[1] else None, rows.label, len(rows.X)
    columns = [estimator.forecast(n_rows, inputs, group=group)]
    if coverage is not None:
        limits = estimator.forecast_interval(n_rows, inputs, group=group, coverage=coverage)
        if np.isnan(limits).any():
            raise ValueError(
                "The model has no forecast intervals, because too few targets are known in its training rows; leave "
                "--interval out."
            )
        columns += limits
    return dict(zip(_OUTPUTS, columns, strict=False))


def _check_feedback(model: Model) -> None:
    """Raise ValueError for a model that cannot forecast."""
    if not is_recurrent(model.estimator) or not model.estimator.feedback:
        raise ValueError(
            f"{model.path.name} predicts rows from their inputs and cannot run ahead of them; to forecast, fit a model "
            "with --estimator recurrent --feedback, or use skscn predict with the inputs of later rows."
        )
    check_one_sequence(model.estimator, model.group)
    if model.encoder is None and model.estimator.n_features_in_:
        raise ValueError(f"{model.path.name} does not name its inputs; use its method forecast in Python.")


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


def _rows_ahead(model: Model, steps: int | None) -> list[RowsAhead]:
    """Rows whose inputs are known ahead: the place of their time in the day, the week and the year, or none."""
    time = _time_of(model)
    needed = [] if model.encoder is None else [name for name in model.encoder.read_types if name != time]
    if needed:
        raise ValueError(
            f"The forecast needs the values of {listed(map(quoted, needed))} in the rows that follow; put them into a "
            "table and add --inputs TABLE."
        )
    if steps is None:
        raise ValueError("Say how many rows to forecast, for example --steps 96.")
    return [_going_on(model, steps, label) for label in _labels(model)]


def _labels(model: Model) -> list[Any]:
    """The labels of all series; None if there is only one."""
    return [None] if model.group is None else list(model.estimator.states_)


def _going_on(model: Model, steps: int, label: str | None) -> RowsAhead:
    """The rows that follow the last one of a series, without inputs of their own."""
    clock, time = TrainingClock.read(model.notes.get("clock"), label), _time_of(model)
    moments = None if time is None or np.isnat(clock.last) else clock.ahead(steps)
    if not isinstance(model.encoder, TableEncoder) or moments is None:
        return RowsAhead(np.empty((steps, 0)), moments, label, clock)
    model.remarks.append(f"{time} goes on from the end of training ({clock.written(clock.last)}) {clock.pace}.")
    return RowsAhead(model.encoder.transform(arrow().table({str(time): moments})), moments, label, clock)


def _rows_of_file(model: Model, file: TableFile, steps: int | None) -> list[RowsAhead]:
    """The rows of a table, which must be those that follow the training rows."""
    encoder, group = model.columns(file), model.group
    check_has_group(group, file)
    times = encoder.time_types if isinstance(encoder, TableEncoder) and encoder.time_ is not None else {}
    types = {**encoder.read_types, **times, **({} if group is None else {group: arrow().string()})}
    tables = list(file.batches(types, missing=encoder.placeholders_))
    table = arrow().concat_tables(tables) if tables else None
    if table is None or group is None:
        return [_given_rows(model, encoder, file, table, steps)]
    labels = labels_of(group, table)
    check_known(group, labels, model.estimator.states_)
    return [
        _given_rows(model, encoder, file, table.take(np.flatnonzero(labels == label)), steps, label)
        for label in np.unique(labels).tolist()
    ]


def _given_rows(
    model: Model, encoder: Any, file: TableFile, table: Any, steps: int | None, label: str | None = None
) -> RowsAhead:
    """The first rows of a table, of one series; ValueError if they do not follow the training rows or are too few."""
    clock = TrainingClock.read(model.notes.get("clock"), label)
    arriving = ArrivingRows(encoder, model.notes.get("clock"), file, [], "a forecast", "-", label)
    if table is not None and arriving.begin_anew(table):
        raise ValueError(
            f"The first row of {file.label} does not follow the end of training ({clock.written(clock.last)}), as a "
            "forecast needs it."
        )
    n_rows = 0 if table is None else len(table)
    if not n_rows or (steps is not None and n_rows < steps):
        asked = "there are none to forecast" if steps is None else f"--steps asks for {steps}"
        whose = "" if label is None else f" of {quoted(label)}"
        raise ValueError(f"{file.label} has {count(n_rows, 'row')} of inputs{whose}, and {asked}; add rows to it.")
    table = table if steps is None else table.slice(0, steps)
    X = encoder.transform(table)
    outside = encoder.looking_outside()
    outside.add(X, table)
    model.remarks.extend([*outside.missing_sentences(), *outside_sentences(outside.found())])
    timed = isinstance(encoder, TableEncoder) and encoder.time_
    return RowsAhead(X, encoder.row_times(table) if timed else None, label, clock)


def _time_of(model: Model) -> str | None:
    return model.encoder.time_ if isinstance(model.encoder, TableEncoder) else None
