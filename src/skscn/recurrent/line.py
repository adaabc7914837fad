"""Delay lines: the inputs of a row and of the rows before it, within each sequence."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

Segments = Sequence[slice]


def delay_line(u: np.ndarray, segments: Segments, length: int, before: np.ndarray | None = None) -> np.ndarray:
    """z(n) = [u(n), u(n − 1), …, u(n − length)], shape (n, (length + 1) d).

    Before the first row of a sequence, the inputs were what they are in this row, or ``before``, shape (length, d),
    the latest last.
    """
    d = u.shape[1]
    z = np.empty((len(u), (length + 1) * d))
    for segment in segments:
        past = np.repeat(u[segment][:1], length, axis=0) if before is None else before
        extended = np.vstack([past, u[segment]])
        for lag in range(length + 1):
            z[segment, lag * d : (lag + 1) * d] = extended[length - lag : len(extended) - lag]
    return z


def one_row_later(values: np.ndarray, segments: Segments, first: np.ndarray | float = 0.0) -> np.ndarray:
    """The values of the row before, within each sequence; ``first`` at its beginning."""
    lagged = np.empty_like(values)
    for segment in segments:
        lagged[segment][1:] = values[segment][:-1]
        lagged[segment.start] = first
    return lagged
