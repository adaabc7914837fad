"""Which targets and inputs a model that learns on should believe: a sensor that fails once must not ruin it.

A target is set aside if it is far outside the range of those before it, and if its error is far larger than recent
ones. The errors of targets that were set aside count as recent ones too, so a change that lasts is believed after about
ten rows: more than a fifth of the recent errors are then large. A value that repeats exactly, as a sensor that is off
reports it, counts only once in ten times.
"""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

# Streams treat larger numbers like those that are not finite: their fourth powers might not be.
LARGEST = 1e75
# How many recent errors there are, the share of them that is ordinary, and how often one value has to repeat to count.
RECENT, _ORDINARY, _REPEATS = 50, 0.8, 10
# A target is implausible if its error is this many times an ordinary one, and if it is farther outside the range of the
# targets before it than that range is wide.
_FACTOR = 10.0
# Of few values, those that are far from the others by chance are no more than one in this number.
_CHANCE = 1000.0


def is_usable(values: np.ndarray) -> np.ndarray:
    """Whether all numbers of each row are finite, and not so large that computations with them would not be."""
    return np.asarray((np.abs(values) <= LARGEST).all(axis=1))


def plausible_together(targets: np.ndarray) -> np.ndarray:
    """Which of the first rows, with targets (n, m), are not far from the others, before there is a model."""
    place = _place(len(targets))
    if place < 1:
        return np.ones(len(targets), dtype=bool)
    centre = np.median(targets, axis=0)
    distances = np.abs(targets - centre)
    unit = np.sort(distances, axis=0)[place]
    # If most of them are the same, their size is the unit; nothing is far from values that are all 0.
    unit = np.where(unit > 0.0, unit, np.abs(centre))
    far = distances > _FACTOR * _CHANCE ** (1.0 / place) * np.where(unit > 0.0, unit, np.inf)
    plausible: np.ndarray = ~far.any(axis=1)
    return plausible


def _place(count: int) -> int:
    """Where an ordinary one is among this number of errors in increasing order."""
    return int(_ORDINARY * (count - 1))


class TargetGate:
    """Decides row by row whether a target is plausible.

    Parameters
    ----------
    low, high : array-like of shape (m,)
        The range of the targets so far.
    recent : array-like of shape (n, m)
        Absolute errors, the latest last.
    last : array-like of shape (m,), default=None
        The target that was set aside last.
    repeats : int, default=0
        How many times in a row it has been repeated.
    set_aside : int, default=0
        How many rows have been set aside.

    Examples
    --------
    >>> import numpy as np
    >>> from skscn.plausibility import TargetGate
    >>> gate = TargetGate([95.0], [105.0], np.full((50, 1), 0.5))
    >>> [gate.admits(np.array([target]), np.array([100.0])) for target in (101.0, 1e9, np.nan, 99.0)]
    [True, False, False, True]
    >>> changed = [gate.admits(np.array([300.0 + row]), np.array([100.0])) for row in range(20)]
    >>> changed.index(True)
    10
    """

    def __init__(
        self, low: ArrayLike, high: ArrayLike, recent: ArrayLike, last: Any = None, repeats: int = 0, set_aside: int = 0
    ):
        self.low, self.high = np.array(low, dtype=np.float64), np.array(high, dtype=np.float64)
        self._recent = deque(np.array(recent, dtype=np.float64).reshape(-1, len(self.low)), maxlen=RECENT)
        self.last = None if last is None else np.array(last, dtype=np.float64)
        self.repeats, self.set_aside = repeats, set_aside

    @classmethod
    def empty(cls, n_outputs: int) -> TargetGate:
        """Before the first row."""
        return cls(np.full(n_outputs, np.inf), np.full(n_outputs, -np.inf), np.empty((0, n_outputs)))

    @classmethod
    def of_training(cls, low: np.ndarray, high: np.ndarray, error: np.ndarray) -> TargetGate:
        """After training with targets in a range, and errors of this size."""
        return cls(low, high, np.tile(error, (RECENT, 1)))

    def in_units(self, scale: np.ndarray, offset: np.ndarray) -> TargetGate:
        """The same gate for targets that are scaled and moved."""
        recent = np.array(self._recent).reshape(-1, len(self.low)) * scale
        return TargetGate(self.low * scale + offset, self.high * scale + offset, recent)

    @property
    def middle(self) -> np.ndarray:
        """The middle of the range: a prediction of what has no other one, such as an input."""
        middle: np.ndarray = 0.5 * self.low + 0.5 * self.high
        return middle

    def admits(self, target: np.ndarray, prediction: np.ndarray) -> bool:
        """Whether to learn a target, given its prediction, both of shape (m,)."""
        if ((self.low <= target) & (target <= self.high)).all():
            self._recent.append(np.abs(target - prediction))
            return True
        with np.errstate(over="ignore"):
            errors = np.abs(target - prediction)
            if np.isfinite(target).all() and not self._is_implausible(target, errors):
                self.admit(target, errors)
                return True
        self.set_aside += 1
        if not np.isfinite(errors).all():
            return False
        repeated = self.last is not None and np.array_equal(target, self.last)
        self.last, self.repeats = target.copy(), self.repeats + 1 if repeated else 0
        if self.repeats % _REPEATS == 0:
            self._recent.append(errors)
        return False

    def _is_implausible(self, target: np.ndarray, errors: np.ndarray) -> bool:
        if not self._recent:
            return False
        width = self.high - self.low
        width = np.where(width > 0.0, width, np.maximum(np.abs(self.low), np.abs(self.high)))
        outside = (target < self.low - width) | (target > self.high + width)
        # Nothing is known of targets if all of them were 0.
        outside &= width > 0.0
        if not outside.any():
            return False
        ordinary = np.sort(np.array(self._recent), axis=0)[_place(len(self._recent))]
        return bool((outside & (errors > _FACTOR * ordinary)).any())

    def admit(self, target: np.ndarray, errors: np.ndarray) -> None:
        """Take in a target that is to be learnt, and its absolute errors."""
        self.low, self.high = np.minimum(self.low, target), np.maximum(self.high, target)
        self._recent.append(errors)

    def to_json(self) -> dict[str, Any]:
        """Itself as plain data that JSON can hold."""
        return {
            "low": self.low.tolist(),
            "high": self.high.tolist(),
            "recent": [errors.tolist() for errors in self._recent],
            "last": None if self.last is None else self.last.tolist(),
            "repeats": self.repeats,
            "set_aside": self.set_aside,
        }

    @classmethod
    def from_json(cls, state: Any) -> TargetGate:
        """The gate that gave this state; ValueError for anything else."""
        if not isinstance(state, dict) or set(state) != {"low", "high", "recent", "last", "repeats", "set_aside"}:
            raise ValueError("the range and the errors of targets are missing")
        try:
            gate = cls(**state)
        except TypeError as error:
            raise ValueError("the range and the errors of targets are not numbers") from error
        arrays = [gate.low, gate.high, *gate._recent, *([] if gate.last is None else [gate.last])]
        if any(array.shape != gate.low.shape or not np.isfinite(array).all() for array in arrays) or gate.low.ndim != 1:
            raise ValueError("the ranges and errors of targets are not finite numbers, one for each output")
        counts: list[Any] = [gate.repeats, gate.set_aside]
        if not all(isinstance(count, int) and 0 <= count < 2**53 for count in counts):
            raise ValueError("the numbers of rows that were set aside are not whole")
        return gate
