"""Regularised output weights, from the small triangular factor left by growth, without a pass over the rows.

With H = QR the ridge problem min ‖T − Hβ‖² + α‖β‖² is min ‖C − Rβ‖² + α‖β‖², with C = QᵀT. Linear columns, which come
first, are not penalised; they fit whatever the nodes leave, so the nodes' weights solve the same problem with the
last rows and columns of R and C alone.
"""

import numpy as np
from scipy.linalg import qr, svd

# From no regularisation to weights of almost 0, relative to the largest squared singular value of R.
_SMALLEST, _LARGEST, _COUNT = 1e-16, 1.0, 65


def cross_validated(
    factor: np.ndarray, coefficients: np.ndarray, linear: int, residual_squares: float, weight: float
) -> float:
    """α that minimises generalised cross-validation, mean squared error over (1 − degrees of freedom/N)².

    Parameters
    ----------
    factor, coefficients : ndarray of shape (k, k) and (k, m)
        R and C.
    linear : int
        How many of the columns are linear.
    residual_squares : float
        ‖T − Hβ‖² of the least-squares solution, over all outputs.
    weight : float
        N, or the sum of the weights of the rows.
    """
    if len(factor) == linear:
        return 0.0
    left, singular, _ = svd(factor[linear:, linear:])
    explained = (left.T @ coefficients[linear:]) ** 2
    squares = singular**2
    alphas = np.append(0.0, squares[0] * np.geomspace(_SMALLEST, _LARGEST, _COUNT))
    kept = squares / (squares + alphas[:, np.newaxis])
    errors = residual_squares + ((1.0 - kept) ** 2 @ explained).sum(axis=1)
    rest = 1.0 - (linear + kept.sum(axis=1)) / weight
    scores = np.divide(errors, rest**2, out=np.full_like(errors, np.inf), where=rest > 0.0)
    return float(alphas[scores.argmin()])


def regularised(
    factor: np.ndarray, coefficients: np.ndarray, linear: int, alpha: float
) -> tuple[np.ndarray, np.ndarray]:
    """R and C of the least-squares problem with the rows √α β = 0 below it, whose solution is that of ridge.

    Its first k columns are the ridge problem of the first k nodes, so every prefix of the network is solved as well.
    """
    nodes = len(factor) - linear
    below = np.eye(nodes, len(factor), k=linear) * np.sqrt(alpha)
    rotation, new_factor = qr(np.vstack([factor, below]), mode="economic")
    # Diagonals are kept positive, as in growth.
    signs = np.where(new_factor.diagonal() < 0.0, -1.0, 1.0)
    return signs[:, np.newaxis] * new_factor, (signs * rotation[: len(factor)]).T @ coefficients


def smoother(factor: np.ndarray, linear: int, alpha: float) -> np.ndarray:
    """M of shape (k, k), with which the ridge solution fits Q M C where least squares fits Q C."""
    matrix = np.eye(len(factor))
    left, singular, _ = svd(factor[linear:, linear:])
    matrix[linear:, linear:] = (left * (singular**2 / (singular**2 + alpha))) @ left.T
    return matrix
