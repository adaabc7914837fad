"""Rows that members have not seen: the weights of members and the prediction intervals that follow from them.

Intervals are conformal: quantiles of the out-of-bag residuals, wider where residuals are larger.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import nnls
from sklearn.utils.parallel import delayed

from skscn.adaptive_intervals import conformal_rank
from skscn.estimators.base import GrowingNetwork
from skscn.estimators.ensemble.members import Workers
from skscn.estimators.parameters import HeldOut
from skscn.estimators.regressor import SCNRegressor
from skscn.progress import listening
from skscn.threads import single_threaded

# Number of rows that members predict at a time.
_BLOCK = 8192
# Networks that learn the size of the out-of-bag residuals, each without its part of the rows; and the number of rows
# below which there is little to learn.
_SCALE_FOLDS = 5
_ROWS_FOR_SCALE = 50
# Terms of the local scale in addition to the learnt size: shares of the spread, and constants in units of the mean
# residual. The last constant makes the width of the interval practically constant.
_SPREAD_SHARES = (0.0, 0.5, 1.0, 2.0)
_SCALE_CONSTANTS = (0.03, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 1000.0)


@dataclass(frozen=True)
class OutOfBag:
    """The prediction of each member for each distinct row, and whether it has seen the row.

    Predictions have shape (members, rows, outputs) and unseen (members, rows); targets and weights are of the rows.
    """

    predictions: np.ndarray
    unseen: np.ndarray
    targets: np.ndarray
    sample_weight: np.ndarray

    @property
    def rows(self) -> np.ndarray:
        """Numbers of the rows of positive weight that some member has not seen."""
        return np.flatnonzero(self.unseen.any(axis=0) & (self.sample_weight > 0))

    def coefficients(self, weights: np.ndarray) -> np.ndarray:
        """Weights of the members for each row; members that have seen it share theirs equally among the others."""
        count = np.maximum(self.unseen.sum(axis=0), 1)
        coefficients: np.ndarray = self.unseen * (weights[:, np.newaxis] + (1.0 - weights @ self.unseen) / count)
        return coefficients

    def shares(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rows that members of positive weight have not seen, and the normalised weights of these members.

        These predict like the whole ensemble but with fewer members; :meth:`coefficients` would include members that
        have almost no weight in the ensemble, whose errors make intervals too wide.
        """
        weights = weights[:, np.newaxis] * self.unseen
        total = weights.sum(axis=0)
        rows = np.flatnonzero((total > 0) & (self.sample_weight > 0))
        return rows, weights[:, rows] / total[rows]

    def combined(self, weights: np.ndarray) -> np.ndarray:
        """Predictions of shape (rows, outputs) by members that have not seen the row; NaN if all have seen it."""
        combined: np.ndarray = np.einsum("mr,mro->ro", self.coefficients(weights), self.predictions)
        combined[~self.unseen.any(axis=0)] = np.nan
        return combined

    def errors(self) -> np.ndarray:
        """Weighted errors (rows · outputs, members); for members that have seen a row, the mean of the others.

        Combined with any weights of sum 1, they are the errors of :meth:`combined`.
        """
        rows = self.rows
        unseen, predictions = self.unseen[:, rows, np.newaxis], self.predictions[:, rows]
        mean = (unseen * predictions).sum(axis=0) / unseen.sum(axis=0)
        errors: np.ndarray = self.targets[rows] - np.where(unseen, predictions, mean)
        # In units of the target's range, so that outputs count the same.
        errors /= positive(np.ptp(self.targets[rows], axis=0))
        errors *= np.sqrt(self.sample_weight[rows] / self.sample_weight[rows].max())[:, np.newaxis]
        return errors.reshape(len(self.predictions), -1).T


def nonnegative_weights(errors: np.ndarray, equal: np.ndarray) -> np.ndarray:
    """Weights w ≥ 0 with Σw = 1 that minimise ‖errors·w‖.

    An additional row constrains the sum. As w = s·u with Σu = 1 costs s²‖errors·u‖² + λ²(s − 1)², the best u is the
    same for every λ: dividing by the sum gives the exact answer.
    """
    size = np.abs(errors).max()
    if size == 0.0:
        return equal
    # A triangular matrix of the size of the members gives the same norms as all rows.
    triangle = np.linalg.qr(errors / size, mode="r")
    ask = np.linalg.norm(triangle) / np.sqrt(len(equal))
    weights: np.ndarray = nnls(np.vstack([triangle, np.full(len(equal), ask)]), np.r_[np.zeros(len(triangle)), ask])[0]
    shares: np.ndarray = weights / weights.sum()
    return shares


def positive(values: np.ndarray) -> np.ndarray:
    """The values, with 1 instead of 0: units to divide by."""
    return np.where(values > 0, values, 1.0)


def by_blocks(X: Any, answer: Callable[[Any], tuple[np.ndarray, ...]], size: int = _BLOCK) -> tuple[np.ndarray, ...]:
    """Apply a function that returns arrays with one entry per row, on ``size`` validated rows at a time.

    So the predictions of all members for all rows are never in memory at once.
    """
    n_rows = X.shape[0]
    first = answer(X[:size])
    if n_rows <= size:
        return first
    answers = tuple(np.empty((n_rows, *values.shape[1:]), values.dtype) for values in first)
    for start in range(0, n_rows, size):
        for whole, values in zip(answers, answer(X[start : start + size]) if start else first, strict=True):
            whole[start : start + size] = values
    return answers


def weighted_mean(predictions: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Over the first axis, in the type of the predictions."""
    return np.tensordot(weights, predictions, 1).astype(predictions.dtype, copy=False)


def mean_and_spread(predictions: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weighted mean and standard deviation over the first axis, in the type of the predictions."""
    mean = np.tensordot(weights, predictions, 1)
    weights = weights.reshape(-1, *[1] * (predictions.ndim - 1))
    deviations = np.abs(predictions - mean)
    # In units of the largest, so that squares neither overflow nor vanish.
    largest = positive(deviations.max(axis=0))
    spread = largest * np.sqrt((weights * (deviations / largest) ** 2).sum(axis=0))
    return mean.astype(predictions.dtype), spread.astype(predictions.dtype)


# Conformal intervals


@dataclass(frozen=True)
class LocalScale:
    """How large a residual to expect: a learnt size, a share of the members' spread, and a constant."""

    networks: list[SCNRegressor]
    units: np.ndarray
    largest: np.ndarray
    share: np.ndarray
    constant: np.ndarray

    def of(self, learnt: np.ndarray, spread: np.ndarray) -> np.ndarray:
        """The scale from learnt sizes and spread, both of shape (n, outputs)."""
        scale: np.ndarray = learnt + self.share * spread + self.constant
        return scale

    def at(self, X: Any, spread: np.ndarray) -> np.ndarray:
        """The scale of rows X."""
        if not self.networks:
            return self.of(np.zeros_like(spread), spread)
        learnt = [np.clip(network.predict(X), 0.0, self.largest) for network in self.networks]
        return self.of(self.units * np.mean(learnt, axis=0), spread)


@dataclass(frozen=True)
class Conformal:
    """Out-of-bag residuals in units of their local scale, shape (rows, outputs), and the weights of the rows.

    Scores are absolute values; ``above`` says which targets are above the prediction. It is None in models of version
    0.1, which have intervals only.
    """

    scale: LocalScale
    scores: np.ndarray
    sample_weight: np.ndarray
    above: np.ndarray | None = None

    def quantile(self, coverage: float) -> np.ndarray:
        """The score at rank ⌈(n + 1)·coverage⌉ of each output; n counts distinct rows, as copies add no evidence."""
        return self._ranked(self.scores, coverage)

    def residual_quantile(self, share: float) -> np.ndarray:
        """The quantile of the signed scores of each output, rounded outwards from the median."""
        assert self.above is not None
        signed = np.where(self.above, self.scores, -self.scores)
        return self._ranked(signed, share) if share >= 0.5 else -self._ranked(-signed, 1.0 - share)

    def _ranked(self, scores: np.ndarray, share: float) -> np.ndarray:
        """The score at rank ⌈(n + 1)·share⌉ of each output, infinite if there is none."""
        order = scores.argsort(axis=0)
        ranks = np.cumsum(self.sample_weight[order] * (len(scores) / self.sample_weight.sum()), axis=0)
        ordered = np.vstack([np.take_along_axis(scores, order, axis=0), np.full(scores.shape[1], np.inf)])
        wanted = conformal_rank(len(scores), share)
        return np.array(
            [column[np.searchsorted(rank, wanted)] for column, rank in zip(ordered.T, ranks.T, strict=True)]
        )


def learn_conformal(
    X: Any,
    out_of_bag: OutOfBag,
    weights: np.ndarray,
    members: list[GrowingNetwork],
    workers: Workers,
) -> Conformal | None:
    """The values that intervals need, from the out-of-bag rows; None without any.

    Parameters
    ----------
    X : ndarray or sparse matrix
        The distinct rows.
    out_of_bag : OutOfBag
        The members' predictions for them.
    weights : ndarray of shape (n_members,)
    members : list of GrowingNetwork
    workers : Workers
        To grow the networks in that learn the sizes of the residuals.
    """
    rows, shares = out_of_bag.shares(weights)
    if not rows.size:
        return None
    predictions, sample_weight = out_of_bag.predictions[:, rows], out_of_bag.sample_weight[rows]
    residuals = out_of_bag.targets[rows] - np.einsum("mr,mro->ro", shares, predictions)
    # In units of the largest, so that squares neither overflow nor vanish.
    units = positive(np.abs(residuals).max(axis=0))
    _, spread = mean_and_spread(predictions, weights)
    sizes = np.abs(residuals) / units
    held_out = float(np.mean([len(member.held_out_) for member in members]))
    part = (shares**2).sum(axis=0)[:, np.newaxis]
    sizes *= _fairness(sizes, spread / units, part, float((weights**2).sum()), held_out, sample_weight)
    networks, learnt = _learn_sizes(X[rows], sizes, sample_weight, members[0], workers)
    scale = choose_scale(networks, learnt, sizes, spread / units, units)
    scores = sizes * units / scale.of(learnt * units, spread)
    return Conformal(scale, scores, sample_weight, residuals > 0.0)


def _fairness(
    sizes: np.ndarray,
    spread: np.ndarray,
    part: np.ndarray,
    whole: float,
    held_out: float,
    sample_weight: np.ndarray,
) -> np.ndarray:
    """Factor that converts each out-of-bag residual to one of the whole ensemble on new rows.

    With the variance V of one member, members with the shares w leave E e² = s² + V·Σw²; part is Σw² of the rows and
    whole that of the ensemble. held_out is the mean number of rows that early stopping has held out.
    """
    # The spread is measured around the ensemble's own mean, which leaves 1 − Σw² of a member's variance.
    variance = np.average(spread**2, axis=0, weights=sample_weight) / max(1.0 - whole, 1e-12)
    total = np.average(sizes**2, axis=0, weights=sample_weight)
    rest = np.maximum(total - np.average(part * variance, axis=0, weights=sample_weight), 1e-12)
    optimism = (held_out + 1.0) / (held_out - 1.0) if held_out > 1.0 else 1.0
    return np.sqrt(optimism * (rest + whole * variance) / (rest + part * variance))


def _learn_sizes(
    X: Any, sizes: np.ndarray, sample_weight: np.ndarray, member: GrowingNetwork, workers: Workers
) -> tuple[list[SCNRegressor], np.ndarray]:
    """Small networks for the size of the residual at x, and their predictions for rows they were not grown on."""
    n_rows = len(sizes)
    if n_rows < _ROWS_FOR_SCALE:
        return [], np.zeros_like(sizes)
    # Distinct rows are in the order of their fingerprints, so every fifth one is a random part; of a series the parts
    # are stretches of time.
    ordered, seed = member.validation == "last", member.random_state
    assert isinstance(seed, int), "members are grown with a seed of their own"
    folds = np.arange(n_rows) * _SCALE_FOLDS // n_rows if ordered else np.arange(n_rows) % _SCALE_FOLDS
    # They are not members.
    with listening(None):
        fitted = workers.run(
            delayed(_learn_size)(X, sizes, sample_weight * (folds != fold), seed + fold, member.validation)
            for fold in range(_SCALE_FOLDS)
        )
    networks, predictions = zip(*fitted, strict=True)
    return list(networks), np.stack(predictions)[folds, np.arange(n_rows)]


def _learn_size(
    X: Any, sizes: np.ndarray, sample_weight: np.ndarray, seed: int, validation: HeldOut
) -> tuple[SCNRegressor, np.ndarray]:
    """A small network for the sizes of residuals, and its predictions for all rows."""
    network = SCNRegressor(
        max_nodes=10,
        max_candidates=30,
        configuration="ladder",
        early_stopping=True,
        validation_fraction=0.2,
        validation=validation,
        n_iter_no_change=5,
        random_state=seed,
    )
    with single_threaded():
        network.fit(X, sizes, sample_weight=sample_weight)
        return network, np.clip(network.predict(X), 0.0, sizes.max(axis=0))


def choose_scale(
    networks: list[SCNRegressor], learnt: np.ndarray, sizes: np.ndarray, spread: np.ndarray, units: np.ndarray
) -> LocalScale:
    """The local scale with the lowest root mean square of size/scale times mean scale: the narrowest intervals.

    A quantile instead of the root mean square would be the width itself, but it jumps from row to row. Learnt sizes,
    sizes and spread are in the given units.
    """
    mean = positive(sizes.mean(axis=0))
    choices = [
        (np.full(len(units), share), constant * mean) for share in _SPREAD_SHARES for constant in _SCALE_CONSTANTS
    ]
    scales = (learnt + share * spread + constant for share, constant in choices)
    widths = [((sizes / scale) ** 2).mean(axis=0) ** 0.5 * scale.mean(axis=0) for scale in scales]
    best = np.argmin(widths, axis=0)
    shares, constants = (np.array([choices[b][i][output] for output, b in enumerate(best)]) for i in (0, 1))
    return LocalScale(networks, units, sizes.max(axis=0), shares, constants * units)
