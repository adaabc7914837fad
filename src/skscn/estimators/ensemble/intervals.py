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
