"""Huber's loss: squared for ordinary residuals, absolute for large ones, which then pull with constant force."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skscn.losses._base import Loss
from skscn.losses._robust import BySize


@dataclass(frozen=True)
class Huber(BySize):
    """ρ(u) = u²/2 up to k, then k(u − k/2); P. J. Huber, "Robust Estimation of a Location Parameter", 1964.

    Attributes
    ----------
    threshold : float
        k. The default is 95 % as efficient as least squares for normal residuals.
    """

    threshold: float = 1.345

    def working(self, y: np.ndarray, f: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """The targets themselves: even an outlier that counts little still pulls."""
        assert f is not None, "a robust fit begins with a constant output"
        return y, self.row_weights(y, f)

    def rho(self, u: np.ndarray) -> np.ndarray:
        """Convex, so the output weights of fixed nodes are unique."""
        inner = np.minimum(u, self.threshold)
        losses: np.ndarray = inner * (u - 0.5 * inner)
        return losses

    def weight(self, u: np.ndarray) -> np.ndarray:
        """min(1, k/u)."""
        weights: np.ndarray = self.threshold / np.maximum(u, self.threshold)
        return weights


def after_huber(loss: Loss) -> tuple[Loss, ...]:
    """The stages of a loss with several local minima: it begins at the minimum of Huber's loss, with its scale.

    Then the scale is that of its own residuals.
    """
    return (Huber(), loss, loss)
