"""The rows of a source read once: into memory if they fit there, else into temporary files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import NamedTuple

import numpy as np

from skscn.rows._scratch import ScratchArray, check_space, scratch_folder
from skscn.rows.blocks import Block
from skscn.rows.scratch_inputs import LARGEST_BLOCK, PART, Scratch, ScratchInputs
from skscn.rows.sources import Chunks

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
            converted.append(values.read(slice(start, start + step)))
        values.remove()
        return converted


def _rows_at_a_time(memory_limit: int, width: int) -> int:
    """How many rows of inputs are read at a time."""
    return max(1, min(LARGEST_BLOCK, memory_limit // (PART * 8 * max(width, 1))))
