"""The last rows of a stream, in memory that is reserved once."""

from __future__ import annotations

import numpy as np


class RecentRows:
    """Arrays of which each row adds one entry; entries older than ``length`` rows are overwritten.

    Parameters
    ----------
    length : int
    widths : int
        The number of columns of each array.
    """

    def __init__(self, length: int, *widths: int):
        self.length, self.count = length, 0
        # Twice the length, so that the last entries are always together and are moved only once in ``length`` rows.
        self._arrays = [np.empty((2 * length, width)) for width in widths]
        self._end = 0

    def append(self, *entries: np.ndarray) -> None:
        """Add one row to each array."""
        if self._end == 2 * self.length:
            for array in self._arrays:
                array[: self.length] = array[self.length :]
            self._end = self.length
        for array, entry in zip(self._arrays, entries, strict=True):
            array[self._end] = entry
        self._end += 1
        self.count = min(self.count + 1, self.length)

    def last(self, count: int | None = None) -> list[np.ndarray]:
        """Views of the last rows of each array, at most ``count`` of them."""
        kept = self.count if count is None else min(count, self.count)
        return [array[self._end - kept : self._end] for array in self._arrays]

    def forget_all_but(self, count: int) -> None:
        """Keep at most this number of rows."""
        self.count = min(self.count, count)
