"""Settling: the output weights of fixed nodes are evaluated under a loss, from row sums in a basis of their columns.

With H = QR the columns of linear part and nodes on all rows, and Q orthonormal, the scaled outputs are QA, for
coefficients A = Rβ. Each iteration is one pass over the rows, which sends A and returns sums of the size of the basis.
Since Q is orthonormal, these sums are well conditioned, however close to each other the columns are.
"""

from skscn.refit.penalised import (
    Candidate,
    Columns,
    HeldOut,
    blend,
    plausible,
    prefix_shares,
    quadratic_factor,
    shrunk,
    solve_candidates,
    solve_path,
)
from skscn.refit.reweighted import Reweighting

__all__ = [
    "Candidate",
    "Columns",
    "HeldOut",
    "Reweighting",
    "blend",
    "plausible",
    "prefix_shares",
    "quadratic_factor",
    "shrunk",
    "solve_candidates",
    "solve_path",
]
