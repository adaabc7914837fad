"""Confidence intervals of scores by resampling blocks of rows, which respects their order and their groups."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

# Blocks of a series, and those that independent rows are divided into at random; how often blocks are drawn; the share
# that is left out at each end.
_BLOCKS, _MOST_BLOCKS, _DRAWS, _TAIL = 30, 2000, 1000, 0.025
_FEWEST_BLOCKS = 5


def row_blocks(n_rows: int, ordered: bool, groups: np.ndarray | None = None) -> np.ndarray | None:
    """The block that each row belongs to: its group or its stretch of time; None if rows are independent."""
    if groups is not None and len(np.unique(groups)) >= _FEWEST_BLOCKS:
        return np.unique(groups, return_inverse=True)[1]
    if ordered or groups is not None:
        return np.arange(n_rows) * min(_BLOCKS, n_rows) // max(n_rows, 1)
    return None


def resampled_limits(
    terms: np.ndarray, scores: Callable[[np.ndarray], np.ndarray], blocks: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """The ends of 95 % bootstrap intervals of scores that are functions of sums over rows.

    Parameters
    ----------
    terms : ndarray of shape (n, t)
        What each row adds to the sums.
    scores : callable
        Gives the scores, shape (r, s), for r times the sums, shape (r, t).
    blocks : ndarray of int of shape (n,), or None
        Rows of a block are drawn together. None if rows are independent; many are then summed in random blocks, which
        spread a mean as much as single rows do.

    Returns
    -------
    low, high : ndarray of shape (s,)
    """
    rng = np.random.default_rng(0)
    if blocks is None:
        blocks = rng.permutation(len(terms)) % min(len(terms), _MOST_BLOCKS)
    n_blocks = int(blocks.max()) + 1
    sums = np.zeros((n_blocks, terms.shape[1]))
    np.add.at(sums, blocks, terms)
    drawn = rng.multinomial(n_blocks, np.full(n_blocks, 1.0 / n_blocks), size=_DRAWS) @ sums
    low, high = np.nanquantile(scores(drawn), (_TAIL, 1.0 - _TAIL), axis=0)
    return low, high


def confidence_limits(
    scores: dict[str, float], y: np.ndarray, predicted: np.ndarray, shares: np.ndarray | None, blocks: np.ndarray | None
) -> dict[str, tuple[float, float]]:
    """The ends of 95 % intervals of those scores that are functions of sums over rows.

    Parameters
    ----------
    scores : dict
        Their names say which scores there are.
    y, predicted : ndarray of shape (n,)
    shares : ndarray of shape (n,) or None
        The probabilities that the true classes were given; None for numbers.
    blocks : ndarray of int of shape (n,), or None
        What :func:`row_blocks` gives.
    """
    if (len(y) if blocks is None else int(blocks.max()) + 1) < _FEWEST_BLOCKS:
        return {}
    if shares is None:
        names = ["mae", "rmse", "r2"] if np.ptp(y) > 0.0 else ["mae", "rmse"]
        low, high = resampled_limits(*regression_terms(y, predicted), blocks)
    else:
        names = ["accuracy", "log_loss"]
        terms = np.column_stack([np.ones(len(y)), y == predicted, -np.log(shares.clip(np.finfo(float).eps))])
        low, high = resampled_limits(terms, means, blocks)
    ends = zip(names, low.tolist(), high.tolist(), strict=False)
    return {name: (first, last) for name, first, last in ends if name in scores}


def means(sums: np.ndarray) -> np.ndarray:
    """The means of terms of which the first is 1."""
    return np.asarray(sums[:, 1:] / sums[:, :1])


def regression_terms(y: np.ndarray, predicted: np.ndarray) -> tuple[np.ndarray, Callable[[np.ndarray], np.ndarray]]:
    """What rows add to sums from which mean absolute error, RMSE and R² follow, and how these follow."""
    errors, centred = y - predicted, y - y.mean()
    # A constant has no variance to explain, whatever is left of it.
    rounding = (1e-12 * np.abs(y).max()) ** 2

    def scores(sums: np.ndarray) -> np.ndarray:
        n, absolute, squared, total, total_squared = sums.T
        spread = total_squared - total**2 / n
        explained = 1.0 - np.divide(squared, spread, out=np.ones_like(spread), where=spread > n * rounding)
        return np.column_stack([absolute / n, np.sqrt(squared / n), explained])

    return np.column_stack([np.ones_like(y), np.abs(errors), errors**2, centred, centred**2]), scores
