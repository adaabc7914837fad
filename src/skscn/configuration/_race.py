"""A pool of candidates raced on a growing sample of the rows: whoever falls behind is not looked at on all rows.

The score ⟨e, h⟩²/‖h‖² on n random rows tells correlations apart that differ by more than about 1/√n. Each round keeps the
best quarter and looks at four times as many rows: a candidate is dropped only if a quarter of the pool was ahead of it,
and the best of the survivors is about as good as the best of all. Nothing is accepted here.
"""

import numpy as np

from skscn import kernels
from skscn.rows import Rows

# Rows of the first round, and the factor by which rows grow and candidates shrink.
_FIRST, _FACTOR = 4096, 4
# Fewer are not worth a round of their own.
_FEWEST_CANDIDATES = 12


def survivors(rows: Rows, weights: np.ndarray, biases: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The candidates worth scoring on all rows, in the order in which they were drawn."""
    alive, size = np.arange(len(biases)), _FIRST
    while _FACTOR * size <= rows.n_rows and len(alive) > _FEWEST_CANDIDATES:
        scores = _scores(rows, weights[:, alive], biases[alive], rng.integers(0, rows.n_rows, size))
        kept = max(_FEWEST_CANDIDATES, len(alive) // _FACTOR)
        alive, size = np.sort(alive[np.argsort(-scores, kind="stable")[:kept]]), _FACTOR * size
    return alive


def _scores(rows: Rows, weights: np.ndarray, biases: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    sample = rows.sample(numbers, basis=False)
    sums = kernels.candidate_sums(
        kernels.Inputs(kernels.with_one(sample.X), None),
        sample.residual,
        sample.roots,
        weights,
        biases,
        rows.activation,
        quartics=False,
        precision=np.float32,
    )
    squares = (sums.projections**2).sum(axis=0)
    return np.divide(squares, sums.squares, out=np.zeros_like(squares), where=sums.squares > 0.0)
