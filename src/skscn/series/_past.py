"""The rows of one sequence with the rows before them, from which earlier values and moving means are taken.

Nothing here can look ahead: a value in a row is taken from that row or from rows before it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view


@dataclass(frozen=True)
class SeriesEnd:
    """The last rows of a sequence: inputs, and targets where a missing one has the value known before it."""

    inputs: np.ndarray
    targets: np.ndarray

    @classmethod
    def nothing(cls, n_inputs: int, n_targets: int) -> SeriesEnd:
        """The end of a sequence that has not begun."""
        return cls(np.zeros((0, n_inputs)), np.zeros((0, n_targets)))


@dataclass(frozen=True)
class Past:
    """Rows of a sequence behind the rows before them.

    Attributes
    ----------
    inputs : ndarray of shape (before + n, d)
        Before the first known row, the values of that row.
    targets : ndarray of shape (before + n, m)
        Missing ones have the value known before; NaN before the first known value.
    before : int
        How many rows are before the n rows.
    known : int
        How many of these have been seen; they are the last ones.
    """

    inputs: np.ndarray
    targets: np.ndarray
    before: int
    known: int

    @classmethod
    def of(cls, end: SeriesEnd, X: np.ndarray, targets: np.ndarray, depth: int) -> Past:
        """The rows X, with their targets, after the end of earlier ones."""
        before = end.inputs[len(end.inputs) - min(depth, len(end.inputs)) :]
        inputs = np.concatenate([before, X])
        held = last_known(np.concatenate([end.targets, targets]))[len(end.targets) - len(before) :]
        padding = depth - len(before)
        unknown = np.full((padding, targets.shape[1]), np.nan)
        inputs = np.concatenate([np.repeat(inputs[:1], padding, axis=0), inputs])
        return cls(inputs, np.concatenate([unknown, held]), depth, len(before))

    @property
    def n_rows(self) -> int:
        """n."""
        return len(self.inputs) - self.before

    def earlier_inputs(self, column: int, rows: int) -> np.ndarray:
        """An input some rows before each row."""
        return self._earlier(self.inputs[:, column], rows)

    def earlier_targets(self, column: int, rows: int) -> np.ndarray:
        """The last target that was known some rows before each row."""
        return self._earlier(self.targets[:, column], rows)

    def _earlier(self, values: np.ndarray, rows: int) -> np.ndarray:
        return values[self.before - rows : len(values) - rows]

    def means(self, column: int, rows: int) -> np.ndarray:
        """The mean of an input over some rows that end with each row."""
        windows = sliding_window_view(self.inputs[self.before - rows + 1 :, column], rows)
        # Each window on its own: running sums would lose digits, and depend on where a table begins.
        means: np.ndarray = windows.mean(axis=1)
        return means

    def reaches(self, rows: int) -> np.ndarray:
        """Whether at least this number of rows have been seen before each row."""
        enough: np.ndarray = np.arange(self.n_rows) + self.known >= rows
        return enough

    def end(self) -> SeriesEnd:
        """The last rows, for those that will follow."""
        # The newest known target is kept even if no earlier row is needed.
        keep = min(max(self.before, 1), self.known + self.n_rows)
        start = len(self.inputs) - keep
        return SeriesEnd(self.inputs[start:].copy(), self.targets[start:].copy())


def last_known(values: np.ndarray) -> np.ndarray:
    """Missing values replaced by the last one before them in their column; NaN before the first."""
    rows = np.where(np.isnan(values), -1, np.arange(len(values))[:, np.newaxis])
    latest = np.maximum.accumulate(rows, axis=0)
    held = np.take_along_axis(values, np.maximum(latest, 0), axis=0) if len(values) else values
    return np.where(latest < 0, np.nan, held)
