"""Intervals whose width is steered by the errors of earlier rows, as soon as their targets are known."""

from __future__ import annotations

import numpy as np

from skscn.adaptive_intervals import AdaptiveWidth

# The width begins with this many of the errors on later training rows.
_FIRST = 100


def first_errors(sizes: np.ndarray) -> np.ndarray:
    """Some of these sorted errors (r, m), evenly spread, for widths to begin with."""
    return np.asarray(sizes[np.unique(np.linspace(0, len(sizes) - 1, _FIRST).astype(int))])


def steered_widths(errors: np.ndarray, first: np.ndarray, coverage: float, delay: int) -> np.ndarray:
    """Half the width of each row (n, m), from absolute errors (n, m), NaN where unknown, known ``delay`` rows later.

    The target of row n is known once row n + delay has been predicted, as in :meth:`RecurrentStream.learn_one`.
    """
    adaptive = AdaptiveWidth(coverage, first)
    widths, width = np.empty_like(errors), adaptive.width
    for n in range(len(errors)):
        widths[n] = width
        if n >= delay and not np.isnan(errors[n - delay]).all():
            adaptive.hit(errors[n - delay], widths[n - delay])
            width = adaptive.width
    return widths
