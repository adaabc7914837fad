"""Recursive least squares with forgetting, and mixtures of experts that are weighted by their recent errors.

Networks that follow a stream of rows (``online``) and streams of recurrent networks learn by both.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, inf, sqrt

import numpy as np
from scipy.linalg import blas, solve_triangular

from skscn.factor import Factor

# The penalty is at least this, for targets of unit variance, so that S can be represented.
SMALLEST_PENALTY = 1e-3
# What is left of a row with the largest leverage.
_SMALLEST_SHARE = 0.01
# What was forgotten of the penalty is added after this number of rows.
_EVERY = 4
# Forgetting stretches S; that is a factor of its own until it has this size.
_LONGEST_STRETCH = 1e3


class RecursiveWeights:
    """Output weights that follow one row after the other, by least squares in which earlier rows count less.

    Directions in which no row has excited the columns for long would grow without limit when they are forgotten. Two
    guards prevent that: a penalty that is renewed as it is forgotten, which pulls weights to 0, or a bound on the trace
    of SSᵀ, above which nothing is forgotten and weights stay where they were.

    Parameters
    ----------
    weights : ndarray of shape (k, m)
        β.
    root : ndarray of shape (k, k)
        S over ``stretch``, with SSᵀ = (HᵀH + αI)⁻¹.
    forgetting : float
        λ, the weight that all earlier rows keep with each new one.
    alpha : float, default=0.0
        α, the penalty to renew; 0 for none.
    turn : int, default=0
        The column to which a part of α is added next.
    owed : int, default=0
        The number of rows since that was last done.
    stretch : float, default=1.0
        The factor of the root.
    largest : float, default=inf
        The bound on the trace.

    Examples
    --------
    >>> import numpy as np
    >>> from skscn.recursive import RecursiveWeights
    >>> rng = np.random.default_rng(0)
    >>> H, T = rng.normal(size=(200, 3)), rng.normal(size=(200, 1))
    >>> recursive = RecursiveWeights.of_rows(H[:50], T[:50], forgetting=1.0, alpha=0.01)
    >>> for h, t in zip(H[50:], T[50:]):
    ...     recursive.learn(h, t)
    >>> np.allclose(recursive.weights, np.linalg.solve(H.T @ H + 0.01 * np.eye(3), H.T @ T))
    True
    """

    def __init__(
        self,
        weights: np.ndarray,
        root: np.ndarray,
        forgetting: float,
        alpha: float = 0.0,
        turn: int = 0,
        owed: int = 0,
        stretch: float = 1.0,
        largest: float = inf,
    ):
        self.weights, self.root = weights.copy(), np.array(root, order="F")
        self.forgetting, self.alpha, self.largest = forgetting, alpha, largest
        self.turn, self.owed, self.stretch = turn, owed, stretch

    @classmethod
    def of_rows(cls, H: np.ndarray, T: np.ndarray, forgetting: float, alpha: float | None = None) -> RecursiveWeights:
        """From columns and targets, the latest last; the penalty that cross-validation chooses unless one is given."""
        roots = sqrt(forgetting) ** np.arange(len(H))[::-1]
        factor = Factor.empty(H.shape[1], T.shape[1]).with_rows(H, T, roots)
        if alpha is None:
            alpha = SMALLEST_PENALTY + factor.regularised(SMALLEST_PENALTY).cross_validated()
        ridge = factor.regularised(alpha)
        return cls(ridge.output_weights(), solve_triangular(ridge.triangle, np.eye(H.shape[1])), forgetting, alpha)

    def left_out(self, H: np.ndarray, T: np.ndarray) -> np.ndarray:
        """Leave-one-out errors, shape (n, m), of the last rows, the latest last."""
        kept = self.stretch**2 * self.forgetting ** np.arange(len(H))[::-1]
        leverages = ((H @ self.root) ** 2).sum(axis=1) * kept
        errors: np.ndarray = (T - H @ self.weights) / np.maximum(1.0 - leverages, _SMALLEST_SHARE)[:, np.newaxis]
        return errors

    def learn(self, h: np.ndarray, t: np.ndarray) -> None:
        """Learn a row with columns h, shape (k,), and targets t, shape (m,)."""
        self.follow(h, t - h @ self.weights)

    def follow(self, h: np.ndarray, error: np.ndarray) -> None:
        """The same, with the error t − hβ, if that is known already."""
        keep = self.forgetting
        self._join(blas.dgemv(1.0, self.root, h, trans=1), error, keep)
        if keep == 1.0:
            return
        if self.largest == inf or self.stretch**2 * np.vdot(self.root.T, self.root.T) <= keep * self.largest:
            self.stretch /= sqrt(keep)
        if self.alpha:
            self.owed = (self.owed + 1) % _EVERY
            if not self.owed:
                self._renew_penalty()
        if self.stretch > _LONGEST_STRETCH:
            self.root *= self.stretch
            self.stretch = 1.0

    def _renew_penalty(self) -> None:
        """Add what was forgotten of α, as rows √w βⱼ = 0 for as few columns as possible."""
        columns = len(self.root)
        wanted = columns * (1.0 - self.forgetting) * _EVERY
        count = ceil(wanted)
        root = sqrt(self.alpha * wanted / count)
        for _ in range(count):
            self._join(root * self.root[self.turn], -root * self.weights[self.turn], 1.0)
            self.turn = (self.turn + 1) % columns

    def _join(self, across: np.ndarray, error: np.ndarray, keep: float) -> None:
        """A row with Sᵀh = ``across``, where the penalty and the rows before it have ``keep`` times their weight.

        Potter's update of a square root, which stays positive definite whatever rounding does.
        """
        square = self.stretch**2
        size = keep + square * blas.ddot(across, across)
        gain = blas.dgemv(square, self.root, across)
        self.weights += gain[:, np.newaxis] * (error / size)
        blas.dger(-1.0 / (size + sqrt(keep * size)), gain, across, a=self.root, overwrite_a=1)


# Several models side by side, weighted by their recent errors, each with and without corrections for its last ones.


@dataclass(frozen=True)
class MixtureRule:
    """How experts are corrected and weighted.

    Attributes
    ----------
    gains : tuple of float
        How much of an error is added to the correction of the next prediction, for each variant of an expert: the first
        is 0, none; shares are exponential means of errors; with 1, a model without inputs repeats the last target.
    discount : float
        The weight that earlier errors keep with each new one.
    power : float or None
        Weights are this power of the inverse of mean squared errors. None for the likelihood of the errors, where those
        of the best part are normally distributed: it decides the sooner, the more rows there are.
    pooled : bool
        Whether a part has one weight for all outputs, by the sum of their squared errors.
    """

    gains: tuple[float, ...]
    discount: float
    power: float | None
    pooled: bool


# Online networks: a tenth, a third and all of the last error; models are replaced, so that the better one has to take
# over soon. Streams of recurrent networks: what was trained is to be left only for good reasons.
ONLINE_MIXTURE = MixtureRule(gains=(0.0, 0.1, 0.3, 1.0), discount=0.98, power=None, pooled=True)
STREAM_MIXTURE = MixtureRule(gains=(0.0, 0.3, 1.0), discount=0.99, power=5.0, pooled=False)


class ExpertMixture:
    """Weights of experts by their recent squared errors.

    Each expert takes part once for each gain, with a correction that follows its errors. Further predictions, without
    corrections, may take part after them.

    Parameters
    ----------
    rule : MixtureRule
    corrections : ndarray of shape (n_experts, n_gains, n_outputs)
        What each gain adds to the next prediction of each expert.
    losses : ndarray of shape (n_parts, n_outputs), or (n_parts, 1) if they are pooled
        Discounted sums of squared errors; the gains of one expert follow each other.
    rows : float
        The discounted number of rows.
    """

    def __init__(self, rule: MixtureRule, corrections: np.ndarray, losses: np.ndarray, rows: float):
        self.rule, self.corrections, self.losses, self.rows = rule, corrections.copy(), losses.copy(), rows
        self._gains = np.array(rule.gains)[:, np.newaxis]
        self._shares: np.ndarray | None = None

    @classmethod
    def new(cls, n_experts: int, n_outputs: int, rule: MixtureRule = ONLINE_MIXTURE) -> ExpertMixture:
        """Before the first row."""
        corrections = np.zeros((n_experts, len(rule.gains), n_outputs))
        return cls(rule, corrections, np.zeros((n_experts * len(rule.gains), 1 if rule.pooled else n_outputs)), 0.0)

    @property
    def shares(self) -> np.ndarray:
        """The weight of each part, in the shape of ``losses``, with sum 1 for each output."""
        if self._shares is None:
            lowest, tiny = self.losses.min(axis=0), np.finfo(float).tiny
            if self.rule.power is None:
                # Half the squared error over its mean is the exponent of a normal distribution.
                unit = np.maximum(lowest / max(self.rows, 1.0), tiny)
                shares = np.exp(np.maximum(-0.5 * (self.losses - lowest) / unit, -700.0))
            else:
                means = np.log(self.losses / self.rows + tiny)
                shares = np.exp(-self.rule.power * (means - means.min(axis=0)))
            self._shares = shares / shares.sum(axis=0)
        return self._shares

    def by_expert(self, values: np.ndarray) -> np.ndarray:
        """A view of losses or shares of shape (n_experts, n_gains, …)."""
        n_experts, n_gains, _ = self.corrections.shape
        return values[: n_experts * n_gains].reshape(n_experts, n_gains, -1)

    def parts(self, outputs: np.ndarray) -> np.ndarray:
        """What takes part in a prediction, from outputs of the experts (…, n_experts, m): shape (…, n_parts, m)."""
        corrected: np.ndarray = outputs[..., np.newaxis, :] + self.corrections
        return corrected.reshape(*outputs.shape[:-2], -1, outputs.shape[-1])

    def combine(self, parts: np.ndarray) -> np.ndarray:
        """One prediction (…, m) from all parts (…, n_parts, m)."""
        combined: np.ndarray = np.add.reduce(self.shares * parts, axis=-2)
        return combined

    def learn(self, parts: np.ndarray, target: np.ndarray, units: np.ndarray | float = 1.0) -> None:
        """Learn a target (m,) from what the parts (n_parts, m) predicted for it, in these units of the outputs."""
        errors = target - parts
        squares = (errors / units) ** 2
        self.losses *= self.rule.discount
        self.losses += np.add.reduce(squares, axis=1, keepdims=True) if self.rule.pooled else squares
        self.rows, self._shares = self.rule.discount * self.rows + 1.0, None
        # The errors before correction, which may have changed since the prediction.
        plain = errors[: self.corrections.shape[0] * len(self._gains) : len(self._gains)]
        self.corrections += self._gains * (plain[:, np.newaxis] - self.corrections)

    def admit(self, experts: slice, errors: np.ndarray, units: np.ndarray, peers: slice) -> None:
        """Judge new experts by their errors on the last rows, shape (n, experts, n_outputs).

        These errors are of rows that they have learnt, so they are at first considered at most as good as the best of
        their peers, whose errors are honest.
        """
        _, count, n_outputs = errors.shape
        alone = ExpertMixture.new(count, n_outputs, self.rule)
        for row in errors:
            alone.learn(alone.parts(-row), np.zeros(n_outputs), units)
        losses = self.by_expert(self.losses)
        best = losses[peers].min(axis=0)
        self.corrections[experts] = alone.corrections
        losses[experts] = np.maximum(alone.by_expert(alone.losses) * (self.rows / alone.rows), best)
        self._shares = None

    def rescale(self, factor: float) -> None:
        """Go on with errors in another unit, in which they are larger by this factor."""
        self.losses *= factor**2
        self._shares = None
