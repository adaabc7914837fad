"""Counts: the likelihood of a Poisson distribution, with the logarithm as link."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
from scipy.special import xlogy

from skscn.layers import Code, Graph
from skscn.losses._base import StatisticsOf
from skscn.losses._penalised import Penalised
from skscn.losses._robust import residual
from skscn.scaling import Scaling, Statistics, rounded

# Penalties for a mean of 1, per row.
_PENALTIES = 10.0 ** np.arange(1.0, -8.5, -1.0)
# Outputs between −this and this have a finite exponential, and so have sums of it.
_LARGEST = 500.0
# The smallest rate that is predicted, relative to the mean.
_SMALLEST_RATE = 1e-3


@dataclass(frozen=True)
class Poisson(Penalised):
    """ℓ = μ − y log μ, with μ = exp f; up to a term that depends on y alone, half the deviance.

    A rate y that was observed for some time, or in some area, has that exposure as its sample weight.

    Attributes
    ----------
    rate : float
        The mean of the target.
    """

    rounds: ClassVar[int] = 2
    several_outputs: ClassVar[bool] = False
    rate: float = 1.0

    def reason_to_refuse(self, statistics_of: StatisticsOf) -> str | None:
        """Targets must not be negative, nor all 0."""
        low, high = statistics_of(residual).range()
        if low.min() < 0.0:
            return (
                f'loss="poisson" is for counts and rates, which are not negative; y has {low.min():g}. Use '
                'loss="squared" for such targets.'
            )
        return None if high.max() > 0.0 else 'loss="poisson" needs a target above 0 somewhere; y has only zeros.'

    def scaling(self, statistics_of: StatisticsOf) -> Scaling:
        """Relative to the logarithm of the mean."""
        rate = _rate(statistics_of(residual))
        return Scaling.centred(np.log([rate]), np.ones(1))

    def adapted(self, statistics_of: StatisticsOf) -> Self:
        """With the mean of the targets."""
        return replace(self, rate=_rate(statistics_of(_targets)))

    def working(self, y: np.ndarray, f: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """f + (y − μ)/μ, rows counting μ times, as in Newton's method."""
        assert f is not None, "a fit begins with a constant output"
        mu = np.exp(f)
        return f + (y - mu) / mu, mu[:, 0] / self.rate

    def value(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Half the deviance."""
        losses: np.ndarray = (xlogy(y, y) - y * f - y + np.exp(np.minimum(f, _LARGEST))).sum(axis=1)
        return losses

    def bounding(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Logarithms of the targets, those of small ones raised."""
        return np.asarray(np.log(np.maximum(y, _SMALLEST_RATE * self.rate)))

    def penalties(self, weight: float) -> np.ndarray:
        """Relative to the number of rows and the mean."""
        return weight * self.rate * _PENALTIES

    def curvature(self) -> float:
        """The mean of μ."""
        return self.rate

    def smooth(self, y: np.ndarray, f: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Up to a term that depends on y alone, and chosen so that the unit of y is only a factor."""
        mu = np.exp(np.minimum(f, _LARGEST))
        return (mu - y * (f - np.log(self.rate))).sum(axis=1), mu - y

    def unit(self) -> float:
        """The mean of the targets: rates in another unit have the same network."""
        return self.rate

    def dispersion(self, value: float) -> float:
        """The mean deviance, about 1 for counts; for rates it depends on their unit."""
        return max(2.0 * value, _SMALLEST_RATE * self.rate)

    def mean(self, f: np.ndarray) -> np.ndarray:
        """exp f."""
        means: np.ndarray = np.exp(f)
        return means

    def operators(self, graph: Graph, f: str, n_outputs: int) -> str:
        """exp f."""
        return graph("Exp", f)

    def c_function(self, code: Code, n_outputs: int) -> str:
        """exp f."""
        body = f"for (int i = 0; i < {n_outputs}; i++) f[i] = {code.math('exp')}(f[i]);"
        return code.function("mean", "void", "real *f", body)


def _rate(targets: Statistics) -> float:
    """The mean of the targets; if they are all 0, as if one row among them had counted 1."""
    mean = float(rounded(targets.moments()[0])[0])
    return mean if mean > 0.0 else 1.0 / float(targets.below(np.full((1, 1), np.inf))[0, 0])


def _targets(y: np.ndarray, f: np.ndarray) -> np.ndarray:
    return y
