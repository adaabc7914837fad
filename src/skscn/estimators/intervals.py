"""Conformal intervals from out-of-bag residuals, wider where residuals are larger."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from skscn.estimators.out_of_bag import positive
from skscn.estimators.regressor import SCNRegressor

# Terms of the local scale in addition to the learnt size: shares of the spread, and constants in units of the mean
# residual. The last constant makes the width of the interval practically constant.
_SPREAD_SHARES = (0.0, 0.5, 1.0, 2.0)
_SCALE_CONSTANTS = (0.03, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 1000.0)


@dataclass(frozen=True)
class LocalScale:
    """How large a residual to expect: a learnt size, a share of the members' spread, and a constant."""

    networks: list
    units: np.ndarray
    largest: np.ndarray
    share: np.ndarray
    constant: np.ndarray

    def of(self, learnt: np.ndarray, spread: np.ndarray) -> np.ndarray:
        """The scale from learnt sizes and spread, both of shape (n, outputs)."""
        return learnt + self.share * spread + self.constant

    def at(self, X, spread: np.ndarray) -> np.ndarray:
        """The scale of rows X."""
        if not self.networks:
            return self.of(np.zeros_like(spread), spread)
        learnt = [np.clip(network.predict(X), 0.0, self.largest) for network in self.networks]
        return self.of(self.units * np.mean(learnt, axis=0), spread)


@dataclass(frozen=True)
class Conformal:
    """Out-of-bag residuals in units of their local scale, shape (rows, outputs), and the weights of the rows."""

    scale: LocalScale
    scores: np.ndarray
    sample_weight: np.ndarray

    def quantile(self, coverage: float) -> np.ndarray:
        """The score at rank ⌈(n + 1)·coverage⌉ of each output; n counts distinct rows, as copies add no evidence."""
        count = len(self.scores)
        order = self.scores.argsort(axis=0)
        ranks = np.cumsum(self.sample_weight[order] * (count / self.sample_weight.sum()), axis=0)
        scores = np.vstack([np.take_along_axis(self.scores, order, axis=0), np.full(self.scores.shape[1], np.inf)])
        # Slightly less, for ranks that are integers up to rounding.
        wanted = (count + 1) * coverage * (1.0 - 1e-12)
        return np.array([column[np.searchsorted(rank, wanted)] for column, rank in zip(scores.T, ranks.T, strict=True)])


def learn_size(
    X, sizes: np.ndarray, sample_weight: np.ndarray, seed: int, validation: str
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
    with threadpool_limits(limits=1, user_api="blas"):
        network.fit(X, sizes, sample_weight=sample_weight)
        return network, np.clip(network.predict(X), 0.0, sizes.max(axis=0))


def choose_scale(networks: list, learnt: np.ndarray, sizes: np.ndarray, spread: np.ndarray, units: np.ndarray):
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
