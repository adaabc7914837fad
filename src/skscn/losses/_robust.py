"""What the robust losses share: a scale of the residuals that outliers cannot set, and one weight per row."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, Self

import numpy as np

from skscn.losses._base import Loss, StatisticsOf
from skscn.scaling import Scaling, Statistics

# The median absolute deviation of a normal distribution, times this, is its standard deviation.
_NORMAL = 1.4826
# Targets are scaled so that this many standard deviations have length 1, much as [0, 1] for a target without outliers.
_WIDTH = 4.0
# If more than half of the values are equal, the first of these quantiles of the deviations that is positive is used.
_SHARES = np.array([0.5, 0.75, 0.9, 0.99, 1.0])
# The smallest weight in growth, and the largest residual there, in units of the scale.
_FLOOR, _FARTHEST = 1e-4, 10.0
# Rows of at least this weight are ordinary, and rows below that are outliers; which share of them is negligible.
ORDINARY, OUTLIER, _FEW = 0.5, 0.2, 0.002
# At the beginning, targets farther from the median than this many scales are moved closer.
_BEGINNING = 4.0


def residual(y: np.ndarray, f: np.ndarray) -> np.ndarray:
    """What the outputs leave unexplained."""
    difference: np.ndarray = y - f
    return difference


def deviation(y: np.ndarray, f: np.ndarray, centre: np.ndarray) -> np.ndarray:
    """How far the residual is from its centre."""
    return np.asarray(np.abs(y - f - centre))


def spread(deviations: Statistics) -> np.ndarray:
    """A robust standard deviation of each output, from absolute deviations; 1 where all are 0."""
    quantiles = deviations.quantiles(_SHARES)
    first = (quantiles > 0.0).argmax(axis=0)
    found = np.take_along_axis(quantiles, first[np.newaxis], axis=0)[0]
    return np.where(found > 0.0, np.where(first == 0, _NORMAL, 1.0) * found, 1.0)


def centred_spread(statistics_of: StatisticsOf) -> np.ndarray:
    """A robust standard deviation of the residuals of each output."""
    centre = statistics_of(residual).quantiles(np.array([0.5]))[0]
    return spread(statistics_of(partial(deviation, centre=centre)))


def centred_scaling(statistics_of: StatisticsOf, share: float = 0.5) -> Scaling:
    """Outputs relative to a quantile of the targets, in units that outliers do not set."""
    quantile = statistics_of(residual).quantiles(np.array([share]))[0]
    return Scaling.centred(quantile, _WIDTH * centred_spread(statistics_of))


@dataclass(frozen=True)
class Robust(Loss):
    """A loss in which the rows have weights, 1 for an ordinary row and less for an outlier.

    Attributes
    ----------
    scales : tuple of float
        The scale of the residuals of each output, 1.4826 times their median absolute deviation.
    """

    settling: ClassVar[str] = "reweighted"
    rounds: ClassVar[int] = 3
    weighs: ClassVar[bool] = True
    earlier_patience: ClassVar[float] = 0.4
    scales: tuple[float, ...] = ()

    def scaling(self, statistics_of: StatisticsOf) -> Scaling:
        """Relative to the median."""
        return centred_scaling(statistics_of)

    def beginning(self) -> Loss:
        """What differs from the median may be structure, and is moved closer only if it is far away."""
        return Winsorised()

    def is_finished(self, statistics_of: StatisticsOf) -> bool:
        """Whether there are hardly any outliers, so that the first round was right about the weights of the rows."""
        below = statistics_of(self._column_of_weights).below(np.array([[OUTLIER], [np.inf]]))
        return bool(below[0, 0] <= _FEW * below[1, 0])

    def _column_of_weights(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        return self.row_weights(y, f)[:, np.newaxis]

    def adapted(self, statistics_of: StatisticsOf) -> Self:
        """With the scale of the residuals."""
        return replace(self, scales=tuple(centred_spread(statistics_of).tolist()))

    def working(self, y: np.ndarray, f: np.ndarray | None) -> tuple[np.ndarray, np.ndarray | None]:
        """The targets, outliers moved closer; rows count for what they are worth."""
        assert f is not None, "a robust fit begins with a constant output"
        far = _FARTHEST * np.array(self.scales)
        return f + np.clip(y - f, -far, far), np.maximum(self.row_weights(y, f), _FLOOR)

    def bounding(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """The targets of ordinary rows, and the outputs of outliers."""
        return np.where(self.row_weights(y, f)[:, np.newaxis] >= ORDINARY, y, f)


@dataclass(frozen=True)
class BySize(Robust):
    """A loss that depends on the size u of the residual, in units of the scale.

    Over several outputs u is a root mean square, so a row has one weight.
    """

    def value(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """ρ(u)."""
        return self.rho(self._sizes(y, f))

    def row_weights(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """ρ′(u)/u."""
        return self.weight(self._sizes(y, f))

    def _sizes(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        sizes: np.ndarray = np.sqrt((((y - f) / self.scales) ** 2).mean(axis=1))
        return sizes

    @abstractmethod
    def rho(self, u: np.ndarray) -> np.ndarray:
        """The loss of residuals of size u, about u²/2 for small ones."""

    @abstractmethod
    def weight(self, u: np.ndarray) -> np.ndarray:
        """The weight of rows with residuals of size u, 1 for small ones."""


@dataclass(frozen=True)
class Winsorised(Robust):
    """The beginning of a robust fit: all rows count in full, but targets far from the median are moved closer."""

    def working(self, y: np.ndarray, f: np.ndarray | None) -> tuple[np.ndarray, None]:
        """Targets within some scales of the output."""
        assert f is not None, "a robust fit begins with a constant output"
        far = _BEGINNING * np.array(self.scales)
        return f + np.clip(y - f, -far, far), None

    def value(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Half the squared error, up to its limit."""
        losses: np.ndarray = 0.5 * (np.minimum(np.abs(y - f) / self.scales, _BEGINNING) ** 2).mean(axis=1)
        return losses

    def row_weights(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """All are 1."""
        return np.ones(len(y))
