"""Tukey's bisquare: rows beyond some residual do not count at all."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skscn.losses._base import Loss
from skscn.losses._robust import BySize
from skscn.losses.huber import after_huber

# 95 % as efficient as least squares for normal residuals.
_C = 4.685


@dataclass(frozen=True)
class Bisquare(BySize):
    """ρ(u) = c²/6 (1 − (1 − u²/c²)³) up to c; A. E. Beaton and J. W. Tukey, 1974."""

    def stages(self) -> tuple[Loss, ...]:
        """Huber's loss first."""
        return after_huber(self)

    def rho(self, u: np.ndarray) -> np.ndarray:
        """At most c²/6."""
        return _C**2 / 6.0 * (1.0 - self._inside(u) ** 3)

    def weight(self, u: np.ndarray) -> np.ndarray:
        """(1 − u²/c²)²; 0 beyond c."""
        weights: np.ndarray = self._inside(u) ** 2
        return weights

    def _inside(self, u: np.ndarray) -> np.ndarray:
        inside: np.ndarray = 1.0 - np.minimum(u / _C, 1.0) ** 2
        return inside
