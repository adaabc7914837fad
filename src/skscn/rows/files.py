"""Training rows that do not fit in memory: inputs, residual and basis in temporary files, read stretch by stretch.

The source is read once. Afterwards every pass reads plain numbers from scratch files, in the stretches and in the order
used for rows in memory, so the network is the same. Only the target and the weight of each row stay in memory. Files
are read and written, not mapped, so their contents do not stay in memory.
"""

from __future__ import annotations

import shutil
from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from io import FileIO
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import final, overload

import numpy as np
from numpy.typing import DTypeLike

from skscn.nodes import Inputs
from skscn.rows.operations import PANEL, Backend, LocalBackend, Sample, Storage, stretch_length, stretches
from skscn.scaling import InputScaling


@contextmanager
def scratch_folder(needed_bytes: int, folder: str | Path | None = None) -> Iterator[Path]:
    """A temporary folder, removed at the end, on a disk with ``needed_bytes`` of free space.

    It is made in ``folder``, or in the default place for temporary files (TMPDIR). Close the files in it first.
    """
    with TemporaryDirectory(prefix="skscn-", dir=folder) as name:
        check_space(Path(name), needed_bytes)
        yield Path(name)


def check_space(folder: Path, needed_bytes: int) -> None:
    """Raise OSError if the disk of a temporary folder has less than this free."""
    free = shutil.disk_usage(folder).free
    if free < needed_bytes:
        raise OSError(
            f"Training on these rows needs {needed_bytes / 1e9:.3g} GB of temporary files, but {folder.parent} "
            f"has {free / 1e9:.3g} GB left; free some space, or set TMPDIR to a folder on a larger disk."
        )


class _File:
    """A file that several threads read and write at the same time, each with its own handle."""

    def __init__(self, path: Path, size: int = 0):
        self._path = path
        self._idle: deque[FileIO] = deque()
        with path.open("xb") as file:
            file.truncate(size)

    def read(self, offset: int, values: np.ndarray) -> None:
        """Fill a contiguous array from this position on; parts never written are zeros."""
        rest = _bytes(values)
        with self._handle() as handle:
            handle.seek(offset)
            while len(rest):
                count = handle.readinto(rest)
                if not count:
                    break
                rest = rest[count:]
        rest[:] = bytes(len(rest))

    def write(self, offset: int, values: np.ndarray) -> None:
        """Write a contiguous array from this position on."""
        rest = _bytes(values)
        with self._handle() as handle:
            handle.seek(offset)
            while len(rest):
                rest = rest[handle.write(rest) :]

    def close(self) -> None:
        """Close all handles."""
        while self._idle:
            self._idle.pop().close()

    def remove(self) -> None:
        """Close all handles and delete the file."""
        self.close()
        self._path.unlink()

    @contextmanager
    def _handle(self) -> Iterator[FileIO]:
        try:
            handle = self._idle.pop()
        except IndexError:
            handle = self._path.open("r+b", buffering=0)
        try:
            yield handle
        finally:
            self._idle.append(handle)


def _bytes(values: np.ndarray) -> memoryview:
    return values.reshape(-1).view(np.uint8).data


class ScratchArray:
    """N rows of numbers in one file; threads may read and write different rows at the same time.

    Parameters
    ----------
    path : Path
        The file, which must not exist.
    n_rows : int
        N.
    width : int or None
        Numbers in a row; None for rows that are single numbers.
    dtype : float64 or float32
    """

    def __init__(self, path: Path, n_rows: int, width: int | None = None, dtype: DTypeLike = np.float64):
        self.n_rows, self.width = n_rows, width
        self.shape: tuple[int, ...] = (n_rows,) if width is None else (n_rows, width)
        self.dtype = np.dtype(dtype)
        self._row_bytes = self.dtype.itemsize * (1 if width is None else width)
        self._file = _File(path, n_rows * self._row_bytes)

    def __enter__(self) -> ScratchArray:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __getitem__(self, rows: slice) -> np.ndarray:
        """A new array of these consecutive rows."""
        start, count = self._span(rows)
        values = np.empty((count, *self.shape[1:]), self.dtype)
        self._file.read(start * self._row_bytes, values)
        return values

    def __setitem__(self, rows: slice, values: np.ndarray) -> None:
        """Replace these consecutive rows; values are broadcast to their shape."""
        start, count = self._span(rows)
        shape = (count, *self.shape[1:])
        self._file.write(start * self._row_bytes, _contiguous(np.broadcast_to(values, shape), self.dtype))

    def append(self, values: np.ndarray) -> None:
        """Add rows at the end; by one thread, while no other reads or writes."""
        first = self.n_rows
        self.n_rows += len(values)
        self.shape = (self.n_rows, *self.shape[1:])
        self[first : self.n_rows] = values

    def close(self) -> None:
        """Close the file; its folder removes it."""
        self._file.close()

    def remove(self) -> None:
        """Close the file and delete it."""
        self._file.remove()

    def _span(self, rows: slice) -> tuple[int, int]:
        start, stop, step = rows.indices(self.shape[0])
        if step != 1:
            raise ValueError(f"Rows must be consecutive, not {step} apart.")
        return start, max(stop - start, 0)


class ScratchPanels:
    """A growing basis, vectors by N rows, in files of ``panel`` vectors each.

    A file holds the rows stretch after stretch, with all its vectors of a stretch next to each other, so a stretch
    needs one read per panel.

    Parameters
    ----------
    folder : Path
        Where the files are made.
    n_rows : int
        N.
    stretch : int
        Rows in a stretch; the last one may be shorter.
    panel : int
        Vectors in a file.
    dtype : float64 or float32
    """

    def __init__(self, folder: Path, n_rows: int, *, stretch: int, panel: int = 64, dtype: DTypeLike = np.float64):
        self.n_rows, self.stretch, self.panel = n_rows, stretch, panel
        self.dtype = np.dtype(dtype)
        self._folder = folder
        self._files: list[_File] = []
        self._opening = Lock()

    def __enter__(self) -> ScratchPanels:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __getitem__(self, place: tuple[slice, slice]) -> np.ndarray:
        """A new array (k, n) of some vectors on the n rows of a stretch, which begins where the second slice does."""
        vectors, rows = place
        first, stretch_index = vectors.start or 0, rows.start // self.stretch
        values = np.empty((vectors.stop - first, self._length(stretch_index)), self.dtype)
        for file, part, offset in self._parts(stretch_index, first, values):
            file.read(offset, part)
        return values

    def __setitem__(self, place: tuple[slice, slice], values: np.ndarray) -> None:
        """Write a vector (n,), or several (k, n), for the n rows of a stretch."""
        vectors, rows = place
        values, stretch_index = np.atleast_2d(_contiguous(values, self.dtype)), rows.start // self.stretch
        if values.shape[1] != self._length(stretch_index):
            raise ValueError(f"This stretch has {self._length(stretch_index)} rows, not {values.shape[1]}.")
        for file, part, offset in self._parts(stretch_index, vectors.start or 0, values):
            file.write(offset, part)

    def close(self) -> None:
        """Close the files; their folder removes them."""
        for file in self._files:
            file.close()

    def _length(self, stretch_index: int) -> int:
        length = min(self.stretch, self.n_rows - stretch_index * self.stretch)
        if stretch_index < 0 or length <= 0:
            raise IndexError(f"There is no stretch {stretch_index}.")
        return length

    def _parts(self, stretch_index: int, place: int, vectors: np.ndarray) -> Iterator[tuple[_File, np.ndarray, int]]:
        """Vectors from a place on, panel by panel: the file, the vectors in it, and their position in the file."""
        start = stretch_index * self.stretch * self.panel
        done = 0
        while done < len(vectors):
            number, first = divmod(place + done, self.panel)
            part = vectors[done : done + self.panel - first]
            yield self._file(number), part, (start + first * vectors.shape[1]) * self.dtype.itemsize
            done += len(part)

    def _file(self, number: int) -> _File:
        with self._opening:
            while number >= len(self._files):
                self._files.append(_File(self._folder / f"panel-{len(self._files)}"))
            return self._files[number]


def _contiguous(values: np.ndarray, dtype: np.dtype) -> np.ndarray:
    return np.ascontiguousarray(values, dtype=dtype)


# Inputs in temporary files, for rows that do not fit in memory.


# The largest number of rows read or moved at a time.
LARGEST_BLOCK = 65536
# Parts of the memory limit: for columns that are needed as a whole, and for rows that are selected.
PART = 8


class Scratch:
    """A folder of temporary files, and how much memory may be used in addition."""

    def __init__(self, folder: Path, memory_limit: int, resources: ExitStack):
        self.folder, self.memory_limit = folder, memory_limit
        self._resources, self._numbers = resources, count()

    def array(self, n_rows: int, width: int | None = None, dtype: DTypeLike = np.float64) -> ScratchArray:
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

    backend = "chunks"

    def __init__(self, values: ScratchArray, scratch: Scratch):
        self.values, self.scratch = values, scratch
        self.shape: tuple[int, int] = (values.n_rows, values.width or 1)
        self.dtype = values.dtype
        self._columns: tuple[range, np.ndarray] = (range(0), np.zeros((0, 0)))

    @overload
    def __getitem__(self, rows: slice) -> np.ndarray: ...

    @overload
    def __getitem__(self, rows: np.ndarray) -> np.ndarray | ScratchInputs: ...

    def __getitem__(self, rows: slice | np.ndarray) -> np.ndarray | ScratchInputs:
        if isinstance(rows, slice):
            return self.values[rows]
        rows = np.asarray(rows)
        if len(rows) * self.shape[1] * 8 <= self.scratch.memory_limit // PART:
            return self.gather(rows)
        return self._moved(rows)

    def column(self, place: int) -> np.ndarray:
        """One column; each pass reads all the columns that fit in memory."""
        if place not in self._columns[0]:
            size = max(1, self.scratch.memory_limit // (PART * 8 * self.shape[0]))
            places = range(place, min(place + size, self.shape[1]))
            columns = np.empty((len(places), self.shape[0]))
            for rows in stretches(self.shape[0]):
                columns[:, rows] = self.values[rows][:, places.start : places.stop].T
            self._columns = (places, columns)
        places, columns = self._columns
        if place == places[-1]:
            self._columns = (range(0), np.zeros((0, 0)))
        return np.asarray(columns[place - places.start])

    def gather(self, rows: np.ndarray) -> np.ndarray:
        """The rows with these numbers, in memory."""
        values = np.empty((len(rows), self.shape[1]), self.dtype)
        for places, numbers, stretch in grouped(rows, self.shape[0]):
            values[places] = self.values[stretch][numbers]
        return values

    def _moved(self, rows: np.ndarray) -> ScratchInputs:
        values = self.scratch.array(len(rows), self.shape[1], self.dtype)
        for start in range(0, len(rows), LARGEST_BLOCK):
            part = rows[start : start + LARGEST_BLOCK]
            values[start : start + len(part)] = self.gather(part)
        return ScratchInputs(values, self.scratch)


def grouped(rows: np.ndarray, n_rows: int) -> Iterator[tuple[np.ndarray, np.ndarray, slice]]:
    """Row numbers by stretch: their places in ``rows``, their numbers within the stretch, and the stretch."""
    order, length = np.argsort(rows, kind="stable"), stretch_length(n_rows)
    groups = rows[order] // length
    for part in np.split(order, np.flatnonzero(np.diff(groups)) + 1):
        if part.size:
            start = int(rows[part[0]]) // length * length
            yield part, rows[part] - start, slice(start, min(start + length, n_rows))


# The rows ---------------------------------------------------------------------------------------------------------


def chunk_backend(
    X: ScratchInputs,
    targets: np.ndarray,
    *,
    scaling: InputScaling,
    sample_weight: np.ndarray | None = None,
    n_jobs: int | None = None,
) -> Backend:
    """N training rows whose inputs, residual and basis are in files; the parameters are those of ``memory_backend``."""
    first = X.scratch.array(len(targets), targets.shape[1])
    for rows in stretches(len(targets)):
        sqrt_weight = 1.0 if sample_weight is None else np.sqrt(sample_weight[rows])[:, np.newaxis]
        first[rows] = targets[rows] * sqrt_weight
    storage = _ScratchStorage(X, scaling, first, sample_weight)
    return LocalBackend(storage, (len(targets), len(scaling.sources), targets.shape[1]), n_jobs=n_jobs)


@final
class _ScratchStorage(Storage):
    def __init__(self, X: ScratchInputs, scaling: InputScaling, first: ScratchArray, sample_weight: np.ndarray | None):
        n_rows, n_outputs = first.shape
        self.inputs = Inputs(X, scaling)
        self._X, self._scaling, self._first = X, scaling, first
        self.residual = X.scratch.array(n_rows, n_outputs)
        self.columns, self._basis = X.scratch.panels(n_rows), X.scratch.panels(n_rows)
        self.sample_weight = sample_weight
        self.sqrt_weight = None if sample_weight is None else np.sqrt(sample_weight)
        self.restart()

    def basis(self, rows: slice, size: int) -> list[np.ndarray]:
        # The same panels as for rows in memory, so that sums are added in the same order.
        vectors = self._basis[:size, rows]
        return [vectors[start : start + PANEL] for start in range(0, size, PANEL)]

    def write_basis(self, rows: slice, place: int, vectors: np.ndarray) -> None:
        self._basis[place:, rows] = vectors

    def gather(self, rows: np.ndarray, size: int, first: int = 0) -> Sample:
        residual, basis = np.empty((len(rows), self.residual.shape[1])), np.empty((size - first, len(rows)))
        for places, numbers, stretch in grouped(rows, self._X.shape[0]):
            residual[places] = self.residual[stretch][numbers]
            if size > first:
                basis[:, places] = self._basis[first:size, stretch][:, numbers]
        return Sample(self._scaling.transform(self._X.gather(rows)), residual, basis, self.sqrt_weight_of(rows))

    def reserve(self, basis: int, columns: int) -> None:
        """Files grow as they are written."""

    def restart(self) -> None:
        for rows in stretches(self._first.n_rows):
            self.residual[rows] = self._first[rows]
