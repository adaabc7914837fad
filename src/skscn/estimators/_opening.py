"""Opening what ``fit`` was given: arrays, files, chunks or Dask collections, validated before anything changes.

Rows for early stopping that were given as well are opened in the same way, and brought into memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils import _safe_indexing, column_or_1d

from skscn.estimators._holding_out import Asked, HoldOut
from skscn.estimators._inputs import Encoding, Read, encoding_of, read_further, read_training, refuse_categories
from skscn.estimators.data import ArrayData, TrainingData
from skscn.estimators.recipe import most_nodes
from skscn.rows import Chunks, ScratchInputs, is_dask, opened
from skscn.rows.collections import Collections, read_collections

if TYPE_CHECKING:
    from skscn.estimators.growing import GrowingNetwork


def held_out_data(estimator: GrowingNetwork, kind: str, asked: Asked, data: TrainingData, **checks: Any) -> HoldOut:
    """What ``fit`` was given for early stopping, for these training rows."""
    check_asked(asked)
    if asked.groups is not None:
        return HoldOut(groups=group_numbers(asked.groups, data.n_given)[data.row_numbers()])
    if asked.X_val is None:
        return HoldOut()
    with training_data(estimator, kind, *asked[:3], encoding=encoding_of(data), **checks) as rows:
        held_out = rows.take(np.arange(rows.shape[0]))
    if held_out.multilabel != data.multilabel or (data.classes is None and held_out.n_outputs != data.n_outputs):
        raise ValueError(f"y_val must have as many columns as y; got {held_out.n_outputs} and {data.n_outputs}.")
    if data.classes is not None and not data.multilabel:
        held_out = held_out.with_classes(data.classes)
    return HoldOut(rows=held_out)


def check_asked(asked: Asked) -> None:
    """Reject arguments for early stopping that do not go together."""
    if (asked.X_val is None) != (asked.y_val is None) and not isinstance(asked.X_val, Chunks):
        raise ValueError("X_val and y_val belong together: give both, or neither.")
    if asked.X_val is None and asked.sample_weight_val is not None:
        raise ValueError("sample_weight_val are the weights of X_val; give X_val and y_val as well.")
    if asked.X_val is not None and asked.groups is not None:
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
    if is_dask(X):
        refuse_categories(estimator)
        from skscn.estimators._dask_data import DaskData

        collections = read_collections(X, y, sample_weight)
        _validate_collections(estimator, collections, **checks)
        yield getattr(DaskData, kind)(collections)
        return
    if isinstance(X, str | Path):
        X, y = Chunks(X, y), None
    if not isinstance(X, Chunks):
        read = _validated(estimator, X, y, sample_weight, encoding, **checks)
        data = getattr(ArrayData, kind)(read.X, read.y, sample_weight)
        yield (
            data
            if read.encoder is None
            else replace(data, encoder=read.encoder, given=_rows_of(X, data.numbers, len(read.y)))
        )
        return
    if y is not None or sample_weight is not None:
        raise TypeError("Chunks contain their own targets and weights; call fit(chunks).")
    refuse_categories(estimator)
    # In addition to the inputs: the basis (nodes and links), the residual and the open column.
    with opened(X, lambda n_rows: most_nodes(estimator.max_nodes, n_rows) + X.n_features + 3) as rows:
        yield getattr(ArrayData, kind)(*_validated_chunks(estimator, X, rows.X, rows.y, **checks), rows.sample_weight)


def _rows_of(X: Any, numbers: np.ndarray, count: int) -> Any:
    """These rows of what was given; scikit-learn below 1.9 does not index Arrow tables."""
    if len(numbers) == count:
        return X
    return X.take(numbers) if hasattr(X, "column_names") else _safe_indexing(X, numbers)


def _validated(
    estimator: GrowingNetwork,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    encoding: Encoding | None = None,
    *,
    reset: bool,
    **checks: Any,
) -> Read:
    """X and y."""
    if encoding is None:
        read = read_training(estimator, X, y, sample_weight, reset=reset, **checks)
    else:
        read = Read(*read_further(estimator, X, y, sample_weight, encoding=encoding, **checks), None)
    # One column of classes; several are labels.
    if is_classifier(estimator) and read.y.ndim == 2 and read.y.shape[1] == 1:
        return read._replace(y=column_or_1d(read.y, warn=True))
    return read


def _validated_chunks(
    estimator: GrowingNetwork, chunks: Chunks, X: Any, y: np.ndarray, **checks: Any
) -> tuple[Any, np.ndarray]:
    """As :func:`_validated`; inputs in files were checked as they were read."""
    names = chunks.feature_names
    _check_names(estimator, names, checks["reset"])
    if is_classifier(estimator) and y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if isinstance(X, ScratchInputs):
        # A few rows represent all: their number of inputs and the type of their targets.
        few = min(len(y), 2)
        _validated(estimator, X[:few], y[:few], **checks)
        y = y.astype(np.float64) if checks.get("y_numeric") and y.dtype.kind in "biu" else y
    else:
        X, y, _ = _validated(estimator, X, y, **checks)
    if names is not None:
        estimator.feature_names_in_ = names
    return X, y


def _validate_collections(estimator: GrowingNetwork, collections: Collections, **checks: Any) -> None:
    """As :func:`_validated`; the rows were checked as they were read, and two others represent them."""
    _check_names(estimator, collections.names, checks["reset"])
    _validated(estimator, np.zeros((2, collections.n_features)), np.arange(2.0), **checks)
    if collections.names is not None:
        estimator.feature_names_in_ = collections.names


def _check_names(estimator: GrowingNetwork, names: np.ndarray | None, reset: bool) -> None:
    """Reject columns other than those that are known and not reset, and forget their names for now.

    Arrays have no names, for which scikit-learn would warn.
    """
    known = estimator.__dict__.pop("feature_names_in_", None)
    if not reset and known is not None and (names is None or not np.array_equal(names, known)):
        estimator.__dict__["feature_names_in_"] = known
        what = "warm_start=True continues a network on" if estimator.is_continued() else "X_val must have"
        raise ValueError(
            f"{what} the columns {list(known)} in this order; got {None if names is None else list(names)}."
        )
