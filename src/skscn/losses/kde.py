"""The robust SCN of Wang and Li: rows count for the density of the residuals where theirs is.

D. Wang and M. Li, "Robust Stochastic Configuration Networks with Kernel Density Estimation for Uncertain Data
Regression", Information Sciences 412-413, 2017, 210-222. A row has the weight θ = τ Φ(e), with Φ a kernel density of
all residuals. Here τ is such that residuals where the density is at least a tenth of the largest count in full: a
weight proportional to the density all over would discard a tenth of the rows even if there were no outliers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from skscn.losses._base import Loss, StatisticsOf
from skscn.losses._robust import Robust, residual
from skscn.losses.huber import Huber
from skscn.losses.welsch import Welsch

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
        return Welsch() if number == 1 else self

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
