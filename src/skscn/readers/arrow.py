"""pyarrow, which reads and writes files of tables: imported where it is used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from skscn.extras import optional

if TYPE_CHECKING:
    import pyarrow as pa


def is_text(type: pa.DataType) -> bool:
    """Whether a column of this type holds text."""
    types = arrow().types
    return bool(types.is_string(type) or types.is_large_string(type) or types.is_string_view(type))


def without_views(table: pa.Table) -> pa.Table:
    """A table in which views of text, as Polars writes them, are text: Arrow has no way to take rows of views."""
    pa = arrow()
    views = [pa.types.is_string_view(type) for type in table.schema.types]
    if not any(views):
        return table
    fields = zip(table.schema, views, strict=True)
    return table.cast(pa.schema([field.with_type(pa.large_string()) if view else field for field, view in fields]))


def arrow(module: str = "pyarrow") -> Any:
    """pyarrow, or one of its modules."""
    return optional(module, "Working on tables")
