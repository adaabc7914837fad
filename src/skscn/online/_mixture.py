"""Several models side by side, weighted by their recent errors, each with and without corrections for its last ones."""

from __future__ import annotations

import numpy as np

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
