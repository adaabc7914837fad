"""Losses that weigh rows: outliers get little weight (Huber, Welsch, bisquare, kernel density); quantiles."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, Self

import numpy as np
from scipy.special import ndtr

from skscn.losses.base import Loss, Penalised, Squared, StatisticsOf
from skscn.scaling import Scaling, Statistics

# The median absolute deviation of a normal distribution, times this, is its standard deviation.
_NORMAL = 1.4826
# Targets are scaled so that this many standard deviations have length 1, much as [0, 1] for a target without outliers.
_WIDTH = 4.0
# If more than half of the values are equal, the first of these quantiles of the deviations that is positive is used.
_SHARES = np.array([0.5, 0.75, 0.9, 0.99, 1.0])
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

    refit: ClassVar[str] = "reweighted"
    rounds: ClassVar[int] = 4
    weighs: ClassVar[bool] = True
    earlier_patience: ClassVar[float] = 0.3
    # Once the loss changes by less, the outliers are known, and the nodes of another round would only overfit.
    hardly: ClassVar[float] = 0.05
    # The smallest weight in weighted least squares. A row that is worth less is moved closer instead, so that it pulls
    # as much as it should.
    floor: ClassVar[float] = 1e-4
    scales: tuple[float, ...] = ()

    def scaling(self, statistics_of: StatisticsOf) -> Scaling:
        """Relative to the median."""
        return centred_scaling(statistics_of)

    def in_round(self, number: int) -> Loss:
        """Before the first one, targets far from the median are moved closer; what differs less may be structure.

        In the first one every row keeps its pull: where the function is steep, good rows are still far from a small
        network, and look like outliers to it.
        """
        return (Winsorised(), Huber(), self)[min(number, 2)]

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
        weights = self.row_weights(y, f)
        counted = np.maximum(weights, self.floor)
        return f + (weights / counted)[:, np.newaxis] * (y - f), counted

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
        """1 for targets that stay as they are, 0 for those that are moved."""
        inside = np.abs(y - f) <= _BEGINNING * np.array(self.scales)
        return np.asarray(inside.all(axis=1), dtype=np.float64)


# Huber's loss: squared for ordinary residuals, absolute for large ones, which then pull with constant force.


@dataclass(frozen=True)
class Huber(BySize):
    """ρ(u) = u²/2 up to k, then k(u − k/2); P. J. Huber, "Robust Estimation of a Location Parameter", 1964.

    Attributes
    ----------
    threshold : float
        k. The default is 95 % as efficient as least squares for normal residuals.
    """

    # Most of the loss is that of the outliers, whatever becomes of the others.
    hardly: ClassVar[float] = 0.01
    # Only to choose a ridge: the square of an outlier, times its weight, grows with its distance and would look like
    # noise.
    floor: ClassVar[float] = 0.25
    threshold: float = 1.345

    def working(self, y: np.ndarray, f: np.ndarray | None) -> tuple[np.ndarray, np.ndarray | None]:
        """The targets themselves: rows return where nodes are found that explain them."""
        assert f is not None, "a robust fit begins with a constant output"
        return y, self.row_weights(y, f)

    def damped(self, y: np.ndarray, f: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Far targets closer, with the weight that their pull has there."""
        return super().working(y, f)

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


# Welsch's loss, which is maximum correntropy: weights fall off like a normal density.


# 95 % as efficient as least squares for normal residuals.
_WELSCH = 2.985


@dataclass(frozen=True)
class Welsch(BySize):
    """ρ(u) = c²/2 (1 − exp(−u²/c²)); J. E. Dennis and R. E. Welsch, 1978."""

    def stages(self) -> tuple[Loss, ...]:
        """Huber's loss first."""
        return after_huber(self)

    def rho(self, u: np.ndarray) -> np.ndarray:
        """At most c²/2."""
        return -0.5 * _WELSCH**2 * np.expm1(-((u / _WELSCH) ** 2))

    def weight(self, u: np.ndarray) -> np.ndarray:
        """exp(−u²/c²)."""
        weights: np.ndarray = np.exp(-((u / _WELSCH) ** 2))
        return weights


# Tukey's bisquare: rows beyond some residual do not count at all.


# 95 % as efficient as least squares for normal residuals.
_BISQUARE = 4.685


@dataclass(frozen=True)
class Bisquare(BySize):
    """ρ(u) = c²/6 (1 − (1 − u²/c²)³) up to c; A. E. Beaton and J. W. Tukey, 1974."""

    def stages(self) -> tuple[Loss, ...]:
        """Huber's loss first."""
        return after_huber(self)

    def rho(self, u: np.ndarray) -> np.ndarray:
        """At most c²/6."""
        return _BISQUARE**2 / 6.0 * (1.0 - self._inside(u) ** 3)

    def weight(self, u: np.ndarray) -> np.ndarray:
        """(1 − u²/c²)²; 0 beyond c."""
        weights: np.ndarray = self._inside(u) ** 2
        return weights

    def _inside(self, u: np.ndarray) -> np.ndarray:
        inside: np.ndarray = 1.0 - np.minimum(u / _BISQUARE, 1.0) ** 2
        return inside


# The robust SCN of Wang and Li: rows count for the density of the residuals where theirs is.
#
# D. Wang and M. Li, "Robust Stochastic Configuration Networks with Kernel Density Estimation for Uncertain Data
# Regression", Information Sciences 412-413, 2017, 210-222. A row has the weight θ = τ Φ(e), with Φ a kernel density of
# all residuals. Here τ is such that residuals where the density is at least a tenth of the largest count in full: a
# weight proportional to the density all over would discard a tenth of the rows even if there were no outliers.


# Densities are evaluated at this many points, from minus to plus this many scales; residuals beyond are outliers.
_POINTS, _REACH = 401, 10.0
# Silverman's bandwidth for n rows, in units of the scale, is this times n to the power of −1/5.
_BANDWIDTH = 1.06
# Where the density is at least this share of the largest, rows count in full.
_SHARE = 0.1


@dataclass(frozen=True)
class KernelDensity(Robust):
    """Rows where the density of the residuals is low count little; the weight of a row is a product over its outputs.

    Attributes
    ----------
    table : tuple of float
        Weights at the points of a grid, for one output after the other.
    """

    table: tuple[float, ...] = ()
    grid: ClassVar[np.ndarray] = np.linspace(-_REACH, _REACH, _POINTS)

    def in_round(self, number: int) -> Loss:
        """Densities tell outliers apart only once the residuals of the other rows are small."""
        return Welsch() if 1 < number < self.rounds else super().in_round(number)

    def stages(self) -> tuple[Loss, ...]:
        """Huber's loss and Welsch's first."""
        return (Huber(), Welsch(), self, self)

    def adapted(self, statistics_of: StatisticsOf) -> Self:
        """With the scale of the residuals and their density."""
        loss = super().adapted(statistics_of)
        half = 0.5 * (self.grid[1] - self.grid[0])
        cuts = np.multiply.outer([*(self.grid - half), self.grid[-1] + half, np.inf], loss.scales)
        below = statistics_of(residual).below(cuts)
        kernel = np.exp(-0.5 * (self.grid / (_BANDWIDTH * below[-1, 0] ** -0.2)) ** 2)
        densities = np.array([np.convolve(mass, kernel, mode="same") for mass in np.diff(below[:-1], axis=0).T])
        largest = densities.max(axis=1, keepdims=True)
        # Without any residual on the grid there is nothing to compare.
        table = np.where(
            largest > 0.0, np.minimum(densities / (_SHARE * np.where(largest > 0.0, largest, 1.0)), 1.0), 1.0
        )
        return replace(loss, table=tuple(table.ravel().tolist()))

    def row_weights(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """τ Φ(e), at most 1."""
        return np.asarray(np.prod(self._looked_up(y, f, self._tables(), beyond=0.0), axis=0))

    def value(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """The integral of the weight times the residual, whose minimum reweighting finds."""
        pulls = self.grid * self._tables()
        integrals = np.cumsum(pulls, axis=1) * (self.grid[1] - self.grid[0])
        return np.asarray(np.sum(self._looked_up(y, f, integrals - integrals[:, [_POINTS // 2]]), axis=0))

    def _tables(self) -> np.ndarray:
        return np.array(self.table).reshape(-1, _POINTS)

    def _looked_up(self, y: np.ndarray, f: np.ndarray, tables: np.ndarray, beyond: float | None = None) -> np.ndarray:
        """The values of each output's table at its residuals, shape (m, n)."""
        u = ((y - f) / self.scales).T
        return np.array([np.interp(row, self.grid, t, beyond, beyond) for row, t in zip(u, tables, strict=True)])


# The pinball loss, whose minimum is a quantile of the target given the inputs.


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
        """The mean of the target comes first; one width is enough for a network that only the next one follows from."""
        if number == 0:
            return Squared()
        return replace(self, factor=_FIRST_WIDTH) if number < self.rounds else self

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


# The absolute error, whose minimum is the median of the target given the inputs.


@dataclass(frozen=True)
class Absolute(Quantile):
    """Half the absolute error: the pinball loss of the quantile ½, whatever the estimator's parameter is."""

    @classmethod
    def of(cls, quantile: float) -> Self:
        """Always the median."""
        return cls()
