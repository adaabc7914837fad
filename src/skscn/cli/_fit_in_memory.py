"""``skscn fit`` on a table in memory: a network or an ensemble, and tests on rows that were held out."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.metrics import mean_poisson_deviance

from skscn.cli._choosing import build_estimator, check_loss, check_task, choose
from skscn.cli._clock import check_length, check_series, clock_of, gap_sentence, zone_of
from skscn.cli._faults import find_faults
from skscn.cli._fit_options import FitOptions, FitSettings
from skscn.cli._fit_summary import describe_columns
from skscn.cli._fitted import Fitted, path_to_write, save_fitted
from skscn.cli._groups import labels_of
from skscn.cli._growth import Growth, growing
from skscn.cli._lags import build_lags, lag_lines
from skscn.cli._networks import are_whole
from skscn.cli._preparation import Preparation, PreparedRows
from skscn.cli._recurrent import (
    MOST_ROWS_TESTED,
    check_inputs,
    default_encoding,
    fit_rows,
    training_course,
    unlike_tests,
)
from skscn.cli._seen import RowSketch
from skscn.cli._series import Series, find_series, with_groups
from skscn.cli._testing import Folds, cross_validate, split, split_groups, split_series
from skscn.cli._training_rows import FEWEST_ROWS, TableRows, complete_rows
from skscn.cli._validated import HeldOutPart, describe_outliers
from skscn.cli._voice import Voice, short
from skscn.fitted_loss import row_weights
from skscn.losses import OUTLIER, are_counts
from skscn.tables import TableEncoder, TableFile, Target, learn_target
from skscn.tables.values import read_values
from skscn.words import count, shortened

# Tables of up to this many numbers are tested on all parts of a cross-validation unless the user says otherwise: a few
# minutes on one processor.
_CROSS_VALIDATED_NUMBERS = 200_000
_FOLDS = 5
# Parts of the tests on which the Poisson loss is tried for a target that looks like counts, and the smallest mean of
# which the deviance is computed, relative to the mean of all rows.
_PARTS_TRIED = 3
_SMALLEST_RATE = 1e-3
# Faults of columns that are described.
_FAULTS_NAMED = 8


@dataclass(frozen=True)
class _TrainingTable:
    """What is trained on: the target, the order of the rows, what has been learnt of the rows, and what to warn of.

    ``unprepared`` is what knows the columns only, and learns the rest from other rows.
    """

    target: Target
    series: Series
    unprepared: Preparation
    prepared: PreparedRows
    gaps: list[str]


def fit_in_memory(
    file: TableFile, inputs: list[str], settings: FitSettings, options: FitOptions, voice: Voice
) -> Fitted:
    """Train on all rows, write the model, and test it on rows that are held out in turn."""
    table = _read_table(file, inputs, settings, options, voice)
    kind, why = choose(options.estimator, table.prepared.X.size)
    estimator = build_estimator(table.target.task, kind, settings, table.series, options)
    voice.note(f"Training {type(estimator).__name__} ({why}).")
    # The processes are for members; a network has threads.
    with growing(voice.errors, options.jobs if kind == "ensemble" else 1) as growth:
        started = time.perf_counter()
        fitted = _trained(table, estimator, options, growth)
        seconds = time.perf_counter() - started
        save_fitted(fitted, options)
        if not growth.interrupted:
            folds = _folds(options, table)
            if options.recurrent and folds.parts:
                voice.note(_about_time(seconds, folds))
            _test(table, fitted, folds, growth)
            if "loss" not in settings.network and not options.recurrent:
                likely = replace(settings, network={**settings.network, "loss": "poisson"})
                poisson = partial(build_estimator, table.target.task, kind, likely, table.series, options)
                fitted.counts = _about_counts(table, fitted, folds, poisson, growth)
    faults = _faults(table)
    fitted.warnings = [
        *table.series.warnings,
        *table.gaps,
        *faults,
        *_warnings(fitted, table.prepared.rows, faulty=bool(faults)),
    ]
    if options.recurrent and fitted.validated is not None and fitted.validated.training is not None:
        unlike = unlike_tests(fitted.validated.training, fitted.validated.value("rmse"))
        fitted.warnings += [unlike] if unlike else []
    return fitted


def _read_table(
    file: TableFile, inputs: list[str], settings: FitSettings, options: FitOptions, voice: Voice
) -> _TrainingTable:
    """Read the table, find out what its columns and the order of its rows mean, and turn it into numbers."""
    apart = [*options.target_and_weight, *([] if options.group is None else [options.group])]
    table = file.read([*inputs, *apart], exact=options.exact)
    if len(table) < FEWEST_ROWS:
        raise ValueError(f"{file.label} has {count(len(table), 'row')}; training needs at least {FEWEST_ROWS}.")
    target, reason = learn_target(options.target, table.column(options.target), options.task)
    check_loss(settings, target)
    check_task(options, target)
    encoding = {**default_encoding(options), **settings.encoder}
    series, groups = _series(table, inputs, settings, options, cycles=bool(encoding.get("cycles", True)))
    if options.past is not None and series.time is not None:
        series = replace(series, zone=zone_of(file, series.time))
    whole = options.past is not None
    rows = complete_rows(table, inputs, target, options.weight, series, voice, whole=whole, groups=groups)
    check_length(options, rows)
    encoder = TableEncoder(**encoding, time=series.time).fit(rows.table)
    voice.notes(series.notes)
    check_inputs(options, encoder)
    unprepared = Preparation(encoder, build_lags(options, settings, encoder, target), options.recurrent)
    prepared = unprepared.learn(rows, target.task)
    encoder = prepared.preparation.encoder
    voice.note(
        f"{shortened(target.name)}: {target.task} ({reason}), {count(len(rows.y), 'row')}, {describe_columns(encoder)}."
    )
    voice.notes(encoder.notes_)
    gaps = _say_past(prepared.preparation, options, series, voice)
    return _TrainingTable(target, series, unprepared, prepared, gaps)


def _series(
    table: Any, inputs: list[str], settings: FitSettings, options: FitOptions, *, cycles: bool
) -> tuple[Series, np.ndarray | None]:
    """The order of the rows, and the groups that they belong to, if any."""
    about = {"tested": options.cv is None or options.cv > 1, "past": options.past is not None, "cycles": cycles}
    groups = None if options.group is None else labels_of(options.group, table, several=options.past is None)
    series = find_series(table, inputs, options.time, options.shuffle, dates=settings.dates, groups=groups, **about)
    series = with_groups(series, groups)
    if groups is not None:
        apart = f"{options.group} tells {'series' if options.past else 'groups'} apart and is not an input."
        series = replace(series, notes=[*series.notes, apart])
    check_series(options, series)
    return series, groups


def _trained(table: _TrainingTable, estimator: Any, options: FitOptions, growth: Growth) -> Fitted:
    """The model of all rows, perhaps cut short by Ctrl-C."""
    preparation, rows, X = table.prepared
    growth.begin("Growing", estimator)
    fit_rows(estimator, X, rows)
    cut_short = growth.interrupted and not are_whole(estimator)
    path = path_to_write(options.model, cut_short)
    fitted = Fitted(
        *(preparation.encoder, estimator, table.target, len(rows.y), cut_short, path),
        tests_interrupted=growth.interrupted,
    )
    fitted.lags, fitted.clock = preparation.lags, clock_of(options, table.series)
    # Training rows have cross-fitted means of the target, which they will not have when they come again.
    shown = X[rows.places] if options.recurrent else X if options.past else preparation.follow(rows)
    fitted.sketch = RowSketch().add(shown, rows.y)
    fitted.n_outliers = _count_outliers(estimator, X, rows)
    return fitted


def _folds(options: FitOptions, table: _TrainingTable) -> Folds:
    """The parts to test on: all, unless the table is large and the user has not asked for them."""
    _, rows, X = table.prepared
    small = len(X) <= MOST_ROWS_TESTED if options.recurrent else X.size <= _CROSS_VALIDATED_NUMBERS
    about = rows.y, table.target.task, _FOLDS if options.cv is None else options.cv, options.cv is not None or small
    if options.group is not None and rows.groups is not None:
        return split_groups(*about, rows.groups, options.group)
    return split(*about) if table.series.time is None else split_series(*about)


def _about_counts(
    table: _TrainingTable, fitted: Fitted, folds: Folds, poisson: Callable[[], Any], growth: Growth
) -> str | None:
    """What to say about targets that look like counts, and whether held-out rows prefer the Poisson loss.

    The squared error of counts is mostly that of the few largest ones, whose variance is largest; the deviance weighs
    errors by the variance that a count of that mean has.
    """
    rows = table.prepared.rows
    if table.target.task != "regression" or not are_counts(rows.y):
        return None
    ends = f"from {rows.y.min():g} to {rows.y.max():,.0f}"
    found = f"{shortened(table.target.name)} has whole numbers {ends} with a skewed distribution, like counts"
    tried, folds = None, replace(folds, parts=folds.parts[:_PARTS_TRIED])
    if fitted.validated is not None and not growth.interrupted:
        with suppress(KeyboardInterrupt):
            tried = cross_validate(table.unprepared, poisson(), rows, folds, growth)
    if tried is None or fitted.validated is None or growth.interrupted:
        return f"{found}; --loss poisson is made for them"
    own, squared = (_deviance(tested.parts[: len(folds.parts)]) for tested in (tried, fitted.validated))
    compared = f"the mean Poisson deviance on held-out rows is {short(own)}, and {short(squared)} with squared error"
    if own < squared:
        return f"{found}; --loss poisson is recommended: {compared}"
    return f"{found}, but --loss poisson is no better: {compared}"


def _deviance(parts: list[HeldOutPart]) -> float:
    """The mean Poisson deviance; means of almost 0, for which it could be infinite, are raised."""
    y, predicted = (np.concatenate([getattr(part, name) for part in parts]) for name in ("y", "predicted"))
    return float(mean_poisson_deviance(y, np.maximum(predicted, _SMALLEST_RATE * y.mean())))


def _about_time(seconds: float, folds: Folds) -> str:
    """How long training took, and how long the tests are going to take."""
    share = sum(len(train) for train, _ in folds.parts) / max(len(train) + len(test) for train, test in folds.parts)
    parts = count(len(folds.parts), "part")
    return (
        f"Trained in {seconds:.0f} s. Testing on {parts} of later rows takes about {max(1.0, share * seconds):.0f} s "
        "more; --cv 0 skips it, and Ctrl-C keeps the model."
    )


def _count_outliers(estimator: Any, X: np.ndarray, rows: TableRows) -> int | None:
    """How many rows of positive sample weight look like outliers; None if the loss does not weigh rows."""
    weights = row_weights(estimator, X, rows.y)
    if weights is None:
        return None
    counted = True if rows.sample_weight is None else rows.sample_weight > 0
    return int(np.count_nonzero((weights < OUTLIER) & counted))


def _warnings(fitted: Fitted, rows: TableRows, *, faulty: bool) -> list[str]:
    """What there is to say about the tests; without any, about the rows out of bag."""
    if fitted.validated is not None:
        return fitted.validated.warnings(faulty)
    if (
        faulty
        or fitted.loss not in ("squared", "absolute", "quantile")
        or not hasattr(fitted.estimator, "oob_prediction_")
    ):
        return []
    if are_counts(rows.y):
        return []
    known = np.isfinite(fitted.estimator.oob_prediction_)
    if not known.any():
        return []
    outliers = describe_outliers((rows.y - fitted.estimator.oob_prediction_)[known], rows.numbers[known])
    return [outliers] if outliers else []


def _faults(table: _TrainingTable) -> list[str]:
    """What to say about values of the inputs and of the target that were recorded wrongly."""
    rows = table.prepared.rows
    values = {name: read_values(rows.table.column(name), name) for name in rows.table.column_names}
    columns = {name: column.floats() for name, column in values.items() if column.kind == "number"}
    if table.target.task == "regression":
        columns[table.target.name] = rows.y
    # Rows of several series are not those before each other.
    ordered = table.series.time is not None and table.series.groups is None
    sentences = [fault.sentence for fault in find_faults(columns, rows.numbers, ordered)]
    more = len(sentences) - _FAULTS_NAMED
    return [*sentences[:_FAULTS_NAMED], *([f"{count(more, 'more column')} like these."] if more > 0 else [])]


def _say_past(preparation: Preparation, options: FitOptions, series: Series, voice: Voice) -> list[str]:
    """Note which earlier values are used; what there is to warn of."""
    if options.past is None:
        return []
    for heading, text in lag_lines(preparation.lags, preparation.encoder):
        voice.note(f"{heading}: {text}.")
    gaps, many = gap_sentence(options, series) or ("", False)
    if gaps and not many:
        voice.note(gaps)
    return [gaps] if many else []


def _test(table: _TrainingTable, fitted: Fitted, folds: Folds, growth: Growth) -> None:
    """Test a model that has been written; it stays, however often Ctrl-C is pressed."""
    with suppress(KeyboardInterrupt):
        fitted.validated = cross_validate(table.unprepared, fitted.estimator, table.prepared.rows, folds, growth)
    fitted.tests_interrupted = growth.interrupted
    if fitted.validated is not None and fitted.validated.ordered and fitted.validated.is_regression:
        training = training_course(fitted.estimator, table.prepared.X, table.prepared.rows)
        fitted.validated = replace(fitted.validated, training=training)
