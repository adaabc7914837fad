"""Where the training rows are stored; one file per backend, each a :class:`Rows`."""

from collections.abc import Callable

import numpy as np

from skscn.rows._base import Columns, Rows, Sample
from skscn.rows._local import LocalRows
from skscn.rows._shard import Gathered, Storage
from skscn.rows._stretched import StretchedRows
from skscn.rows.blocks import Block
from skscn.rows.chunks import ChunkRows
from skscn.rows.memory import MemoryRows
from skscn.rows.operations import Operation, Selection
from skscn.rows.parts import is_dask
from skscn.rows.reading import opened
from skscn.rows.scratch_inputs import ScratchInputs
from skscn.rows.sources import Chunks

ROWS: dict[str, Callable[..., StretchedRows]] = {"memory": MemoryRows, "chunks": ChunkRows}


def open_rows(X, targets: np.ndarray, **settings) -> StretchedRows:
    """The rows in the backend that matches the type of their inputs."""
    return ROWS["chunks" if isinstance(X, ScratchInputs) else "memory"](X, targets, **settings)


__all__ = [
    "ROWS",
    "Block",
    "ChunkRows",
    "Chunks",
    "Columns",
    "Gathered",
    "LocalRows",
    "MemoryRows",
    "Operation",
    "Rows",
    "Sample",
    "ScratchInputs",
    "Selection",
    "Storage",
    "StretchedRows",
    "is_dask",
    "open_rows",
    "opened",
]
