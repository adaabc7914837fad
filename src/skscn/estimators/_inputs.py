"""The rows of a user as numbers: tables encoded and missing numbers filled in, once, where they come in."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.utils import check_array, check_consistent_length
from sklearn.utils.validation import _check_sample_weight, _check_y, validate_data

from skscn.estimators._importances import sampled
from skscn.estimators.data import TrainingData, targets_to_learn
from skscn.rows.masked import refuse_masked
from skscn.tables.filling import fill_medians, medians_of
from skscn.tables.frames import column_names, has_only_numbers, is_frame
from skscn.tables.row_encoder import RowEncoder, encode_array, encode_table
from skscn.words import listed

_NUMBERS: dict[str, Any] = {
    "accept_sparse": "csr",
    "dtype": [np.float64, np.float32],
    "ensure_all_finite": "allow-nan",
}
# Parts of scikit-learn's messages about text.
_NOT_NUMBERS = ("could not convert string", "dtype='numeric' is not compatible with arrays of bytes/strings")


class Read(NamedTuple):
    """Rows as networks see them, targets, and what encodes further rows: None for numbers none of which is missing."""

    X: Any
    y: np.ndarray
    encoder: RowEncoder | None


class Encoding(NamedTuple):
    """How rows become numbers: what encodes them, if anything does, and what else is filled in for missing ones."""

    encoder: RowEncoder | None
    medians: np.ndarray | None


def encoding_of(data: TrainingData) -> Encoding:
    """The encoding of training rows, for rows that come with them."""
    numbers = data.take(sampled(data.shape[0])).X if data.encoder is None else None
    return Encoding(data.encoder, medians_of(numbers) if isinstance(numbers, np.ndarray) else None)


def read_training(
    estimator: Any, X: Any, y: Any, sample_weight: Any = None, *, reset: bool = True, **checks: Any
) -> Read:
    """Training rows, validated and encoded; the estimator notes number and names of the columns, if they are new."""
    refuse_masked(X=X, y=y, sample_weight=sample_weight)
    if _is_table(estimator, X):
        validate_data(estimator, X, y, skip_check_array=True, reset=reset)
        y = _check_y(y, estimator=estimator, **checks)
        check_consistent_length(X, y, sample_weight)
        weights = _check_sample_weight(sample_weight, y, dtype=np.float64)
        encoder, numbers = encode_table(
            X, _categories(estimator, X), targets_to_learn(y, classes=is_classifier(estimator)), weights
        )
        return Read(numbers, y, encoder)
    with _advising():
        X, y = validate_data(estimator, X, y, reset=reset, **_NUMBERS, **checks)
    if not _has_missing(X):
        return Read(X, y, None)
    encoder, numbers = encode_array(
        X,
        targets_to_learn(y, classes=is_classifier(estimator)),
        _check_sample_weight(sample_weight, y, dtype=np.float64),
    )
    return Read(numbers, y, encoder)


def read_further(
    estimator: Any, X: Any, y: Any, sample_weight: Any = None, *, encoding: Encoding | None = None, **checks: Any
) -> tuple[Any, np.ndarray]:
    """Further training rows, encoded as those before: for a fitted estimator, or one that is about to be fitted."""
    refuse_masked(X=X, y=y, sample_weight=sample_weight)
    encoding = _known(estimator) if encoding is None else encoding
    if encoding.encoder is not None and encoding.encoder.table is not None:
        validate_data(estimator, X, y, skip_check_array=True, reset=False)
        y = _check_y(y, estimator=estimator, **checks)
        check_consistent_length(X, y)
        return encoding.encoder.transform(X), y
    with _advising():
        X, y = validate_data(estimator, X, y, reset=False, **_NUMBERS, **checks)
    return _filled(encoding, X), y


def read_rows(estimator: Any, X: Any) -> Any:
    """Rows to predict, for a fitted estimator."""
    refuse_masked(X=X)
    if _encodes_tables(estimator):
        validate_data(estimator, X, skip_check_array=True, reset=False)
        return check_array(estimator.encoder_.transform(X))
    with _advising():
        return _filled(_known(estimator), validate_data(estimator, X, reset=False, **_NUMBERS))


def refuse_categories(estimator: Any) -> None:
    """Reject columns that are to be categories, of rows that are not in memory."""
    if estimator.categorical_features is not None and not isinstance(estimator.categorical_features, str):
        raise ValueError(
            "categorical_features names columns of rows in memory; encode categories before rows are written to files, "
            "chunks or Dask collections."
        )


def _known(estimator: Any) -> Encoding:
    """The encoding of a fitted estimator."""
    return Encoding(estimator.encoder_, estimator._medians)


def _encodes_tables(estimator: Any) -> bool:
    return estimator.encoder_ is not None and estimator.encoder_.table is not None


def _is_table(estimator: Any, X: Any) -> bool:
    """Whether rows have columns that have to be encoded."""
    which = estimator.categorical_features
    if which is None:
        return False
    if not isinstance(which, str) and len(which):
        if sparse.issparse(X):
            raise ValueError("categorical_features names columns of tables and arrays; X is sparse: use X.toarray().")
        return True
    return is_frame(X) and not has_only_numbers(X)


def _categories(estimator: Any, X: Any) -> list[str]:
    """The columns that ``categorical_features`` names, by names, by numbers or by a mask."""
    if isinstance(estimator.categorical_features, str):
        return []
    which, names = np.asarray(estimator.categorical_features), column_names(X)
    if which.dtype.kind == "b" and which.shape != (len(names),):
        raise ValueError(f"The mask categorical_features has shape {which.shape}, and X has {len(names)} columns.")
    chosen = np.flatnonzero(which).tolist() if which.dtype.kind == "b" else which.tolist()
    known = {name: name for name in names} | dict(enumerate(names))
    unknown = [str(item) for item in chosen if item not in known]
    if unknown:
        raise ValueError(f"categorical_features names {listed(unknown)}; the columns of X are {listed(names)}.")
    return [known[item] for item in chosen]


def _filled(encoding: Encoding, X: Any) -> Any:
    """Numbers without missing ones, and with the marks that the network expects."""
    if encoding.encoder is not None:
        return encoding.encoder.transform(X.toarray() if sparse.issparse(X) else X)
    if not _has_missing(X):
        return X
    if encoding.medians is None:
        raise ValueError(
            "X contains NaN, and this model does not know what to fill in: it was saved by an earlier version, or "
            "fitted on a sparse matrix. Fit it again, or fill in missing values."
        )
    return fill_medians(X, encoding.medians)


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


@contextmanager
def _advising() -> Iterator[None]:
    """Within this context, scikit-learn's errors about text say how it is encoded."""
    try:
        yield
    except ValueError as error:
        sentence = str(error).partition("\n")[0].rstrip(".")
        if any(part in sentence for part in _NOT_NUMBERS):
            raise ValueError(
                f"{sentence}. Text, dates and categories are encoded if fit gets them in a DataFrame or an Arrow "
                'table, with categorical_features="from_dtype"; elsewhere, skscn.tables.TableEncoder does it.'
            ) from None
        raise
