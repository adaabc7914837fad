"""Where the training rows live; one file a backend, each of them a :class:`Rows`."""

from skscn.rows._base import Appended, Rows, Sample
from skscn.rows.memory import MemoryRows

ROWS: dict[str, type[Rows]] = {"memory": MemoryRows}

__all__ = ["ROWS", "Appended", "MemoryRows", "Rows", "Sample"]
