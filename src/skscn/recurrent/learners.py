"""What recurrent models learn from rows that have passed: output weights, a bias, and widths of intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from scipy.linalg import qr, solve_triangular

from skscn.adaptive_intervals import AdaptiveWidth
from skscn.recurrent.reservoir import Reservoir
from skscn.recursive import STREAM_MIXTURE, ExpertMixture, RecursiveWeights

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


Learning: TypeAlias = Literal["blend", "projection", "rls"] | None
# The projection algorithm adds this to the squared length of a row of standardised columns.
_REST = 1.0
# Recursive least squares begins with a penalty of at least this per row, so that its covariance can be represented.
_SMALLEST_PENALTY = 1e-6
# ... and its trace grows at most by this factor.
_GROWTH = 10.0
# The number of rows that the prior errors of the parts of a blend count for.
_PRIOR = 10.0


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

    def weights_of(self, weights: np.ndarray) -> np.ndarray:
        """Weights (k, m) of standardised columns that say the same as output weights (q, m) of columns."""
        scaled: np.ndarray = weights[self.kept] * self.units[:, np.newaxis]
        scaled[0] += self.means @ weights[self.kept]
        return scaled

    def unscaled(self, weights: np.ndarray) -> np.ndarray:
        """Weights (k, m) of the columns themselves that say the same as those of standardised columns."""
        unscaled: np.ndarray = weights / self.units[:, np.newaxis]
        unscaled[0] -= self.means @ unscaled
        return unscaled


def initial_root(reservoir: Reservoir, memory: float) -> np.ndarray:
    """S with SSᵀ = (XᵀX + αI)⁻¹ for standardised columns X, with the weight of as many rows as are remembered."""
    factor = reservoir.joinable
    triangle = factor.standardised()[0].triangle[1:, 1:]
    penalty = max(reservoir.alpha, _SMALLEST_PENALTY) * factor.weight
    size = len(triangle)
    root = np.zeros((size + 1, size + 1))
    root[0, 0] = factor.weight**-0.5
    if size:
        (joined,) = qr(np.vstack([triangle, penalty**0.5 * np.eye(size)]), mode="r")
        root[1:, 1:] = solve_triangular(joined[:size], np.eye(size))
    remembered = 1.0 / max(1.0 - memory, 1.0 / factor.weight)
    root *= max(factor.weight / remembered, 1.0) ** 0.5
    return root


@dataclass(eq=False)
class LearntWeights:
    """What a stream has learnt.

    A blend averages several bases by how well they have predicted recently: the trained output weights, those of the
    projection algorithm and those of recursive least squares. Each takes part as it is and with two corrections that
    follow its errors, one slowly and one at once; the latest known target takes part as well. What the parts have
    predicted for a row is kept with the row until its target is known, which may be many rows later.

    Attributes
    ----------
    weights : ndarray of shape (bases, q, m)
        Output weights: one set, or the three of a blend.
    recursive : RecursiveWeights or None
        Those of recursive least squares, for standardised columns.
    mixture : ExpertMixture or None
        That of a blend.
    last : ndarray of shape (m,)
        The latest known target.
    age : int
        How many rows ago it was; negative if there is none.
    """

    weights: np.ndarray
    recursive: RecursiveWeights | None
    mixture: ExpertMixture | None
    last: np.ndarray
    age: int

    @classmethod
    def beginning(cls, reservoir: Reservoir, learning: Learning, forgetting: float) -> LearntWeights:
        """What training has left: every base is as good as in training, and the last target is only the mean."""
        m, bases = reservoir.n_outputs, 3 if learning == "blend" else 1
        recursive, mixture = None, None
        if learning in ("blend", "rls"):
            root = initial_root(reservoir, forgetting)
            weights = Standard(reservoir).weights_of(reservoir.output_weights)
            recursive = RecursiveWeights(weights, root, forgetting, largest=_GROWTH * float((root**2).sum()))
        if learning == "blend":
            parts, factor = bases * len(STREAM_MIXTURE.gains), reservoir.joinable
            squares = np.vstack([np.tile(factor.residual_squares / factor.weight, (parts, 1)), np.ones(m)])
            mixture = ExpertMixture(
                STREAM_MIXTURE, np.zeros((bases, len(STREAM_MIXTURE.gains), m)), _PRIOR * squares, _PRIOR
            )
        weights = np.repeat(reservoir.output_weights[np.newaxis], bases, axis=0)
        return cls(weights, recursive, mixture, np.zeros(m), -1)

    @property
    def n_parts(self) -> int:
        """How many predictions of a row there are."""
        return 1 if self.mixture is None else len(self.mixture.losses)

    def check(self, like: LearntWeights) -> None:
        """Raise ValueError if anything has another shape than in ``like``."""
        shapes = [
            (
                each.weights.shape,
                each.last.shape,
                each.recursive and (each.recursive.weights.shape, each.recursive.root.shape),
                each.mixture and (each.mixture.corrections.shape, each.mixture.losses.shape),
            )
            for each in (self, like)
        ]
        if shapes[0] != shapes[1]:
            raise ValueError("What a stream has learnt does not fit its way of learning.")

    def parts(self, columns: np.ndarray) -> np.ndarray:
        """What each part predicts for the next row, shape (parts, m)."""
        outputs: np.ndarray = columns @ self.weights
        if self.mixture is None:
            return outputs
        if self.age >= 0:
            self.age += 1
        return np.concatenate([self.mixture.parts(outputs), self.last[np.newaxis]])

    def combined(self, parts: np.ndarray) -> np.ndarray:
        """The prediction that follows from the parts, shape (m,); before the first target, that of the first part."""
        combined: np.ndarray = parts[0] if self.mixture is None or self.age < 0 else self.mixture.combine(parts)
        return combined

    def learn(
        self,
        columns: np.ndarray,
        parts: np.ndarray,
        target: np.ndarray,
        delay: int,
        *,
        standard: Standard,
        learning: Learning,
        rate: float,
    ) -> None:
        """Learn the target of an earlier row, given its columns and what the parts predicted for it."""
        if self.mixture is not None:
            self.mixture.learn(parts, target)
            if self.age < 0 or delay <= self.age:
                self.last, self.age = target, delay
        h, errors = standard.row(columns), target - columns @ self.weights
        if learning != "rls":
            # The projection algorithm: the smallest change of the weights that takes a share of the error away.
            place = 1 if learning == "blend" else 0
            change = np.outer(h, rate * errors[place] / (_REST + h @ h))
            self.weights[place, standard.kept] += standard.unscaled(change)
        if self.recursive is not None:
            self.recursive.follow(h, errors[-1])
            self.weights[-1, standard.kept] = standard.unscaled(self.recursive.weights)


def check_learning(learning: Learning, rate: float, forgetting: float) -> None:
    """Raise ValueError for settings that do not exist."""
    if learning not in ("blend", "projection", "rls", None):
        raise ValueError(f'learning must be "blend", "projection", "rls" or None; got {learning!r}.')
    if not 0.0 < rate < 2.0:
        raise ValueError(f"rate must be above 0 and below 2; got {rate}.")
    if not 0.0 < forgetting <= 1.0:
        raise ValueError(f"forgetting must be above 0 and at most 1; got {forgetting}.")
