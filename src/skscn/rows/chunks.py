"""Training rows that do not fit in memory: inputs, residual and basis in temporary files, read stretch by stretch.

The source is read once. Afterwards every pass reads plain numbers from scratch files, in the stretches and in the order
used for rows in memory, so the network is the same. Only the target and the weight of each row stay in memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path
from typing import NamedTuple, final

import numpy as np

from skscn.kernels import Inputs, scaled
from skscn.layers import Layer
from skscn.rows._local import LocalBackend
from skscn.rows._rows import Rows
from skscn.rows._scratch import ScratchArray, ScratchPanels, scratch_folder
from skscn.rows._shard import PANEL, Gathered, Storage
from skscn.rows._stretches import stretch_length, stretches
from skscn.rows.sources import Chunks
from skscn.scaling import InputScaling

# The largest number of rows read from the source at a time.
_LARGEST_BLOCK = 65536
# Parts of the memory limit: for columns that are needed as a whole, and for rows that are selected.
_PART = 8


class Scratch:
    """A folder of temporary files, and how much memory may be used in addition."""

    def __init__(self, folder: Path, memory_limit: int, resources: ExitStack):
        self.folder, self.memory_limit = folder, memory_limit
        self._resources, self._numbers = resources, count()

    def array(self, n_rows: int, width: int | None = None, dtype=np.float64) -> ScratchArray:
        """A new array in a file."""
        path = self.folder / f"rows-{next(self._numbers)}"
        return self._resources.enter_context(ScratchArray(path, n_rows, width, dtype))

    def panels(self, n_rows: int) -> ScratchPanels:
        """A new basis in files."""
        folder = self.folder / f"basis-{next(self._numbers)}"
        folder.mkdir()
        return self._resources.enter_context(ScratchPanels(folder, n_rows, stretch=stretch_length(n_rows), panel=PANEL))


class ScratchInputs:
    """Inputs X in a file, read by slices or by row numbers as if they were an array.

    Many rows selected by their numbers become inputs in another file.
    """

    def __init__(self, values: ScratchArray, scratch: Scratch):
        self.values, self.scratch = values, scratch
        self.shape: tuple[int, int] = (values.n_rows, values.width or 1)
        self.dtype = values.dtype
        self._columns: tuple[range, np.ndarray] = (range(0), np.zeros((0, 0)))

    def __getitem__(self, rows):
        if isinstance(rows, slice):
            return self.values.read(rows)
        rows = np.asarray(rows)
        if len(rows) * self.shape[1] * 8 <= self.scratch.memory_limit // _PART:
            return self._gathered(rows)
        return self._moved(rows)

    def column(self, place: int) -> np.ndarray:
        """One column; each pass reads all the columns that fit in memory."""
        if place not in self._columns[0]:
            size = max(1, self.scratch.memory_limit // (_PART * 8 * self.shape[0]))
            places = range(place, min(place + size, self.shape[1]))
            columns = np.empty((len(places), self.shape[0]))
            for rows in stretches(self.shape[0]):
                columns[:, rows] = self.values.read(rows)[:, places.start : places.stop].T
            self._columns = (places, columns)
        places, columns = self._columns
        if place == places[-1]:
            self._columns = (range(0), np.zeros((0, 0)))
        return columns[place - places.start]

    def _gathered(self, rows: np.ndarray) -> np.ndarray:
        values = np.empty((len(rows), self.shape[1]), self.dtype)
        for places, numbers, stretch in _grouped(rows, self.shape[0]):
            values[places] = self.values.read(stretch)[numbers]
        return values

    def _moved(self, rows: np.ndarray) -> ScratchInputs:
        values = self.scratch.array(len(rows), self.shape[1], self.dtype)
        for start in range(0, len(rows), _LARGEST_BLOCK):
            part = rows[start : start + _LARGEST_BLOCK]
            values.write(slice(start, start + len(part)), self._gathered(part))
        return ScratchInputs(values, self.scratch)


class Opened(NamedTuple):
    """Inputs as an array or as :class:`ScratchInputs`, targets and weights as arrays."""

    X: np.ndarray | ScratchInputs
    y: np.ndarray
    sample_weight: np.ndarray | None


@contextmanager
def opened(chunks: Chunks, columns: int) -> Iterator[Opened]:
    """Read all rows once: into memory if they fit there with ``columns`` more columns, else into scratch files."""
    max_rows = max(1, min(_LARGEST_BLOCK, chunks.memory_limit // (_PART * 8 * max(chunks.n_features, 1))))
    dtype = np.result_type(*{block.X.dtype for block in chunks.blocks(max_rows)})
    n_rows = chunks.n_rows
    assert n_rows is not None
    with ExitStack() as resources:
        X: np.ndarray | ScratchArray
        if n_rows * (chunks.n_features + columns) * 8 <= chunks.memory_limit:
            X = np.empty((n_rows, chunks.n_features), dtype)
        else:
            needed = n_rows * 8 * (chunks.n_features + columns + 2)
            folder = resources.enter_context(scratch_folder(needed))
            scratch = Scratch(folder, chunks.memory_limit, resources)
            X = scratch.array(n_rows, chunks.n_features, dtype)
        start, targets, weights = 0, [], []
        for block in chunks.blocks(max_rows):
            rows = slice(start, start + len(block.X))
            if isinstance(X, ScratchArray):
                X.write(rows, block.X)
            else:
                X[rows] = block.X
            targets.append(np.array(block.y))
            if block.sample_weight is not None:
                weights.append(np.array(block.sample_weight))
            start = rows.stop
        inputs = ScratchInputs(X, scratch) if isinstance(X, ScratchArray) else X
        yield Opened(inputs, np.concatenate(targets), np.concatenate(weights) if weights else None)


def chunk_rows(
    X: ScratchInputs,
    targets: np.ndarray,
    *,
    layer: Layer,
    scaling: InputScaling,
    sample_weight: np.ndarray | None = None,
    n_jobs: int | None = None,
) -> Rows:
    """N training rows whose inputs, residual and basis are in files; the parameters are those of ``memory_rows``."""
    storage = _ScratchStorage(X, scaling, targets.shape[1])
    for rows in stretches(len(targets)):
        roots = 1.0 if sample_weight is None else np.sqrt(sample_weight[rows])[:, np.newaxis]
        storage.set_residual(rows, targets[rows] * roots)
    shape = (*X.shape, targets.shape[1])
    return Rows(LocalBackend(storage, shape, sample_weight=sample_weight, n_jobs=n_jobs), layer)


@final
class _ScratchStorage(Storage):
    def __init__(self, X: ScratchInputs, scaling: InputScaling, n_outputs: int):
        n_rows, _ = X.shape
        self._X, self._scaling = X, scaling
        self._n_outputs, self._length = n_outputs, stretch_length(n_rows)
        self._residual = X.scratch.array(n_rows, n_outputs)
        self._columns, self._count = X.scratch.panels(n_rows), 0
        self._basis = X.scratch.panels(n_rows)

    def inputs(self, rows: slice) -> Inputs:
        return Inputs(self._X[rows], self._scaling)

    def residual(self, rows: slice) -> np.ndarray:
        return self._residual.read(rows)

    def set_residual(self, rows: slice, values: np.ndarray) -> None:
        self._residual.write(rows, values)

    def columns(self, rows: slice) -> np.ndarray:
        return self._columns.read(rows.start // self._length, self._count)

    def set_columns(self, rows: slice, values: np.ndarray) -> None:
        self._columns.write(rows.start // self._length, 0, values)

    def basis(self, rows: slice, size: int) -> list[np.ndarray]:
        # The same panels as for rows in memory, so that sums are added in the same order.
        vectors = self._basis.read(rows.start // self._length, size)
        return [vectors[start : start + PANEL] for start in range(0, size, PANEL)]

    def set_directions(self, rows: slice, place: int, values: np.ndarray) -> None:
        self._basis.write(rows.start // self._length, place, values)

    def reserve(self, basis: int, columns: int) -> None:
        """Files grow as they are written."""
        self._count = columns

    def gather(self, rows: np.ndarray, size: int) -> Gathered:
        x, residual = self._X._gathered(rows), np.empty((len(rows), self._n_outputs))
        basis = np.empty((size, len(rows)))
        for places, numbers, stretch in _grouped(rows, self._X.shape[0]):
            residual[places] = self._residual.read(stretch)[numbers]
            if size:
                basis[:, places] = self._basis.read(stretch.start // self._length, size)[:, numbers]
        return Gathered(scaled(x, self._scaling), residual, basis)


def _grouped(rows: np.ndarray, n_rows: int) -> Iterator[tuple[np.ndarray, np.ndarray, slice]]:
    """Row numbers by stretch: their places in ``rows``, their numbers within the stretch, and the stretch."""
    order, length = np.argsort(rows, kind="stable"), stretch_length(n_rows)
    groups = rows[order] // length
    for part in np.split(order, np.flatnonzero(np.diff(groups)) + 1):
        if part.size:
            start = int(rows[part[0]]) // length * length
            yield part, rows[part] - start, slice(start, min(start + length, n_rows))
