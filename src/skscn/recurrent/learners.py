"""What recurrent models learn from rows that have passed: output weights, a bias, and widths of intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

import numpy as np

from skscn.adaptive_intervals import AdaptiveWidth
from skscn.recurrent.reservoir import Reservoir

# The width begins with this many of the errors on later training rows.
_FIRST = 100


def first_errors(sizes: np.ndarray) -> np.ndarray:
    """Some of these sorted errors (r, m), evenly spread, for widths to begin with."""
    return np.asarray(sizes[np.unique(np.linspace(0, len(sizes) - 1, _FIRST).astype(int))])


def steered_widths(errors: np.ndarray, first: np.ndarray, coverage: float, delay: int) -> np.ndarray:
    """Half the width of each row (n, m), from absolute errors (n, m), NaN where unknown, known ``delay`` rows later.

    The target of row n is known once row n + delay has been predicted, as in :meth:`RecurrentStream.learn_one`.
    """
    adaptive = AdaptiveWidth(coverage, first)
    widths, width = np.empty_like(errors), adaptive.width
    for n in range(len(errors)):
        widths[n] = width
        if n >= delay and not np.isnan(errors[n - delay]).all():
            adaptive.hit(errors[n - delay], widths[n - delay])
            width = adaptive.width
    return widths


# How output weights follow the targets of a stream: projection, recursive least squares, and a blend of several.
#
# Each learner says what its parts predict for a row, and what follows from that. What the parts have said is kept with
# the row until its target is known, which may be many rows later.


Learning: TypeAlias = Literal["blend", "projection", "rls"] | None
# The projection algorithm adds this to the squared length of a row of standardised columns.
_REST = 1.0
# Recursive least squares begins with a penalty of at least this per row, so that its covariance can be represented.
_SMALLEST_PENALTY = 1e-6
# ... and its trace grows at most by this factor: directions that no row excites would grow without limit.
_GROWTH = 10.0
# Blends: how fast the offset of a part follows its errors, the weight that squared errors keep with each further one,
# the number of rows that prior errors count for, and the power of the mean squared error that is the share of a part.
_GAINS, _MEMORY, _PRIOR, _POWER = (0.0, 0.3, 1.0), 0.99, 10.0, 5.0
# Squared errors are at least this.
_TINY = 1e-300


class OnlineLearner(Protocol):
    """What a stream learns by.

    Attributes
    ----------
    n_parts : int
        How many predictions of a row there are.
    """

    n_parts: int

    def parts(self, columns: np.ndarray) -> np.ndarray:
        """What each part predicts for the next row, shape (parts, m)."""

    def combined(self, parts: np.ndarray) -> np.ndarray:
        """What follows from the predictions of the parts, shape (m,)."""

    def learn(self, columns: np.ndarray, parts: np.ndarray, target: np.ndarray, delay: int) -> None:
        """Learn the target of an earlier row, given its columns and what the parts predicted for it."""


class Standard:
    """The columns that have output weights, standardised as they were on the training rows."""

    def __init__(self, reservoir: Reservoir):
        factor = reservoir.joinable
        self.kept, self.units = reservoir.kept, factor.standardised()[1]
        self.means = factor.triangle[0] / factor.triangle[0, 0]
        self.means[0] = 0.0

    def row(self, columns: np.ndarray) -> np.ndarray:
        """The standardised columns of a row."""
        row: np.ndarray = (columns[self.kept] - self.means) / self.units
        return row

    def change(self, weights: np.ndarray, change: np.ndarray) -> None:
        """Add a change (k, m) of the weights of standardised columns to output weights (q, m), in place."""
        change = change / self.units[:, np.newaxis]
        change[0] -= self.means @ change
        weights[self.kept] += change


class FixedWeights:
    """Output weights that stay as they are."""

    n_parts = 1

    def __init__(self, weights: np.ndarray):
        self.weights = weights

    def parts(self, columns: np.ndarray) -> np.ndarray:
        """What the weights predict."""
        parts: np.ndarray = (columns @ self.weights)[np.newaxis]
        return parts

    def combined(self, parts: np.ndarray) -> np.ndarray:
        """The one prediction."""
        prediction: np.ndarray = parts[0]
        return prediction

    def learn(self, columns: np.ndarray, parts: np.ndarray, target: np.ndarray, delay: int) -> None:
        """Nothing."""


class Projection(FixedWeights):
    """The projection algorithm: the smallest change of the weights that takes a share of the error away."""

    def __init__(self, weights: np.ndarray, standard: Standard, rate: float):
        super().__init__(weights)
        self.standard, self.rate = standard, rate

    def learn(self, columns: np.ndarray, parts: np.ndarray, target: np.ndarray, delay: int) -> None:
        """One step, in time O(L)."""
        h, error = self.standard.row(columns), target - columns @ self.weights
        self.standard.change(self.weights, np.outer(h, self.rate * error / (_REST + h @ h)))


class RecursiveLeastSquares(FixedWeights):
    """Least squares in which earlier rows count less with each further one."""

    def __init__(self, weights: np.ndarray, standard: Standard, covariance: np.ndarray, largest: float, memory: float):
        super().__init__(weights)
        self.standard, self.covariance, self.largest, self.memory = standard, covariance, largest, memory

    def learn(self, columns: np.ndarray, parts: np.ndarray, target: np.ndarray, delay: int) -> None:
        """One step, in time O(L²)."""
        h, error = self.standard.row(columns), target - columns @ self.weights
        spread = self.covariance @ h
        gain = spread / (self.memory + h @ spread)
        self.standard.change(self.weights, np.outer(gain, error))
        self.covariance -= np.outer(gain, spread)
        if np.trace(self.covariance) <= self.memory * self.largest:
            self.covariance /= self.memory


@dataclass(eq=False)
class Corrections:
    """What a blend has learnt besides output weights.

    Attributes
    ----------
    offsets : ndarray of shape (gains, bases, m)
        What is added to the prediction of each base.
    squares : ndarray of shape (parts, m)
        Sums of squared errors, in which earlier ones count less.
    total : float
        The sum of their weights.
    last : ndarray of shape (m,)
        The latest known target.
    age : int
        How many rows ago it was; negative if there is none.
    """

    offsets: np.ndarray
    squares: np.ndarray
    total: float
    last: np.ndarray
    age: int

    @classmethod
    def beginning(cls, reservoir: Reservoir, bases: int) -> Corrections:
        """Before the first target: every base is as good as in training, and the last target is only the mean."""
        m, factor = reservoir.n_outputs, reservoir.joinable
        squares = np.tile(factor.residual_squares / factor.weight, (len(_GAINS) * bases, 1))
        squares = np.vstack([squares, np.ones(m)])
        return cls(np.zeros((len(_GAINS), bases, m)), _PRIOR * squares, _PRIOR, np.zeros(m), -1)


class Blend:
    """Several learners side by side, averaged by how well they have predicted recently.

    The bases are the trained output weights, those of the projection algorithm and those of recursive least squares.
    Each takes part as it is and with two offsets that follow its errors, one slowly and one at once; the latest known
    target takes part as well. The share of a part is proportional to a power of its recent mean squared error, that of
    the predictions it made before the targets were known.
    """

    def __init__(self, weights: np.ndarray, rules: tuple[Projection, RecursiveLeastSquares], corrections: Corrections):
        # Those of the rules are views.
        self.weights, self.rules, self.corrections = weights, rules, corrections
        self._shares = np.zeros_like(corrections.squares)
        self._shares[0] = 1.0
        self.n_parts = len(self._shares)
        if corrections.age >= 0:
            self._share()

    def parts(self, columns: np.ndarray) -> np.ndarray:
        """Each base with each offset, then the latest known target."""
        corrections = self.corrections
        parts = np.empty_like(self._shares)
        parts[:-1] = (corrections.offsets + columns @ self.weights).reshape(-1, parts.shape[1])
        parts[-1] = corrections.last
        if corrections.age >= 0:
            corrections.age += 1
        return parts

    def combined(self, parts: np.ndarray) -> np.ndarray:
        """Their average."""
        average: np.ndarray = np.add.reduce(self._shares * parts)
        return average

    def learn(self, columns: np.ndarray, parts: np.ndarray, target: np.ndarray, delay: int) -> None:
        """All parts learn, and are compared by what they predicted."""
        corrections = self.corrections
        corrections.squares = _MEMORY * corrections.squares + (target - parts) ** 2
        corrections.total = _MEMORY * corrections.total + 1.0
        errors = target - parts[: len(self.weights)]
        corrections.offsets += np.reshape(_GAINS, (-1, 1, 1)) * (errors - corrections.offsets)
        for rule in self.rules:
            rule.learn(columns, parts, target, delay)
        if corrections.age < 0 or delay <= corrections.age:
            corrections.last, corrections.age = target, delay
        self._share()

    def _share(self) -> None:
        means = np.log(self.corrections.squares / self.corrections.total + _TINY)
        shares = np.exp(-_POWER * (means - means.min(axis=0)))
        self._shares = shares / shares.sum(axis=0)


def initial_covariance(reservoir: Reservoir, memory: float) -> np.ndarray:
    """The inverse of XᵀX + αI for standardised columns X, with the weight of as many rows as are remembered."""
    factor = reservoir.joinable
    triangle = factor.standardised()[0].triangle[1:, 1:]
    penalty = max(reservoir.alpha, _SMALLEST_PENALTY) * factor.weight
    covariance = np.zeros((len(triangle) + 1, len(triangle) + 1))
    covariance[0, 0] = 1.0 / factor.weight
    covariance[1:, 1:] = np.linalg.inv(triangle.T @ triangle + penalty * np.eye(len(triangle)))
    remembered = 1.0 / max(1.0 - memory, 1.0 / factor.weight)
    return covariance * max(factor.weight / remembered, 1.0)


@dataclass(frozen=True, eq=False)
class LearntWeights:
    """What a stream has learnt, as it is stored.

    Attributes
    ----------
    weights : ndarray of shape (bases, q, m)
        Output weights: one set, or the three of a blend.
    covariance : ndarray of shape (k, k) or None
        That of recursive least squares.
    corrections : Corrections or None
        Those of a blend.
    """

    weights: np.ndarray
    covariance: np.ndarray | None
    corrections: Corrections | None

    @classmethod
    def beginning(cls, reservoir: Reservoir, learning: Learning, forgetting: float) -> LearntWeights:
        """What training has left."""
        bases = 3 if learning == "blend" else 1
        return cls(
            np.repeat(reservoir.output_weights[np.newaxis], bases, axis=0),
            initial_covariance(reservoir, forgetting) if learning in ("blend", "rls") else None,
            Corrections.beginning(reservoir, bases) if learning == "blend" else None,
        )

    def check(self, like: LearntWeights) -> None:
        """Raise ValueError if anything has another shape than in ``like``."""
        if [part.shape for part in self._arrays()] != [part.shape for part in like._arrays()]:
            raise ValueError("What a stream has learnt does not fit its way of learning.")

    def _arrays(self) -> list[np.ndarray]:
        own = self.corrections
        parts = [self.weights, self.covariance, *(() if own is None else (own.offsets, own.squares, own.last))]
        return [np.empty(0) if part is None else part for part in parts]


def learner_of(
    reservoir: Reservoir, learning: Learning, rate: float, forgetting: float, learnt: LearntWeights
) -> OnlineLearner:
    """The learner that goes on from what has been learnt, whose arrays it changes in place."""
    weights = learnt.weights
    if learning is None:
        return FixedWeights(weights[0])
    standard = Standard(reservoir)
    if learning == "projection":
        return Projection(weights[0], standard, rate)
    assert learnt.covariance is not None
    largest = _GROWTH * float(np.trace(initial_covariance(reservoir, forgetting)))
    squares = RecursiveLeastSquares(weights[-1], standard, learnt.covariance, largest, forgetting)
    if learning == "rls":
        return squares
    assert learnt.corrections is not None
    return Blend(weights, (Projection(weights[1], standard, rate), squares), learnt.corrections)


def check_learning(learning: Learning, rate: float, forgetting: float) -> None:
    """Raise ValueError for settings that do not exist."""
    if learning not in ("blend", "projection", "rls", None):
        raise ValueError(f'learning must be "blend", "projection", "rls" or None; got {learning!r}.')
    if not 0.0 < rate < 2.0:
        raise ValueError(f"rate must be above 0 and below 2; got {rate}.")
    if not 0.0 < forgetting <= 1.0:
        raise ValueError(f"forgetting must be above 0 and at most 1; got {forgetting}.")
