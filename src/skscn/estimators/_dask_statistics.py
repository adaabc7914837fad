"""Ranges, moments and quantiles of rows on the workers of a Dask cluster, from which scalings are made."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np

from skscn.rows.blocks import Block
from skscn.rows.partitions import Part, Partitions
from skscn.scaling import rounded, wanted_weight

# Number of parts into which a search for quantiles divides a range in each round: 8 rounds find a float64.
_STEPS = 256
# The inputs or the targets of a part.
ValuesOf: TypeAlias = Callable[[Part], np.ndarray]


def weights_of(part: Part | Block) -> np.ndarray:
    """Its weights; ones without them."""
    return np.ones(len(part.X)) if part.sample_weight is None else part.sample_weight


def total_weight(part: Part) -> float:
    """The sum of its weights."""
    return float(weights_of(part).sum())


class PartStatistics:
    """Column by column, of inputs or targets; exact up to the order of summation.

    Parameters
    ----------
    parts : Partitions
        Of :class:`~skscn.rows.partitions.Part`.
    values_of : callable
        The inputs or the targets of a part.
    dtype : dtype
        Their type.
    """

    def __init__(self, parts: Partitions[Part], values_of: ValuesOf, dtype: np.dtype):
        self.parts, self.values_of, self.dtype = parts, values_of, dtype

    def range(self) -> tuple[np.ndarray, np.ndarray]:
        """The smallest and the largest value."""
        found = [some for some in self.parts.map(_range, self.values_of) if some is not None]
        lows, highs = zip(*found, strict=True)
        return np.min(lows, axis=0).astype(np.float64), np.max(highs, axis=0).astype(np.float64)

    def moments(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance."""
        total = self.parts.total(total_weight)
        mean = self.parts.total(_moment, self.values_of, 0.0, 1) / total
        return mean, self.parts.total(_moment, self.values_of, mean, 2) / total

    def below(self, cuts: np.ndarray) -> np.ndarray:
        """The weight of the rows at or below each cut."""
        below = self.parts.changed(_ordered, self.values_of).total(_below, _order(cuts))
        return rounded(below, unit=self.parts.total(total_weight))

    def quantiles(self, shares: np.ndarray) -> np.ndarray:
        """For each share, the smallest value at or below which that share of the weight lies, by a search.

        Every step narrows the range of each quantile by a fixed factor, whatever the numbers; only the weights below
        the cuts of each range are sent to the driver.
        """
        ordered = self.parts.changed(_ordered, self.values_of)
        total = ordered.total(_ordered_weight)
        low, high = (_order(bound) for bound in self.range())
        wanted = wanted_weight(shares, total)[:, np.newaxis]
        lows, highs = np.tile(low, (len(shares), 1)), np.tile(high, (len(shares), 1))
        while (lows < highs).any():
            cuts = _cuts(lows, highs)
            below = ordered.total(_below, cuts)
            # The first cut at or below which the share lies, and the one before it.
            first = (below < wanted).sum(axis=0)
            begins, ends = np.vstack([lows[np.newaxis], cuts + np.uint64(1)]), np.vstack([cuts, highs[np.newaxis]])
            highs = np.take_along_axis(ends, first[np.newaxis], axis=0)[0]
            # Because of rounding, the weights may not quite reach the last share.
            lows = np.minimum(np.take_along_axis(begins, first[np.newaxis], axis=0)[0], highs)
        return _value(lows).astype(self.dtype)


class _Ordered(NamedTuple):
    """Each column of some rows sorted, as integers, and the cumulative weight up to each place."""

    X: np.ndarray
    weights: np.ndarray


def _range(part: Part, values_of: ValuesOf) -> tuple[np.ndarray, np.ndarray] | None:
    values = values_of(part)
    return (values.min(axis=0), values.max(axis=0)) if len(values) else None


def _moment(part: Part, values_of: ValuesOf, centre: np.ndarray | float, power: int) -> np.ndarray:
    values = (values_of(part).astype(np.float64) - centre) ** power
    moment: np.ndarray = weights_of(part) @ values
    return moment


def _ordered(part: Part, values_of: ValuesOf) -> _Ordered:
    keys = _order(values_of(part))
    places = np.argsort(keys, axis=0, kind="stable")
    weights = np.vstack([np.zeros((1, keys.shape[1])), np.cumsum(weights_of(part)[places], axis=0)])
    return _Ordered(np.take_along_axis(keys, places, axis=0), weights)


def _ordered_weight(ordered: _Ordered) -> float:
    return float(ordered.weights[-1, 0])


def _below(ordered: _Ordered, cuts: np.ndarray) -> np.ndarray:
    """The weight of the rows up to each cut, cuts of shape (steps, shares, d)."""
    below = np.empty(cuts.shape)
    for j, keys in enumerate(ordered.X.T):
        below[..., j] = ordered.weights[np.searchsorted(keys, cuts[..., j], side="right"), j]
    return below


def _cuts(lows: np.ndarray, highs: np.ndarray) -> np.ndarray:
    """Equally spaced cuts from ``lows`` up to below ``highs``; all integers if there are few."""
    steps = np.arange(1, _STEPS, dtype=np.uint64).reshape(-1, 1, 1)
    whole, rest = np.divmod(highs - lows, np.uint64(_STEPS))
    cuts: np.ndarray = lows + whole * steps + rest * steps // np.uint64(_STEPS)
    return cuts


def _order(values: np.ndarray) -> np.ndarray:
    """Integers in the order of the float64 values, consecutive for neighbouring values."""
    # Adding 0 turns −0 into 0.
    bits = (values.astype(np.float64) + 0.0).view(np.uint64)
    negative = bits >> np.uint64(63) == 1
    return np.where(negative, ~bits, bits | np.uint64(1 << 63))


def _value(keys: np.ndarray) -> np.ndarray:
    """The float64 values again."""
    positive = keys >> np.uint64(63) == 1
    return np.where(positive, keys & np.uint64((1 << 63) - 1), ~keys).view(np.float64)
