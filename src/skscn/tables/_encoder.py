"""Tables to numbers: a transformer that takes columns of all kinds."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin, _fit_context
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from skscn.rows.sources import ROW_LABELS
from skscn.tables._columns import Column, RowTime, column_from_json
from skscn.tables._learning import Learnt, learn, learn_time, without_trend
from skscn.tables._text import arrow
from skscn.words import listed, refuse_twins

_FIELDS = {"max_categories", "columns", "left_out", "notes"}
# Files of version 0.1 do without it.
_TIME = "time"


class TableEncoder(TransformerMixin, BaseEstimator):
    """Encode a table of numbers, text, dates and booleans as an array of numbers.

    - Numbers stay as they are; text columns that hold numbers ("1,234", "12 %") are read as such.
    - Text columns and categoricals become a column of 0 and 1 for each of their most frequent categories and, where
      there are more, one for all others; a category not seen in training goes there too, or is 0 everywhere.
    - Dates become days since 1970 began, and sine and cosine of their place in the year, the week and the day where
      they span more than one; times of the day become hours with sine and cosine.
    - Missing values ("?", "NA" and the like too) become the median, and are marked in a column of their own if training
      had any; missing text is a category.
    - Columns of one value, and text that differs in nearly every row, are left out.
    - Where `time` names the column that orders the rows, its days since 1970 are left out: they tell rows of training
      from later ones and nothing else. Its place in the year, the week and the day stays where these come round
      several times. Row numbers, and the days of other dates that rise with the rows, are left out as well.

    Parameters
    ----------
    max_categories : int, default=20
        The most categories of a column that get a column of their own.
    time : str or None, default=None
        The column that says when each row was taken, where the rows are a series; they have to be in its order.

    Attributes
    ----------
    columns_ : list of Column
        What is encoded, in the order of the table.
    left_out_ : list of str
        Columns of the table that are not used.
    groups_ : dict of str to list of int
        The encoded columns of each column.
    time_ : str or None
        The column that says when each row was taken; :meth:`row_times` reads it.
    notes_ : list of str
        What was done, in words.
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    Examples
    --------
    >>> import pyarrow as pa
    >>> from skscn.tables import TableEncoder
    >>> table = pa.table({"size": [1.0, 2.0, None], "town": ["Rome", "Oslo", "Rome"]})
    >>> encoder = TableEncoder().fit(table)
    >>> print(*encoder.get_feature_names_out(), sep=", ")
    size, size is missing, town = Oslo, town = Rome
    >>> encoder.transform(pa.table({"town": ["Paris", "Rome"], "size": [3, 4]}))
    array([[3., 0., 0., 0.],
           [4., 0., 0., 1.]])
    """

    _parameter_constraints: dict = {
        "max_categories": [Interval(Integral, 1, None, closed="left")],
        "time": [str, None],
    }

    def __init__(self, max_categories=20, time=None):
        self.max_categories = max_categories
        self.time = time

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.categorical = tags.input_tags.allow_nan = True
        tags.target_tags.required = False
        return tags

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Learn the columns.

        Parameters
        ----------
        X : pyarrow.Table, DataFrame of pandas or Polars, or array-like of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        self
        """
        table = as_table(X)
        if table.num_rows == 0:
            raise ValueError("The table has no rows; training needs at least one.")
        learnt, time = self._learn(table)
        remarks: dict[str, list[str]] = {}
        for topic, detail in (remark for result in learnt.values() for remark in result.remarks):
            remarks.setdefault(topic, []).append(detail)
        self._set(
            [result.column for result in learnt.values() if result.column is not None],
            [name for name, result in learnt.items() if result.column is None],
            [f"{topic}: {listed(details)}." for topic, details in remarks.items()],
            time,
        )
        self.feature_names_in_ = np.array(table.column_names, dtype=object)
        return self

    def _learn(self, table) -> tuple[dict[str, Learnt], RowTime | None]:
        """What each column is, and the one that orders the rows."""
        learnt = {name: learn(name, table.column(name), self.max_categories) for name in table.column_names}
        if self.time is None:
            return learnt, None
        if self.time not in learnt:
            raise ValueError(
                f"The table has no column {self.time!r} with the time of the rows; its columns are "
                f"{listed(table.column_names)}."
            )
        time = learn_time(learnt[self.time], self.time, table.column(self.time))
        learnt = {name: without_trend(result, table.column(name)) for name, result in learnt.items()}
        learnt[self.time] = Learnt(time if time.cycles else None)
        return learnt, time

    def _set(self, columns: list[Column], left_out: list[str], notes: list[str], time: RowTime | None = None) -> None:
        if not columns:
            raise ValueError(
                f"There is no column to learn from; {' '.join(notes) or 'add one beside the target.'}".strip()
            )
        self.columns_, self.left_out_, self.notes_ = columns, left_out, notes
        self._time, self.time_ = time, None if time is None else time.name
        self.n_features_in_ = len(columns) + len(left_out)
        self.groups_: dict[str, list[int]] = {}
        width = 0
        for column in columns:
            end = width + len(column.encoded_names)
            self.groups_[column.name] = list(range(width, end))
            width = end
        self._n_features_out = width

    def transform(self, X):
        """Encode a table; its columns may be in another order, and there may be more of them.

        Parameters
        ----------
        X : pyarrow.Table, DataFrame of pandas or Polars, or array-like of shape (n_samples, n_features)

        Returns
        -------
        encoded : ndarray of shape (n_samples, n_features_out), float64
        """
        check_is_fitted(self, "columns_")
        table = as_table(X)
        missing = [column.name for column in self.columns_ if column.name not in table.column_names]
        if missing:
            raise ValueError(
                f"The table lacks {'columns' if len(missing) > 1 else 'the column'} {listed(map(repr, missing))}, "
                f"which training had; its columns are {listed(table.column_names)}."
            )
        encoded = np.empty((table.num_rows, self._n_features_out))
        for column in self.columns_:
            places = self.groups_[column.name]
            encoded[:, places[0] : places[-1] + 1] = column.encode(table.column(column.name))
        return encoded

    def get_feature_names_out(self, input_features=None):
        """Names of the encoded columns.

        Parameters
        ----------
        input_features : ignored

        Returns
        -------
        names : ndarray of str
        """
        check_is_fitted(self, "columns_")
        return np.array([name for column in self.columns_ for name in column.encoded_names], dtype=object)

    @property
    def read_types(self) -> dict[str, Any]:
        """The columns that :meth:`transform` needs, and the Arrow types to read them as from a text file."""
        check_is_fitted(self, "columns_")
        return {column.name: column.read_type for column in self.columns_}

    def row_times(self, X) -> np.ndarray:
        """The time of each row of a table, from its column `time_`.

        Parameters
        ----------
        X : pyarrow.Table, DataFrame of pandas or Polars, or array-like of shape (n_samples, n_features)

        Returns
        -------
        times : ndarray of datetime64, shape (n_samples,)
            NaT where it is missing; times in a zone are in UTC.
        """
        check_is_fitted(self, "columns_")
        table = as_table(X)
        if self._time is None:
            raise ValueError("The encoder knows no time of the rows; fit TableEncoder(time=...) with its column.")
        if self._time.name not in table.column_names:
            raise ValueError(f"The table lacks the column {self._time.name!r}, which holds the time of the rows.")
        return self._time.moments(table.column(self._time.name))

    @property
    def time_types(self) -> dict[str, Any]:
        """The column that :meth:`row_times` needs, and the Arrow type to read it as from a text file; or nothing."""
        check_is_fitted(self, "columns_")
        return {} if self._time is None else {self._time.name: self._time.read_type}

    def to_json(self) -> dict:
        """What has been learnt, as plain data that JSON can hold."""
        check_is_fitted(self, "columns_")
        return {
            "max_categories": int(self.max_categories),
            "columns": [_plain(column.to_json()) for column in self.columns_],
            "left_out": list(self.left_out_),
            "notes": list(self.notes_),
            **({} if self._time is None else {_TIME: _plain(self._time.to_json())}),
        }

    @classmethod
    def from_json(cls, state) -> TableEncoder:
        """The encoder that gave this state; anything else than such a state raises ValueError.

        Parameters
        ----------
        state : dict
        """
        if not isinstance(state, dict) or set(state) - {_TIME} != _FIELDS:
            raise ValueError(f"A table encoder must be an object with exactly the fields {', '.join(sorted(_FIELDS))}.")
        most, columns, left_out, notes = (state[name] for name in ("max_categories", "columns", "left_out", "notes"))
        if not isinstance(most, int) or isinstance(most, bool) or most < 1:
            raise ValueError("The field max_categories of a table encoder must be a whole number of at least 1.")
        if not isinstance(columns, list) or not columns:
            raise ValueError("The field columns of a table encoder must be a list of at least one column.")
        for name, value in (("left_out", left_out), ("notes", notes)):
            if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
                raise ValueError(f"The field {name} of a table encoder must be a list of texts.")
        time = _time_from_json(state.get(_TIME), left_out, columns)
        encoder = cls(most, None if time is None else time.name)
        encoder._set([column_from_json(column) for column in columns], left_out, notes, time)
        names = [*encoder.groups_, *left_out]
        refuse_twins(names)
        if len(encoder.groups_) < len(columns):
            raise ValueError("The columns of a table encoder must have different names.")
        if not all(column.encoded_names for column in encoder.columns_):
            raise ValueError("Each column of a table encoder must become at least one number.")
        return encoder


def _time_from_json(state: Any, left_out: list[str], columns: list) -> RowTime | None:
    """The column that orders the rows; it is one of the others too, or left out."""
    if state is None:
        return None
    time = column_from_json(state)
    if not isinstance(time, RowTime) or not (state in columns or time.name in left_out):
        raise ValueError("The field time of a table encoder must be one of its columns that holds the time of rows.")
    return time


def _plain(state: dict) -> dict:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in state.items()}


def as_table(X):
    """A pyarrow Table of what holds columns: a Table, a DataFrame, or an array, with columns x0, x1 and so on."""
    pa = arrow()
    try:
        table = _table(pa, X)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as mixed:
        raise ValueError(f"A column holds values of several kinds ({mixed}); make them all of one.") from None
    table = table.select([place for place, name in enumerate(table.column_names) if not ROW_LABELS.fullmatch(name)])
    refuse_twins(table.column_names)
    return table


def _table(pa, X):
    if isinstance(X, pa.Table):
        return X
    if isinstance(X, pa.RecordBatch):
        return pa.Table.from_batches([X])
    if hasattr(X, "__arrow_c_stream__"):
        return pa.table(X)
    if hasattr(X, "__dataframe__"):
        return arrow("pyarrow.interchange").from_dataframe(X)
    array = np.asarray(X)
    if array.ndim != 2:
        raise ValueError(f"A table must have 2 dimensions, rows by columns, not {array.ndim}.")
    return pa.table({f"x{place}": pa.array(values.tolist()) for place, values in enumerate(array.T)})
