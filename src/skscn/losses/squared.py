"""Squared error: least squares itself, in one round."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from skscn.losses._base import Loss


@dataclass(frozen=True)
class Squared(Loss):
    """Half the squared error, summed over the outputs."""

    plain: ClassVar[bool] = True
    classifies: ClassVar[bool] = True

    def working(self, y: np.ndarray, f: np.ndarray | None) -> tuple[np.ndarray, None]:
        """The targets themselves, all rows with their own weights."""
        return y, None

    def value(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """½‖y − f‖²."""
        losses: np.ndarray = 0.5 * ((y - f) ** 2).sum(axis=1)
        return losses
