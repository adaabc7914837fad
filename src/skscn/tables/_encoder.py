"""Tables to numbers: a transformer for columns of all kinds."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from itertools import chain
from numbers import Integral
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from skscn.checks import fit_context
from skscn.tables.columns import Column, Measured, Number, RowTime
from skscn.tables.frames import TableColumns, as_table
from skscn.tables.kinds import column_from_json
from skscn.tables.learning import Learnt, learn, learn_time, relearn, without_trend
from skscn.tables.outside import Outside, OutsideColumn
from skscn.tables.text import DATE_ORDERS
from skscn.tables.values import ColumnValues
from skscn.words import listed, quoted, refuse_twins

if TYPE_CHECKING:
    from sklearn.utils import Tags

    from skscn.tables.frames import TableLike

_FIELDS = {"max_categories", "columns", "left_out", "notes"}
# Files of version 0.1 do without it.
_TIME, _CYCLES = "time", "cycles"


class TableEncoder(TransformerMixin, BaseEstimator):
    """Encode a table of numbers, text, dates and booleans as an array of numbers.

    - Numbers stay as they are; text that holds numbers ("1,234", "12 %", or "84.4 °C" with the same
      unit throughout) is read as such.
    - Text and categoricals become a column of 0 and 1 for each of their most frequent categories and, where there are
      more, one for all others; a category not seen in training goes there too, or is 0 everywhere.
    - Dates become days since 1970-01-01, and sine and cosine of their place in the year, the week and the day where
      they span more than one; times of the day become hours with sine and cosine.
    - Missing values (also "?", "NA" and the like, among numbers "Bad Input", "No Data" and the like, infinite values,
      and numbers beyond the largest float such as 1e400)
      become the median, and are marked in an extra column if training had any; missing text is a category.
    - Columns of one value, and text that differs in nearly every row, are left out.
    - Where `time` names the column that orders the rows, its days since 1970 are left out: they tell rows of training
      from later ones and nothing else. Its place in the year, the week and the day stays where these come round
      several times. Row numbers, and the days of other dates that rise with the rows, are left out as well. A table may
      then have no other columns: what is encoded has no columns either, for models of the target's own past.

    Parameters
    ----------
    max_categories : int, default=20
        The most categories of a column that get a column of their own.
    dates : {"auto", "day-first", "month-first"}, default="auto"
        How to read dates such as 03/04/2024 in a column where every date can be read in both ways. Each column is
        decided by all its values; where they leave it open, "auto" reads 03/04/2024 month first and 03-04-2024 day
        first. ``notes_`` say which.
    time : str or None, default=None
        The column that says when each row was taken, where the rows are a series; they have to be in its order.
    cycles : bool, default=True
        Whether the place of that time in the year, the week and the day is encoded.

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
    placeholders_ : tuple of str
        Text that stands for missing values among numbers, in addition to the usual words such as "Bad Input".
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

    _parameter_constraints: dict[str, list[Any]] = {
        "max_categories": [Interval(Integral, 1, None, closed="left")],
        "dates": [StrOptions(set(DATE_ORDERS))],
        "time": [str, None],
        "cycles": ["boolean"],
    }

    def __init__(self, max_categories: int = 20, dates: str = "auto", time: str | None = None, cycles: bool = True):
        self.max_categories = max_categories
        self.dates = dates
        self.time = time
        self.cycles = cycles

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.categorical = tags.input_tags.allow_nan = True
        tags.target_tags.required = False
        return tags

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: TableLike, y: object = None) -> Self:
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
        if table.n_rows == 0:
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
        self.feature_names_in_ = np.array(table.names, dtype=object)
        return self

    def refitted(self, X: TableLike) -> TableEncoder:
        """An encoder with these columns, whose medians and categories are those of other rows.

        What a column is stays as it was learnt, so that a part of the rows, such as those of a fold in
        cross-validation, is encoded in the same way as all of them.

        Parameters
        ----------
        X : pyarrow.Table, DataFrame of pandas or Polars, or array-like of shape (n_samples, n_features)

        Returns
        -------
        encoder : TableEncoder
        """
        check_is_fitted(self, "columns_")
        columns = self._needed(as_table(X))
        return self.with_columns([relearn(column, values, self.max_categories) for column, values in columns])

    def with_columns(self, columns: list[Column], left_out: list[str] | None = None) -> TableEncoder:
        """A copy that encodes the columns of a table in another way, and perhaps leaves out more of them."""
        encoder = copy(self)
        encoder._set(columns, self.left_out_ if left_out is None else left_out, self.notes_, self._time)
        return encoder

    def _learn(self, table: TableColumns) -> tuple[dict[str, Learnt], RowTime | None]:
        """What each column is, and the one that orders the rows."""
        columns = {name: table.column(name) for name in table.names}
        about = self.max_categories, self.dates, table.decimal
        learnt = {name: learn(name, column, *about) for name, column in columns.items()}
        if self.time is None:
            return learnt, None
        if self.time not in learnt:
            raise ValueError(
                f"The table has no column {quoted(self.time)} with the time of the rows; its columns are "
                f"{listed(table.names)}."
            )
        time = learn_time(learnt[self.time], self.time, columns[self.time])
        learnt = {name: without_trend(result, columns[name]) for name, result in learnt.items()}
        learnt[self.time] = Learnt(time if time.cycles and self.cycles else None)
        return learnt, time

    def _set(self, columns: list[Column], left_out: list[str], notes: list[str], time: RowTime | None = None) -> None:
        # Of a series, the past of the target may be enough.
        if not columns and time is None:
            raise ValueError(
                f"There is no column to learn from; {' '.join(notes) or 'give a table with at least one.'}".strip()
            )
        # A word that stands for a missing number in one column does so in all of them.
        found = (column.placeholders for column in columns if isinstance(column, Number))
        self.placeholders_ = tuple(dict.fromkeys(chain.from_iterable(found)))
        self.columns_ = [
            replace(column, placeholders=self.placeholders_) if isinstance(column, Number) else column
            for column in columns
        ]
        self.left_out_, self.notes_ = left_out, notes
        self._time, self.time_ = time, None if time is None else time.name
        self.n_features_in_ = len(columns) + len(left_out)
        self.groups_: dict[str, list[int]] = {}
        width = 0
        for column in columns:
            end = width + len(column.encoded_names)
            self.groups_[column.name] = list(range(width, end))
            width = end
        self._n_features_out = width

    def transform(self, X: TableLike) -> np.ndarray:
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
        encoded = np.empty((table.n_rows, self._n_features_out))
        for column, values in self._needed(table):
            places = self.groups_[column.name]
            encoded[:, places[0] : places[-1] + 1] = column.encode(values)
        return encoded

    def transform_one(self, row: Mapping[str, Any]) -> np.ndarray:
        """Encode one row, a mapping of names to values, as :meth:`transform` does a table; it takes microseconds.

        Parameters
        ----------
        row : mapping of str to numbers, text, dates or None

        Returns
        -------
        encoded : ndarray of shape (1, n_features_out), float64
        """
        encoded = np.empty((1, self._n_features_out))
        for column in self.columns_:
            places = self.groups_[column.name]
            if places:
                encoded[0, places[0] : places[-1] + 1] = column.encode_one(row[column.name])
        return encoded

    def _needed(self, table: TableColumns) -> list[tuple[Column, ColumnValues]]:
        """The columns that are encoded, in their order, and their values in a table."""
        known = set(table.names)
        missing = [column.name for column in self.columns_ if column.name not in known]
        if missing:
            raise ValueError(
                f"The table lacks {'columns' if len(missing) > 1 else 'the column'} {listed(map(quoted, missing))}, "
                f"which training had; its columns are {listed(table.names)}."
            )
        return [(column, table.column(column.name)) for column in self.columns_]

    def outside(self, X: TableLike) -> list[OutsideColumn]:
        """The columns of a table that hold values which training did not have.

        Each is printed as a sentence: how many rows are below the smallest or above the largest value in training, and
        how far; or how many have a category that is new. A model extrapolates on such rows.

        Parameters
        ----------
        X : pyarrow.Table, DataFrame of pandas or Polars, or array-like of shape (n_samples, n_features)

        Returns
        -------
        columns : list of OutsideColumn
            Empty where all values are like those in training.

        Examples
        --------
        >>> import pyarrow as pa
        >>> from skscn.tables import TableEncoder
        >>> encoder = TableEncoder().fit(pa.table({"pressure bar": [1.8, 2.1, 2.3]}))
        >>> (found,) = encoder.outside(pa.table({"pressure bar": [1900.0, 2050.0, 2.2]}))
        >>> found.above, found.largest, found.training, found.unit
        (2, 2050.0, (1.8, 2.3), True)
        """
        table = as_table(X)
        looking = self.looking_outside()
        looking.add(self.transform(table), table)
        return looking.found()

    def looking_outside(self) -> Outside:
        """What :meth:`outside` is found with, for tables that are encoded some rows at a time."""
        check_is_fitted(self, "columns_")
        return Outside(self.columns_, self.groups_)

    def widen(self, encoded: np.ndarray) -> None:
        """Let the ranges of the columns hold further rows of training, which this encoder has encoded."""
        self.columns_ = [self._widened(column, encoded) for column in self.columns_]

    def _widened(self, column: Column, encoded: np.ndarray) -> Column:
        if not isinstance(column, Measured) or column.range is None or column.place is None:
            return column
        values = encoded[:, self.groups_[column.name][column.place]]
        low, high = column.range
        low, high = np.fmin.reduce(values, initial=low), np.fmax.reduce(values, initial=high)
        return replace(column, range=(float(low), float(high)))

    def get_feature_names_out(self, input_features: object = None) -> np.ndarray:
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
    def read_types(self) -> dict[str, str]:
        """The columns that :meth:`transform` needs, and names of Arrow types to read them as from a text file."""
        check_is_fitted(self, "columns_")
        return {column.name: column.read_type for column in self.columns_}

    def row_times(self, X: TableLike) -> np.ndarray:
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
        if self._time.name not in table.names:
            raise ValueError(f"The table lacks the column {self._time.name!r}, which holds the time of the rows.")
        return self._time.moments(table.column(self._time.name))

    def row_time(self, row: Mapping[str, Any]) -> np.datetime64:
        """The time of one row, a mapping of names to values; NaT if it is missing, or if no time is known."""
        return np.datetime64("NaT") if self._time is None else self._time.moment(row[self._time.name])

    @property
    def time_types(self) -> dict[str, str]:
        """The column that :meth:`row_times` needs, and the name of the Arrow type to read it as; or nothing."""
        check_is_fitted(self, "columns_")
        return {} if self._time is None else {self._time.name: self._time.read_type}

    def to_json(self) -> dict[str, Any]:
        """What has been learnt, as plain data that JSON can hold."""
        check_is_fitted(self, "columns_")
        return {
            "max_categories": int(self.max_categories),
            "columns": [_plain(column.to_json()) for column in self.columns_],
            "left_out": list(self.left_out_),
            "notes": list(self.notes_),
            **({} if self.dates == "auto" else {"dates": self.dates}),
            **({} if self._time is None else {_TIME: _plain(self._time.to_json())}),
            **({} if self.cycles else {_CYCLES: False}),
        }

    @classmethod
    def from_json(cls, state: Any) -> TableEncoder:
        """The encoder that gave this state; anything else than such a state raises ValueError.

        Parameters
        ----------
        state : dict
        """
        # Files of the first version say nothing of dates, times and cycles.
        if not isinstance(state, dict) or set(state) - {"dates", _TIME, _CYCLES} != _FIELDS:
            raise ValueError(f"A table encoder must be an object with exactly the fields {', '.join(sorted(_FIELDS))}.")
        most, columns, left_out, notes = (state[name] for name in ("max_categories", "columns", "left_out", "notes"))
        if not isinstance(most, int) or isinstance(most, bool) or most < 1:
            raise ValueError("The field max_categories of a table encoder must be a whole number of at least 1.")
        if not isinstance(columns, list) or (not columns and state.get(_TIME) is None):
            raise ValueError("The field columns of a table encoder must be a list of at least one column.")
        for name, value in (("left_out", left_out), ("notes", notes)):
            if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
                raise ValueError(f"The field {name} of a table encoder must be a list of strings.")
        dates = state.get("dates", "auto")
        if not isinstance(dates, str) or dates not in DATE_ORDERS:
            raise ValueError(f"The field dates of a table encoder must be one of {', '.join(DATE_ORDERS)}.")
        time = _time_from_json(state.get(_TIME), left_out, columns)
        cycles = state.get(_CYCLES, True)
        if not isinstance(cycles, bool):
            raise ValueError("The field cycles of a table encoder must be true or false.")
        encoder = cls(most, dates, None if time is None else time.name, cycles)
        encoder._set([column_from_json(column) for column in columns], left_out, notes, time)
        names = [*encoder.groups_, *left_out]
        refuse_twins(names)
        if len(encoder.groups_) < len(columns):
            raise ValueError("The columns of a table encoder must have different names.")
        if not all(column.encoded_names for column in encoder.columns_):
            raise ValueError("Each column of a table encoder must become at least one number.")
        return encoder


def _time_from_json(state: Any, left_out: list[str], columns: list[Any]) -> RowTime | None:
    """The column that orders the rows; it is one of the others too, or left out."""
    if state is None:
        return None
    time = column_from_json(state)
    if not isinstance(time, RowTime) or not (state in columns or time.name in left_out):
        raise ValueError("The field time of a table encoder must be one of its columns that holds the time of rows.")
    return time


def _plain(state: dict[str, Any]) -> dict[str, Any]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in state.items()}
