"""Recursive least squares with forgetting, and the mixture of experts that weighs several models by their errors."""

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


# Several models side by side, weighted by their recent errors, each with and without corrections for its last ones.


# How much of an error is added to the correction of the next prediction: none; a tenth and a third, which is an
# exponential mean of errors; all of it, with which a model without inputs repeats the last target.
GAINS = np.array([0.0, 0.1, 0.3, 1.0])
# The weight that earlier errors keep with each new one.
DISCOUNT = 0.98


class ExpertMixture:
    """Weights of models by their likelihood under recent errors, the most likely of them having unit error.

    Parameters
    ----------
    corrections : ndarray of shape (n_experts, n_gains, n_outputs)
        What each gain adds to the next prediction of each expert.
    losses : ndarray of shape (n_experts, n_gains)
        Discounted sums of squared errors.
    rows : float
        The discounted number of rows.
    """

    def __init__(self, corrections: np.ndarray, losses: np.ndarray, rows: float):
        self.corrections, self.losses, self.rows = corrections.copy(), losses.copy(), rows
        self._shares: np.ndarray | None = None

    @classmethod
    def new(cls, n_experts: int, n_outputs: int) -> ExpertMixture:
        """Before the first row."""
        shape = (n_experts, len(GAINS))
        return cls(np.zeros((*shape, n_outputs)), np.zeros(shape), 0.0)

    @property
    def shares(self) -> np.ndarray:
        """The weight of each expert with each gain, shape (n_experts, n_gains), with sum 1."""
        if self._shares is None:
            lowest = self.losses.min()
            # Half the squared error over its mean is the exponent of a normal distribution.
            unit = max(lowest / max(self.rows, 1.0), np.finfo(float).tiny)
            likelihoods = np.exp(np.maximum(-0.5 * (self.losses - lowest) / unit, -700.0))
            self._shares = likelihoods / likelihoods.sum()
        return self._shares

    def combine(self, outputs: np.ndarray) -> np.ndarray:
        """One prediction from those of the experts: from shape (n, n_experts, n_outputs) to (n, n_outputs)."""
        shares = self.shares
        correction = shares.ravel() @ self.corrections.reshape(shares.size, -1)
        combined: np.ndarray = shares.sum(axis=1) @ outputs + correction
        return combined

    def learn(self, errors: np.ndarray, units: np.ndarray) -> None:
        """Take in the errors of the experts before correction, shape (n_experts, n_outputs), target − output."""
        self.rows, self._shares = DISCOUNT * self.rows + 1.0, None
        _follow(self.corrections, self.losses, errors, units)

    def admit(self, experts: slice, errors: np.ndarray, units: np.ndarray, peers: slice) -> None:
        """Judge new experts by their errors on the last rows, shape (n, experts, n_outputs).

        These errors are of rows that they have learnt, so they are at first considered at most as good as the best of
        their peers, whose errors are honest.
        """
        corrections, losses = np.zeros_like(self.corrections[experts]), np.zeros_like(self.losses[experts])
        for row in errors:
            _follow(corrections, losses, row, units)
        rows = (1.0 - DISCOUNT ** len(errors)) / (1.0 - DISCOUNT)
        best = self.losses[peers].min(axis=0)
        self.corrections[experts], self.losses[experts] = corrections, np.maximum(losses * (self.rows / rows), best)
        self._shares = None

    def rescale(self, factor: float) -> None:
        """Go on with errors in another unit, in which they are larger by this factor."""
        self.losses *= factor**2
        self._shares = None


def _follow(corrections: np.ndarray, losses: np.ndarray, errors: np.ndarray, units: np.ndarray) -> None:
    left = errors[:, np.newaxis, :] - corrections
    losses *= DISCOUNT
    losses += ((left / units) ** 2).sum(axis=2)
    corrections += GAINS[:, np.newaxis] * left
