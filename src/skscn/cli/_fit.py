"""``skscn fit``: from a file with a table to a file with a model."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import typer
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from skscn.cli._growth import Growth, growing
from skscn.cli._models import data_name, open_data
from skscn.cli._outputs import check_output
from skscn.cli._seen import RowSketch
from skscn.cli._series import Series, find_series
from skscn.cli._settings import parse_settings
from skscn.cli._testing import Folds, TableRows, cross_validate, split, split_series
from skscn.cli._validated import Validated, describe_outliers
from skscn.cli._voice import Voice, count, size
from skscn.estimators import SCNClassifier, SCNEnsembleClassifier, SCNEnsembleRegressor, SCNRegressor
from skscn.persistence import save_model
from skscn.rows import Chunks
from skscn.rows.sources import default_memory_limit
from skscn.tables import TableEncoder, TableFile, Target, learn_target
from skscn.tables.columns import Number, describe_type, is_number
from skscn.words import listed, quoted, shortened

# Tables of up to this many numbers get an ensemble, and are tested on all parts of a cross-validation, unless the user
# says otherwise: a few minutes on one processor.
_ENSEMBLE_NUMBERS = 500_000
_CROSS_VALIDATED_NUMBERS = 200_000
_FOLDS = 5
_FEWEST_ROWS = 10
# How much of the memory that fits may take the table itself may be, with its encoded copy and the basis to come.
_SHARE_OF_TABLE = 0.25
_SORT_FIRST = "sort the file by {time} first, raise --memory-limit, or use --shuffle if the order does not matter."
_NETWORKS = {"regression": SCNRegressor, "classification": SCNClassifier}
_ENSEMBLES = {"regression": SCNEnsembleRegressor, "classification": SCNEnsembleClassifier}


@dataclass(frozen=True)
class FitOptions:
    """The arguments and options of the command line."""

    data: Path
    target: str
    model: Path
    task: str
    estimator: str
    settings: list[str]
    cv: int | None
    seed: int
    jobs: int
    drop: list[str]
    weight: str | None
    time: str | None
    shuffle: bool
    memory_limit: int | None
    dates: str = "auto"


@dataclass(frozen=True)
class FitSettings:
    """Parameters that the user set, by what they belong to."""

    encoder: dict[str, Any]
    ensemble: dict[str, Any]
    network: dict[str, Any]


@dataclass
class Fitted:
    """What came of it."""

    encoder: TableEncoder
    estimator: BaseEstimator
    target: Target
    n_rows: int
    interrupted: bool
    path: Path
    tests_interrupted: bool = False
    validated: Validated | None = None
    sketch: RowSketch | None = None
    warnings: list[str] = field(default_factory=list)


def run_fit(options: FitOptions, voice: Voice) -> None:
    """Fit, save, test and tell."""
    started = time.perf_counter()
    settings = _settings(options)
    check_output(options.model, [options.data])
    try:
        fitted = _fit(settings, options, voice)
    except KeyboardInterrupt:
        raise KeyboardInterrupt("nothing had finished, so no model was written") from None
    try:
        _save(fitted, options)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"{fitted.path} contains the model, without the results of its tests") from None
    voice.result(*_summary(fitted, time.perf_counter() - started))
    voice.notes(_limited(fitted.estimator))
    if fitted.interrupted or fitted.tests_interrupted:
        holds = "what had been trained" if fitted.interrupted else "the whole model; only its tests were cut short"
        kept = f"; {options.model} is unchanged" if fitted.path != options.model else ""
        voice.note(f"Interrupted: {fitted.path} contains {holds}{kept}.")
        raise typer.Exit(130)


def _fit(settings: FitSettings, options: FitOptions, voice: Voice) -> Fitted:
    file = open_data(options.data)
    inputs = _inputs(file, options)
    voice.notes(file.notes)
    limit = default_memory_limit() if options.memory_limit is None else options.memory_limit
    if file.size <= _SHARE_OF_TABLE * limit:
        return _fit_in_memory(file, inputs, settings, options, voice)
    return _fit_from_disk(file, inputs, settings, options, limit, voice)


def _inputs(file: TableFile, options: FitOptions) -> list[str]:
    """The columns to learn from."""
    apart = [options.target, *options.drop, *([] if options.weight is None else [options.weight])]
    for name in [*apart, *([] if options.time is None else [options.time])]:
        file.find(name)
    if options.time in apart:
        raise ValueError(
            f"{options.time!r} cannot be the time of the rows if it is the target, the weights or a dropped column; "
            "name another column."
        )
    if options.target in apart[1:]:
        raise ValueError(f"{quoted(options.target)} is the target; it cannot also be dropped or contain the weights.")
    inputs = [name for name in file.names if name not in set(apart)]
    if not inputs:
        raise ValueError(
            f"{file.label} has no column to predict {quoted(options.target)} from; its columns are "
            f"{listed(file.names)}."
        )
    return inputs


def _series(table, inputs: list[str], settings: FitSettings, options: FitOptions, tested: bool) -> Series:
    dates = settings.encoder.get("dates", "auto")
    return find_series(table, inputs, options.time, options.shuffle, dates=dates, tested=tested)


# ---- in memory


def _fit_in_memory(
    file: TableFile, inputs: list[str], settings: FitSettings, options: FitOptions, voice: Voice
) -> Fitted:
    table = file.read([*inputs, *_apart(options)], exact=[options.target])
    if len(table) < _FEWEST_ROWS:
        raise ValueError(f"{file.label} has {count(len(table), 'row')}; training needs at least {_FEWEST_ROWS}.")
    target, reason = learn_target(options.target, table.column(options.target), options.task)
    series = _series(table, inputs, settings, options, tested=options.cv is None or options.cv > 1)
    rows = _complete(table, inputs, target, series, options, voice)
    encoder = TableEncoder(**settings.encoder, time=series.time).fit(rows.table)
    voice.notes(series.notes)
    voice.note(
        f"{shortened(target.name)}: {target.task} ({reason}), {count(len(rows.y), 'row')}, {_described(encoder)}."
    )
    voice.notes(encoder.notes_)
    X = encoder.transform(rows.table)
    ensemble, why = _choose(options.estimator, X.size)
    estimator = _estimator(target.task, ensemble, settings, series, options)
    voice.note(f"Training {type(estimator).__name__} ({why}).")
    # The processes are for members; a network has threads.
    with growing(voice.errors, options.jobs if ensemble else 1) as growth:
        growth.begin("Growing", estimator)
        estimator.fit(X, rows.y, sample_weight=rows.sample_weight)
        cut_short = growth.interrupted and not _is_whole(estimator)
        path = _place(options.model, cut_short)
        fitted = Fitted(encoder, estimator, target, len(rows.y), cut_short, path, tests_interrupted=growth.interrupted)
        fitted.sketch = RowSketch().add(X, rows.y)
        _save(fitted, options)
        if not growth.interrupted:
            every_part = options.cv is not None or X.size <= _CROSS_VALIDATED_NUMBERS
            parts = split if series.time is None else split_series
            _test(
                fitted,
                rows,
                parts(rows.y, target.task, _FOLDS if options.cv is None else options.cv, every_part),
                growth,
            )
    fitted.warnings = [*series.warnings, *_warnings(fitted, rows)]
    return fitted


def _is_whole(estimator) -> bool:
    """Whether every network has grown to its end."""
    grown = networks(estimator)
    return len(grown) == getattr(estimator, "n_members", 1) and all(one.stop_reason_ != "callback" for one in grown)


def _warnings(fitted: Fitted, rows: TableRows) -> list[str]:
    """What there is to say about the tests; without any, about the rows out of bag."""
    if fitted.validated is not None:
        return fitted.validated.warnings()
    if fitted.target.task != "regression" or not hasattr(fitted.estimator, "oob_prediction_"):
        return []
    known = np.isfinite(fitted.estimator.oob_prediction_)
    if not known.any():
        return []
    outliers = describe_outliers((rows.y - fitted.estimator.oob_prediction_)[known], rows.numbers[known])
    return [outliers] if outliers else []


def _place(path: Path, interrupted: bool) -> Path:
    """Where to write: a model that was cut short does not replace another, it goes next to it."""
    return path.with_name(f"{path.stem}.partial{path.suffix}") if interrupted and path.exists() else path


def _test(fitted: Fitted, rows: TableRows, folds: Folds, growth: Growth) -> None:
    """Test a model that has been written; it stays, however often Ctrl-C is pressed."""
    with suppress(KeyboardInterrupt):
        fitted.validated = cross_validate(fitted.encoder, fitted.estimator, rows, folds, growth)
    fitted.tests_interrupted = growth.interrupted


def _apart(options: FitOptions) -> list[str]:
    return [options.target, *([] if options.weight is None else [options.weight])]


def _complete(table, inputs: list[str], target: Target, series: Series, options: FitOptions, voice: Voice) -> TableRows:
    """The rows that have a target, in order of time if they are a series."""
    order = np.arange(len(table)) if series.order is None else series.order
    table = table if series.order is None else table.take(order)
    y, present = target.values(table.column(target.name))
    weight = None if options.weight is None else _weights(options.weight, table)[present]
    missing = len(present) - len(y)
    if missing:
        voice.note(f"- Left out: {count(missing, 'row')} without a value of {shortened(target.name)}.")
    if len(y) < _FEWEST_ROWS:
        raise ValueError(
            f"{quoted(target.name)} has a value in only {count(len(y), 'row')}; training needs at least {_FEWEST_ROWS}."
        )
    _check_varies(y, target)
    return TableRows(table.filter(present).select(inputs), y, weight, order[np.asarray(present)] + 1)


def _check_varies(y: np.ndarray, target: Target) -> None:
    classes = np.unique(y)
    if len(classes) == 1:
        raise ValueError(
            f"The target {quoted(target.name)} is {shortened(str(classes[0]))} in all rows; there is nothing to learn."
        )
    if target.task == "classification" and len(classes) > len(y) / 2:
        raise ValueError(
            f"The target {quoted(target.name)} has {len(classes)} classes in {count(len(y), 'row')}; classes need "
            "several rows each. Is it the right column, or is it a number to be predicted (--task regression)?"
        )


def _weights(name: str, table) -> np.ndarray:
    column = table.column(name)
    if not is_number(column.type):
        raise ValueError(f"The weights {quoted(name)} are {describe_type(column.type)}; they must be numbers.")
    weights = Number(name, 0.0, False).floats(column)
    if np.isnan(weights).any() or (weights < 0).any():
        raise ValueError(f"The weights {quoted(name)} must be numbers that are not negative, in every row.")
    return weights


def _settings(options: FitOptions) -> FitSettings:
    """The parameters that the user set, apart; they have the same names for numbers and for classes."""
    encoder, ensemble, network = TableEncoder(), SCNEnsembleRegressor(), SCNRegressor()
    # The time has an option of its own.
    own = [set(part.get_params(deep=False)) - {"time"} for part in (encoder, ensemble, network)]
    values = parse_settings(options.settings, set().union(*own))
    if options.dates != "auto":
        values["dates"] = options.dates
    return FitSettings(*({name: value for name, value in values.items() if name in names} for names in own))


def _described(encoder: TableEncoder) -> str:
    used, encoded = len(encoder.columns_), len(encoder.get_feature_names_out())
    return f"{count(used, 'column')}" + (f" encoded as {count(encoded, 'feature')}" if encoded != used else "")


def _choose(asked: str, numbers: int) -> tuple[bool, str]:
    """Whether to grow an ensemble, and why."""
    if asked != "auto":
        return asked == "ensemble", "as requested"
    if numbers <= _ENSEMBLE_NUMBERS:
        return True, "more accurate; --estimator network is faster"
    return False, "faster on a table of this size; --estimator ensemble is more accurate"


def _estimator(task: str, ensemble: bool, settings: FitSettings, series: Series, options: FitOptions) -> BaseEstimator:
    validation = settings.network.get("validation", "random" if series.time is None else "last")
    common = {"random_state": options.seed, "n_jobs": options.jobs, "validation": validation}
    if ensemble:
        model = _ENSEMBLES[task](**{**common, **settings.ensemble})
        member = model._default_estimator().set_params(**settings.network) if settings.network else None
        return model.set_params(estimator=member)
    if only := [name for name in settings.ensemble if name not in settings.network]:
        raise ValueError(f"{only[0]} is a parameter of ensembles; add --estimator ensemble.")
    return _NETWORKS[task](**{**common, **settings.network})


# ---- larger than memory


def _fit_from_disk(
    file: TableFile, inputs: list[str], settings: FitSettings, options: FitOptions, limit: int, voice: Voice
) -> Fitted:
    """Read the file chunk by chunk; the columns are learnt from its first rows."""
    if options.estimator == "ensemble":
        raise ValueError(
            f"{file.label} is too large ({size(file.size)}) for an ensemble, which is grown in memory; "
            "use --estimator network, or raise --memory-limit."
        )
    head = file.head([*inputs, *_apart(options)], exact=[options.target])
    voice.note(
        f"{file.label} ({size(file.size)}) is read from disk in chunks; its first rows decide how columns are encoded."
    )
    target, reason = learn_target(options.target, head.column(options.target), options.task)
    series = _series(head, inputs, settings, options, tested=False)
    _check_in_order(series, file)
    encoder = TableEncoder(**settings.encoder, time=series.time).fit(head.select(inputs))
    voice.notes(series.notes)
    voice.note(f"{shortened(target.name)}: {target.task} ({reason}), {_described(encoder)}.")
    voice.notes(encoder.notes_)
    passes: list[RowSketch] = []
    chunks = Chunks(lambda: _chunks(file, encoder, target, options.weight, passes), memory_limit=limit)
    estimator = _estimator(target.task, False, settings, series, options)
    with growing(voice.errors, 1) as growth:
        growth.begin("Growing", estimator)
        estimator.fit(chunks)
        cut_short = growth.interrupted and not _is_whole(estimator)
        path = _place(options.model, cut_short)
        # Some passes end early.
        sketch = max(passes, key=lambda one: one.rows)
        fitted = Fitted(encoder, estimator, target, chunks.n_rows or 0, cut_short, path, sketch=sketch)
        _save(fitted, options)
    voice.note("The model was not tested; keep some rows in another file and use skscn evaluate to test it on them.")
    return fitted


def _chunks(
    file: TableFile, encoder: TableEncoder, target: Target, weight: str | None, passes: list[RowSketch]
) -> Iterator[tuple]:
    """Encoded rows; the encoder gets to know their ranges, and each pass leaves a sketch of them."""
    sketch = RowSketch()
    passes.append(sketch)
    types = {target.name: target.read_type, **encoder.read_types, **encoder.time_types}
    latest: np.datetime64 = np.datetime64("NaT")
    if weight is not None:
        types[weight] = Number(weight, 0.0, False).read_type
    for table in file.batches(types):
        latest = _check_later(encoder, table, latest)
        y, present = target.values(table.column(target.name))
        if len(y):
            weights = () if weight is None else (_weights(weight, table)[present],)
            X = encoder.transform(table.filter(present))
            encoder.widen(X)
            sketch.add(X, y)
            yield X, y, *weights


def _check_in_order(series: Series, file: TableFile) -> None:
    """Rows on disk are read in their order; those of a series must be in order of time."""
    if series.order is not None:
        raise ValueError(
            f"{file.path.name} is read from disk and is not sorted: {_SORT_FIRST.format(time=series.time)}"
        )


def _check_later(encoder: TableEncoder, table, latest: np.datetime64) -> np.datetime64:
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


# ---- results


def _save(fitted: Fitted, options: FitOptions) -> None:
    pipeline = Pipeline([("table", fitted.encoder), ("model", fitted.estimator)])
    notes = {
        "target": fitted.target.to_json(),
        "data": data_name(options.data),
        "rows": fitted.n_rows,
        "sketch": fitted.sketch.to_json() if fitted.sketch else None,
        "fitted": datetime.now(UTC).isoformat(timespec="seconds"),
        "interrupted": fitted.interrupted,
        "tested": fitted.validated.facts() if fitted.validated else None,
        "time": fitted.encoder.time_,
    }
    save_model(pipeline, fitted.path, notes=notes)


def networks(estimator) -> list:
    """The networks of a model: one, or the members of an ensemble."""
    last = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    return list(getattr(last, "members_", [last]))


def describe_networks(estimator) -> str:
    """How many networks and nodes a model has, in words."""
    nodes = [network.n_nodes_ for network in networks(estimator)]
    if len(nodes) == 1:
        return f"a network with {count(nodes[0], 'node')}"
    return f"{len(nodes)} networks with {min(nodes)} to {max(nodes)} nodes each"


def _limited(estimator) -> list[str]:
    """What to say where the limit on nodes has ended growth, in at least half of the networks."""
    # Where early stopping threw most nodes away, it is not more of them that are wanted.
    ended = [
        network
        for network in networks(estimator)
        if network.stop_reason_ == "max_nodes" and 2 * network.n_nodes_ > network.max_nodes
    ]
    if 2 * len(ended) < len(networks(estimator)):
        return []
    most = ended[0].max_nodes
    kept = sorted({network.n_nodes_ for network in ended})
    which = f"{kept[0]}" if len(kept) == 1 else f"{kept[0]} to {kept[-1]}"
    fewer = f", and early stopping kept {which} of these nodes" if kept[0] < most else ""
    return [f"Growth ended at max_nodes={most}{fewer}; more nodes may be better: --set max_nodes={2 * most}."]


def _summary(fitted: Fitted, seconds: float) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    target, validated = fitted.target, fitted.validated
    facts = {
        "model": str(fitted.path),
        "target": target.name,
        "task": target.task,
        "rows": fitted.n_rows,
        "columns": [column.name for column in fitted.encoder.columns_],
        "estimator": type(fitted.estimator).__name__,
        "nodes": [network.n_nodes_ for network in networks(fitted.estimator)],
        "interrupted": fitted.interrupted,
        "tested": validated.facts() if validated else None,
        "time": fitted.encoder.time_,
        "warnings": fitted.warnings,
        "notes": fitted.encoder.notes_,
        "seconds": round(seconds, 3),
    }
    time_taken = f"in {seconds:.1f} s{' including tests' if validated else ''}"
    lines = [
        ("Model", f"{fitted.path} ({size(fitted.path.stat().st_size)}), {describe_networks(fitted.estimator)}"),
        ("Trained on", f"{count(fitted.n_rows, 'row')}, {_described(fitted.encoder)}, {time_taken}"),
        *(validated.lines() if validated else []),
        *(("Caution", text) for text in fitted.warnings),
    ]
    return facts, lines
