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


def arrow(module: str = "pyarrow") -> Any:
    """pyarrow, or one of its modules."""
    return optional(module, "Working on tables")
