"""Where the training rows live; one file a backend, each of them a :class:`Rows`."""

from skscn.rows._base import Appended, Rows, Sample
from skscn.rows.memory import MemoryRows
from skscn.rows.sources import Block, Chunks

ROWS: dict[str, type[Rows]] = {"memory": MemoryRows}

__all__ = ["ROWS", "Appended", "Block", "Chunks", "MemoryRows", "Rows", "Sample"]
