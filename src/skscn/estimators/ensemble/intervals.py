"""Conformal intervals from out-of-bag residuals, wider where residuals are larger, as a fitted model holds them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from skscn.estimators.regressor import SCNRegressor


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
        count = len(scores)
        order = scores.argsort(axis=0)
        ranks = np.cumsum(self.sample_weight[order] * (count / self.sample_weight.sum()), axis=0)
        ordered = np.vstack([np.take_along_axis(scores, order, axis=0), np.full(scores.shape[1], np.inf)])
        # Slightly less, for ranks that are integers up to rounding.
        wanted = (count + 1) * share * (1.0 - 1e-12)
        return np.array(
            [column[np.searchsorted(rank, wanted)] for column, rank in zip(ordered.T, ranks.T, strict=True)]
        )
