"""A race of candidates on a growing sample of the rows: those that fall behind are not scored on all rows.

On n random rows the correlation of a candidate with the residual is known to about 1/√n. Each round drops the
candidates that are behind the best by more than three times that, and the next round uses four times as many rows. So a
candidate that is best on all rows is hardly ever dropped, and near the noise level none is. Nothing is accepted here.
"""

import numpy as np

from skscn.layers import Layer, Nodes
from skscn.rows import Rows

# Rows of the first round, the factor by which they grow, and the limits of the last: a number or a share of all rows.
_FIRST, _FACTOR, _LAST, _SHARE = 4096, 4, 65536, 1 / 8
# How far behind, in units of 1/√n, is too far.
_BEHIND = 3.0


def survivors(rows: Rows, pool: Nodes, rng: np.random.Generator) -> np.ndarray:
    """The candidates worth scoring on all rows, in the order in which they were drawn."""
    running, size = np.arange(len(pool)), _FIRST
    while size <= min(_LAST, _SHARE * rows.n_rows) and len(running) > 1:
        numbers = rng.integers(0, rows.n_rows, size)
        correlations, counted = _correlations(rows, pool.take(running), numbers)
        running = running[correlations >= correlations.max() - _BEHIND / np.sqrt(counted)]
        size *= _FACTOR
    return running


def enough_precision(layer: Layer) -> type:
    """Single precision if the outputs of nodes are bounded and cannot overflow."""
    return np.float32 if np.isfinite(layer.bound) else np.float64


def _correlations(rows: Rows, nodes: Nodes, numbers: np.ndarray) -> tuple[np.ndarray, float]:
    """Correlation of each candidate with the residual on these rows: the root of Σ_q ⟨e_q, h⟩²/(‖h‖² Σ_q ‖e_q‖²).

    Also returned is the number of rows of equal weight that would be as informative as these.
    """
    found = rows.sampled_sums(numbers, nodes, precision=enough_precision(rows.layer))
    explained = (found.sums.projections**2).sum(axis=0)
    possible = found.sums.squares * found.residual_square
    correlations = np.sqrt(np.divide(explained, possible, out=np.zeros_like(explained), where=possible > 0.0))
    return correlations, found.weight**2 / found.square
