"""Arrays in temporary files: data that training keeps for each row and that do not fit in memory.

Files are read and written, not mapped, so their contents do not stay in memory. Rows never written are zeros.
"""

from __future__ import annotations

import shutil
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from io import FileIO
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock

import numpy as np
from numpy.typing import DTypeLike


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

    def read(self, rows: slice) -> np.ndarray:
        """A new array of these consecutive rows."""
        start, count = self._span(rows)
        values = np.empty((count, *self.shape[1:]), self.dtype)
        self._file.read(start * self._row_bytes, values)
        return values

    def write(self, rows: slice, values: np.ndarray) -> None:
        """Replace these consecutive rows; values are broadcast to their shape."""
        start, count = self._span(rows)
        shape = (count, *self.shape[1:])
        self._file.write(start * self._row_bytes, _contiguous(np.broadcast_to(values, shape), self.dtype))

    def append(self, values: np.ndarray) -> None:
        """Add rows at the end; by one thread, while no other reads or writes."""
        first = self.n_rows
        self.n_rows += len(values)
        self.shape = (self.n_rows, *self.shape[1:])
        self.write(slice(first, self.n_rows), values)

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

    def read(self, stretch_index: int, count: int) -> np.ndarray:
        """A new array (count, n) of the first vectors on the n rows of a stretch."""
        values = np.empty((count, self._length(stretch_index)), self.dtype)
        for file, part, offset in self._parts(stretch_index, 0, values):
            file.read(offset, part)
        return values

    def write(self, stretch_index: int, place: int, values: np.ndarray) -> None:
        """Write a vector (n,), or several (k, n), from this place on, for the n rows of a stretch."""
        vectors = np.atleast_2d(_contiguous(values, self.dtype))
        if vectors.shape[1] != self._length(stretch_index):
            raise ValueError(f"This stretch has {self._length(stretch_index)} rows, not {vectors.shape[1]}.")
        for file, part, offset in self._parts(stretch_index, place, vectors):
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
