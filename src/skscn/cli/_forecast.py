"""``skscn forecast``: the rows that follow the training rows, from a model whose predictions come back as inputs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from skscn.cli._arriving import ArrivingRows
from skscn.cli._batches import check_one_sequence
from skscn.cli._clock import TrainingClock, written
from skscn.cli._models import Model, open_data, open_model
from skscn.cli._outputs import check_output
from skscn.cli._table_output import ENDINGS, table_writer
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
        check_output(out, [model_path, *([] if inputs is None else [inputs])], ENDINGS)
    model = open_model(model_path)
    _check_feedback(model)
    clock = TrainingClock.read(model.notes.get("clock"))
    if inputs is None:
        ahead = _rows_ahead(model, clock, steps)
    else:
        ahead = _rows_of_file(model, clock, open_data(inputs), steps)
    n_rows, time = len(ahead.X), _time_of(model)
    times = ahead.times(time)
    with table_writer(out) as write:
        write(arrow().table({**times, **_forecast(model.estimator, ahead.X, coverage)}))
    voice.notes(model.remarks)
    if out is not None:
        voice.note(f"Wrote {count(n_rows, 'forecast')} to {out}.")
    if voice.as_json:
        facts = {"model": str(model_path), "steps": n_rows, "out": str(out), "coverage": coverage, "time": time}
        (written_times,) = times.values()
        ends = {"first": str(written_times[0]), "last": str(written_times[-1])}
        voice.result({**facts, **ends, "notes": model.remarks}, [])


def _forecast(estimator: RecurrentSCNRegressor, X: np.ndarray, coverage: float | None) -> dict[str, np.ndarray]:
    """The columns of the forecast, and of its intervals if there are to be any."""
    inputs = X if X.shape[1] else None
    columns = [estimator.forecast(len(X), inputs)]
    if coverage is not None:
        limits = estimator.forecast_interval(len(X), inputs, coverage=coverage)
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
    check_one_sequence(model.estimator)
    if model.encoder is None and model.estimator.n_features_in_:
        raise ValueError(f"{model.path.name} does not name its inputs; use its method forecast in Python.")


@dataclass(frozen=True, eq=False)
class RowsAhead:
    """The rows to forecast: their encoded inputs, and their times; None if the times of training are not known."""

    X: np.ndarray
    moments: np.ndarray | None

    def times(self, name: str | None) -> dict[str, Any]:
        """The column of the times, or of the numbers of the rows."""
        if self.moments is None or name is None:
            return {"row": np.arange(1, len(self.X) + 1)}
        name = f"{name} (time)" if name in _OUTPUTS else name
        return {name: arrow().array([written(moment) for moment in self.moments])}


def _rows_ahead(model: Model, clock: TrainingClock, steps: int | None) -> RowsAhead:
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
    moments = None if time is None or np.isnat(clock.last) else clock.ahead(steps)
    if not isinstance(model.encoder, TableEncoder) or moments is None:
        return RowsAhead(np.empty((steps, 0)), moments)
    model.remarks.append(f"{time} goes on from the end of training ({written(clock.last)}) {clock.pace}.")
    return RowsAhead(model.encoder.transform(arrow().table({str(time): moments})), moments)


def _rows_of_file(model: Model, clock: TrainingClock, file: TableFile, steps: int | None) -> RowsAhead:
    """The rows of a table, which must be those that follow the training rows."""
    encoder = model.columns(file)
    arriving = ArrivingRows(encoder, model.notes.get("clock"), file, [], "a forecast", "-")
    types = {**encoder.read_types, **arriving.types}
    tables, missing = [], steps
    for table in file.batches(types):
        if arriving.begin_anew(table):
            raise ValueError(
                f"The first row of {file.label} does not follow the end of training ({written(clock.last)}), as a "
                "forecast needs it."
            )
        tables.append(table if missing is None else table.slice(0, missing))
        missing = None if missing is None else missing - len(tables[-1])
    table = arrow().concat_tables(tables) if tables else None
    n_rows = 0 if table is None else len(table)
    if not n_rows or missing:
        asked = "there are none to forecast" if steps is None else f"--steps asks for {steps}"
        raise ValueError(f"{file.label} has {count(n_rows, 'row')} of inputs, and {asked}; add rows to it.")
    X = encoder.transform(table)
    outside = encoder.looking_outside()
    outside.add(X, table)
    model.remarks.extend(outside_sentences(outside.found()))
    return RowsAhead(X, encoder.row_times(table) if isinstance(encoder, TableEncoder) and encoder.time_ else None)


def _time_of(model: Model) -> str | None:
    return model.encoder.time_ if isinstance(model.encoder, TableEncoder) else None
