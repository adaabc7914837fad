"""Confidence intervals of scores by resampling blocks of rows, which respects their order and their groups."""

from __future__ import annotations

import numpy as np

# Blocks of a series, and how often they are drawn; the share that is left out at each end.
_BLOCKS, _DRAWS, _TAIL = 30, 500, 0.025
_FEWEST_BLOCKS = 5


def row_blocks(n_rows: int, ordered: bool, groups: np.ndarray | None = None) -> np.ndarray:
    """The block that each row belongs to: its group, its stretch of time, or itself."""
    if groups is not None and len(np.unique(groups)) >= _FEWEST_BLOCKS:
        return np.unique(groups, return_inverse=True)[1]
    if ordered or groups is not None:
        return np.arange(n_rows) * min(_BLOCKS, n_rows) // max(n_rows, 1)
    return np.arange(n_rows)


def confidence_limits(
    scores: dict[str, float], y: np.ndarray, predicted: np.ndarray, shares: np.ndarray | None, blocks: np.ndarray
) -> dict[str, tuple[float, float]]:
    """The ends of 95 % intervals of those scores that are functions of sums over rows.

    Parameters
    ----------
    scores : dict
        Their names say which scores there are.
    y, predicted : ndarray of shape (n,)
    shares : ndarray of shape (n,) or None
        The probabilities that the true classes were given; None for numbers.
    blocks : ndarray of int of shape (n,)
        Rows of a block are drawn together.
    """
    n_blocks = int(blocks.max()) + 1
    if n_blocks < _FEWEST_BLOCKS:
        return {}
    if shares is None:
        errors, centred = y - predicted, y - y.mean()
        columns = [np.ones(len(y)), errors**2, np.abs(errors), centred, centred**2]
    else:
        columns = [np.ones(len(y)), y == predicted, -np.log(shares.clip(np.finfo(float).eps))]
    sums = np.stack([np.bincount(blocks, column, n_blocks) for column in columns], axis=1)
    rng = np.random.default_rng(0)
    drawn = rng.multinomial(n_blocks, np.full(n_blocks, 1.0 / n_blocks), _DRAWS) @ sums
    means = (drawn[:, 1:] / drawn[:, :1]).T
    if shares is None:
        squares, absolute, centre, spread = means
        variance = spread - centre**2
        found = {"rmse": np.sqrt(squares), "mae": absolute}
        if np.all(variance > 0.0):
            found["r2"] = 1.0 - squares / variance
    else:
        found = {"accuracy": means[0], "log_loss": means[1]}
    ends = {name: np.quantile(values, (_TAIL, 1.0 - _TAIL)) for name, values in found.items() if name in scores}
    return {name: (float(low), float(high)) for name, (low, high) in ends.items()}
