"""Scaling of inputs and targets; the paper maps both to [0, 1].

A :class:`Scaling` is applied block by block while rows are read, so the training data are never copied.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from sklearn.utils.sparsefuncs import min_max_axis

# Scaled inputs beyond this are far outside the training range; the bound keeps wᵀx finite.
_FAR = 1e9


@dataclass(frozen=True, eq=False)
class Scaling:
    """The map x → (x − offset) / scale, column by column, with |result| at most ``limit``."""

    offset: np.ndarray
    scale: np.ndarray
    limit: float = np.inf

    def transform(self, values: np.ndarray) -> np.ndarray:
        """``values`` scaled, as a new float64 array."""
        # Values near the ends of float64 may overflow here; the limit brings them back.
        with np.errstate(over="ignore"):
            scaled = np.subtract(values, self.offset, dtype=np.float64)
            scaled /= self.scale
        if self.limit < np.inf:
            np.clip(scaled, -self.limit, self.limit, out=scaled)
        return scaled

    def inverse_transform(self, scaled: np.ndarray) -> np.ndarray:
        """``scaled`` mapped back."""
        return scaled * self.scale + self.offset


def _range(values) -> tuple[np.ndarray, np.ndarray]:
    if sparse.issparse(values):
        low, high = min_max_axis(values, axis=0)
    else:
        low, high = values.min(axis=0), values.max(axis=0)
    return np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)


def _minmax(values, what: str, constant: float) -> Scaling:
    low, high = _range(values)
    with np.errstate(over="ignore"):
        span = high - low
    if not np.isfinite(span).all():
        raise ValueError(
            f"The range of column {int(np.argmin(np.isfinite(span)))} of {what} is larger than float64 can hold; "
            "divide the column by a constant first."
        )
    return Scaling(low, np.where(span > 0.0, span, constant), limit=_FAR)


def _as_given(values, what: str, constant: float) -> Scaling:
    low, high = _range(values)
    if max(np.abs(low).max(initial=0.0), np.abs(high).max(initial=0.0)) > 1e100:
        raise ValueError(f"scaling=None takes {what} as it is, but it holds values beyond 1e100; use scaling='minmax'.")
    width = low.shape[0]
    return Scaling(np.zeros(width), np.ones(width))


SCALINGS = {"minmax": _minmax, None: _as_given}


def scale_inputs(name: str | None, X) -> Scaling:
    """The named scaling fitted to inputs X; a constant column carries nothing and is mapped to 0 for good."""
    return SCALINGS[name](X, "X", constant=np.inf)


def scale_targets(name: str | None, y: np.ndarray) -> Scaling:
    """The named scaling fitted to targets y; a constant target becomes 0, and 0 maps back to it."""
    return SCALINGS[name](y, "y", constant=1.0)
