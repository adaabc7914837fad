"""Scaling of inputs and targets; the paper maps both to [0, 1].

A :class:`Scaling` is applied block by block while rows are read, so the training data are never copied.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from sklearn.utils.sparsefuncs import min_max_axis

# Scaled values beyond this are far outside the training range; the bound keeps wᵀx finite.
_FAR = 1e9
# The same for values taken as they are; squares of squares of them are still finite.
_LARGEST = 1e30


@dataclass(frozen=True, eq=False)
class Scaling:
    """The map x → (x − offset) / scale, column by column, with |result| at most ``limit``."""

    name: str | None
    offset: np.ndarray
    scale: np.ndarray
    limit: float

    def transform(self, values: np.ndarray) -> np.ndarray:
        """``values`` scaled, as a new float64 array."""
        # Values near the ends of float64 may overflow here; the limit brings them back.
        with np.errstate(over="ignore"):
            scaled = np.subtract(values, self.offset, dtype=np.float64)
            scaled /= self.scale
        return np.clip(scaled, -self.limit, self.limit, out=scaled)

    def inverse_transform(self, scaled: np.ndarray) -> np.ndarray:
        """``scaled`` mapped back; the largest float64 where that is larger still."""
        largest = np.finfo(np.float64).max
        with np.errstate(over="ignore"):
            return np.clip(scaled * self.scale + self.offset, -largest, largest)


def _range(values) -> tuple[np.ndarray, np.ndarray]:
    if sparse.issparse(values):
        low, high = min_max_axis(values, axis=0)
    else:
        low, high = values.min(axis=0), values.max(axis=0)
    return np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)


def _minmax(values, what: str) -> tuple[np.ndarray, np.ndarray, float]:
    low, high = _range(values)
    with np.errstate(over="ignore"):
        span = high - low
    if not np.isfinite(span).all():
        raise ValueError(
            f"The range of column {int(np.argmin(np.isfinite(span)))} of {what} is larger than float64 can hold; "
            "divide the column by a constant first."
        )
    return low, span, _FAR


def _as_given(values, what: str) -> tuple[np.ndarray, np.ndarray, float]:
    low, high = _range(values)
    if max(-low.min(initial=0.0), high.max(initial=0.0)) > _LARGEST:
        raise ValueError(
            f"scaling=None takes {what} as it is, but it holds values beyond {_LARGEST:g}; use scaling='minmax'."
        )
    return np.zeros_like(low), np.ones_like(low), _LARGEST


# name -> function of (values, what they are) that gives offset, scale (0 for a constant column) and limit
SCALINGS = {"minmax": _minmax, None: _as_given}


def scale_inputs(name: str | None, X) -> Scaling:
    """The named scaling fitted to inputs X; a constant column carries nothing and is mapped to 0 for good."""
    offset, scale, limit = SCALINGS[name](X, "X")
    constant = scale == 0.0
    return Scaling(name, np.where(constant, 0.0, offset), np.where(constant, np.inf, scale), limit)


def scale_targets(name: str | None, y: np.ndarray) -> Scaling:
    """The named scaling fitted to targets y; a constant target becomes 0, and 0 maps back to it."""
    offset, scale, limit = SCALINGS[name](y, "y")
    return Scaling(name, offset, np.where(scale == 0.0, 1.0, scale), limit)
