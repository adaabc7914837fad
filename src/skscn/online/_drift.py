"""Detection of a rise of errors: a cumulative sum of how much larger they are than before (Page and Hinkley)."""

from __future__ import annotations

from dataclasses import dataclass

# Excess of an error, in standard deviations, that is tolerated; and the sum of what exceeds it that raises an alarm.
# On independent errors this is one false alarm in more than 10⁵ rows, and the alarm comes 35 rows after the mean error
# has risen by one standard deviation.
TOLERATED, ALARM = 0.25, 25.0
# Mean and deviation are those of about this number of rows; before the first of these, there are no alarms.
_MEMORY, _FIRST = 2000, 100
# A single error counts as at most this number of means, so that outliers raise no alarm.
_LARGEST = 4.0


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

    def alarm(self, error: float) -> bool:
        """Take in the size of an error; return whether errors have become larger than before."""
        size = error
        if self.rows >= _FIRST and self.variance > 0.0:
            size = min(error, _LARGEST * self.mean)
            self.excess = max(0.0, self.excess + (size - self.mean) / self.variance**0.5 - TOLERATED)
        self.since = self.since + 1 if self.excess > 0.0 else 0
        if self.excess > ALARM:
            self.rows, self.mean, self.variance, self.excess = 0, 0.0, 0.0, 0.0
            return True
        self.rows += 1
        share = 1.0 / min(self.rows, _MEMORY)
        difference = size - self.mean
        self.mean += share * difference
        self.variance = (1.0 - share) * (self.variance + share * difference**2)
        return False

    def rescale(self, factor: float) -> None:
        """Go on with errors in another unit, in which they are larger by this factor."""
        self.mean, self.variance = factor * self.mean, factor**2 * self.variance
