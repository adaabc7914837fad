"""Whether what tests on later rows find changes with time, and how large the error will be if it goes on like that."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.stats import kendalltau

# Stretches of time whose errors, and answers to what is predicted, are compared.
_STRETCHES = 12
_FEWEST_IN_STRETCH = 10
# Something changes with time if that of the stretches does, by rank, more than it would by chance in this share of
# cases, and if, going on like that, the RMSE of as many later rows would be larger by this factor.
_BY_CHANCE = 0.01
_WORSE = 1.2
_PLACES = np.arange(_STRETCHES)


class Change(NamedTuple):
    """What changes: its value at the beginning and at the end of the tests, and the RMSE of as many later rows."""

    first: float
    last: float
    later: float


def rising_error(y: np.ndarray, predicted: np.ndarray) -> Change | None:
    """The RMSE becomes larger and larger; None if it does not."""
    if len(y) < _FEWEST_IN_STRETCH * _STRETCHES:
        return None
    errors = np.array([_rmse(part) for part in np.array_split(y - predicted, _STRETCHES)])
    if not errors.any() or kendalltau(_PLACES, errors, alternative="greater").pvalue > _BY_CHANCE:
        return None
    return _worse(errors, _rmse(_later(errors)), _rmse(y - predicted))


def changing_gain(y: np.ndarray, predicted: np.ndarray) -> Change | None:
    """By how much the target moves where the prediction moves by 1 becomes larger and larger, or smaller and smaller.

    None if it does not, or if predictions do not move.
    """
    if len(y) < _FEWEST_IN_STRETCH * _STRETCHES:
        return None
    stretches = zip(np.array_split(y, _STRETCHES), np.array_split(predicted, _STRETCHES), strict=True)
    moves = [(part - part.mean(), found - found.mean()) for part, found in stretches]
    spreads = np.array([found @ found / len(found) for _, found in moves])
    if not spreads.min() > 0.0:
        return None
    gains = np.array([part @ found / len(found) for part, found in moves]) / spreads
    if kendalltau(_PLACES, gains).pvalue > _BY_CHANCE:
        return None
    own = np.mean([np.mean((part - gain * found) ** 2) for (part, found), gain in zip(moves, gains, strict=True)])
    later = np.sqrt(own + np.mean((1.0 - _later(gains)) ** 2) * spreads.mean())
    return _worse(gains, float(later), _rmse(y - predicted))


def _worse(values: np.ndarray, later: float, present: float) -> Change | None:
    """The change of these values, if the error will be larger by far."""
    slope, first = np.polyfit(_PLACES, values, 1)
    return Change(float(first), float(first + slope * _PLACES[-1]), later) if later > _WORSE * present else None


def _later(values: np.ndarray) -> np.ndarray:
    """The values of as many later stretches, if they go on as they did."""
    slope, first = np.polyfit(_PLACES, values, 1)
    return np.asarray(first + slope * (_PLACES + _STRETCHES))


def _rmse(errors: np.ndarray) -> float:
    return float(np.sqrt(np.mean(errors**2)))
