"""Whether something changes with time that the inputs do not show, and how far R² of later rows may be off.

Rows in order of time are divided into stretches. Residuals that are close in time are alike, so what counts as
significant follows from how much the stretches differ, not from the number of rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import linregress, norm, t

# Stretches of time, and the rows that each of them needs.
STRETCHES = 16
_FEWEST_IN_STRETCH = 10
# Neighbouring stretches whose residuals may be alike.
_NEIGHBOURS = 1
# A level or a gain changes if this many standard errors say so, in tests and training rows together, which share some
# of their rows, and if the RMSE of as many later rows as there are training rows would be larger by this factor.
_SIGNIFICANT, _SHARED = 2.8, 0.3
_WORSE = 1.1
# An error rises if this is less likely by chance, and by this factor from the first to the last of the stretches.
_BY_CHANCE, _RISE = 0.005, 1.2
# A level that wanders slowly: by how many standard errors means of neighbouring stretches are alike, in one course or
# in all together, and the share of the squared residuals that they have.
_ALIKE, _SHARE = 2.65, 0.15
# The largest correlation of neighbouring stretches.
_MOST_ALIKE = 0.8


class PredictedRows(NamedTuple):
    """Rows in order of time: their targets, and what one model predicts for them."""

    y: np.ndarray
    predicted: np.ndarray

    @property
    def residuals(self) -> np.ndarray:
        """Targets minus predictions."""
        residuals: np.ndarray = self.y - self.predicted
        return residuals

    @property
    def is_long(self) -> bool:
        """Whether there are enough rows to see a change."""
        return len(self.y) >= _FEWEST_IN_STRETCH * STRETCHES


class Change(NamedTuple):
    """What changes: its values at the beginning and at the end of a course, which is one of several."""

    first: float
    last: float
    course: int = 0


class _LinearChange(NamedTuple):
    """A level or a gain: its ends, how many standard errors it changes by, and the factor by which the RMSE grows."""

    first: float
    last: float
    errors: float
    worse: float


def changing_level(courses: Sequence[PredictedRows]) -> Change | None:
    """What targets exceed predictions by becomes larger and larger, or smaller and smaller."""
    return _change([_slopes(course, courses[-1])[0] for course in courses if course.is_long])


def changing_gain(courses: Sequence[PredictedRows]) -> Change | None:
    """What targets differ by where predictions differ by 1 becomes larger and larger, or smaller and smaller."""
    return _change([_slopes(course, courses[-1])[1] for course in courses if course.is_long])


def _change(slopes: list[_LinearChange]) -> Change | None:
    """The change that courses agree on, as the one shows it that shows it best; None if it is by chance or harmless."""
    if not slopes:
        return None
    together = abs(_together([slope.errors for slope in slopes]))
    if together < _SIGNIFICANT or max(slope.worse for slope in slopes) < _WORSE:
        return None
    best = max(range(len(slopes)), key=lambda place: abs(slopes[place].errors))
    return Change(slopes[best].first, slopes[best].last, best)


def _together(errors: list[float]) -> float:
    """Standard errors of what courses that share some of their rows say together."""
    return float(sum(errors) / np.sqrt(len(errors) * (1.0 + _SHARED * (len(errors) - 1))))


def _slopes(course: PredictedRows, training: PredictedRows) -> tuple[_LinearChange, _LinearChange]:
    """How level and gain change in a course, by least squares; later rows are as many as those of training."""
    rows, spread = len(course.y), float(np.std(course.predicted)) or 1.0
    time, moves = np.linspace(-0.5, 0.5, rows), (course.predicted - course.predicted.mean()) / spread
    columns = np.column_stack([np.ones(rows), moves, time, time * moves])
    inverse = np.linalg.pinv(columns.T @ columns)
    found = inverse @ (columns.T @ course.residuals)
    left = course.residuals - columns @ found
    sums = np.stack([part.sum(axis=0) for part in np.array_split(columns * left[:, np.newaxis], STRETCHES)])
    freedom = STRETCHES - columns.shape[1]
    variances = np.diag(inverse @ _variance_of_sums(sums, _NEIGHBOURS) @ inverse) * STRETCHES / freedom
    with np.errstate(divide="ignore", invalid="ignore"):
        errors = np.nan_to_num(found / np.sqrt(variances))
    errors = np.sign(errors) * norm.isf(np.maximum(t.sf(np.abs(errors), freedom), 1e-15))
    # The mean square of the time in the later rows.
    end = 0.5 + len(training.y) / rows
    later = (end**3 - 0.125) / (3.0 * (end - 0.5))
    own = max(float(np.mean(left**2)), np.finfo(float).tiny)
    level, gain = (
        _LinearChange(
            *((start - 0.5 * slope) / unit + one, (start + 0.5 * slope) / unit + one),
            *(float(error), float(np.sqrt(1.0 + slope**2 * later / own))),
        )
        for start, slope, error, unit, one in zip(
            found[:2], found[2:], errors[2:], (1.0, spread), (0.0, 1.0), strict=True
        )
    )
    return level, gain


def _variance_of_sums(sums: np.ndarray, neighbours: int) -> np.ndarray:
    """The variance (k, k) of the total of sums (stretches, k) with mean 0 that may be alike with their neighbours."""
    variance = sums.T @ sums
    more = variance.copy()
    for distance in range(1, neighbours + 1):
        shared = sums[distance:].T @ sums[:-distance]
        more += (1.0 - distance / (neighbours + 1.0)) * (shared + shared.T)
    # Stretches that differ more than by chance would make the total look more certain.
    larger = np.sqrt(np.maximum(np.diag(more) / np.maximum(np.diag(variance), np.finfo(float).tiny), 1.0))
    return np.asarray(np.outer(larger, larger) * variance)


def rising_error(course: PredictedRows) -> bool:
    """Whether the RMSE becomes larger and larger."""
    if not course.is_long:
        return False
    squares = np.array([np.mean(part**2) for part in np.array_split(course.residuals, STRETCHES)])
    if not squares.min() > 0.0:
        return False
    places, errors = np.arange(STRETCHES), 0.5 * np.log(squares)
    line = linregress(places, errors)
    left = errors - line.intercept - line.slope * places
    alike = _correlation(left) + 2.0 / STRETCHES
    inflation = (1.0 + alike) / (1.0 - alike) if 0.0 < alike < 0.9 else 1.0 if alike <= 0.0 else 19.0
    chance = t.sf(line.slope / (line.stderr * np.sqrt(inflation)), max(STRETCHES / inflation - 2.0, 1.0))
    return bool(2.0 * chance < _BY_CHANCE and line.slope * STRETCHES > np.log(_RISE))


def wandering_level(courses: Sequence[PredictedRows]) -> Change | None:
    """The lowest and the highest mean residual, if the mean wanders slowly from stretch to stretch.

    One course shows that, or all of them do together, each less clearly.
    """
    found: list[tuple[float, float, float]] = []
    for residuals in [course.residuals for course in courses if course.is_long]:
        means = np.array([part.mean() for part in np.array_split(residuals, STRETCHES)])
        if np.var(means) / max(float(np.mean(residuals**2)), np.finfo(float).tiny) >= _SHARE:
            # By chance, the correlation is -1 / n on average, with a standard deviation of 1 / √n.
            errors = np.sqrt(STRETCHES) * (_correlation(means) + 1.0 / STRETCHES)
            found.append((float(errors), float(means.min()), float(means.max())))
    if not found or max(max(found)[0], _together([errors for errors, *_ in found])) < _ALIKE:
        return None
    return Change(*max(found)[1:])


def _correlation(values: np.ndarray) -> float:
    """The correlation of neighbouring values."""
    centred = values - values.mean()
    squares = float(centred @ centred)
    return float(centred[1:] @ centred[:-1]) / squares if squares > 0.0 else 0.0


def later_r2(tests: PredictedRows, cases: float = 0.9) -> tuple[float, float] | None:
    """What R² of as many later rows is expected to lie between, in this share of cases, if nothing changes.

    How much squared errors, and squares of the target, differ between stretches says how much their totals may.
    """
    if not tests.is_long:
        return None
    pairs = np.stack([tests.residuals, tests.y - tests.y.mean()], axis=1) ** 2
    sums = np.stack([part.mean(axis=0) for part in np.array_split(pairs, STRETCHES)])
    error, spread = sums.mean(axis=0)
    if not min(error, spread) > 0.0:
        return None
    # The logarithm of their ratio, to first order.
    off = _half_width((sums / [error, spread]) @ [1.0, -1.0], cases)
    low, high = (float(1.0 - error / spread * np.exp(end)) for end in (off, -off))
    return low, high


def later_share(inside: np.ndarray) -> tuple[float, float] | None:
    """The ends between which intervals are expected to hold as many later rows, in 9 of 10 cases, if nothing changes.

    ``inside`` says whether they held the test rows, in order of time.
    """
    if len(inside) < _FEWEST_IN_STRETCH * STRETCHES:
        return None
    shares = np.array([part.mean() for part in np.array_split(inside, STRETCHES)])
    mean, off = float(shares.mean()), _half_width(shares - shares.mean())
    return max(0.0, mean - off), min(1.0, mean + off)


def _half_width(off: np.ndarray, cases: float = 0.9) -> float:
    """How far a mean may be off that of as many later rows, in this share of cases; ``off`` has mean 0 over stretches.

    Where errors last longer than a few stretches, it holds in fewer cases.
    """
    alike = min(max(_correlation(off) + 2.0 / STRETCHES, 0.0), _MOST_ALIKE)
    inflation = (1.0 + alike) / (1.0 - alike)
    freedom = max((STRETCHES - 1.0) / inflation, 2.0)
    return float(t.ppf(0.5 + 0.5 * cases, freedom) * np.sqrt(2.0 * inflation * np.var(off, ddof=1) / STRETCHES))
