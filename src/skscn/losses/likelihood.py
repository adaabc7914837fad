"""Losses that are likelihoods: of classes (log loss), and of counts or rates (Poisson)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
from scipy.special import expit, xlogy

from skscn.losses.base import Penalised, StatisticsOf
from skscn.losses.robust import residual
from skscn.nodes import Code, Graph
from skscn.scaling import Scaling, Statistics, rounded

# λ: no output weight to speak of, to hardly any penalty, whatever the number of rows.
# Curvatures are at least this, so that the working targets of rows that are certain stay finite.
_SMALLEST_CURVATURE = 1e-6
_PENALTIES = 10.0 ** np.array([2.5, 1.5, 0.5, -0.5, -1.5])


@dataclass(frozen=True)
class LogLoss(Penalised):
    """Nodes are grown by least squares on class indicators; the output weights maximise the penalised likelihood.

    Attributes
    ----------
    exclusive : bool
        Whether a row belongs to exactly one class, so that probabilities are a softmax; with False each output is the
        logit of a label of its own. A single output is a logit in any case.
    smallest : float
        What probabilities are at least: 1/n², for n training rows, which cannot tell a smaller one.
    """

    classifies: ClassVar[bool] = True
    regresses: ClassVar[bool] = False
    together: ClassVar[bool] = True
    tries_sizes: ClassVar[bool] = True
    quadratic: ClassVar[bool] = True
    factor_if_averaged: ClassVar[float] = 10.0**-0.5
    share_held_out: ClassVar[float] = 0.2
    patience: ClassVar[float] = 2.0
    exclusive: bool = True
    smallest: float = 0.0

    def adapted(self, statistics_of: StatisticsOf) -> Self:
        """With the smallest probability that the rows can tell."""
        weight = statistics_of(_targets).below(np.full((1, 1), np.inf))[0, 0]
        return replace(self, smallest=float(1.0 / max(weight, 2.0) ** 2))

    def working(self, y: np.ndarray, f: np.ndarray | None) -> tuple[np.ndarray, None]:
        """Indicators."""
        return y, None

    def value(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Minus the logarithm of the probability of a row's classes."""
        return self.smooth(y, f)[0]

    def bounding(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """The outputs themselves."""
        return f

    def penalties(self, weight: float) -> np.ndarray:
        """The same for any number of rows."""
        return _PENALTIES

    def curvature(self) -> float:
        """The largest of a logistic function; a softmax has at most twice as much."""
        return 0.25

    def curvatures(self, f: np.ndarray) -> np.ndarray:
        """Those of logistic functions; a softmax of m outputs has the same sum in the m − 1 directions that matter."""
        p, m = self.smooth(np.zeros_like(f), f)[1], f.shape[1]
        curvatures: np.ndarray = p * (1.0 - p) * (m / (m - 1) if self._has_softmax(f) else 1.0)
        return curvatures.clip(_SMALLEST_CURVATURE)

    def _has_softmax(self, f: np.ndarray) -> bool:
        return self.exclusive and f.shape[1] > 1

    def smooth(self, y: np.ndarray, f: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The log loss, and probabilities minus indicators."""
        if not self._has_softmax(f):
            return (np.logaddexp(0.0, f) - y * f).sum(axis=1), expit(f) - y
        shifted = f - f.max(axis=1, keepdims=True)
        powers = np.exp(shifted)
        totals = powers.sum(axis=1)
        powers /= totals[:, np.newaxis]
        return np.log(totals) - np.einsum("ij,ij->i", y, shifted), powers - y

    def mean(self, f: np.ndarray) -> np.ndarray:
        """Probabilities, of the second class if there is one output."""
        softmax = self._has_softmax(f)
        probabilities = self.smooth(np.zeros_like(f), f)[1] if softmax else expit(f)
        share, count = self._share(f.shape[1] if softmax else 2)
        floored: np.ndarray = (1.0 - share) * probabilities + share / count
        return floored

    def _share(self, count: int) -> tuple[float, int]:
        """The share of equal probabilities that is mixed in, and the number of classes."""
        return min(1.0, count * self.smallest), count

    def operators(self, graph: Graph, f: str, n_outputs: int) -> str:
        """Probabilities."""
        softmax = self.exclusive and n_outputs > 1
        share, count = self._share(n_outputs if softmax else 2)
        own = graph("Softmax", f, axis=1) if softmax else graph("Sigmoid", f)
        return graph("Add", graph("Mul", own, graph.constant(1.0 - share)), graph.constant(share / count))

    def c_function(self, code: Code, n_outputs: int) -> str:
        """Probabilities."""
        softmax = self.exclusive and n_outputs > 1
        share, count = self._share(n_outputs if softmax else 2)
        first = f"{code.softmax()}(f, {n_outputs});\n" if softmax else ""
        own = "f[i]" if softmax else f"{code.logistic()}(f[i])"
        mixed = f"{code.number(1.0 - share)} * {own} + {code.number(share / count)}"
        body = f"{first}for (int i = 0; i < {n_outputs}; i++) f[i] = {mixed};"
        return code.function("mean", "void", "real *f", body)


def _targets(y: np.ndarray, f: np.ndarray) -> np.ndarray:
    return y[:, :1]


# Counts: the likelihood of a Poisson distribution, with the logarithm as link.


# Penalties for a mean of 1, per row.
_POISSON_PENALTIES = 10.0 ** np.arange(1.0, -8.5, -1.0)
# Outputs between −this and this have a finite exponential, and so have sums of it.
_LARGEST = 500.0
# The smallest rate that is predicted, relative to the mean.
_SMALLEST_RATE = 1e-3
# Whole numbers are taken for counts if the smallest one is below this share of their mean, if there are this many
# different ones at least, and from this skewness on, which is that of a Poisson distribution with a mean of 4.
_FROM_ZERO, _FEWEST_COUNTS, _SKEWED = 0.01, 3, 0.5


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
        return replace(self, rate=_rate(statistics_of(_counts)))

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
        return weight * self.rate * _POISSON_PENALTIES

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


def are_counts(y: np.ndarray) -> bool:
    """Whether targets look like counts: whole numbers from about 0 on, many of them equal, few of them large."""
    if not len(y) or y.min() < 0.0 or y.max() >= 2.0**53 or np.any(y != np.round(y)):
        return False
    distinct = np.unique(y)
    from_zero = distinct[0] <= max(1.0, _FROM_ZERO * y.mean())
    repeats = _FEWEST_COUNTS <= len(distinct) <= len(y) / 2
    in_ones = np.gcd.reduce(distinct.astype(np.int64)) == 1
    return bool(from_zero and repeats and in_ones and np.mean((y - y.mean()) ** 3) > _SKEWED * y.std() ** 3)


def _rate(targets: Statistics) -> float:
    """The mean of the targets; if they are all 0, as if one row among them had counted 1."""
    mean = float(rounded(targets.moments()[0])[0])
    return mean if mean > 0.0 else 1.0 / float(targets.below(np.full((1, 1), np.inf))[0, 0])


def _counts(y: np.ndarray, f: np.ndarray) -> np.ndarray:
    return y
