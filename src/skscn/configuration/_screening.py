"""A pool of candidates in single precision: those that cannot be the best need no sums in double precision.

The others lead to the same node as the whole pool, in half of the time where most pools have no admissible candidate.
"""

from dataclasses import replace

import numpy as np

from skscn.layers import Nodes
from skscn.rows import Rows
from skscn.supervision import admissible, alive, ranked, slack

# Errors of single precision in ⟨e, h⟩²/‖h‖², as a share of ‖e‖², and in ‖h‖² are below a twentieth of this.
_ROUNDING = 1e-5


def contenders(rows: Rows, pool: Nodes, node: int, contractions: tuple[float, ...], count: int) -> np.ndarray:
    """The candidates that may be among the ``count`` best with one of the contractions, in the order of the pool."""
    sums = rows.sums(pool, precision=np.float32)
    perhaps, surely = (
        alive(replace(sums, squares=factor * sums.squares), rows.weight, rows.layer.bound)
        for factor in (1.0 + _ROUNDING, 1.0 - _ROUNDING)
    )
    unit, chosen = _ROUNDING * rows.residual_squares.sum(), np.zeros(len(pool), dtype=bool)
    for r in contractions:
        slacks = slack(sums, rows.residual_squares, r, node, together=rows.together)
        gains, best = slacks.sum(axis=0), ranked(slacks - unit, surely)[:count]
        least = gains[best].min() - 2.0 * len(slacks) * unit if len(best) == count else -np.inf
        chosen |= perhaps & admissible(slacks + unit) & (gains >= least)
    return np.flatnonzero(chosen)
