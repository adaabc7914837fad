"""Output weights that follow the rows: recursive least squares with forgetting, in time O(k²) for each row.

At any time the weights minimise Σᵢ λⁿ⁻ⁱ ‖tᵢ − hᵢβ‖² + α‖β‖². What is kept of the rows is a square root S of the inverse
of HᵀH + αI: the inverse of the triangular factor R of :mod:`skscn.factor`, with which it begins. A row changes S by a
matrix of rank one (Potter's algorithm). SSᵀ stays symmetric and positive definite whatever the rounding errors, as RᵀR
does in a QR update, and the products of a matrix and a vector that this needs take a fraction of the time of LAPACK's
QR update for one row.

Forgetting alone would make S grow without limit in directions that no row excites (wind-up), because α is forgotten
as well. So after every few rows a part of α is added again, one column after the other: S stays bounded.
"""

from __future__ import annotations

from math import ceil, sqrt

import numpy as np
from scipy.linalg import blas, solve_triangular

from skscn.factor import Factor

# The penalty is at least this, for targets of unit variance, so that S can be represented.
SMALLEST_PENALTY = 1e-3
# What is left of a row with the largest leverage.
_SMALLEST_SHARE = 0.01
# What was forgotten of the penalty is added after this number of rows.
_EVERY = 4
# Forgetting stretches S; that is a factor of its own until it has this size.
_LONGEST_STRETCH = 1e3


class RecursiveWeights:
    """Output weights, and what is needed of the rows to follow them.

    Parameters
    ----------
    weights : ndarray of shape (k, m)
        β.
    root : ndarray of shape (k, k)
        S over ``stretch``, with SSᵀ = (HᵀH + αI)⁻¹.
    forgetting : float
        λ, the weight that all earlier rows keep with each new one.
    alpha : float
        α.
    turn : int
        The column to which a part of α is added next.
    owed : int
        The number of rows since that was last done.
    stretch : float
        The factor of the root.

    Examples
    --------
    >>> import numpy as np
    >>> from skscn.online import RecursiveWeights
    >>> rng = np.random.default_rng(0)
    >>> H, T = rng.normal(size=(200, 3)), rng.normal(size=(200, 1))
    >>> recursive = RecursiveWeights.of_rows(H[:50], T[:50], forgetting=1.0, alpha=0.01)
    >>> for h, t in zip(H[50:], T[50:]):
    ...     recursive.learn(h, t)
    >>> np.allclose(recursive.weights, np.linalg.solve(H.T @ H + 0.01 * np.eye(3), H.T @ T))
    True
    """

    def __init__(
        self,
        weights: np.ndarray,
        root: np.ndarray,
        forgetting: float,
        alpha: float,
        turn: int = 0,
        owed: int = 0,
        stretch: float = 1.0,
    ):
        self.weights, self.root = weights.copy(), np.array(root, order="F")
        self.forgetting, self.alpha, self.turn = forgetting, alpha, turn
        self.owed, self.stretch = owed, stretch

    @classmethod
    def of_rows(cls, H: np.ndarray, T: np.ndarray, forgetting: float, alpha: float | None = None) -> RecursiveWeights:
        """From columns and targets, the latest last; the penalty that cross-validation chooses unless one is given."""
        roots = sqrt(forgetting) ** np.arange(len(H))[::-1]
        factor = Factor.empty(H.shape[1], T.shape[1]).with_rows(H, T, roots)
        if alpha is None:
            alpha = SMALLEST_PENALTY + factor.regularised(SMALLEST_PENALTY).cross_validated()
        ridge = factor.regularised(alpha)
        return cls(ridge.output_weights(), solve_triangular(ridge.triangle, np.eye(H.shape[1])), forgetting, alpha)

    def left_out(self, H: np.ndarray, T: np.ndarray) -> np.ndarray:
        """Leave-one-out errors, shape (n, m), of the last rows, the latest last."""
        kept = self.stretch**2 * self.forgetting ** np.arange(len(H))[::-1]
        leverages = ((H @ self.root) ** 2).sum(axis=1) * kept
        errors: np.ndarray = (T - H @ self.weights) / np.maximum(1.0 - leverages, _SMALLEST_SHARE)[:, np.newaxis]
        return errors

    def learn(self, h: np.ndarray, t: np.ndarray) -> None:
        """Take in a row with columns h, shape (k,), and targets t, shape (m,)."""
        self.follow(h, t - h @ self.weights)

    def follow(self, h: np.ndarray, error: np.ndarray) -> None:
        """The same, with the error t − hβ, if that is known already."""
        self._join(blas.dgemv(1.0, self.root, h, trans=1), error, self.forgetting)
        if self.forgetting < 1.0:
            self._forget()

    def _join(self, across: np.ndarray, error: np.ndarray, keep: float) -> None:
        """A row with Sᵀh = ``across``, where the penalty and the rows before it have ``keep`` times their weight."""
        square = self.stretch**2
        size = keep + square * blas.ddot(across, across)
        gain = blas.dgemv(square, self.root, across)
        self.weights += gain[:, np.newaxis] * (error / size)
        blas.dger(-1.0 / (size + sqrt(keep * size)), gain, across, a=self.root, overwrite_a=1)

    def _forget(self) -> None:
        self.stretch /= sqrt(self.forgetting)
        self.owed += 1
        if self.owed == _EVERY:
            self._renew_penalty()
            self.owed = 0
        if self.stretch > _LONGEST_STRETCH:
            self.root *= self.stretch
            self.stretch = 1.0

    def _renew_penalty(self) -> None:
        """Add what was forgotten of α, as rows √w βⱼ = 0 for as few columns as possible."""
        columns = len(self.root)
        wanted = columns * (1.0 - self.forgetting) * _EVERY
        count = ceil(wanted)
        root = sqrt(self.alpha * wanted / count)
        for _ in range(count):
            self._join(root * self.root[self.turn], -root * self.weights[self.turn], 1.0)
            self.turn = (self.turn + 1) % columns
