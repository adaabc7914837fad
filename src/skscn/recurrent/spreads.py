"""How large errors are: on later rows, and in free runs from later rows, for intervals."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from skscn.adaptive_intervals import check_coverage, conformal_rank
from skscn.recurrent.free_runs import Starts, free_run
from skscn.recurrent.later import free_origins
from skscn.recurrent.nodes import RecurrentNodes
from skscn.recurrent.reservoir import limits
from skscn.recurrent.sequences import Sequences

# Intervals are computed from at most this many residuals, and this many free runs.
_RESIDUALS, _FREE_RUNS = 1000, 40


def sorted_sizes(residuals: np.ndarray) -> np.ndarray:
    """Absolute residuals (r, m) in order; of many, some that are evenly spread, with the first and the last."""
    sizes = np.sort(np.abs(residuals), axis=0)
    if len(sizes) <= _RESIDUALS:
        return sizes
    return np.asarray(sizes[np.linspace(0, len(sizes) - 1, _RESIDUALS).astype(int)])


def widest_sizes(folds: Iterable[np.ndarray]) -> np.ndarray:
    """Sorted absolute residuals as wide as those of the widest of several folds (r, m), at each rank."""
    sizes = [np.sort(np.abs(residuals), axis=0) for residuals in folds]
    fewest = min(map(len, sizes))
    shares = np.arange(1, fewest + 1) / (fewest + 1)
    ranks = [np.ceil(conformal_rank(len(some), shares)).astype(int).clip(1, len(some)) for some in sizes]
    return sorted_sizes(np.max([some[rank - 1] for some, rank in zip(sizes, ranks, strict=True)], axis=0))


def free_spread(sequences: Sequences, nodes: RecurrentNodes, columns: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Sorted absolute errors (h, m, r) of free runs by their horizon; unknown ones are NaN, and last.

    ``columns`` are [1, z, s] of these nodes on all rows, ``weights`` (1 + p + L, m) come from the first part of time.
    """
    origins, steps = free_origins(sequences, _FREE_RUNS)
    ahead = origins[:, np.newaxis] + np.arange(1, steps + 1)
    n_inputs = sequences.u.shape[1] - sequences.targets.shape[1]
    last = columns[origins]
    starts = Starts(last[:, 1 : 1 + nodes.width], last[:, 1 + nodes.width :], sequences.outputs[origins])
    course = free_run(
        nodes,
        starts,
        np.tile(weights, (len(origins), 1, 1)),
        limits(sequences.targets),
        steps,
        sequences.u[ahead, :n_inputs] if n_inputs else None,
    )
    errors = np.abs(course - sequences.targets[ahead].transpose(1, 0, 2))
    return np.sort(errors.transpose(0, 2, 1), axis=2)


def quantile(errors: np.ndarray, coverage: float) -> np.ndarray:
    """The error at the rank that split conformal intervals need, of sorted errors (…, r); unknown ones are last."""
    check_coverage(coverage)
    known = (~np.isnan(errors)).sum(axis=-1)
    ranks = np.clip(np.ceil(conformal_rank(known, coverage)).astype(int), 1, np.maximum(known, 1)) - 1
    return np.take_along_axis(errors, ranks[..., np.newaxis], axis=-1)[..., 0]


def widening(spread: np.ndarray, coverage: float) -> np.ndarray:
    """Half the widths (h, m) of intervals by their horizon, from sorted errors (h, m, r); they do not decrease.

    A horizon for which no target is known, as between laboratory values, is as wide as the one before it, or as the
    first one that is known.
    """
    widths = np.fmax.accumulate(quantile(spread, coverage), axis=0)
    known = ~np.isnan(widths)
    return np.where(known, widths, widths[known.argmax(axis=0), np.arange(widths.shape[1])])
