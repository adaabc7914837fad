"""Inputs in temporary files, for rows that do not fit in memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import overload

import numpy as np
from numpy.typing import DTypeLike

from skscn.rows._scratch import ScratchArray, ScratchPanels
from skscn.rows._shard import PANEL
from skscn.rows._stretches import stretch_length, stretches

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
            return self.values.read(rows)
        rows = np.asarray(rows)
        if len(rows) * self.shape[1] * 8 <= self.scratch.memory_limit // PART:
            return self._gathered(rows)
        return self._moved(rows)

    def column(self, place: int) -> np.ndarray:
        """One column; each pass reads all the columns that fit in memory."""
        if place not in self._columns[0]:
            size = max(1, self.scratch.memory_limit // (PART * 8 * self.shape[0]))
            places = range(place, min(place + size, self.shape[1]))
            columns = np.empty((len(places), self.shape[0]))
            for rows in stretches(self.shape[0]):
                columns[:, rows] = self.values.read(rows)[:, places.start : places.stop].T
            self._columns = (places, columns)
        places, columns = self._columns
        if place == places[-1]:
            self._columns = (range(0), np.zeros((0, 0)))
        return np.asarray(columns[place - places.start])

    def _gathered(self, rows: np.ndarray) -> np.ndarray:
        values = np.empty((len(rows), self.shape[1]), self.dtype)
        for places, numbers, stretch in grouped(rows, self.shape[0]):
            values[places] = self.values.read(stretch)[numbers]
        return values

    def _moved(self, rows: np.ndarray) -> ScratchInputs:
        values = self.scratch.array(len(rows), self.shape[1], self.dtype)
        for start in range(0, len(rows), LARGEST_BLOCK):
            part = rows[start : start + LARGEST_BLOCK]
            values.write(slice(start, start + len(part)), self._gathered(part))
        return ScratchInputs(values, self.scratch)


def grouped(rows: np.ndarray, n_rows: int) -> Iterator[tuple[np.ndarray, np.ndarray, slice]]:
    """Row numbers by stretch: their places in ``rows``, their numbers within the stretch, and the stretch."""
    order, length = np.argsort(rows, kind="stable"), stretch_length(n_rows)
    groups = rows[order] // length
    for part in np.split(order, np.flatnonzero(np.diff(groups)) + 1):
        if part.size:
            start = int(rows[part[0]]) // length * length
            yield part, rows[part] - start, slice(start, min(start + length, n_rows))
