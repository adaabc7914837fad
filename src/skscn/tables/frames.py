"""Tables of other packages: the frames of pandas, Polars and Arrow, read through narwhals; and arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import narwhals as nw
import numpy as np

from skscn.readers.arrow import arrow, decimal_of
from skscn.readers.frames import FrameRows
from skscn.readers.table_file import ROW_LABELS
from skscn.tables.values import ColumnValues, read_values
from skscn.words import refuse_twins

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import ArrayLike

    # DataFrames of pandas and Polars have what an ArrayLike needs.
    TableLike: TypeAlias = "TableColumns | pa.Table | pa.RecordBatch | ArrayLike"

# What tables have, of which arrays have nothing.
_PROTOCOLS = ("__arrow_c_stream__", "__dataframe__", "to_arrow")


class TableColumns:
    """The columns of a table by their names, each read when it is first needed.

    Parameters
    ----------
    columns : dict of str to columns of some package, arrays or ColumnValues
    n_rows : int
    decimal : str
        The decimal sign of the numbers in text, if nothing else decides.
    """

    def __init__(self, columns: Mapping[str, Any], n_rows: int, decimal: str = "."):
        self._columns = dict(columns)
        self.n_rows, self.decimal = n_rows, decimal

    @property
    def names(self) -> list[str]:
        """The names of the columns, in their order."""
        return list(self._columns)

    def column(self, name: str) -> ColumnValues:
        """The values of a column; ValueError if they are of several kinds."""
        values = self._columns[name] = read_values(self._columns[name], name)
        return values

    def with_columns(self, columns: Mapping[str, ColumnValues]) -> TableColumns:
        """The table with other values in some columns."""
        return TableColumns({**self._columns, **columns}, self.n_rows, self.decimal)


def is_frame(X: Any) -> bool:
    """Whether it is a table of some package, with columns that have types of their own."""
    return len(getattr(X, "shape", (0, 0))) == 2 and any(hasattr(X, protocol) for protocol in _PROTOCOLS)


def check_frame(X: Any) -> None:
    """Reject a frame whose rows are not there yet, or in which columns have the same name."""
    if nw.dependencies.is_polars_lazyframe(X):
        raise TypeError("X is a LazyFrame of Polars, whose rows have not been computed; pass X.collect().")
    if is_frame(X):
        refuse_twins(list(map(str, X.columns if hasattr(X, "dtypes") else getattr(X, "column_names", ()))))


def exact_labels(y: Any) -> Any:
    """Whole numbers and booleans of pandas' nullable types as NumPy's, of which scikit-learn would make floats."""
    if getattr(y, "ndim", 1) == 2 and any(hasattr(type, "numpy_dtype") for type in getattr(y, "dtypes", ())):
        return np.column_stack([exact_labels(column) for _, column in y.items()])
    type = getattr(getattr(y, "dtype", None), "numpy_dtype", None)
    return y if type is None or type.kind not in "iub" or y.isna().any() else np.asarray(y, dtype=type)


def has_only_numbers(frame: Any) -> bool:
    """Whether NumPy makes numbers of all columns of a frame: numbers and booleans, perhaps with gaps."""
    types = getattr(frame, "dtypes", ())
    if len(types) and all(hasattr(type, "kind") for type in types):
        return all(type.kind in "biuf" and getattr(type, "fill_value", 0) == 0 for type in types)
    return all(map(_is_numeric, _frame(frame).iter_columns()))


def with_numbers(X: Any, read: Callable[[str, ColumnValues], np.ndarray]) -> Any:
    """A frame with the numbers that ``read`` finds in each column that is not of a type of numbers."""
    frame = _frame(X)
    found = [
        nw.new_series(name, read(str(name), read_values(column, str(name))), backend=frame.implementation)
        for name, column in zip(frame.columns, frame.iter_columns(), strict=True)
        if not _is_numeric(column)
    ]
    return frame.with_columns(*found).to_native()


def _is_numeric(column: nw.Series[Any]) -> bool:
    if column.dtype == nw.Boolean:
        return not column.null_count()
    return column.dtype.is_float() or (column.dtype.is_integer() and column.dtype not in (nw.Int128, nw.UInt128))


def column_names(X: Any) -> list[str]:
    """The names of the columns of a frame; x0, x1 and so on for an array."""
    if not is_frame(X):
        return [f"x{place}" for place in range(np.shape(X)[1])]
    return list(map(str, X.columns if hasattr(X, "dtypes") else _frame(X).columns))


def as_table(X: TableLike, names: Sequence[str] | None = None) -> TableColumns:
    """The columns of a Table, a DataFrame or an array, which are called x0, x1 and so on if no names are given."""
    if isinstance(X, TableColumns):
        return X
    check_frame(X)
    if is_frame(X):
        frame = _frame(X)
        columns = zip(map(str, frame.columns), frame.iter_columns(), strict=True)
        named = {name: column for name, column in columns if not ROW_LABELS.fullmatch(name)}
        return TableColumns(named, len(frame), decimal_of(X))
    array = np.asarray(X)
    if array.ndim != 2:
        raise ValueError(f"A table must have 2 dimensions, rows by columns, not {array.ndim}.")
    return TableColumns(dict(zip(names or column_names(array), array.T, strict=True)), len(array))


def _frame(X: Any) -> nw.DataFrame[Any]:
    """What holds columns, as narwhals sees it."""
    if isinstance(X, FrameRows):
        return X.frame
    frame = nw.from_native(X, pass_through=True)
    return frame if isinstance(frame, nw.DataFrame) else nw.from_native(arrow().table(X), eager_only=True)
