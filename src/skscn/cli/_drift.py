"""Whether what tests on later rows find changes with time, and how large the error will be if it goes on like that."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.stats import kendalltau

from skscn.cli._voice import short

# Stretches of time whose errors, and answers to what is predicted, are compared.
_STRETCHES = 12
_FEWEST_IN_STRETCH = 10
# Something changes with time if that of the stretches does, by rank, more than it would by chance in this share of
# cases, and if, going on like that, the RMSE of as many later rows would be larger by this factor.
_BY_CHANCE = 0.01
_WORSE = 1.2
_PLACES = np.arange(_STRETCHES)
# How many stretches a drift of the training rows is followed into the future.
_AHEAD = _STRETCHES // 2


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
    first, last = _ends(errors)
    if last < first or not _is_trend(errors):
        return None
    return _worse(errors, _rmse(_later(errors)), _rmse(y - predicted))


def changing_gain(y: np.ndarray, predicted: np.ndarray) -> Change | None:
    """By how much the target moves where the prediction moves by 1 becomes larger and larger, or smaller and smaller.

    None if it does not, or if predictions do not move.
    """
    moves = _moves(y, predicted)
    if moves is None or not _is_trend(moves.gains):
        return None
    later = np.sqrt(moves.own + np.mean((1.0 - _later(moves.gains)) ** 2) * moves.spread)
    return _worse(moves.gains, float(later), _rmse(y - predicted))


def drift_in_training(y: np.ndarray, fitted: np.ndarray, tested: float) -> str | None:
    """What to say if the training rows themselves drift: the model is right on average, but not from first to last.

    ``fitted`` are the predictions of the training rows in order of time, ``tested`` the RMSE that tests on later rows,
    which do not look as far ahead, have found. A model adapts to its training rows, and drifts by less there than on
    later ones.
    """
    moves = _moves(y, fitted)
    if moves is None:
        return None
    gains, levels = (values if _is_trend(values) else None for values in moves[:2])
    off = 0.0 if gains is None else np.mean((1.0 - _later(gains)[:_AHEAD]) ** 2) * moves.spread
    off += 0.0 if levels is None else np.mean(_later(levels)[:_AHEAD] ** 2)
    later = float(np.sqrt(moves.own + off))
    if not later > tested:
        return None
    first, last = _ends(moves.levels if gains is None else gains)
    what = f"targets exceed fitted values by {short(first)} in the first of them and by {short(last)} in the last"
    if gains is not None:
        what = (
            f"where fitted values differ by 1, targets differ by {first:.2f} in the first and by {last:.2f} in the last"
        )
    return (
        f"The training rows drift: {what}, so something changes that the inputs do not show. If it goes on like this, "
        f"the RMSE of half as many later rows will be at least {short(later)}, above that of the tests. Retrain often, "
        "on recent rows, or add inputs that show the change."
    )


class _Moves(NamedTuple):
    """Of each stretch: the gain, and the mean residual; the mean square of what remains, and that of predictions."""

    gains: np.ndarray
    levels: np.ndarray
    own: float
    spread: float


def _moves(y: np.ndarray, predicted: np.ndarray) -> _Moves | None:
    """None if there are too few rows, or if predictions do not move."""
    if len(y) < _FEWEST_IN_STRETCH * _STRETCHES:
        return None
    stretches = list(zip(np.array_split(y, _STRETCHES), np.array_split(predicted, _STRETCHES), strict=True))
    moves = [(part - part.mean(), found - found.mean()) for part, found in stretches]
    spreads = np.array([found @ found / len(found) for _, found in moves])
    if not spreads.min() > 0.0:
        return None
    gains = np.array([part @ found / len(found) for part, found in moves]) / spreads
    levels = np.array([np.mean(part - found) for part, found in stretches])
    own = np.mean([np.mean((part - gain * found) ** 2) for (part, found), gain in zip(moves, gains, strict=True)])
    return _Moves(gains, levels, float(own), float(spreads.mean()))


def _is_trend(values: np.ndarray) -> bool:
    """Whether values become larger and larger, or smaller and smaller; not where they are all the same."""
    return bool(kendalltau(_PLACES, values).pvalue <= _BY_CHANCE)


def _worse(values: np.ndarray, later: float, present: float) -> Change | None:
    """The change of these values, if the error will be larger by far."""
    return Change(*_ends(values), later) if later > _WORSE * present else None


def _ends(values: np.ndarray) -> tuple[float, float]:
    """The first and the last value of the straight line through all of them."""
    slope, first = np.polyfit(_PLACES, values, 1)
    return float(first), float(first + slope * _PLACES[-1])


def _later(values: np.ndarray) -> np.ndarray:
    """The values of as many later stretches, if they go on as they did."""
    slope, first = np.polyfit(_PLACES, values, 1)
    return np.asarray(first + slope * (_PLACES + _STRETCHES))


def _rmse(errors: np.ndarray) -> float:
    return float(np.sqrt(np.mean(errors**2)))
