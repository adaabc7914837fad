"""Conformal intervals: the rank of the error that is their width, and widths that follow the errors of a stream.

Adaptive conformal inference (Gibbs and Candès, 2021): the width is a quantile of recent errors, and the level of that
quantile is steered by what happens. After a miss the level rises, after a hit it falls slightly, so that over any T
rows the share of misses differs from the wanted one by the change of the level divided by rate · T, whatever the errors
do.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import deque
from math import ceil, inf
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

# How far one row moves the level, and how many recent errors there are.
RATE, RECENT = 0.02, 500


def check_coverage(coverage: float) -> None:
    """Raise ValueError for a share that no interval can have."""
    if not 0.0 < coverage < 1.0:
        raise ValueError(f"coverage must be between 0 and 1, both excluded, for example 0.9; got {coverage!r}.")


def conformal_rank(count: Any, coverage: Any) -> Any:
    """(n + 1)·coverage for n errors, a number or an array: intervals are as wide as the error at the next whole rank.

    A target that is exchangeable with those of n errors is within an interval as wide as the ⌈(n + 1)·coverage⌉-th of
    them with at least this probability. Slightly less, so that rounding does not raise ranks that are whole.
    """
    return (count + 1) * coverage * (1.0 - 1e-12)


class AdaptiveWidth:
    """Half the width of intervals, for each output of a model, steered by recent misses.

    Parameters
    ----------
    coverage : float
        The share of targets that intervals are to contain.
    errors : array-like of shape (n, n_outputs)
        Absolute errors to begin with, the latest last.

    Examples
    --------
    >>> import numpy as np
    >>> from skscn.adaptive_intervals import AdaptiveWidth
    >>> errors = np.abs(np.random.default_rng(0).normal(size=(4000, 1)) * np.repeat([1.0, 5.0], 2000)[:, np.newaxis])
    >>> adaptive = AdaptiveWidth(0.9, errors[:100])
    >>> hits = [adaptive.hit(error) for error in errors[100:]]
    >>> float(np.round(np.mean(hits), 2))
    0.9
    """

    def __init__(self, coverage: float, errors: ArrayLike):
        check_coverage(coverage)
        beginning = np.asarray(errors, dtype=np.float64)
        self.coverage = coverage
        self.level = np.full(beginning.shape[1], coverage)
        # In the order of rows, and for each output in increasing order.
        self._rows: deque[list[float]] = deque()
        self._sorted: list[list[float]] = [[] for _ in self.level]
        for error in beginning[-RECENT:]:
            self._remember(error)

    @classmethod
    def restored(cls, coverage: float, level: np.ndarray, recent: np.ndarray) -> AdaptiveWidth:
        """One that goes on where another one was."""
        adaptive = cls(coverage, recent)
        adaptive.level = level.copy()
        return adaptive

    @property
    def recent(self) -> np.ndarray:
        """The recent errors, shape (n, n_outputs), the latest last."""
        return np.array(self._rows, dtype=np.float64).reshape(-1, len(self.level))

    @property
    def width(self) -> np.ndarray:
        """Half the width of the next intervals, shape (n_outputs,); infinite before the first error.

        Above level 1 the largest error is too small, and each further miss adds it once more.
        """
        widths = []
        for level, errors in zip(self.level.tolist(), self._sorted, strict=True):
            rank = ceil(conformal_rank(len(errors), min(level, 1.0)))
            if not errors:
                widths.append(inf)
            elif rank < 1:
                widths.append(0.0)
            else:
                further = max(level - 1.0, 0.0) / (RATE * self.coverage)
                widths.append(errors[min(rank, len(errors)) - 1] * (1.0 + further))
        return np.array(widths)

    def hit(self, error: ArrayLike, width: np.ndarray | None = None) -> np.ndarray:
        """Learn from the absolute error of a row; return whether the interval contained its target, for each output.

        An output whose error is NaN, because its target is not known, stays as it is. ``width`` is the one that the row
        had, if its target comes late; by default it is the present one.
        """
        error = np.asarray(error, dtype=np.float64).reshape(-1)
        known, inside = ~np.isnan(error), error <= (self.width if width is None else width)
        self.level = np.where(known, self.level + RATE * (self.coverage - inside), self.level)
        if known.all():
            self._remember(error)
        return inside

    def _remember(self, errors: np.ndarray) -> None:
        if len(self._rows) == RECENT:
            for ordered, error in zip(self._sorted, self._rows.popleft(), strict=True):
                del ordered[bisect_left(ordered, error)]
        self._rows.append(errors.tolist())
        for ordered, error in zip(self._sorted, self._rows[-1], strict=True):
            insort(ordered, error)
