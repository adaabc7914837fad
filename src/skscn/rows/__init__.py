"""Where the training rows are; :class:`Rows` is what growth does with them, whichever backend they are in."""

from skscn.rows.blocks import Block
from skscn.rows.dask import DaskBackend, dask_rows
from skscn.rows.files import ScratchInputs, chunk_rows
from skscn.rows.operations import (
    ROWS,
    Backend,
    LocalBackend,
    MemoryStorage,
    OpenColumns,
    OpensRows,
    Operation,
    Rows,
    Sample,
    Selection,
    Storage,
    memory_rows,
    open_rows,
    stretch_length,
)
from skscn.rows.reading import Chunks, opened

ROWS.update(memory=memory_rows, chunks=chunk_rows, dask=dask_rows)

__all__ = [
    "ROWS",
    "Backend",
    "Block",
    "Chunks",
    "DaskBackend",
    "LocalBackend",
    "MemoryStorage",
    "OpenColumns",
    "OpensRows",
    "Operation",
    "Rows",
    "Sample",
    "ScratchInputs",
    "Selection",
    "Storage",
    "chunk_rows",
    "dask_rows",
    "memory_rows",
    "open_rows",
    "opened",
    "stretch_length",
]
