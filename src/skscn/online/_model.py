"""A model of fixed columns whose output weights follow the rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from skscn.online._columns import StreamColumns
from skscn.online._recursive import RecursiveWeights
from skscn.scaling import Scaling

# Outputs stay within the range of the targets, extended by this share of it on both sides.
_MARGIN = 0.1


class StreamModel:
    """Columns with one or several sets of output weights, which forget at different rates.

    Parameters
    ----------
    columns : StreamColumns
    targets : Scaling
        Of the targets.
    low, high : ndarray of shape (m,)
        The range of the scaled targets.
    sets : sequence of RecursiveWeights
    """

    def __init__(
        self,
        columns: StreamColumns,
        targets: Scaling,
        low: np.ndarray,
        high: np.ndarray,
        sets: Sequence[RecursiveWeights],
    ):
        self.columns, self.targets, self.sets = columns, targets, list(sets)
        self._set_range(low, high)
        # One array of all output weights, so that one product evaluates them; each set changes its part in place.
        self._weights = np.hstack([recursive.weights for recursive in self.sets])
        for recursive, part in zip(self.sets, np.split(self._weights, len(self.sets), axis=1), strict=True):
            recursive.weights = part

    @classmethod
    def of_rows(cls, columns: StreamColumns, X: np.ndarray, T: np.ndarray, forgettings: Sequence[float]) -> StreamModel:
        """With the output weights of these rows, the latest last."""
        deviations = T.std(axis=0)
        targets = Scaling.centred(T.mean(axis=0), np.where(deviations > 0.0, deviations, 1.0))
        H, scaled = columns.of(X), targets.transform(T)
        sets = [RecursiveWeights.of_rows(H, scaled, forgetting) for forgetting in forgettings]
        return cls(columns, targets, scaled.min(axis=0), scaled.max(axis=0), sets)

    def _set_range(self, low: np.ndarray, high: np.ndarray) -> None:
        self.low, self.high = low, high
        margin = _MARGIN * (high - low)
        self._lowest, self._highest = np.tile(low - margin, len(self.sets)), np.tile(high + margin, len(self.sets))

    def outputs(self, H: np.ndarray) -> np.ndarray:
        """What each set of weights predicts from the columns of rows, shape (n, sets, m)."""
        scaled = H @ self._weights
        np.maximum(scaled, self._lowest, out=scaled)
        np.minimum(scaled, self._highest, out=scaled)
        return self.targets.inverse_transform(scaled.reshape(len(H), len(self.sets), -1))

    def learn(self, h: np.ndarray, t: np.ndarray) -> None:
        """Take in a row with columns h, shape (k,), and targets t, shape (m,)."""
        scaled = self.targets.transform(t)
        errors = scaled - (h @ self._weights).reshape(len(self.sets), -1)
        for recursive, error in zip(self.sets, errors, strict=True):
            recursive.follow(h, error)
        if not ((self.low <= scaled) & (scaled <= self.high)).all():
            self._set_range(np.minimum(self.low, scaled), np.maximum(self.high, scaled))

    def left_out(self, X: np.ndarray, T: np.ndarray) -> np.ndarray:
        """Leave-one-out errors of the last of the rows it was made of, shape (n, sets, m)."""
        H, scaled = self.columns.of(X), self.targets.transform(T)
        errors: np.ndarray = np.stack([recursive.left_out(H, scaled) for recursive in self.sets], axis=1)
        errors *= self.targets.scale
        return errors
