"""``skscn fit`` on a table larger than memory: read chunk by chunk, with columns learnt from its first rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from skscn.cli._choosing import build_estimator, check_loss
from skscn.cli._fit_options import FitOptions, FitSettings
from skscn.cli._fit_summary import describe_columns
from skscn.cli._fitted import Fitted, path_to_write, save_fitted
from skscn.cli._growth import growing
from skscn.cli._networks import are_whole
from skscn.cli._seen import RowSketch
from skscn.cli._series import Series, find_series
from skscn.cli._training_rows import row_weights
from skscn.cli._voice import Voice, size
from skscn.losses import OUTLIER, are_counts
from skscn.rows import Chunks
from skscn.tables import TableEncoder, TableFile, Target, learn_target
from skscn.tables.columns import Number
from skscn.words import shortened

_SORT_FIRST = "sort the file by {time} first, raise --memory-limit, or use --shuffle if the order does not matter."


def fit_from_disk(
    file: TableFile, inputs: list[str], settings: FitSettings, options: FitOptions, limit: int, voice: Voice
) -> Fitted:
    """Train on the file chunk by chunk and write the model; it is not tested."""
    if options.lags is not None:
        raise ValueError(
            f"{file.label} is too large ({size(file.size)}) for --lags, which needs the table in memory; raise "
            "--memory-limit, or leave --lags out."
        )
    if options.group is not None:
        raise ValueError(
            f"{file.label} is too large ({size(file.size)}) for --group, which needs the table in memory; raise "
            "--memory-limit, or leave --group out."
        )
    if options.recurrent:
        raise ValueError(
            f"{file.label} is too large ({size(file.size)}) for a recurrent network, which is grown in memory; raise "
            "--memory-limit, or use --estimator network."
        )
    if options.estimator == "ensemble":
        raise ValueError(
            f"{file.label} is too large ({size(file.size)}) for an ensemble, which is grown in memory; "
            "use --estimator network, or raise --memory-limit."
        )
    head = file.head([*inputs, *options.target_and_weight], exact=options.exact)
    voice.note(
        f"{file.label} ({size(file.size)}) is read from disk in chunks; its first rows decide how columns are encoded."
    )
    column = head.column(options.target)
    target, reason = learn_target(options.target, column, options.task)
    check_loss(settings, target)
    series = find_series(head, inputs, options.time, options.shuffle, dates=settings.dates, tested=False)
    _check_in_order(series, file)
    encoder = TableEncoder(**settings.encoder, time=series.time).fit(head.select(inputs))
    voice.notes(series.notes)
    voice.note(f"{shortened(target.name)}: {target.task} ({reason}), {describe_columns(encoder)}.")
    voice.notes(encoder.notes_)
    if target.task == "regression" and "loss" not in settings.network and are_counts(target.values(column)[0]):
        voice.note(f"{shortened(target.name)} looks like counts; --loss poisson is made for them.")
    passes: list[RowSketch] = []
    chunks = Chunks(lambda: _chunks(file, encoder, target, options.weight, passes), memory_limit=limit)
    estimator = build_estimator(target.task, "network", settings, series, options)
    with growing(voice.errors, 1) as growth:
        growth.begin("Growing", estimator)
        estimator.fit(chunks)
        cut_short = growth.interrupted and not are_whole(estimator)
        path = path_to_write(options.model, cut_short)
        # Some passes end early.
        sketch = max(passes, key=lambda one: one.rows)
        fitted = Fitted(encoder, estimator, target, chunks.n_rows or 0, cut_short, path, sketch=sketch)
        if hasattr(estimator, "row_weights_"):
            weightless = 0 if options.weight is None else _weightless(file, encoder, target, options.weight)
            fitted.n_outliers = int(np.count_nonzero(estimator.row_weights_ < OUTLIER)) - weightless
        save_fitted(fitted, options)
    voice.note("The model was not tested; keep some rows in another file and use skscn evaluate to test it on them.")
    return fitted


def _chunks(
    file: TableFile, encoder: TableEncoder, target: Target, weight: str | None, passes: list[RowSketch]
) -> Iterator[tuple[np.ndarray, np.ndarray] | tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Encoded rows; the encoder gets to know their ranges, and each pass leaves a sketch of them."""
    sketch = RowSketch()
    passes.append(sketch)
    types = {target.name: target.read_type, **encoder.read_types, **encoder.time_types}
    latest: np.datetime64 = np.datetime64("NaT")
    if weight is not None:
        types[weight] = Number(weight, 0.0, False).read_type
    for table in file.batches(types, missing=encoder.placeholders_):
        latest = _check_later(encoder, table, latest)
        y, present = target.values(table.column(target.name))
        if len(y):
            X = encoder.transform(table.filter(present))
            encoder.widen(X)
            sketch.add(X, y)
            yield (X, y) if weight is None else (X, y, row_weights(weight, table)[present])


def _weightless(file: TableFile, encoder: TableEncoder, target: Target, weight: str) -> int:
    """How many rows have a sample weight of 0, which no loss weighs."""
    return sum(int(np.count_nonzero(chunk[-1] == 0)) for chunk in _chunks(file, encoder, target, weight, []))


def _check_in_order(series: Series, file: TableFile) -> None:
    """Rows on disk are read in their order; those of a series must be in order of time."""
    if series.order is not None:
        raise ValueError(
            f"{file.path.name} is read from disk and is not sorted: {_SORT_FIRST.format(time=series.time)}"
        )


def _check_later(encoder: TableEncoder, table: Any, latest: np.datetime64) -> np.datetime64:
    """The time of the newest row so far; a batch of earlier rows is refused."""
    if encoder.time_ is None:
        return latest
    times = encoder.row_times(table)
    times = times[~np.isnat(times)]
    # A clock that was put back may be an hour or so behind.
    if len(times) and times[0] < latest - np.timedelta64(1, "D"):
        raise ValueError(
            f"Rows with {encoder.time_} = {times[0]} come after rows with {latest}: "
            f"{_SORT_FIRST.format(time=encoder.time_)}"
        )
    return np.fmax(latest, times.max()) if len(times) else latest
