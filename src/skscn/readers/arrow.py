"""pyarrow, which reads and writes files of tables: imported where it is used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from narwhals.dependencies import is_pyarrow_table

from skscn.extras import optional

if TYPE_CHECKING:
    import pyarrow as pa

# What the metadata of a table say about its file.
_DECIMAL = b"skscn decimal"


def is_text(type: pa.DataType) -> bool:
    """Whether a column of this type holds text."""
    types = arrow().types
    return bool(types.is_string(type) or types.is_large_string(type) or types.is_string_view(type))


def as_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column of text of any type as large strings."""
    pa = arrow()
    if pa.types.is_string_view(column.type):
        # Early versions of Arrow cannot cast views.
        return pa.chunked_array([column.to_pylist()], pa.large_string())
    return column.cast(pa.large_string())


def without_views(table: pa.Table) -> pa.Table:
    """A table in which views of text, as Polars writes them, are text: Arrow has no way to take rows of views."""
    pa = arrow()
    for place, field in enumerate(table.schema):
        if pa.types.is_string_view(field.type):
            table = table.set_column(place, field.name, as_text(table.column(place)))
    return table


def arrow(module: str = "pyarrow") -> Any:
    """pyarrow, or one of its modules."""
    return optional(module, "Working on tables")


def with_decimal(table: pa.Table, sign: str) -> pa.Table:
    """A table that says by which decimal sign its file writes numbers."""
    return table.replace_schema_metadata({**(table.schema.metadata or {}), _DECIMAL: sign})


def decimal_of(table: Any) -> str:
    """The decimal sign of the file that a table comes from; a point if it does not say."""
    metadata = (table.schema.metadata or {}) if is_pyarrow_table(table) else {}
    return str(metadata.get(_DECIMAL, b".").decode())
