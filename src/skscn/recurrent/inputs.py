"""What ``fit`` and ``predict`` are given: one table, tables with groups, or lists of tables; checked, in one form."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import check_array

from skscn.checks import refuse_masked
from skscn.fit.validation import read_numbers
from skscn.recurrent.nodes import Segments
from skscn.tables.frames import column_names
from skscn.words import quoted


@dataclass(frozen=True, eq=False)
class Given:
    """Rows of one or several sequences, one sequence after the other.

    Attributes
    ----------
    X : ndarray of shape (n, d)
    y : ndarray of shape (n, m) or None
        NaN where unknown.
    segments : sequence of slices
    labels : list
        The label of each sequence.
    order : ndarray of shape (n,)
        The place of each row among the rows given.
    listed : bool
        Whether lists of tables were given.
    single_output : bool
    """

    X: np.ndarray
    y: np.ndarray | None
    segments: Segments
    labels: list[Hashable]
    order: np.ndarray
    listed: bool
    single_output: bool

    @property
    def target(self) -> np.ndarray | None:
        """y, one-dimensional if it was given like that."""
        return self.y[:, 0] if self.y is not None and self.single_output else self.y

    def as_given(self, values: np.ndarray) -> Any:
        """Values of all rows in the order, and the form, in which rows were given."""
        if self.listed:
            return [values[segment] for segment in self.segments]
        ordered = np.empty_like(values)
        ordered[self.order] = values
        return ordered


def given(
    estimator: BaseEstimator, X: Any, y: Any, groups: ArrayLike | None, *, reset: bool, supervised: bool = False
) -> Given:
    """Check the rows of a first fit (``reset``), of a further one, or of a prediction, which is not ``supervised``."""
    if supervised and y is None:
        name = type(estimator).__name__
        raise ValueError(f"This {name} estimator requires y to be passed, but the target y is None.")
    listed = _is_list(X) or (X is None and _is_list(y))
    if listed and groups is not None:
        raise ValueError("groups and lists of tables exclude each other; a list has one table for each sequence.")
    lengths, X, y = _stacked(X, y) if listed else (None, X, y)
    outputs, single = (None, True) if y is None else _outputs(y)
    rows = _inputs(estimator, X, outputs, reset)
    if outputs is not None and len(outputs) != len(rows):
        raise ValueError(f"X has {len(rows)} rows and y has {len(outputs)}; each row needs a target, NaN if unknown.")
    if not reset and outputs is not None and outputs.shape[1] != estimator.reservoir_.n_outputs:
        raise ValueError(f"y has {outputs.shape[1]} outputs; the model has {estimator.reservoir_.n_outputs}.")
    labels, order, counts = _grouped(len(rows), groups, lengths)
    ends = np.cumsum(counts)
    segments = [slice(int(end - count), int(end)) for end, count in zip(ends, counts, strict=True)]
    return Given(rows[order], None if outputs is None else outputs[order], segments, labels, order, listed, single)


def _is_list(tables: Any) -> bool:
    """Whether it is a list of tables or, of targets, of columns."""
    return (
        isinstance(tables, list | tuple)
        and len(tables) > 0
        and all(np.ndim(table) >= 1 for table in tables)
        and (np.ndim(tables[0]) == 2 or len({len(table) for table in tables}) > 1)
    )


def _stacked(X: Any, y: Any) -> tuple[list[int], Any, Any]:
    """Lists of tables as one table each, and the length of each sequence."""
    tables = y if X is None else X
    lengths = [len(table) for table in tables]
    if y is not None and (not isinstance(y, list | tuple) or [len(targets) for targets in y] != lengths):
        raise ValueError("X and y must be lists of as many sequences, each with as many rows as targets.")
    widths = {np.shape(table)[1:] for table in tables}
    if len(widths) > 1:
        raise ValueError("The sequences have different numbers of columns.")
    for table in X or ():
        refuse_masked(X=table)
    for targets in y or ():
        refuse_masked(y=targets)
    stacked = None if X is None else np.concatenate([np.asarray(table) for table in X])
    return lengths, stacked, None if y is None else np.concatenate([np.asarray(targets) for targets in y])


def _outputs(y: Any) -> tuple[np.ndarray, bool]:
    """Targets (n, m), NaN where unknown, and whether they were one-dimensional."""
    refuse_masked(y=y)
    targets: np.ndarray = check_array(
        y,
        dtype=np.float64,
        ensure_all_finite=False,
        ensure_2d=False,
        allow_nd=True,
        ensure_min_samples=0,
        input_name="y",
    )
    if targets.ndim not in (1, 2) or 0 in targets.shape:
        raise ValueError(f"y must have the shape (n_samples,) or (n_samples, n_outputs); it has {targets.shape}.")
    if np.isinf(targets).any():
        raise ValueError("Input y contains infinity; mark unknown targets by NaN.")
    return (targets[:, np.newaxis], True) if targets.ndim == 1 else (targets, False)


def _inputs(estimator: BaseEstimator, X: Any, outputs: np.ndarray | None, reset: bool) -> np.ndarray:
    if X is None:
        if outputs is None or not getattr(estimator, "feedback", False):
            raise ValueError("X is missing; only a model with feedback=True can do without, from earlier targets.")
        if reset:
            estimator.n_features_in_ = 0
            estimator.__dict__.pop("feature_names_in_", None)
        return np.empty((len(outputs), 0))
    rows = read_numbers(estimator, X, reset=reset, dtype=np.float64, accept_sparse=False, ensure_all_finite=False)
    bad = ~np.isfinite(rows)
    if bad.any():
        row = int(bad.any(axis=1).argmax())
        name = column_names(X)[int(bad[row].argmax())]
        raise ValueError(
            f"X has missing or infinite values, first in row {row}, column {quoted(name)}; fill them in first, for "
            "example with the last known value (DataFrame.ffill)."
        )
    return rows


def _grouped(
    n_rows: int, groups: ArrayLike | None, lengths: Sequence[int] | None
) -> tuple[list[Hashable], np.ndarray, np.ndarray]:
    """The label of each sequence, the rows sequence by sequence, and how many each has."""
    if lengths is not None:
        return list(range(len(lengths))), np.arange(n_rows), np.array(lengths)
    if groups is None:
        return [0], np.arange(n_rows), np.array([n_rows])
    labels = np.asarray(groups)
    if labels.shape != (n_rows,):
        raise ValueError(f"groups must have one label for each of the {n_rows} rows; it has the shape {labels.shape}.")
    distinct, places = np.unique(labels, return_inverse=True)
    return distinct.tolist(), np.argsort(places, kind="stable"), np.bincount(places)
