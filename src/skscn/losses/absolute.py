"""The absolute error, whose minimum is the median of the target given the inputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from skscn.losses.quantile import Quantile


@dataclass(frozen=True)
class Absolute(Quantile):
    """Half the absolute error: the pinball loss of the quantile ½, whatever the estimator's parameter is."""

    @classmethod
    def of(cls, quantile: float) -> Self:
        """Always the median."""
        return cls()
