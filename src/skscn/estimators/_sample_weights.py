"""What sample weights mean: counts of equal rows, or weights relative to their mean; and the unit that follows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import _check_sample_weight

from skscn.kernels import Matrix
from skscn.rows import ScratchInputs
from skscn.scaling import rounded

# Inputs on this machine.
LocalInputs: TypeAlias = Matrix | ScratchInputs

# Integer weights with a larger mean than this are treated as weights rather than counts of rows.
LARGEST_MEAN_COUNT = 10


class PositiveRows(NamedTuple):
    """X, y, the weights and the numbers of rows of positive weight, and the given weight that counts as 1."""

    X: LocalInputs
    y: np.ndarray
    sample_weight: np.ndarray | None
    numbers: np.ndarray
    unit: float


def positive_rows(X: LocalInputs, y: np.ndarray, sample_weight: ArrayLike | None) -> PositiveRows:
    """The rows of positive weight.

    Integers that are small on average are counts of equal rows, in units of their greatest common divisor; other
    weights are scaled to a mean of about 1. So the unit of the weights does not matter.
    """
    numbers = np.arange(X.shape[0])
    if sample_weight is None:
        return PositiveRows(X, y, None, numbers, 1.0)
    weights: np.ndarray = _check_sample_weight(sample_weight, X, dtype=np.float64)
    largest = largest_weight([(weights.min(), weights.max())])
    counted = WeightCount.of(weights, largest)
    if counted.rows < X.shape[0]:
        numbers = np.flatnonzero(weights / largest)
        X, y, weights = X[numbers], y[numbers], weights[numbers]
    return PositiveRows(X, y, counted.scaled(weights, largest), numbers, counted.unit(largest))


def largest_weight(ranges: list[tuple[float, float]]) -> float:
    """The largest weight, from the smallest and the largest of parts of the rows."""
    smallest, largest = min(low for low, _ in ranges), max(high for _, high in ranges)
    if smallest < 0 or largest <= 0:
        raise ValueError("sample_weight must contain numbers of at least 0, and not only zeros.")
    return float(largest)


@dataclass(frozen=True)
class WeightCount:
    """How sample weights are interpreted; the values of parts of the rows can be added.

    Attributes
    ----------
    rows : int
        Rows of positive weight.
    relative : float
        The sum of their weights relative to the largest, so that it cannot overflow.
    whole : float
        The sum of the weights, if they are integers; else infinity.
    divisor : int
        Their greatest common divisor, if they are integers.
    """

    rows: int
    relative: float
    whole: float
    divisor: int

    @classmethod
    def of(cls, weights: np.ndarray, largest: float) -> WeightCount:
        """For some weights; those that are 0 relative to the largest are ignored."""
        relative = weights / largest
        weights, relative = weights[relative > 0.0], relative[relative > 0.0]
        if largest >= 2**53 or (weights != np.rint(weights)).any():
            return cls(len(weights), float(relative.sum()), np.inf, 0)
        divisor = int(np.gcd.reduce(weights.astype(np.int64)))
        return cls(len(weights), float(relative.sum()), float(weights.sum()), divisor)

    def __add__(self, other: WeightCount) -> WeightCount:
        """For two sets of rows together."""
        divisor = int(np.gcd(self.divisor, other.divisor))
        return WeightCount(self.rows + other.rows, self.relative + other.relative, self.whole + other.whole, divisor)

    @property
    def _counts(self) -> bool:
        """Whether the weights are counts of equal rows."""
        return self.whole < 2**53 and self.whole <= LARGEST_MEAN_COUNT * self.divisor * self.rows

    def unit(self, largest: float) -> float:
        """The weight that counts as 1."""
        return float(self.divisor) if self._counts else largest * float(rounded(self.relative / self.rows))

    def scaled(self, weights: np.ndarray, largest: float) -> np.ndarray:
        """Counts of equal rows, or weights with a mean of about 1."""
        if self._counts:
            counts: np.ndarray = weights / self.divisor
            return counts
        # Rounded, so that the mean does not depend on the order of summation.
        scaled: np.ndarray = weights / largest / rounded(self.relative / self.rows)
        return scaled
