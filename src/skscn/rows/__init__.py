"""Where the training rows are; :class:`Rows` is what growth does with them, whichever backend they are in."""

from skscn.rows.blocks import Block
from skscn.rows.dask import DaskBackend, dask_backend
from skscn.rows.federated import FederatedBackend, Site, Sites
from skscn.rows.files import ScratchInputs, chunk_backend
from skscn.rows.operations import (
    ROWS,
    Backend,
    LocalBackend,
    MemoryStorage,
    OpenColumns,
    OpensBackend,
    Operation,
    Rows,
    Sample,
    Selection,
    Storage,
    memory_backend,
    open_backend,
    open_rows,
    stretch_length,
)
from skscn.rows.reading import Chunks, opened

ROWS.update(memory=memory_backend, chunks=chunk_backend, dask=dask_backend)

__all__ = [
    "ROWS",
    "Backend",
    "Block",
    "Chunks",
    "DaskBackend",
    "FederatedBackend",
    "LocalBackend",
    "MemoryStorage",
    "OpenColumns",
    "OpensBackend",
    "Operation",
    "Rows",
    "Sample",
    "ScratchInputs",
    "Selection",
    "Site",
    "Sites",
    "Storage",
    "chunk_backend",
    "dask_backend",
    "memory_backend",
    "open_backend",
    "open_rows",
    "opened",
    "stretch_length",
]
