"""pyarrow, which reads and holds tables: imported where it is used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from skscn.extras import optional

if TYPE_CHECKING:
    import pyarrow as pa

    # The values of a column.
    ArrowValues: TypeAlias = pa.Array | pa.ChunkedArray


def arrow(module: str = "pyarrow") -> Any:
    """pyarrow, or one of its modules."""
    return optional(module, "Working on tables")
