"""The fit of a table model: read the table, decide, train, and test on rows that are held out."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.metrics import mean_poisson_deviance

from skscn.estimators.networks import grown_networks
from skscn.fitted_loss import row_weights as loss_weights
from skscn.judging.assessment import Assessment
from skscn.judging.cautions import Caution
from skscn.judging.faults import find_faults
from skscn.judging.held_out import HeldOutPart, HeldOutTests, far_residuals
from skscn.judging.sketch import RowSketch
from skscn.judging.uncertainty import row_blocks
from skscn.losses import OUTLIER, are_counts
from skscn.progress import listening
from skscn.readers.arrow import decimal_of
from skscn.rows import Chunks
from skscn.rows.reading import default_memory_limit
from skscn.scaling import medians_of
from skscn.table_model.clock import check_length, check_series, clock_of, gap_caution, zone_of
from skscn.table_model.description import are_whole, describe_columns, limit_reached
from skscn.table_model.model import TableModel, today
from skscn.table_model.observing import FitObserver
from skscn.table_model.resampling import Resampling
from skscn.table_model.rows import (
    FEWEST_ROWS,
    MOST_ROWS_TESTED,
    Preparation,
    PreparedRows,
    TableRows,
    build_lags,
    check_inputs,
    complete_rows,
    fit_encoder,
    fit_rows,
    lag_lines,
    row_weights,
    training_course,
    unlike_tests,
)
from skscn.table_model.series import Series, find_series, labels_of, with_groups
from skscn.table_model.settings import FitSettings, build_estimator, check_target, choose
from skscn.table_model.testing import Folds, cross_validate, split, split_groups, split_series
from skscn.tables import TableEncoder, TableFile, Target, learn_target
from skscn.tables.columns import Number
from skscn.tables.filling import fill_medians
from skscn.tables.values import read_values
from skscn.words import count, listed, quoted, short, shortened, size

__all__ = ["FitObserver", "fit_table", "input_names"]

# How much of the memory that a fit may take the table itself may be, with its encoded copy and the basis to come.
_SHARE_OF_TABLE = 0.25
# Tables of up to this many numbers are tested on all parts of a cross-validation unless the user says otherwise: a few
# minutes on one processor.
_CROSS_VALIDATED_NUMBERS = 200_000
_FOLDS = 5
# Parts of the tests on which the Poisson loss is tried for a target that looks like counts, and the smallest mean of
# which the deviance is computed, relative to the mean of all rows.
_PARTS_TRIED = 3
_SMALLEST_RATE = 1e-3
# Errors of the tests that are kept for intervals.
_MOST_ERRORS = 500
# How long a fit of a recurrent network takes whose structure is known, compared with one that has to find it.
_REGROWN = 0.4
# Held-out rows contradict a sign if, among rows of the same prediction, the target moves the other way: by this many
# standard errors, by this share of what predictions move, and so that this share of the squared errors is due to it.
_SIGNIFICANT, _AGAINST, _DUE = 3.5, 0.5, 0.02
# Rows on which it is measured how far predictions move; with fewer rows for each column, others are not set apart.
_ROWS_MOVED, _ROWS_PER_COLUMN = 1000, 10
# Faults of columns that are described.
_FAULTS_NAMED = 8
_SORT_FIRST = "sort the file by {time} first, raise memory_limit, or use time=False if the order does not matter."


def fit_table(model: TableModel, file: TableFile, observer: FitObserver) -> None:
    """Train a model on a table and test it; the model is changed once it is trained, and once it is tested."""
    resampling = None
    if model.every is not None:
        resampling = Resampling.learn(model.every, file, model.time, model.group, model.dates)
        file = resampling(file)
    fit = _TableFit(model, file, observer, resampling)
    fit.note(*file.notes)
    limit = default_memory_limit() if model.memory_limit is None else model.memory_limit
    with listening(observer):
        if file.size <= _SHARE_OF_TABLE * limit:
            _fit_in_memory(fit)
        else:
            _fit_from_disk(fit, limit)
    fit.note(*limit_reached(grown_networks(model.estimator_)))


@dataclass
class _TableFit:
    """What a fit works with: the model and its parameters, the table, its inputs, and the notes so far."""

    model: TableModel
    file: TableFile
    observer: FitObserver
    resampling: Resampling | None = None
    target: str = ""
    inputs: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.target, self.inputs = input_names(self.file, self.model)
        self.settings = FitSettings.of(self.model)

    def note(self, *texts: str) -> None:
        """Say what was decided."""
        self.notes += texts
        for text in texts:
            self.observer.note(text)

    @property
    def exact(self) -> list[str]:
        """The columns that are needed as they are written: the target, unless it is a number."""
        return [] if self.model.task == "regression" else [self.target]

    def commit(self, **learnt: Any) -> None:
        """Make the model what was learnt."""
        model = self.model
        model.path_, model.user_notes_, model.gate_, model.assessment_, model.errors_ = None, {}, None, None, None
        model.record_ = {"data": self.file.label, "fitted": today(), "tested": None, **learnt.pop("record")}
        model.every_ = self.resampling
        model.group_ = model.group if model.past is not None else None
        model.notes_ = self.notes
        for name, value in learnt.items():
            setattr(model, f"{name}_", value)
        model.record_ |= {"time": model.encoder_.time_, "loss": model.loss_}
        model.bounds_ = None if model.bounds is None else (float(model.bounds[0]), float(model.bounds[1]))


def input_names(file: TableFile, model: TableModel) -> tuple[str, list[str]]:
    """The target, and the columns to learn from."""
    target = file.names[-1] if model.target is None else model.target
    dropped = [model.drop] if isinstance(model.drop, str) else model.drop
    apart = [target, *(name for name in (model.weight, model.group) if name is not None), *dropped]
    time = model.time if isinstance(model.time, str) else None
    for name in [*apart, *([] if time is None else [time])]:
        file.find(name)
    if time in apart:
        raise ValueError(
            f"{time!r} cannot be the time of the rows if it is the target, the weights, the group or a dropped column; "
            "name another column."
        )
    if target in apart[1:]:
        raise ValueError(
            f"{quoted(target)} is the target; it cannot also be dropped or contain the weights or the group."
        )
    inputs = [name for name in file.names if name not in set(apart)]
    for name in model.monotone or ():
        if name not in inputs:
            file.find(name)
            raise ValueError(f"monotone names {quoted(name)}, which is not an input; leave it out.")
    if not inputs:
        raise ValueError(
            f"{file.label} has no column to predict {quoted(target)} from; its columns are {listed(file.names)}."
        )
    return target, inputs


# A table in memory.


@dataclass(frozen=True)
class _TrainingTable:
    """What is trained on: the target, the order of the rows, what has been learnt of the rows, and cautions.

    ``unprepared`` knows the columns only, and learns the rest from other rows.
    """

    target: Target
    series: Series
    unprepared: Preparation
    prepared: PreparedRows
    cautions: list[Caution]


def _fit_in_memory(fit: _TableFit) -> None:
    """Train on all rows, and test the model on rows that are held out in turn."""
    model, observer, settings = fit.model, fit.observer, fit.settings
    table = _read_table(fit)
    numbers = table.prepared.X.size
    kind, why = choose(model.estimator, numbers)
    build = partial(build_estimator, model, table.target.task, kind, numbers)
    estimator = build(settings, table.series)
    fit.note(f"Training {type(estimator).__name__} ({why}).")
    started = time.perf_counter()
    _train(fit, table, estimator)
    seconds = time.perf_counter() - started
    observer.trained(model)
    tests, counts = None, None
    if not observer.interrupted:
        folds = _folds(model, table)
        if model.recurrent and folds.parts:
            fit.note(_about_time(seconds, folds))
        tests = _test(table, model.estimator_, folds, observer)
        if not {"loss", "monotone"} & {*settings.network} and not model.recurrent and kind != "given":
            likely = replace(settings, network={**settings.network, "loss": "poisson"})
            counts = _about_counts(table, tests, folds, partial(build, likely, table.series), observer)
    cautions = [*table.cautions, *_cautions(model, table, tests)]
    model.errors_ = _test_errors(model, tests)
    model.record_ |= {"tested": None if tests is None else tests.facts(), "counts": counts}
    model.assessment_ = Assessment.of_tests(table.target, len(table.prepared.rows.y), tests, cautions, fit.notes)


def _read_table(fit: _TableFit) -> _TrainingTable:
    """Read the table, find out what its columns and the order of its rows mean, and turn it into numbers."""
    model, file = fit.model, fit.file
    apart = [name for name in (fit.target, model.weight, model.group) if name is not None]
    table = file.read([*fit.inputs, *apart], exact=fit.exact)
    if len(table) < FEWEST_ROWS:
        raise ValueError(f"{file.label} has {count(len(table), 'row')}; training needs at least {FEWEST_ROWS}.")
    target, reason = learn_target(fit.target, table.column(fit.target), model.task, decimal_of(table))
    check_target(model, fit.settings, target)
    series, groups = _series(fit, table, cycles=bool(fit.settings.encoder.get("cycles", True)))
    whole = model.past is not None
    if whole and series.time is not None:
        series = replace(series, zone=zone_of(file, series.time))
    notes: list[str] = []
    rows = complete_rows(table, fit.inputs, target, model.weight, series, notes, whole=whole, groups=groups)
    check_length(model, rows)
    encoder = fit_encoder(model, rows, fit.settings.encoder, series.time)
    fit.note(*notes, *series.notes)
    check_inputs(model, encoder)
    lags = build_lags(model, fit.settings, encoder, target)
    unprepared = Preparation(encoder, lags, model.recurrent, model.monotone)
    prepared = unprepared.learn(rows, target.task)
    encoder = prepared.preparation.encoder
    decided = f"{shortened(target.name)}: {target.task} ({reason}), {count(len(rows.y), 'row')}"
    fit.note(f"{decided}, {describe_columns(encoder)}.", *encoder.notes_)
    cautions = [*series.cautions, *_about_past(fit, prepared.preparation, series)]
    return _TrainingTable(target, series, unprepared, prepared, cautions)


def _series(fit: _TableFit, table: Any, *, cycles: bool) -> tuple[Series, np.ndarray | None]:
    """The order of the rows, and the groups that they belong to, if any."""
    model = fit.model
    about = {"tested": model.folds is None or model.folds > 1, "past": model.past is not None, "cycles": cycles}
    groups = None if model.group is None else labels_of(model.group, table, several=model.past is None)
    series = find_series(table, fit.inputs, model.time, dates=fit.settings.dates, groups=groups, **about)
    series = with_groups(series, groups)
    if groups is not None:
        apart = f"{model.group} tells {'series' if model.past else 'groups'} apart and is not an input."
        series = replace(series, notes=[*series.notes, apart])
    check_series(model, series)
    return series, groups


def _about_past(fit: _TableFit, preparation: Preparation, series: Series) -> list[Caution]:
    """Note which earlier values are used, and gaps between rows; many gaps are a caution."""
    if fit.model.past is None:
        return []
    fit.note(*(f"{heading}: {text}." for heading, text in lag_lines(preparation.lags, preparation.encoder)))
    gaps, many = gap_caution(fit.model, series) or (None, False)
    if gaps is not None and not many:
        fit.note(str(gaps))
    return [gaps] if gaps is not None and many else []


def _train(fit: _TableFit, table: _TrainingTable, estimator: Any) -> None:
    """Fit the model to all rows; an interrupt may cut it short."""
    model, (preparation, rows, X) = fit.model, table.prepared
    fit.observer.begin("Growing", estimator)
    fit_rows(preparation.constrained(estimator), X, rows)
    # Training rows have cross-fitted means of the target, which they will not have when they come again.
    shown = X[rows.places] if model.recurrent else X if model.past else preparation.follow(rows)
    fit.commit(
        target=table.target,
        encoder=preparation.encoder,
        lags=preparation.lags,
        estimator=estimator,
        clock=clock_of(model, table.series),
        sketch=RowSketch().add(shown, rows.y).to_json(),
        n_rows=len(rows.y),
        record={
            "interrupted": fit.observer.interrupted and not are_whole(estimator),
            "outliers": _count_outliers(estimator, X, rows),
        },
    )


def _folds(model: TableModel, table: _TrainingTable) -> Folds:
    """The parts to test on: all, unless the table is large and the user has not asked for them."""
    _, rows, X = table.prepared
    small = len(X) <= MOST_ROWS_TESTED if model.recurrent else X.size <= _CROSS_VALIDATED_NUMBERS
    about = rows.y, table.target.task, _FOLDS if model.folds is None else model.folds, model.folds is not None or small
    if model.group is not None and rows.groups is not None:
        return split_groups(*about, rows.groups, model.group)
    return split(*about) if table.series.time is None else split_series(*about)


def _test(table: _TrainingTable, estimator: Any, folds: Folds, observer: FitObserver) -> HeldOutTests | None:
    """Test a trained model; it stays, however often Ctrl-C is pressed."""
    tests = None
    with suppress(KeyboardInterrupt):
        tests = cross_validate(table.unprepared, estimator, table.prepared.rows, folds, observer)
    if tests is None or not (tests.ordered and tests.is_regression):
        return tests
    return replace(tests, training=training_course(estimator, table.prepared.X, table.prepared.rows))


def _test_errors(model: TableModel, tests: HeldOutTests | None) -> np.ndarray | None:
    """The absolute errors of the tests in increasing order, for intervals; None if the estimator has its own.

    Around a quantile, or the mean of counts, errors are not symmetric.
    """
    own = hasattr(model.estimator_, "predict_interval") or model.loss_ in ("quantile", "poisson")
    if own or tests is None or not tests.is_regression:
        return None
    errors = np.sort(np.abs(np.concatenate([part.residuals for part in tests.parts])))
    return errors[np.linspace(0, len(errors) - 1, min(len(errors), _MOST_ERRORS)).round().astype(int)]


def _about_counts(
    table: _TrainingTable, tests: HeldOutTests | None, folds: Folds, poisson: Callable[[], Any], observer: FitObserver
) -> str | None:
    """A sentence about targets that look like counts, and whether held-out rows prefer the Poisson loss.

    The squared error of counts is mostly that of the few largest ones, whose variance is largest; the deviance weighs
    errors by the variance that a count of that mean has.
    """
    rows = table.prepared.rows
    if table.target.task != "regression" or not are_counts(rows.y):
        return None
    ends = f"from {rows.y.min():g} to {rows.y.max():,.0f}"
    found = f"{shortened(table.target.name)} has whole numbers {ends} with a skewed distribution, like counts"
    tried, folds = None, replace(folds, parts=folds.parts[:_PARTS_TRIED])
    if tests is not None and not observer.interrupted:
        with suppress(KeyboardInterrupt):
            tried = cross_validate(table.unprepared, poisson(), rows, folds, observer)
    if tried is None or tests is None or observer.interrupted:
        return f'{found}; loss="poisson" is made for them'
    own, squared = (_deviance(tested.parts[: len(folds.parts)]) for tested in (tried, tests))
    compared = f"the mean Poisson deviance on held-out rows is {short(own)}, and {short(squared)} with squared error"
    if own < squared:
        return f'{found}; loss="poisson" is recommended: {compared}'
    return f'{found}, but loss="poisson" is no better: {compared}'


def _deviance(parts: list[HeldOutPart]) -> float:
    """The mean Poisson deviance; means of almost 0, for which it could be infinite, are raised."""
    y, predicted = (np.concatenate([getattr(part, name) for part in parts]) for name in ("y", "predicted"))
    return float(mean_poisson_deviance(y, np.maximum(predicted, _SMALLEST_RATE * y.mean())))


def _about_time(seconds: float, folds: Folds) -> str:
    """How long training took, and how long the tests are going to take, of which the first one finds the structure."""
    whole = max(len(train) + len(test) for train, test in folds.parts)
    first, *others = (len(train) / whole for train, _ in folds.parts)
    share = first + _REGROWN * sum(others)
    parts = count(len(folds.parts), "part")
    return (
        f"Trained in {seconds:.0f} s. Testing on {parts} of later rows takes about {max(1.0, share * seconds):.0f} s "
        "more; folds=0 skips it, and Ctrl-C keeps the model."
    )


def _count_outliers(estimator: Any, X: np.ndarray, rows: TableRows) -> int | None:
    """How many rows of positive sample weight look like outliers; None if the loss does not weigh rows."""
    weights = loss_weights(estimator, X, rows.y)
    if weights is None:
        return None
    counted = True if rows.sample_weight is None else rows.sample_weight > 0
    return int(np.count_nonzero((weights < OUTLIER) & counted))


def _cautions(model: TableModel, table: _TrainingTable, tests: HeldOutTests | None) -> list[Caution]:
    """What to be careful about in the rows and in the tests; without tests, in the predictions out of bag."""
    faults, signs = _faults(table), _wrong_signs(model, table, tests)
    if tests is None:
        return [*faults, *signs, *([] if faults else _out_of_bag_outliers(model, table.prepared.rows))]
    cautions = [*faults, *tests.cautions(bool(faults)), *signs]
    if model.recurrent and tests.training is not None:
        unlike = unlike_tests(tests.training, tests.value("rmse"))
        cautions += [] if unlike is None else [unlike]
    return cautions


def _wrong_signs(model: TableModel, table: _TrainingTable, tests: HeldOutTests | None) -> list[Caution]:
    """Signs of columns that the tests or, without them, predictions out of bag contradict."""
    if model.monotone is None:
        return []
    preparation, rows, X = table.prepared
    predicted = np.full(len(rows.y), np.nan)
    if tests is None:
        predicted = getattr(model.estimator_, "oob_prediction_", predicted)
    else:
        places = {number: place for place, number in enumerate(rows.numbers.tolist())}
        for part in tests.parts:
            predicted[[places[number] for number in part.numbers.tolist()]] = part.predicted
    labels = rows.groups if rows.series is None else rows.series
    # With few rows, other columns would explain all that is left.
    others = fill_medians(X, medians_of(X)) if len(X) >= _ROWS_PER_COLUMN * X.shape[1] else np.zeros_like(X)
    found = []
    for name, sign in model.monotone.items():
        columns = preparation.places(name)
        x = X[:, columns].mean(axis=1) if columns else np.full(len(X), np.nan)
        known = np.isfinite(x) & np.isfinite(predicted)
        if not sign or not known.any() or np.ptp(x[known]) == 0.0:
            continue
        step, some = np.zeros(X.shape[1]), X[known][:_ROWS_MOVED]
        step[columns] = 0.5 * np.std(x[known])
        own = float(np.mean(model.estimator_.predict(some + step) - model.estimator_.predict(some - step)))
        apart = np.column_stack([np.ones(len(X)), predicted, np.delete(others, columns, axis=1)])[known]
        blocks = row_blocks(len(apart), table.series.time is not None, None if labels is None else labels[known])
        blocks = np.arange(len(apart)) if blocks is None else blocks
        against, errors, due = _left_over(x[known], apart, (rows.y - predicted)[known], blocks)
        if -sign * errors > _SIGNIFICANT and -sign * against > _AGAINST * sign * own and due > _DUE:
            gain = 1.0 - float(np.sqrt(1.0 - due))
            found.append(Caution("wrong_sign", {"column": name, "sign": sign, "gain": gain}))
    return found


def _left_over(
    x: np.ndarray, others: np.ndarray, residuals: np.ndarray, blocks: np.ndarray
) -> tuple[float, float, float]:
    """How far residuals move with a standard deviation of x where the others stay; rows of a block are alike.

    The slope, its ratio to its standard error, and its share of the squared residuals.
    """
    both = np.column_stack([x / np.std(x), residuals])
    moves, left = (both - others @ np.linalg.lstsq(others, both, rcond=None)[0]).T
    squares = max(float(moves @ moves), np.finfo(float).tiny)
    slope = float(moves @ left) / squares
    error = float(np.sqrt(np.sum(np.bincount(blocks, moves * (left - slope * moves)) ** 2))) / squares
    return slope, slope / error if error > 0.0 else 0.0, slope**2 * squares / float(residuals @ residuals)


def _out_of_bag_outliers(model: TableModel, rows: TableRows) -> list[Caution]:
    predictions = getattr(model.estimator_, "oob_prediction_", None)
    if predictions is None or model.loss_ not in ("squared", "absolute", "quantile") or are_counts(rows.y):
        return []
    known = np.isfinite(predictions)
    outliers = far_residuals((rows.y - predictions)[known], rows.numbers[known]) if known.any() else None
    return [] if outliers is None else [outliers]


def _faults(table: _TrainingTable) -> list[Caution]:
    """Values of the inputs and of the target that were recorded wrongly."""
    rows = table.prepared.rows
    values = {name: read_values(rows.table.column(name), name) for name in rows.table.column_names}
    columns = {name: column.floats() for name, column in values.items() if column.kind == "number"}
    if table.target.task == "regression":
        columns[table.target.name] = rows.y
    # Rows of several series are not those before each other.
    ordered = table.series.time is not None and table.series.groups is None
    faults = find_faults(columns, rows.numbers, ordered)
    more = len(faults) - _FAULTS_NAMED
    return [*faults[:_FAULTS_NAMED], *([Caution("more_faults", {"columns": more})] if more > 0 else [])]


# A table larger than memory.


def _fit_from_disk(fit: _TableFit, limit: int) -> None:
    """Train on the file chunk by chunk, with columns learnt from its first rows; the model is not tested."""
    model, file, settings = fit.model, fit.file, fit.settings
    _check_possible(model, file)
    head = file.head([*fit.inputs, *(name for name in (fit.target, model.weight) if name is not None)], exact=fit.exact)
    fit.note(
        f"{file.label} ({size(file.size)}) is read from disk in chunks; its first rows decide how columns are encoded."
    )
    column = head.column(fit.target)
    target, reason = learn_target(fit.target, column, model.task, decimal_of(head))
    check_target(model, settings, target)
    series = find_series(head, fit.inputs, model.time, dates=settings.dates, tested=False)
    if series.order is not None:
        raise ValueError(f"{file.label} is read from disk and is not sorted: {_SORT_FIRST.format(time=series.time)}")
    encoder = TableEncoder(**settings.encoder, time=series.time).fit(head.select(fit.inputs))
    fit.note(*series.notes, f"{shortened(target.name)}: {target.task} ({reason}), {describe_columns(encoder)}.")
    fit.note(*encoder.notes_)
    if target.task == "regression" and "loss" not in settings.network and are_counts(target.values(column)[0]):
        fit.note(f'{shortened(target.name)} looks like counts; loss="poisson" is made for them.')
    passes: list[RowSketch] = []
    chunks = Chunks(lambda: _chunks(file, encoder, target, model.weight, passes), memory_limit=limit)
    kind = model.estimator if model.estimator != "auto" else "network"
    estimator = build_estimator(model, target.task, kind if isinstance(kind, str) else "given", None, settings, series)
    Preparation(encoder, monotone=model.monotone).constrained(estimator)
    fit.observer.begin("Growing", estimator)
    estimator.fit(chunks)
    outliers = None
    if hasattr(estimator, "row_weights_"):
        weightless = 0 if model.weight is None else _weightless(file, encoder, target, model.weight)
        outliers = int(np.count_nonzero(estimator.row_weights_ < OUTLIER)) - weightless
    fit.commit(
        target=target,
        encoder=encoder,
        lags=None,
        estimator=estimator,
        clock=None,
        # Some passes end early.
        sketch=max(passes, key=lambda one: one.rows).to_json(),
        n_rows=chunks.n_rows or 0,
        record={"interrupted": fit.observer.interrupted and not are_whole(estimator), "outliers": outliers},
    )
    fit.observer.trained(model)
    fit.note("The model was not tested; keep some rows in another file and assess it on them.")
    model.assessment_ = Assessment.of_tests(target, model.n_rows_, None, series.cautions, fit.notes)


def _check_possible(model: TableModel, file: TableFile) -> None:
    """Raise ValueError for what needs the table in memory."""
    large = f"{file.label} is too large ({size(file.size)})"
    if model.lags is not None:
        raise ValueError(f"{large} for lags, which need the table in memory; raise memory_limit, or leave lags out.")
    if model.group is not None:
        raise ValueError(f"{large} for groups, which need the table in memory; raise memory_limit, or leave group out.")
    if model.recurrent:
        raise ValueError(
            f"{large} for a recurrent network, which is grown in memory; raise memory_limit, or use "
            'estimator="network".'
        )
    if model.estimator == "ensemble":
        raise ValueError(
            f'{large} for an ensemble, which is grown in memory; use estimator="network", or raise memory_limit.'
        )


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
