"""The data of a report: a fitted model, rows with their targets, and what the model says about them."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, is_classifier
from sklearn.metrics import r2_score
from sklearn.utils import check_array, check_consistent_length

from skscn.estimators.networks import grown_networks, parts_of
from skscn.fitted_loss import loss_of, row_weights
from skscn.following import Begin, is_recurrent, limits_of_rows, predict_rows
from skscn.judging.uncertainty import row_blocks
from skscn.losses import OUTLIER, Loss, Quantile
from skscn.recurrent import RecurrentSCNRegressor
from skscn.table_model.arriving import FollowingBatch, SupervisedReader, TargetRows, interval_limits, targets_of
from skscn.table_model.series import labels_of, named
from skscn.tables import TableEncoder
from skscn.words import quoted

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from skscn.series import Lags
    from skscn.table_model import TableModel
    from skscn.tables import RowEncoder
    from skscn.tables.outside import OutsideColumn

# The most rows from which pictures, importances and dependences are made.
SAMPLE = 1000
SEED = 0
PICTURED_COVERAGE = 0.9
# The most rows of a table that a report is about.
_MOST_ROWS = 50_000
# The most rows of a recurrent network from which importances are computed, and dependences; and of other models.
_ROWS_SHUFFLED, _ROWS_SET, ROWS_SET_ALONE = 2000, 600, 300


@dataclass(frozen=True, eq=False)
class FollowedRows:
    """All rows, those without a target included.

    Attributes
    ----------
    estimator : RecurrentSCNRegressor
    X : ndarray of shape (n, d)
    y : ndarray of shape (n, m)
        NaN where unknown.
    state : ReservoirState, "end" or None
        The state before the first row.
    times : ndarray of datetime64 of shape (n,), or None
    """

    estimator: RecurrentSCNRegressor
    X: np.ndarray
    y: np.ndarray
    state: Begin
    times: np.ndarray | None

    @cached_property
    def known(self) -> np.ndarray:
        """Which rows have all their targets."""
        return np.asarray(~np.isnan(self.y).any(axis=1))

    @property
    def _targets(self) -> np.ndarray:
        """Targets as the model takes them."""
        return self.y[:, 0] if self.estimator.reservoir_.single_output else self.y

    def predict(self) -> np.ndarray:
        """Predictions of all rows, one step ahead."""
        return predict_rows(self.estimator, self.X, self._targets, self.state)

    def limits(self, coverage: float) -> tuple[np.ndarray, np.ndarray]:
        """Limits of the intervals of all rows."""
        return limits_of_rows(self.estimator, self.X, self._targets, self.state, coverage)

    @property
    def first(self) -> FollowedRows:
        """The rows whose inputs are moved along time."""
        part = slice(_ROWS_SHUFFLED)
        return FollowedRows(self.estimator, self.X[part], self.y[part], self.state, None)

    def score(self, estimator: Any, X: np.ndarray, y: np.ndarray) -> float:
        """R² on the rows with a target, if the inputs were these."""
        predictions = predict_rows(estimator, X, self._targets, self.state)
        return float(r2_score(y[self.known], predictions[self.known]))

    def set(self, columns: list[int], values: Any) -> FollowedRows:
        """The first rows with these values in these columns, from a cold state."""
        rows = self.X[:_ROWS_SET].copy()
        rows[:, columns] = values
        return FollowedRows(self.estimator, rows, self.y[:_ROWS_SET], None, None)

    @property
    def persistence(self) -> np.ndarray:
        """Errors (rows, m) of predicting the target that was known last, from the second row with a target on."""
        return np.diff(self.y[self.known], axis=0)


@dataclass(frozen=True)
class ReportData:
    """A model and the rows that it is judged on.

    Attributes
    ----------
    estimator : fitted estimator
        It takes rows without names.
    X : ndarray or sparse array of shape (n, d)
    y : ndarray
        Of shape (n, m) for regression, (n,) for classes.
    predictions : ndarray of the shape of y
    columns : list of str
        Names of the d columns.
    inputs : dict of str to list of int
        Name of an input -> its columns.
    outputs : list of str
        Names of the m targets.
    sources : dict of str to Column
        Name of an input -> what its encoder has learnt about it; empty without an encoder.
    knows_names : bool
        Whether the model knows the names of its columns.
    times : ndarray of datetime64 of shape (n,), or None
        When each row was taken.
    outside : list of OutsideColumn
        Inputs outside what training saw, where an encoder knows that.
    seen : float or None
        The share of the rows that the model was trained on; None where it is not known.
    row_numbers : ndarray of shape (n,) or None
        The numbers of the rows in their file; None if they are 1, 2, ….
    followed : FollowedRows or None
        All rows of a recurrent network, also those without a target.
    absent : dict of str to ndarray of bool
        Where an input was missing, of those that the estimator fills in itself.
    ordered : bool
        Whether rows depend on the rows before them, so that errors of neighbours are alike.
    bounds : (float, float) or None
        Within which predictions and intervals are kept.
    errors : ndarray or None
        Sorted errors of the tests of a table model, for intervals of an estimator that has none.
    tested : dict or None
        Scores in the tests of the fit of a table model.
    notes : list of str
        Remarks on the rows of a table.
    of_table : bool
        Whether the model is a table model, which is loaded and used as such.
    """

    estimator: Any
    X: Any
    y: np.ndarray
    predictions: np.ndarray
    columns: list[str]
    inputs: dict[str, list[int]]
    outputs: list[str]
    sources: dict[str, Any]
    knows_names: bool
    times: np.ndarray | None = None
    outside: list[OutsideColumn] = field(default_factory=list)
    seen: float | None = None
    row_numbers: np.ndarray | None = None
    followed: FollowedRows | None = None
    absent: dict[str, np.ndarray] = field(default_factory=dict)
    ordered: bool = False
    bounds: tuple[float, float] | None = None
    errors: np.ndarray | None = None
    tested: dict[str, Any] | None = None
    notes: list[str] = field(default_factory=list)
    of_table: bool = False

    @property
    def classifies(self) -> bool:
        """Whether the model predicts classes."""
        return bool(is_classifier(self.estimator))

    @property
    def n_rows(self) -> int:
        """n."""
        return len(self.y)

    @property
    def networks(self) -> list[BaseEstimator]:
        """The network, or the members of the ensemble."""
        return grown_networks(self.estimator)

    @property
    def loss(self) -> Loss | None:
        """What the model minimises."""
        return loss_of(self.estimator)

    @property
    def quantile(self) -> float | None:
        """The quantile that is estimated, if it is not the median."""
        share = self.loss.quantile if isinstance(self.loss, Quantile) else 0.5
        return None if share == 0.5 else share

    @cached_property
    def row_weights(self) -> np.ndarray | None:
        """What each row counts for under a loss that weighs rows; None under other losses."""
        return row_weights(self.estimator, self.X, self.y)

    @cached_property
    def outliers(self) -> np.ndarray:
        """The places of the rows that look like outliers, that of the smallest weight first."""
        if self.row_weights is None:
            return np.zeros(0, dtype=int)
        sizes = np.linalg.norm(self.y - self.predictions, axis=1)
        order = np.lexsort((-sizes, self.row_weights))
        return order[self.row_weights[order] < OUTLIER]

    @cached_property
    def sample(self) -> np.ndarray:
        """The numbers of the rows to look at closely, in random order: all, or some."""
        return np.random.default_rng(SEED).permutation(self.n_rows)[:SAMPLE]

    @cached_property
    def sample_rows(self) -> np.ndarray:
        """Those rows, as a plain array."""
        rows = self.X[self.sample]
        return np.asarray(rows.toarray() if sparse.issparse(rows) else rows)

    @cached_property
    def probabilities(self) -> np.ndarray:
        """The probability of each class, for all rows."""
        return np.asarray(self.estimator.predict_proba(self.X))

    @cached_property
    def blocks(self) -> np.ndarray | None:
        """The rows that are resampled together: stretches of time if rows are in order, else none."""
        found = row_blocks(self.n_rows, self.ordered)
        if found is None or self.times is None:
            return found
        blocks = np.empty_like(found)
        blocks[np.argsort(self.times, kind="stable")] = found
        return blocks

    def limits(self, coverage: float, sampled: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper limits (rows, m) of prediction intervals for all rows, or for those of the sample."""
        if self.followed is not None:
            rows = self.sample if sampled else slice(None)
            lower, upper = (end[self.followed.known][rows] for end in self.followed.limits(coverage))
        else:
            lower, upper = interval_limits(
                self.estimator, self.sample_rows if sampled else self.X, coverage, self.errors
            )
        return self.bounded(two_dimensional(lower)), self.bounded(two_dimensional(upper))

    def set_rows(self, columns: list[int], values: Any, coverage: float | None) -> list[np.ndarray]:
        """The responses (rows, m) where these columns have these values in all rows, and limits of their intervals.

        Of a recurrent network, those of the second half of the rows, as it has to forget what was before.
        """
        if self.followed is not None:
            changed = self.followed.set(columns, values)
            found = [changed.predict(), *(() if coverage is None else changed.limits(coverage))]
            return [self.bounded(two_dimensional(part)[len(part) // 2 :]) for part in found]
        rows = self.sample_rows[:ROWS_SET_ALONE].copy()
        rows[:, columns] = values
        if coverage is None:
            return [self.responses(rows)]
        limits = interval_limits(self.estimator, rows, coverage, self.errors)
        return [self.responses(rows), *(self.bounded(two_dimensional(end)) for end in limits)]

    @property
    def has_intervals(self) -> bool:
        """Whether the prediction intervals of the model are known."""
        own = hasattr(self.estimator, "predict_interval") and bool(getattr(self.estimator, "_conformal", True))
        return own or self.errors is not None

    def bounded(self, values: np.ndarray) -> np.ndarray:
        """Predictions, or ends of intervals, within the bounds."""
        return values if self.bounds is None else values.clip(*self.bounds)

    def is_one_hot(self, name: str) -> bool:
        """Whether an input is a category: columns of 0 and 1, of which at most one is 1 in a row."""
        if name in self.sources:
            return bool(self.sources[name].kind == "category")
        values = self.sample_rows[:, self.inputs[name]]
        return values.shape[1] > 1 and bool(np.isin(values, (0.0, 1.0)).all() and (values.sum(axis=1) <= 1.0).all())

    def categories(self, name: str) -> list[str]:
        """What the columns of a category stand for."""
        names = [self.columns[column] for column in self.inputs[name]]
        if name not in self.sources:
            return names
        return [column.removeprefix(f"{name} = ").removeprefix(f"{name} is ") for column in names]

    def responses(self, X: np.ndarray) -> np.ndarray:
        """What the model says about rows, of shape (rows, classes) or (rows, m)."""
        if self.classifies:
            return np.asarray(self.estimator.predict_proba(X))
        return self.bounded(two_dimensional(self.estimator.predict(X)))


def table_data(model: TableModel, table: Any, target_name: str | None = None, series: str | None = None) -> ReportData:
    """The rows of a table that have a target, and what a table model says about them.

    For a recurrent network, they include rows without a target. Of several series, the report is about one.
    """
    file = model.open(table)
    target = model.find_target(target_name, file)
    _check_series(model, series)
    timed, whole = model.order_types(file), is_recurrent(model.estimator_)
    reader = SupervisedReader(model, file, target, timed, whole=whole)
    encoder = reader.encoder if isinstance(reader.encoder, TableEncoder) else None
    state: Begin = None
    inputs, targets, numbers, times = (list[np.ndarray]() for _ in range(4))
    for part in reader.parts():
        rows = _rows_of_series(model, part, series, whole)
        batch, some = part.batch, part.batch.table.take(rows)
        if isinstance(batch, FollowingBatch) and not inputs:
            state = next((stretch.state for stretch in batch.parts if stretch.label == series), None)
        inputs.append(batch.X[rows])
        targets.append(targets_of(target, some) if whole else target.values(some.column(target.name))[0])
        numbers.append(reader.n_rows - len(batch.table) + 1 + rows)
        times += [encoder.row_times(some)] if timed and encoder is not None else []
        if sum(map(len, targets)) > _MOST_ROWS:
            reader.remarks.append(f"The report covers the first {sum(map(len, targets)):,} rows of {file.label}.")
            break
    if not any(map(len, targets)):
        raise ValueError(f"{file.label} has no row of the series {quoted(str(series))}.")
    names = reader.encoder.get_feature_names_out()
    data = open_data(
        model.estimator_,
        np.concatenate(inputs),
        np.concatenate(targets),
        list(names if model.lags_ is None else model.lags_.get_feature_names_out(names)),
        reader.encoder.groups_,
        target.name,
        encoder=encoder,
        times=np.concatenate(times) if times else None,
        seen=reader.sketch.share_in(model.sketch_),
        row_numbers=np.concatenate(numbers),
        lags=model.lags_,
        state=state,
    )
    return replace(
        data,
        predictions=data.predictions if model.is_classifier else model.bounded(data.predictions),
        ordered=bool(timed) or model.uses_past,
        bounds=model.bounds_,
        errors=model.errors_,
        tested=model.record_.get("tested"),
        notes=reader.remarks,
        of_table=True,
    )


def _rows_of_series(model: TableModel, part: TargetRows, series: str | None, whole: bool) -> np.ndarray:
    """The places of the rows of a batch that a report is about."""
    wanted = np.ones(len(part.present), dtype=bool) if whole else part.present
    if model.group_ is not None:
        wanted = wanted & (labels_of(model.group_, part.batch.table) == series)
    return np.flatnonzero(wanted)


def _check_series(model: TableModel, series: str | None) -> None:
    """Raise ValueError if the series that a report is about was not in training, or has to be named."""
    if model.group_ is None:
        if series is not None:
            raise ValueError(f"{model.subject} is a model of one series; leave series out.")
        return
    if series is None:
        raise ValueError(
            f"{model.subject} is a model of several series (column {quoted(model.group_)}), and a report is about "
            f'one; name it: series="LABEL", which is one of {named(model.labels)}.'
        )
    if series not in model.labels:
        raise ValueError(f"There is no series {quoted(series)} in {model.label}; it has {named(model.labels)}.")


def open_data(
    estimator: BaseEstimator,
    X: ArrayLike,
    y: ArrayLike,
    feature_names: Sequence[str] | None = None,
    groups: Mapping[str, Sequence[int]] | None = None,
    target_name: str | None = None,
    encoder: TableEncoder | None = None,
    times: ArrayLike | None = None,
    seen: float | None = None,
    row_numbers: ArrayLike | None = None,
    lags: Lags | None = None,
    state: Begin = None,
) -> ReportData:
    """Check what a report is to be about, and predict the rows.

    The parameters are those of :func:`~skscn.report.write_report`.
    """
    if encoder is not None:
        names = encoder.get_feature_names_out()
        feature_names = list(names if lags is None else lags.get_feature_names_out(names))
        groups = encoder.groups_
    grown_networks(estimator)
    own: RowEncoder | None = getattr(estimator, "encoder_", None)
    absent = _absent(X, groups) if encoder is not None else {}
    if own is not None:
        given = _column_names(estimator, X, feature_names)
        groups = _own_groups(own, given, groups)
        feature_names = own.encoded_names(given)
        rows = check_array(X, ensure_all_finite=False) if own.table is None else X
        X, estimator = own.transform(rows), parts_of(estimator)[-1]
    nameless = _nameless(estimator)
    columns = _column_names(estimator, X, feature_names)
    outputs = _output_names(y, target_name)
    followed = _followed(nameless, X, y, state, times) if is_recurrent(nameless) else None
    if followed is not None:
        known = followed.known
        rows, y, predictions = followed.X[known], followed.y[known], followed.predict()[known]
        times, row_numbers = (None if a is None else np.asarray(a)[known] for a in (times, row_numbers))
    else:
        # Names that do not fit are noticed.
        predictions = (estimator if hasattr(X, "columns") else nameless).predict(X)
        rows = check_array(X, accept_sparse="csr")
    y = np.asarray(y)
    check_consistent_length(rows, y)
    if len(y) < 2:
        raise ValueError("A report needs at least two rows.")
    y, predictions = _checked_targets(estimator, y, predictions)
    if row_numbers is not None and np.shape(row_numbers) != (len(y),):
        raise ValueError(f"row_numbers must have one number for each of the {len(y)} rows.")
    moments = _times(times, y)
    return ReportData(
        nameless,
        rows,
        y,
        predictions,
        columns,
        _inputs(columns, groups),
        outputs,
        sources={column.name: column for column in encoder.columns_} if encoder is not None else {},
        knows_names=hasattr(estimator, "feature_names_in_"),
        times=moments,
        outside=_outside(encoder, rows),
        seen=seen,
        row_numbers=None if row_numbers is None else np.asarray(row_numbers),
        followed=followed,
        absent=absent,
        ordered=moments is not None or followed is not None,
    )


def _absent(X: Any, groups: Mapping[str, Sequence[int]] | None) -> dict[str, np.ndarray]:
    """Where each input is missing in encoded rows; those that are nowhere missing are left out."""
    missing = np.isnan(np.asarray(X))
    return {
        name: missing[:, list(places)].any(axis=1)
        for name, places in (groups or {}).items()
        if missing[:, list(places)].any()
    }


def _own_groups(
    own: RowEncoder, columns: Sequence[str], groups: Mapping[str, Sequence[int]] | None
) -> dict[str, Sequence[int]]:
    """The numbers that belong together where an estimator encodes rows itself, which may have been encoded before.

    Those that mark missing values are last.
    """
    if groups is None:
        return dict(zip(columns, own.groups, strict=True))
    return {name: sorted(number for place in places for number in own.groups[place]) for name, places in groups.items()}


def _followed(
    estimator: RecurrentSCNRegressor, X: ArrayLike, y: ArrayLike, state: Begin, times: ArrayLike | None
) -> FollowedRows:
    """All rows of a recurrent network; X may have no columns if the past of the target is enough."""
    targets = two_dimensional(np.asarray(y, dtype=np.float64))
    rows = check_array(X, ensure_min_features=0)
    check_consistent_length(rows, targets)
    return FollowedRows(estimator, rows, targets, state, None if times is None else np.asarray(times))


def _checked_targets(estimator: BaseEstimator, y: np.ndarray, predictions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Classes that the model knows some of, or numbers with a column for each output; and predictions like them."""
    if is_classifier(estimator):
        y, classes = y.reshape(-1), estimator.classes_
        if not np.isin(y, classes).any():
            few = ", ".join(repr(value) for value in np.unique(y)[:3].tolist())
            known = classes[:3].tolist()
            raise ValueError(f"None of the classes in y ({few}) is known to the model, which has {known}.")
        return y, predictions
    y, predictions = two_dimensional(y.astype(np.float64)), two_dimensional(predictions)
    if y.shape != predictions.shape:
        raise ValueError(f"The model predicts {predictions.shape[1]} outputs; y has {y.shape[1]}.")
    return y, predictions


def _times(times: ArrayLike | None, y: np.ndarray) -> np.ndarray | None:
    """One moment for each row, or None where there are none to show."""
    if times is None:
        return None
    times = np.asarray(times)
    if times.dtype.kind != "M" or times.shape != (len(y),):
        raise ValueError(f"times must be datetime64, one for each of the {len(y)} rows.")
    return None if np.isnat(times).all() else times


def _outside(encoder: TableEncoder | None, X: Any) -> list[OutsideColumn]:
    if encoder is None:
        return []
    looking = encoder.looking_outside()
    looking.add(X)
    return looking.found()


def two_dimensional(values: np.ndarray) -> np.ndarray:
    """Values with a column for each output, also where there is one."""
    return np.asarray(values).reshape(len(values), -1)


def _nameless(estimator: BaseEstimator) -> BaseEstimator:
    """The model for rows without names: scikit-learn warns when a model that knows names gets such rows."""
    estimator = copy.copy(estimator)
    vars(estimator).pop("feature_names_in_", None)
    return estimator


def _column_names(estimator: BaseEstimator, X: Any, given: Sequence[str] | None) -> list[str]:
    names = given
    for source, attribute in ((X, "columns"), (estimator, "feature_names_in_")):
        names = getattr(source, attribute, None) if names is None else names
    if names is None:
        return [f"x{j}" for j in range(X.shape[1])]
    if len(names) != estimator.n_features_in_:
        raise ValueError(f"There are {estimator.n_features_in_} columns and {len(names)} feature_names.")
    return _distinct(names)


def _output_names(y: ArrayLike, target_name: str | None) -> list[str]:
    names, shape = getattr(y, "columns", None), np.shape(y)
    several = len(shape) == 2 and shape[1] > 1
    if target_name is not None and not several:
        return [target_name]
    if names is None:
        name = getattr(y, "name", None)
        names = [f"output {k + 1}" for k in range(shape[1])] if several else [name or "the target"]
    return _distinct(names)


def _distinct(names: Iterable[object]) -> list[str]:
    """Names as text; one that was there before gets its number."""
    texts = list(map(str, names))
    return [f"{text} ({k})" if text in texts[:k] else text for k, text in enumerate(texts)]


def _inputs(columns: list[str], groups: Mapping[str, Sequence[int]] | None) -> dict[str, list[int]]:
    """Groups of columns, and those in no group on their own, in the order of the columns."""
    inputs: dict[str, list[int]] = {}
    owners = {column: (name, members) for name, members in (groups or {}).items() for column in members}
    if sum(map(len, (groups or {}).values())) != len(owners) or not set(owners) <= set(range(len(columns))):
        raise ValueError(f"groups must hold numbers of the {len(columns)} columns, each at most once.")
    for column, own_name in enumerate(columns):
        name, members = owners.get(column, (own_name, [column]))
        if inputs.setdefault(name, list(members)) != list(members):
            # Two columns of one name stay two inputs.
            inputs[f"{name} (column {column})"] = list(members)
    return inputs
