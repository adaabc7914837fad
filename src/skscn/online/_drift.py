"""Detection of a rise of errors: a cumulative sum of how much larger they are than before (Page and Hinkley).

Errors that follow each other are often of similar size: the noise of a plant has a memory, and inputs that change
slowly stay for a while where the model is worse. The variance of a sum of them is then τ times that of independent
ones. The probability that such a sum raises a false alarm is about exp(−2 · tolerated · alarm/τ), so both limits are
multiplied by √τ, which is estimated from the errors themselves. As no such estimate is right for every stream, the
second alarm within some thousand rows takes twice the sum, the third three times.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

# Excess of an error, in standard deviations, that is tolerated; and the sum of what exceeds it that raises an alarm.
# On independent errors this is one false alarm in more than 10⁵ rows, and the alarm comes 35 rows after the mean error
# has risen by one standard deviation.
TOLERATED, ALARM = 0.25, 25.0
# Mean and deviation are those of about this number of rows; from how many on they are used, and from how many on for
# alarms.
_MEMORY, _SETTLED, _FIRST = 2000, 20, 100
# For about this number of rows, an alarm makes further ones rarer.
_CAUTIOUS = 10_000
# A single error counts as at most this number of means, so that outliers raise no alarm.
_LARGEST = 4.0
# Sums over about this number of rows are compared with those of independent errors; and the number of rows that the
# assumption that errors are independent counts for.
_TOGETHER, _ASSUMED = 100, 30


@dataclass
class ErrorRise:
    """A detector, fed with the size of each error.

    Attributes
    ----------
    rows : int
        Rows since it began, which it does again after an alarm.
    mean, variance : float
        Of the sizes.
    excess : float
        The cumulative sum.
    since : int
        Rows since it was last 0: at an alarm, the rows after the change.
    lately : float
        The mean excess of the last errors over their mean, in standard deviations.
    variation : float
        The mean square of that, over the rows that are counted in ``compared``.
    compared : int
    caution : float
        The number of alarms lately, each of which counts for less as rows pass.
    inertia : float
        √τ when the cumulative sum was last 0, so that a rise does not delay its own alarm.

    Examples
    --------
    >>> import numpy as np
    >>> from skscn.online import ErrorRise
    >>> errors = np.abs(np.random.default_rng(0).normal(size=2000)) * np.repeat([1.0, 3.0], 1000)
    >>> detector = ErrorRise()
    >>> alarms = [row for row, error in enumerate(errors) if detector.alarm(error)]
    >>> len(alarms), 1000 < alarms[0] < 1050
    (1, True)
    """

    rows: int = 0
    mean: float = 0.0
    variance: float = 0.0
    excess: float = 0.0
    since: int = 0
    lately: float = 0.0
    variation: float = 0.0
    compared: int = 0
    inertia: float = 1.0
    caution: float = 0.0

    def alarm(self, error: float) -> bool:
        """Take in the size of an error; return whether errors have become larger than before."""
        size = error
        if self.rows >= _SETTLED and self.variance > 0.0:
            size = min(error, _LARGEST * self.mean)
            self._compare((size - self.mean) / self.variance**0.5)
        self.since = self.since + 1 if self.excess > 0.0 else 0
        if self.excess > ALARM * self.inertia * (1.0 + self.caution):
            self.rows, self.mean, self.variance, self.excess, self.lately = 0, 0.0, 0.0, 0.0, 0.0
            self.caution += 1.0
            return True
        self.caution *= 1.0 - 1.0 / _CAUTIOUS
        self.rows += 1
        share = 1.0 / min(self.rows, _MEMORY)
        difference = size - self.mean
        self.mean += share * difference
        self.variance = (1.0 - share) * (self.variance + share * difference**2)
        return False

    def _compare(self, deviation: float) -> None:
        """Take in how much an error exceeds the mean, in standard deviations."""
        if self.excess == 0.0:
            self.inertia = self._inertia()
        if self.rows >= _FIRST:
            self.excess = max(0.0, self.excess + deviation - TOLERATED * self.inertia)
        self.lately += (deviation - self.lately) / _TOGETHER
        self.compared += 1
        self.variation += (self.lately**2 - self.variation) / min(self.compared, _MEMORY)

    def _inertia(self) -> float:
        """√τ: an exponential mean of n independent errors has 1/(2n − 1) times their variance."""
        tau = (2 * _TOGETHER - 1) * self.variation
        known = min(self.compared, _MEMORY)
        return sqrt(max(1.0, (known * tau + _ASSUMED) / (known + _ASSUMED)))

    def rescale(self, factor: float) -> None:
        """Go on with errors in another unit, in which they are larger by this factor."""
        self.mean, self.variance = factor * self.mean, factor**2 * self.variance
