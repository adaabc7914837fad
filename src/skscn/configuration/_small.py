"""Small symmetric matrices, straight from LAPACK: there are thousands of them, and checks would take longer."""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError
from scipy.linalg.lapack import dposv, dpotrf, dtrtri


def cholesky(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """C, upper triangular, with matrix = CᵀC, and its inverse; LinAlgError if the matrix is not positive definite."""
    factor, failed = dpotrf(matrix, lower=0, clean=1)
    if failed:
        raise LinAlgError
    inverse, failed = dtrtri(factor, lower=0)
    if failed:
        raise LinAlgError
    return factor, inverse


def solved(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """The solution of a positive definite system; LinAlgError if it is not."""
    _, solution, failed = dposv(matrix, right)
    if failed:
        raise LinAlgError
    return np.asarray(solution)
