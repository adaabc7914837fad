"""The pinball loss, whose minimum is a quantile of the target given the inputs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
from scipy.special import ndtr

from skscn.losses._base import Loss, StatisticsOf
from skscn.losses._penalised import Penalised
from skscn.losses._robust import centred_scaling, centred_spread
from skscn.losses.squared import Squared
from skscn.scaling import Scaling

# Widths of the normal density that the loss is smoothed with, in units of the mean absolute deviation of the
# residuals: those that are tried, the one of earlier rounds, and the one of working targets.
_WIDTHS, _FIRST_WIDTH, _WORKING_WIDTH = (0.2, 0.5, 1.0), 0.5, 1.5
# The mean absolute deviation of a normal distribution, relative to its standard deviation.
_MEAN_DEVIATION = np.sqrt(2.0 / np.pi)
# Penalties for rows of mean weight 1 and targets of spread 1, per row.
_PENALTIES = 10.0 ** np.arange(1.0, -8.5, -1.0)
# The smallest width, relative to the spread of the residuals with which the path of penalties begins.
_NARROWEST = 1e-6


@dataclass(frozen=True)
class Quantile(Penalised):
    """ℓ = q e for e = y − f ≥ 0, else (q − 1) e; R. Koenker and G. Bassett, "Regression Quantiles", 1978.

    It is smoothed by a normal density of width h: ℓ = e (q − 1 + Φ(e/h)) + h φ(e/h). Working targets are those of the
    quadratic function that lies above the smoothed loss and touches it at f.

    Attributes
    ----------
    quantile : float
        q.
    factor : float
        h in units of the mean absolute deviation of the residuals; 0 to try several.
    widths : tuple of float
        h of each output.
    spreads : tuple of float
        The robust standard deviation of the residuals of each output.
    """

    rounds: ClassVar[int] = 2
    smoothed: ClassVar[bool] = True
    quantile: float = 0.5
    factor: float = 0.0
    widths: tuple[float, ...] = ()
    spreads: tuple[float, ...] = ()

    @classmethod
    def of(cls, quantile: float) -> Self:
        """With the parameter of the estimator."""
        return cls(quantile)

    def scaling(self, statistics_of: StatisticsOf) -> Scaling:
        """Relative to the quantile of all targets."""
        return centred_scaling(statistics_of, self.quantile)

    def in_round(self, number: int) -> Loss:
        """One width is enough for a network that only the next one follows from."""
        return replace(self, factor=_FIRST_WIDTH) if number < self.rounds else self

    def beginning(self) -> Loss:
        """The mean of the target comes first."""
        return Squared()

    def adapted(self, statistics_of: StatisticsOf) -> Self:
        """With the spread of the residuals."""
        return replace(self, spreads=tuple(centred_spread(statistics_of).tolist()))

    def working(self, y: np.ndarray, f: np.ndarray | None) -> tuple[np.ndarray, None]:
        """f + h√(2π)(q − Φ(−e/h)): the second derivative is at most 1/(h√(2π)), and all rows count the same."""
        assert f is not None, "the mean of the target comes first"
        h = _WORKING_WIDTH * _MEAN_DEVIATION * np.array(self.spreads)
        return f + h * np.sqrt(2.0 * np.pi) * (self.quantile - ndtr((f - y) / h)), None

    def value(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """The pinball loss, summed over the outputs."""
        e = y - f
        losses: np.ndarray = np.maximum(self.quantile * e, (self.quantile - 1.0) * e).sum(axis=1)
        return losses

    def variants(self) -> tuple[Self, ...]:
        """Several widths."""
        return (self,) if self.factor else tuple(replace(self, factor=factor) for factor in _WIDTHS)

    def narrowed(self, deviations: np.ndarray) -> Self:
        """With widths in units of the deviations, which a shift of the outputs does not change."""
        h = self.factor * deviations
        return replace(self, widths=tuple(np.maximum(h, _NARROWEST * np.array(self.spreads)).tolist()))

    def penalties(self, weight: float) -> np.ndarray:
        """Relative to the number of rows and the spread."""
        return weight / float(np.mean(self.spreads)) * _PENALTIES

    def curvature(self) -> float:
        """Half the largest, of a normal density."""
        return float(0.5 / (np.sqrt(2.0 * np.pi) * np.mean(self.widths)))

    def smooth(self, y: np.ndarray, f: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Smoothed by a normal density."""
        h, e = np.array(self.widths), y - f
        u = e / h
        force = self.quantile - 1.0 + ndtr(u)
        bump = h * np.exp(-0.5 * np.minimum(u * u, 1400.0)) / np.sqrt(2.0 * np.pi)
        return (e * force + bump).sum(axis=1), -force

    def unit(self) -> float:
        """The mean absolute deviation of the residuals."""
        return float(np.mean(self.widths)) / self.factor

    def dispersion(self, value: float) -> float:
        """The loss is the log-likelihood of an asymmetric Laplace distribution, whose scale is the mean loss."""
        return max(value, _NARROWEST * float(np.mean(self.spreads)))
