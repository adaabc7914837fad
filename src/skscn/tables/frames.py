"""Tables of other packages: pandas, Polars and Arrow, whatever holds columns, as pyarrow Tables; and arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from skscn.readers.arrow import arrow
from skscn.readers.table_file import ROW_LABELS
from skscn.tables.columns import is_number
from skscn.words import refuse_twins, shortened

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import ArrayLike

    # DataFrames of pandas and Polars have what an ArrayLike needs.
    TableLike: TypeAlias = pa.Table | pa.RecordBatch | ArrayLike

# What tables have, of which arrays have nothing.
_PROTOCOLS = ("__arrow_c_stream__", "__dataframe__", "to_arrow")


def is_frame(X: Any) -> bool:
    """Whether it is a table of some package, with columns that have types of their own."""
    return any(hasattr(X, protocol) for protocol in _PROTOCOLS)


def has_only_numbers(frame: Any) -> bool:
    """Whether all columns of a frame hold numbers or booleans, perhaps with gaps; for pandas, without pyarrow."""
    types = getattr(frame, "dtypes", None)
    if types is not None:
        return all(map(_is_numeric, types))
    boolean = arrow().types.is_boolean
    return all(is_number(type) or boolean(type) for type in as_table(frame).schema.types)


def _is_numeric(dtype: Any) -> bool:
    """Of pandas, whose types have a kind, or of Polars."""
    return dtype.kind in "biuf" if hasattr(dtype, "kind") else dtype.is_numeric() or str(dtype) == "Boolean"


def column_names(X: Any) -> list[str]:
    """The names of the columns of a frame; x0, x1 and so on for an array."""
    if not is_frame(X):
        return [f"x{place}" for place in range(np.shape(X)[1])]
    names = X.columns if hasattr(X, "dtypes") else _table(X).column_names
    return list(map(str, names))


def as_table(X: TableLike) -> pa.Table:
    """A pyarrow Table of what holds columns: a Table, a DataFrame, or an array, with columns x0, x1 and so on."""
    pa = arrow()
    try:
        table = _table(X)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as mixed:
        raise ValueError(
            f"A column holds values of several kinds ({shortened(str(mixed))}); make them all of one kind."
        ) from None
    table = table.select([place for place, name in enumerate(table.column_names) if not ROW_LABELS.fullmatch(name)])
    refuse_twins(table.column_names)
    return table


def _table(X: TableLike) -> pa.Table:
    pa = arrow()
    if isinstance(X, pa.Table):
        return X
    if isinstance(X, pa.RecordBatch):
        return pa.Table.from_batches([X])
    if hasattr(X, "to_arrow"):
        # Polars' own conversion: older versions of pyarrow cannot use the kind of text that it would pass below.
        return X.to_arrow()
    if hasattr(X, "__arrow_c_stream__"):
        return pa.table(X)
    if hasattr(X, "__dataframe__"):
        return arrow("pyarrow.interchange").from_dataframe(X)
    array = np.asarray(X)
    if array.ndim != 2:
        raise ValueError(f"A table must have 2 dimensions, rows by columns, not {array.ndim}.")
    return pa.table({f"x{place}": pa.array(values.tolist()) for place, values in enumerate(array.T)})
