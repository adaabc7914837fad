"""Training rows that need not fit in memory: read chunk by chunk, as often as needed, whatever they are in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from skscn.rows.array_chunks import ArrayChunk, ChunkSource, items
from skscn.rows.arrow_columns import open_arrow_table, open_dataset, open_path
from skscn.rows.blocks import Block, Source, check_block
from skscn.rows.memory_limit import default_memory_limit

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.dataset as pads

    ChunkData: TypeAlias = (
        str | Path | pads.Dataset | pa.Table | np.ndarray | Sequence[ArrayChunk] | Callable[[], Iterable[ArrayChunk]]
    )


class Chunks:
    """Training rows read chunk by chunk, any number of times, so that they need not fit in memory.

    Parameters
    ----------
    data : path, Dataset, Table, array, sequence of chunks, or callable
        - A file of numbers, read as :func:`skscn.tables.open_table` reads it: CSV in any dialect, TSV or KEEL, possibly
          compressed (.gz), Parquet, Arrow or Feather; or a folder of such files, read in the order of their names.
          Hidden files, those whose names begin with ``_``, and row labels that pandas wrote are ignored.
        - A ``pyarrow.dataset.Dataset`` or a ``pyarrow.Table``.
        - A 2-D array, such as a ``numpy.memmap``.
        - A sequence of chunks (X, y) or (X, y, sample_weight), or a function without arguments that returns a fresh
          iterator of them. It must return the same rows every time. A fit reads it once.
    target : str, list of str, or array-like
        The target column, or columns for several outputs; if the data are an array, the targets themselves. None for
        chunks.
    sample_weight : str or array-like, optional
        The column of weights; if the data are an array, the weights themselves.
    memory_limit : int, optional
        Memory that training may use, in bytes. By default a quarter of the machine's memory, and at least 256 MB.

    Attributes
    ----------
    n_features : int
    n_rows : int or None
        None until all rows have been read once.
    feature_names : ndarray of str or None
    targets : tuple of str or None
        The target columns.
    memory_limit : int

    Examples
    --------
    >>> import numpy as np
    >>> from skscn.rows import Chunks
    >>> chunks = Chunks(np.arange(10.0).reshape(5, 2), np.arange(5))
    >>> [block.X.shape for block in chunks.blocks(max_rows=3)]
    [(3, 2), (2, 2)]
    """

    def __init__(
        self,
        data: ChunkData,
        target: str | Sequence[str] | ArrayLike | None = None,
        *,
        sample_weight: str | ArrayLike | None = None,
        memory_limit: int | None = None,
    ):
        if memory_limit is not None and memory_limit <= 0:
            raise ValueError(f"memory_limit must be a positive number of bytes, not {memory_limit}.")
        self.memory_limit = default_memory_limit() if memory_limit is None else int(memory_limit)
        self._source = _open(data, target, sample_weight)
        self.n_features = self._source.n_features
        self.feature_names = self._source.feature_names
        self.targets = self._source.targets
        self.n_rows: int | None = None

    def blocks(self, max_rows: int) -> Iterator[Block]:
        """All rows in order, at most ``max_rows`` at a time.

        X is float64, or float32 if all of its sources are; y is as given.
        """
        if max_rows < 1:
            raise ValueError(f"max_rows must be at least 1, not {max_rows}.")
        count = 0
        for block in self._source.read(max_rows):
            check_block(block, self.feature_names, self.targets)
            count += len(block.X)
            yield block
        if count == 0:
            raise ValueError("There are no rows; training needs at least one.")
        if self.n_rows not in (None, count):
            raise ValueError(f"There were {self.n_rows} rows before and {count} now; they must be the same every time.")
        self.n_rows = count


def _open(data: Any, target: Any, sample_weight: Any) -> Source:
    if isinstance(data, str | Path):
        return open_path(Path(data), target, sample_weight)
    if hasattr(data, "to_batches") and hasattr(data, "schema"):
        open_data = open_dataset if hasattr(data, "scanner") else open_arrow_table
        return open_data(data, target, sample_weight)
    if hasattr(data, "shape"):
        return _open_array(data, target, sample_weight)
    if isinstance(data, Iterator):
        raise TypeError(
            "An iterator can be read only once; pass a function that returns a fresh one, "
            "such as the generator function itself, without calling it."
        )
    is_sequence = hasattr(data, "__len__") and hasattr(data, "__getitem__") and not isinstance(data, Mapping | bytes)
    if not (callable(data) or is_sequence):
        raise TypeError(
            "data must be a path, a pyarrow Dataset or Table, a 2-D array, a sequence of (X, y) chunks, "
            f"or a function that returns an iterator of them, not {type(data).__name__}."
        )
    if target is not None or sample_weight is not None:
        raise TypeError("Chunks contain their own targets and weights: pass (X, y) or (X, y, sample_weight).")
    return ChunkSource(data if callable(data) else partial(items, data))


def _open_array(X: Any, target: Any, sample_weight: Any) -> Source:
    if target is None or isinstance(target, str):
        raise TypeError("With an array of inputs, target must be the array of its targets, one for each row.")
    if isinstance(sample_weight, str):
        raise TypeError("With an array of inputs, sample_weight must be the array of its weights, one for each row.")
    return ChunkSource(partial(items, [(X, target, sample_weight)]))
