"""pyarrow, which reads and holds tables: imported where it is used."""

from __future__ import annotations

from typing import Any

from skscn.extras import optional


def arrow(module: str = "pyarrow") -> Any:
    """pyarrow, or one of its modules."""
    return optional(module, "Working on tables")
