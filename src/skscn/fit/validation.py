"""Validation of what ``fit`` was given: arrays, tables, files, chunks or Dask collections become training rows.

Tables are encoded and missing numbers filled in here, once, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.utils import _safe_indexing, check_array, check_consistent_length, column_or_1d
from sklearn.utils.validation import _check_sample_weight, _check_y, check_is_fitted, validate_data

from skscn.checks import is_dask, refuse_masked
from skscn.fit.data import ArrayData, HoldOut, TrainingData, ValidationArguments, targets_to_learn
from skscn.fit.plan import most_nodes
from skscn.network import sampled
from skscn.rows import Chunks, ScratchInputs, Sites, opened
from skscn.rows.federated import ONLY_SUMS
from skscn.rows.operations import PANEL
from skscn.rows.partitions import read_collections
from skscn.scaling import medians_of
from skscn.tables.columns import Number
from skscn.tables.filling import fill_medians
from skscn.tables.frames import (
    as_table,
    check_frame,
    column_names,
    exact_labels,
    has_only_numbers,
    is_frame,
    with_numbers,
)
from skscn.tables.row_encoder import RowEncoder, encode_array, encode_table
from skscn.tables.values import ColumnValues
from skscn.words import listed, quoted

if TYPE_CHECKING:
    from skscn.estimators.base import GrowingNetwork


# Parts of scikit-learn's messages about text.
_NOT_NUMBERS = ("could not convert string", "dtype='numeric' is not compatible with arrays of bytes/strings")


@dataclass(frozen=True)
class _NumbersAlone(Number):
    """A column of an estimator that does not encode it; ``hint`` says what does."""

    hint: str = ""

    def _unlike(self, values: ColumnValues, expected: str) -> ValueError:
        return ValueError(f"Column {quoted(self.name)} holds {values.holds}, not {expected}. {self.hint}")

    def _wrong(self, example: str, expected: str) -> ValueError:
        return ValueError(f"Column {quoted(self.name)} holds {quoted(example)}, not {expected}. {self.hint}")


class EncodedRows(NamedTuple):
    """Rows as networks see them, targets, and what encodes further rows: None for numbers none of which is missing."""

    X: Any
    y: np.ndarray
    encoder: RowEncoder | None


class Encoding(NamedTuple):
    """How rows become numbers: what encodes them, if anything does, and what else is filled in for missing ones."""

    encoder: RowEncoder | None
    medians: np.ndarray | None

    @classmethod
    def of_training(cls, data: TrainingData) -> Encoding:
        """The encoding of training rows, for rows that come with them."""
        numbers = data.take(sampled(data.shape[0])).X if data.encoder is None else None
        return cls(data.encoder, medians_of(numbers) if isinstance(numbers, np.ndarray) else None)

    def transform(self, X: Any) -> Any:
        """The rows of a table: encoded, or, by a model of numbers, read as numbers."""
        if self.encoder is not None and self.encoder.table is not None:
            return self.encoder.transform(X)
        columns = as_table(X)
        read = [Number(name, 0.0, False).floats(columns.column(name)) for name in columns.names]
        return self.fill(np.column_stack(read))

    def fill(self, X: Any) -> Any:
        """Numbers without missing ones, and with the marks that the network expects."""
        if self.encoder is not None:
            return self.encoder.transform(X.toarray() if sparse.issparse(X) else X)
        if not _has_missing(X):
            return X
        if self.medians is None:
            raise ValueError(
                "X contains NaN, but this model does not know what to fill in: it was saved by an earlier version, or "
                "fitted on a sparse matrix. Fit it again, or fill in missing values."
            )
        return fill_medians(X, self.medians)


def read_training(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    encoding: Encoding | None = None,
    reset: bool = True,
    **checks: Any,
) -> EncodedRows:
    """Training rows, validated and encoded: by ``encoding``, or as they teach.

    The estimator notes number and names of the columns if they are new (``reset``). Checks are those of y.
    """
    refuse_masked(sample_weight=sample_weight)
    classes, encoder = is_classifier(estimator), None
    y = exact_labels(y) if classes else y
    if _is_table(X, estimator.categorical_features, encoding):
        refuse_masked(X=X, y=y)
        validate_data(estimator, X, y, skip_check_array=True, reset=reset)
        y = _check_y(y, estimator=estimator, **checks)
        check_consistent_length(X, y)
        if encoding is None:
            targets, weights = targets_to_learn(y, classes=classes), _check_sample_weight(sample_weight, y, dtype=float)
            encoder, X = encode_table(X, _categories(estimator, X), targets, weights)
        else:
            X = encoding.transform(X)
    else:
        X, y = read_numbers(estimator, X, y, reset=reset, **checks)
        if encoding is not None:
            X = encoding.fill(X)
        elif _has_missing(X):
            targets, weights = targets_to_learn(y, classes=classes), _check_sample_weight(sample_weight, y, dtype=float)
            encoder, X = encode_array(X, targets, weights)
    # One column of classes; several are labels.
    if classes and y.ndim == 2 and y.shape[1] == 1:
        y = column_or_1d(y, warn=True)
    return EncodedRows(X, y, encoder)


def read_further(estimator: Any, X: Any, y: Any, sample_weight: Any = None, **checks: Any) -> tuple[Any, np.ndarray]:
    """Further training rows of a fitted estimator, encoded as those before."""
    encoding = Encoding(estimator.encoder_, estimator._medians)
    rows, targets, _ = read_training(estimator, X, y, sample_weight, encoding=encoding, reset=False, **checks)
    return rows, targets


def read_rows(estimator: Any, X: Any) -> Any:
    """Rows to predict, for a fitted estimator."""
    check_is_fitted(estimator)
    if _are_ready(estimator, X):
        return X
    encoding = Encoding(estimator.encoder_, estimator._medians)
    if not _is_table(X, estimator.categorical_features, encoding):
        return encoding.fill(read_numbers(estimator, X, reset=False))
    refuse_masked(X=X)
    validate_data(estimator, X, skip_check_array=True, reset=False)
    return check_array(encoding.transform(X))


def _are_ready(estimator: Any, X: Any) -> bool:
    """Whether rows are what :func:`read_rows` would make of them; its checks take longer than to predict a few rows."""
    if type(X) is not np.ndarray or X.dtype not in (np.float64, np.float32) or X.ndim != 2 or not len(X):
        return False
    if estimator.encoder_ is not None or X.shape[1] != estimator.n_features_in_:
        return False
    with np.errstate(all="ignore"):
        return not hasattr(estimator, "feature_names_in_") and bool(np.isfinite(X.sum()))


def read_numbers(estimator: Any, X: Any, y: Any = "no_validation", *, reset: bool, **checks: Any) -> Any:
    """Rows of numbers, and their targets if these are given: what every estimator refuses, is refused here.

    Masked values, columns of the same name, frames whose rows are not there yet, text and infinite numbers. Numbers may
    be missing, and matrices sparse, unless the checks, those of :func:`~sklearn.utils.validation.validate_data`, say
    otherwise.
    """
    refuse_masked(X=X, y=y)
    if not isinstance(X, np.ndarray):
        check_frame(X)
        if is_frame(X) and not X.shape[1]:
            raise ValueError("X has no columns; give it at least one.")
        if is_frame(X) and not has_only_numbers(X):
            hint = _encoders(estimator)
            X = with_numbers(X, lambda name, values: _NumbersAlone(name, None, False, hint=hint).floats(values))
    numbers = {"accept_sparse": "csr", "dtype": [np.float64, np.float32], "ensure_all_finite": "allow-nan"}
    try:
        return validate_data(estimator, X, y, reset=reset, **{**numbers, **checks})
    except ValueError as error:
        sentence = str(error).partition("\n")[0].rstrip(".")
        if "infinity" in sentence and is_frame(X):
            columns = as_table(X)
            infinite = [name for name in columns.names if np.isinf(columns.column(name).floats()).any()]
            raise ValueError(
                f"{sentence}: column {listed(map(quoted, infinite))}; correct these values, or leave them empty."
            ) from None
        if any(part in sentence for part in _NOT_NUMBERS):
            raise ValueError(f"{sentence}. {_encoders(estimator)}") from None
        raise


def _encoders(estimator: Any) -> str:
    """A sentence about what encodes values that are not numbers."""
    if not hasattr(estimator, "categorical_features"):
        return "skscn.tables.TableEncoder encodes text, dates and categories."
    return (
        "Text, dates and categories are encoded if fit gets them in a DataFrame or an Arrow table, with "
        'categorical_features="from_dtype"; elsewhere, skscn.tables.TableEncoder does it.'
    )


def _is_table(X: Any, categorical_features: Any, encoding: Encoding | None) -> bool:
    """Whether rows are read column by column: if they were in training, or if a frame does not only have numbers.

    In training (no encoding), columns to encode can be named, and None says that there are none.
    """
    if not isinstance(X, np.ndarray):
        check_frame(X)
    if encoding is not None and encoding.encoder is not None and encoding.encoder.table is not None:
        return True
    if encoding is None and categorical_features is None:
        return False
    if encoding is None and not isinstance(categorical_features, str) and len(categorical_features):
        if sparse.issparse(X):
            raise ValueError("categorical_features names columns of tables and arrays; X is sparse: use X.toarray().")
        return True
    return not isinstance(X, np.ndarray) and is_frame(X) and not has_only_numbers(X)


def _categories(estimator: Any, X: Any) -> list[str]:
    """The columns that ``categorical_features`` names, by names, by numbers or by a mask."""
    if isinstance(estimator.categorical_features, str):
        return []
    which, names = np.asarray(estimator.categorical_features), column_names(X)
    if which.dtype.kind == "b" and which.shape != (len(names),):
        raise ValueError(f"The mask categorical_features has shape {which.shape}, but X has {len(names)} columns.")
    chosen = np.flatnonzero(which).tolist() if which.dtype.kind == "b" else which.tolist()
    known = {name: name for name in names} | dict(enumerate(names))
    unknown = [str(item) for item in chosen if item not in known]
    if unknown:
        raise ValueError(f"categorical_features names {listed(unknown)}, but the columns of X are {listed(names)}.")
    return [known[item] for item in chosen]


def _has_missing(X: Any) -> bool:
    """Whether some number is NaN; those of a sparse matrix must not be."""
    values = X.data if sparse.issparse(X) else X
    # A sum that is a number says so at once.
    with np.errstate(over="ignore", invalid="ignore"):
        found = bool(np.isnan(values.sum()) and np.isnan(values).any())
    if found and sparse.issparse(X):
        raise ValueError(
            "Input X contains NaN in a sparse matrix; use X.toarray(), whose missing values are filled in."
        )
    return found


def held_out_data(
    estimator: GrowingNetwork, kind: str, validation: ValidationArguments, data: TrainingData, **checks: Any
) -> HoldOut:
    """What ``fit`` was given for early stopping, for these training rows."""
    check_validation_arguments(validation)
    if validation.groups is not None:
        return HoldOut(groups=group_numbers(validation.groups, data.n_given)[data.row_numbers()])
    if validation.X_val is None:
        return HoldOut()
    with training_data(estimator, kind, *validation[:3], encoding=Encoding.of_training(data), **checks) as rows:
        held_out = rows.take(np.arange(rows.shape[0]))
    if held_out.multilabel != data.multilabel or (data.classes is None and held_out.n_outputs != data.n_outputs):
        raise ValueError(f"y_val must have as many columns as y; got {held_out.n_outputs} and {data.n_outputs}.")
    if data.classes is not None and not data.multilabel:
        held_out = held_out.with_classes(data.classes)
    return HoldOut(rows=held_out)


def check_validation_arguments(validation: ValidationArguments) -> None:
    """Reject arguments for early stopping that do not go together."""
    if (validation.X_val is None) != (validation.y_val is None) and not isinstance(validation.X_val, Chunks):
        raise ValueError("X_val and y_val belong together: give both, or neither.")
    if validation.X_val is None and validation.sample_weight_val is not None:
        raise ValueError("sample_weight_val are the weights of X_val; give X_val and y_val as well.")
    if validation.X_val is not None and validation.groups is not None:
        raise ValueError("X_val and y_val are held out, so groups would not be used; give one of the two.")


def group_numbers(groups: Any, n_rows: int) -> np.ndarray:
    """The number of each row's group."""
    groups = column_or_1d(groups)
    if len(groups) != n_rows:
        raise ValueError(f"groups must have one value for each row; got {len(groups)} for {n_rows} rows.")
    found, numbers = np.unique(groups, return_inverse=True)
    if len(found) < 2:
        raise ValueError("groups must have at least two different values; all rows belong to one group.")
    return np.asarray(numbers)


@contextmanager
def training_data(
    estimator: GrowingNetwork,
    kind: str,
    X: Any,
    y: Any,
    sample_weight: Any,
    *,
    encoding: Encoding | None = None,
    **checks: Any,
) -> Iterator[TrainingData]:
    """Rows for "regression" or "classification", for as long as their source is open.

    Arrays are used as they are, files and chunks are read; rows of Dask collections stay where they are. The estimator
    notes number and names of the inputs unless it continues a network, or the rows are in addition to training rows,
    and encoded like these.
    """
    checks["reset"] = encoding is None and not estimator.is_continued()
    if isinstance(X, str | Path):
        X, y = Chunks(X, y), None
    if is_dask(X):
        from skscn.fit.dask_data import DaskData

        _refuse_categories(estimator)
        collections = read_collections(X, y, sample_weight)
        # The rows were checked as they were read, and two others represent them.
        _read_arrays(estimator, np.zeros((2, collections.n_features)), np.arange(2.0), collections.names, **checks)
        yield getattr(DaskData, kind)(collections)
    elif isinstance(X, Sites):
        from skscn.fit.federated_data import FederatedData

        if kind != "regression":
            raise ValueError(ONLY_SUMS)
        if y is not None or sample_weight is not None:
            raise TypeError("Sites have their own targets, and do not support weights; call fit(sites).")
        federated, columns = FederatedData(X), X.members[0].columns
        names = None if isinstance(columns, int) else np.array(columns, dtype=object)
        # The sites have checked their rows, which two others represent.
        _read_arrays(estimator, np.zeros((2, federated.shape[1])), np.arange(2.0), names, **checks)
        yield federated
    elif isinstance(X, Chunks):
        _refuse_categories(estimator)
        if y is not None or sample_weight is not None:
            raise TypeError("Chunks contain their own targets and weights; call fit(chunks).")
        # In addition to the inputs: basis (nodes, links, intercept), residual, first and now, and the open columns.
        with opened(X, lambda n_rows: most_nodes(estimator.max_nodes, n_rows) + X.n_features + 3 + PANEL) as rows:
            inputs, targets = rows.X, rows.y
            if is_classifier(estimator) and targets.ndim == 2 and targets.shape[1] == 1:
                targets = targets[:, 0]
            if isinstance(inputs, ScratchInputs):
                # Inputs in files were checked as they were read; a few rows represent all.
                few = min(len(targets), 2)
                _read_arrays(estimator, inputs[:few], targets[:few], X.feature_names, **checks)
                if checks.get("y_numeric") and targets.dtype.kind in "biu":
                    targets = targets.astype(np.float64)
            else:
                inputs, targets, _ = _read_arrays(estimator, inputs, targets, X.feature_names, **checks)
            yield getattr(ArrayData, kind)(inputs, targets, rows.sample_weight)
    else:
        read = read_training(estimator, X, y, sample_weight, encoding=encoding, **checks)
        data: ArrayData = getattr(ArrayData, kind)(read.X, read.y, sample_weight)
        if read.encoder is not None:
            given = X
            if len(data.numbers) < len(read.y):
                # scikit-learn below 1.9 does not index Arrow tables.
                given = X.take(data.numbers) if hasattr(X, "column_names") else _safe_indexing(X, data.numbers)
            data = replace(data, encoder=read.encoder, given=given)
        yield data


def _refuse_categories(estimator: GrowingNetwork) -> None:
    if estimator.categorical_features is not None and not isinstance(estimator.categorical_features, str):
        raise ValueError(
            "categorical_features needs rows in memory; for files, chunks and Dask collections, encode categories "
            "beforehand."
        )


def _read_arrays(
    estimator: GrowingNetwork, X: Any, y: np.ndarray, names: np.ndarray | None, *, reset: bool, **checks: Any
) -> EncodedRows:
    """Training rows whose columns have these names; other names than those that are known and not reset are refused."""
    # Arrays have no names, for which scikit-learn would warn.
    known = estimator.__dict__.pop("feature_names_in_", None)
    if not reset and known is not None and (names is None or not np.array_equal(names, known)):
        what = "warm_start=True continues a network on" if estimator.is_continued() else "X_val must have"
        raise ValueError(
            f"{what} the columns {list(known)} in this order; got {None if names is None else list(names)}."
        )
    read = read_training(estimator, X, y, reset=reset, **checks)
    if names is not None:
        estimator.feature_names_in_ = names
    return read
