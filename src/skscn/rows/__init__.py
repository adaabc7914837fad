"""Where the training rows are; :class:`Rows` is what growth does with them, whichever backend they are in."""

from typing import Any, Protocol

from skscn.checks import is_dask
from skscn.nodes import Layer
from skscn.rows._rows import Backend, LocalBackend, OpenColumns, Rows, memory_rows
from skscn.rows.blocks import Block
from skscn.rows.dask import DaskBackend, dask_rows
from skscn.rows.files import ScratchInputs, chunk_rows
from skscn.rows.operations import MemoryStorage, Operation, Sample, Selection, Storage, stretch_length
from skscn.rows.reading import Chunks, opened
from skscn.scaling import InputScaling


class OpensRows(Protocol):
    """Opens rows for growth, in one backend. Inputs, targets and weights are of types that the backend expects."""

    def __call__(
        self,
        X: Any,
        targets: Any,
        *,
        layer: Layer,
        scaling: InputScaling,
        sample_weight: Any = None,
        n_jobs: int | None = None,
        together: bool = False,
    ) -> Rows:
        """The rows, with the scaled targets as the first residual."""
        ...


ROWS: dict[str, OpensRows] = {"memory": memory_rows, "chunks": chunk_rows, "dask": dask_rows}


def open_rows(
    X: Any,
    targets: Any,
    *,
    layer: Layer,
    scaling: InputScaling,
    sample_weight: Any = None,
    n_jobs: int | None = None,
    together: bool = False,
) -> Rows:
    """The rows in the backend that matches the type of their inputs; the targets are scaled, the inputs are not."""
    name = "dask" if is_dask(X) else "chunks" if isinstance(X, ScratchInputs) else "memory"
    settings = {"layer": layer, "scaling": scaling, "sample_weight": sample_weight, "n_jobs": n_jobs}
    return ROWS[name](X, targets, together=together, **settings)


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
