"""The rows of a source read once: into memory if they fit there, else into temporary files."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import NamedTuple

import numpy as np

from skscn.rows._scratch import ScratchArray, check_space, scratch_folder
from skscn.rows.blocks import Block
from skscn.rows.scratch_inputs import LARGEST_BLOCK, PART, Scratch, ScratchInputs
from skscn.rows.sources import Chunks


class Opened(NamedTuple):
    """Inputs as an array or as :class:`ScratchInputs`, targets and weights as arrays."""

    X: np.ndarray | ScratchInputs
    y: np.ndarray
    sample_weight: np.ndarray | None


@contextmanager
def opened(chunks: Chunks, columns: int) -> Iterator[Opened]:
    """Read all rows once: into memory if they fit there with ``columns`` more columns, else into scratch files."""
    max_rows = max(1, min(LARGEST_BLOCK, chunks.memory_limit // (PART * 8 * max(chunks.n_features, 1))))
    with ExitStack() as resources:
        rows = _RowsRead(chunks, columns, resources)
        for block in chunks.blocks(max_rows):
            rows.add(block)
        yield rows.opened()


class _RowsRead:
    """The rows read so far, in memory as long as they and the columns of training fit there, then in a file."""

    def __init__(self, chunks: Chunks, columns: int, resources: ExitStack):
        self._chunks, self._columns, self._resources = chunks, columns, resources
        self._n_rows = 0
        self._blocks: deque[np.ndarray] = deque()
        self._file: _InputFile | None = None
        self._targets: list[np.ndarray] = []
        self._weights: list[np.ndarray] = []

    def add(self, block: Block) -> None:
        """Copy a block: its source may use the same arrays for the next one."""
        self._n_rows += len(block.X)
        self._targets.append(np.array(block.y))
        if block.sample_weight is not None:
            self._weights.append(np.array(block.sample_weight))
        if self._file is None and self._n_rows * 8 * (self._chunks.n_features + self._columns) <= self._limit:
            self._blocks.append(np.array(block.X))
        else:
            self._add_to_file(block.X)

    def opened(self) -> Opened:
        """All rows."""
        X = _joined(self._blocks) if self._file is None else self._file.inputs()
        return Opened(X, np.concatenate(self._targets), np.concatenate(self._weights) if self._weights else None)

    @property
    def _limit(self) -> int:
        return self._chunks.memory_limit

    @property
    def _needed(self) -> int:
        """Bytes of temporary files for the rows known so far."""
        n_rows = max(self._n_rows, self._chunks.n_rows or 0)
        return n_rows * 8 * (self._chunks.n_features + self._columns + 2)

    def _add_to_file(self, X: np.ndarray) -> None:
        if self._file is None:
            folder = self._resources.enter_context(scratch_folder(self._needed))
            scratch = Scratch(folder, self._limit, self._resources)
            self._file = _InputFile(scratch, self._chunks.n_features)
            while self._blocks:
                self._file.add(self._blocks.popleft())
        check_space(self._file.scratch.folder, self._needed - self._file.size)
        self._file.add(X)


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

    def inputs(self) -> ScratchInputs:
        """All of them."""
        assert self._values is not None, "rows were added"
        return ScratchInputs(self._values, self.scratch)

    def _converted(self, values: ScratchArray, dtype: np.dtype) -> ScratchArray:
        converted = self.scratch.array(0, self._width, dtype)
        # Twice the digits of as many rows as are read at a time.
        step = max(1, min(LARGEST_BLOCK, self.scratch.memory_limit // (PART * 8 * max(self._width, 1))))
        for start in range(0, values.n_rows, step):
            converted.append(values.read(slice(start, start + step)))
        values.remove()
        return converted


def _joined(blocks: deque[np.ndarray]) -> np.ndarray:
    """The blocks as one array; each is dropped once it is copied, so that no row stays in memory twice."""
    if len(blocks) == 1:
        return blocks.pop()
    joined = np.empty((sum(map(len, blocks)), blocks[0].shape[1]), np.result_type(*{block.dtype for block in blocks}))
    start = 0
    while blocks:
        block = blocks.popleft()
        joined[start : start + len(block)] = block
        start += len(block)
    return joined
