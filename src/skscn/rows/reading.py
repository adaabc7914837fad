"""Rows that are read block by block: ``Chunks``, how much memory they may use, and the pass that reads them."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from skscn.rows.blocks import Block, Source, check_block
from skscn.rows.columns import ArrayChunk, ChunkSource, items, open_arrow_table, open_dataset, open_path
from skscn.rows.files import LARGEST_BLOCK, PART, Scratch, ScratchArray, ScratchInputs, check_space, scratch_folder

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.dataset as pads

    ChunkData: TypeAlias = (
        str | Path | pads.Dataset | pa.Table | np.ndarray | Sequence[ArrayChunk] | Callable[[], Iterable[ArrayChunk]]
    )


_SMALLEST = 256 * 2**20


def default_memory_limit(machine_memory: int | None = None) -> int:
    """A quarter of the machine's memory in bytes, and at least 256 MB.

    Parameters
    ----------
    machine_memory : int, optional
        By default that of this machine, or of the container that this process runs in.
    """
    return max((_machine_memory() if machine_memory is None else machine_memory) // 4, _SMALLEST)


def _machine_memory() -> int:
    if sys.platform == "win32":
        return _windows_memory()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        container = Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii").strip()
    except OSError:
        return memory
    return min(memory, int(container)) if container.isdecimal() else memory


def _windows_memory() -> int:
    import ctypes

    class Status(ctypes.Structure):
        _fields_ = [
            ("size", ctypes.c_uint32),
            ("load", ctypes.c_uint32),
            *((name, ctypes.c_uint64) for name in ("total", "free", "a", "b", "c", "d", "e")),
        ]

    status = Status(size=ctypes.sizeof(Status))
    windows: Any = ctypes
    if not windows.windll.kernel32.GlobalMemoryStatusEx(ctypes.byref(status)):
        return 0
    return int(status.total)


# Training rows that need not fit in memory: read chunk by chunk, as often as needed, whatever they are in.


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


# The rows of a source read once: into memory if they fit there, else into temporary files.


# By how much an array of rows grows when it is full.
_GROWTH = 1.125


class Opened(NamedTuple):
    """Inputs as an array or as :class:`ScratchInputs`, targets and weights as arrays."""

    X: np.ndarray | ScratchInputs
    y: np.ndarray
    sample_weight: np.ndarray | None


@contextmanager
def opened(chunks: Chunks, columns: Callable[[int], int]) -> Iterator[Opened]:
    """Read all rows once: into memory if they fit there, else into scratch files.

    ``columns`` says how many more columns training needs for a number of rows.
    """
    with ExitStack() as resources:
        rows = _RowsRead(chunks, columns, resources)
        for block in chunks.blocks(_rows_at_a_time(chunks.memory_limit, chunks.n_features)):
            rows.add(block)
        yield rows.opened()


class _RowsRead:
    """The rows read so far, in memory as long as they and the columns of training fit there, then in a file."""

    def __init__(self, chunks: Chunks, columns: Callable[[int], int], resources: ExitStack):
        self._chunks, self._columns, self._resources = chunks, columns, resources
        self._n_rows = 0
        self._inputs: _InputArray | _InputFile = _InputArray()
        self._targets: list[np.ndarray] = []
        self._weights: list[np.ndarray] = []

    def add(self, block: Block) -> None:
        """Copy a block: its source may use the same arrays for the next one."""
        self._n_rows += len(block.X)
        self._targets.append(np.array(block.y))
        if block.sample_weight is not None:
            self._weights.append(np.array(block.sample_weight))
        if isinstance(self._inputs, _InputArray) and not self._fit_in_memory:
            self._inputs = self._moved(self._inputs)
        if isinstance(self._inputs, _InputFile):
            check_space(self._inputs.scratch.folder, self._needed - self._inputs.size)
        self._inputs.add(block.X)

    def opened(self) -> Opened:
        """All rows."""
        weights = np.concatenate(self._weights) if self._weights else None
        return Opened(self._inputs.all(), np.concatenate(self._targets), weights)

    @property
    def _fit_in_memory(self) -> bool:
        needed = self._n_rows * 8 * (self._chunks.n_features + self._columns(self._n_rows))
        return needed <= self._chunks.memory_limit

    @property
    def _needed(self) -> int:
        """Bytes of temporary files for the rows known so far."""
        n_rows = max(self._n_rows, self._chunks.n_rows or 0)
        return n_rows * 8 * (self._chunks.n_features + self._columns(n_rows) + 2)

    def _moved(self, inputs: _InputArray) -> _InputFile:
        folder = self._resources.enter_context(scratch_folder(self._needed))
        file = _InputFile(Scratch(folder, self._chunks.memory_limit, self._resources), self._chunks.n_features)
        if inputs.n_rows:
            file.add(inputs.all())
        return file


class _InputArray:
    """Inputs in an array that grows in place, where the system can do that, so that they are in memory once."""

    def __init__(self) -> None:
        self._values, self.n_rows = np.empty((0, 0)), 0

    def add(self, X: np.ndarray) -> None:
        """Add rows at the end."""
        first, self.n_rows = self.n_rows, self.n_rows + len(X)
        if first == 0:
            self._values = np.array(X, order="C")
            return
        dtype = np.result_type(self._values.dtype, X.dtype)
        if dtype != self._values.dtype:
            self._values = self._values.astype(dtype)
        if self.n_rows > len(self._values):
            self._resize(max(self.n_rows, int(_GROWTH * first)))
        self._values[first : self.n_rows] = X

    def all(self) -> np.ndarray:
        """All of them."""
        self._resize(self.n_rows)
        return self._values

    def _resize(self, n_rows: int) -> None:
        # Nobody else has seen the array.
        self._values.resize((n_rows, self._values.shape[1]), refcheck=False)


class _InputFile:
    """Inputs in a file that grows; it is written anew where double precision follows single precision."""

    def __init__(self, scratch: Scratch, width: int):
        self.scratch, self._width = scratch, width
        self._values: ScratchArray | None = None

    @property
    def size(self) -> int:
        """Bytes written so far."""
        return 0 if self._values is None else self._values.n_rows * self._width * self._values.dtype.itemsize

    def add(self, X: np.ndarray) -> None:
        """Add rows at the end."""
        if self._values is None:
            self._values = self.scratch.array(0, self._width, X.dtype)
        elif (dtype := np.result_type(self._values.dtype, X.dtype)) != self._values.dtype:
            self._values = self._converted(self._values, dtype)
        self._values.append(X)

    def all(self) -> ScratchInputs:
        """All of them."""
        assert self._values is not None, "rows were added"
        return ScratchInputs(self._values, self.scratch)

    def _converted(self, values: ScratchArray, dtype: np.dtype) -> ScratchArray:
        converted = self.scratch.array(0, self._width, dtype)
        step = _rows_at_a_time(self.scratch.memory_limit, self._width)
        for start in range(0, values.n_rows, step):
            converted.append(values[start : start + step])
        values.remove()
        return converted


def _rows_at_a_time(memory_limit: int, width: int) -> int:
    """How many rows of inputs are read at a time."""
    return max(1, min(LARGEST_BLOCK, memory_limit // (PART * 8 * max(width, 1))))
