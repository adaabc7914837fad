"""Scaling of inputs and targets; the paper maps both to [0, 1].

A :class:`Scaling` is applied block by block while rows are read, so the training data are never copied.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeAlias

import numpy as np
from scipy import sparse
from sklearn.utils.sparsefuncs import mean_variance_axis, min_max_axis

# Scaled values beyond this are far outside the training range; the bound keeps wᵀx finite.
_FAR = 1e9
# The same for values that are not scaled; their fourth powers are still finite.
_LARGEST = 1e30
_LARGEST_FLOAT = float(np.finfo(np.float64).max)
# Knots of the map to quantiles.
_KNOTS = 101
# Between these quantiles lies the part of a column that the robust scaling maps to [0, 1].
_INNER = (0.02, 0.98)
# The share of its range by which a column moves, of those that rise or fall with time; a straight line moves by half.
_MOVED = 0.2


@dataclass(frozen=True, eq=False)
class Scaling:
    """The map x → (x − offset) / scale, column by column, with results kept between ``low`` and ``high``."""

    name: str | None
    offset: np.ndarray
    scale: np.ndarray
    low: float
    high: float

    @property
    def sources(self) -> np.ndarray:
        """The column of X that each input of a network is computed from."""
        return np.arange(len(self.offset))

    @classmethod
    def centred(cls, offset: np.ndarray, scale: np.ndarray) -> "Scaling":
        """A scaling of outputs, around an offset."""
        return cls("centred", offset, scale, -_FAR, _FAR)

    def transform(self, values: Any, out: np.ndarray | None = None) -> np.ndarray:
        """``values`` scaled, as a new float64 array or in ``out``; it is fastest if both are contiguous by columns.

        Sparse rows are made dense, so pass a block of them, not all.
        """
        values = values.toarray() if sparse.issparse(values) else values
        into = np.empty(values.shape[::-1]) if out is None else out.T
        # Values near the ends of float64 may overflow here; the limits bring them back.
        with np.errstate(over="ignore"):
            np.subtract(values.T, self.offset[:, np.newaxis], out=into, dtype=np.float64)
            into /= self.scale[:, np.newaxis]
        return into.clip(self.low, self.high, out=into).T

    def rmse(self, squares: np.ndarray) -> float:
        """The root of the mean of each column's mean squared error, scaled, in the units before scaling."""
        largest = float(self.scale.max())
        return float(largest * np.sqrt(np.mean(squares * (self.scale / largest) ** 2)))

    def inverse_transform(self, scaled: np.ndarray, ends: tuple[np.ndarray, np.ndarray] | None = None) -> np.ndarray:
        """``scaled`` mapped back and kept between the ends, by default of float64."""
        with np.errstate(over="ignore"):
            # With as many axes as the values, single rows are faster.
            unscaled: np.ndarray = scaled * self.scale[np.newaxis]
            unscaled += self.offset[np.newaxis]
        low, high = (-_LARGEST_FLOAT, _LARGEST_FLOAT) if ends is None else ends
        return unscaled.clip(low, high, out=unscaled)


@dataclass(frozen=True, eq=False)
class QuantileScaling:
    """Maps each column to the share of training rows below a value, linear between knots and constant beyond them.

    Attributes
    ----------
    name : str
    knots, shares : ndarray of shape (k, d)
        Increasing values of each column and what they are mapped to.
    """

    name: str
    knots: np.ndarray
    shares: np.ndarray

    @property
    def sources(self) -> np.ndarray:
        """The column of X that each input of a network is computed from."""
        return np.arange(self.knots.shape[1])

    def transform(self, values: Any, out: np.ndarray | None = None) -> np.ndarray:
        """``values`` scaled, as a new float64 array or in ``out``; sparse rows are made dense."""
        values = values.toarray() if sparse.issparse(values) else values
        scaled = np.empty(values.shape) if out is None else out
        for j, (knots, shares) in enumerate(zip(self.knots.T, self.shares.T, strict=True)):
            scaled[:, j] = np.interp(values[:, j], knots, shares)
        return scaled

    def inverse_transform(self, scaled: np.ndarray) -> np.ndarray:
        """The values that are mapped to ``scaled``; NaN where there are none."""
        values = np.empty(scaled.shape)
        for j, (knots, shares) in enumerate(zip(self.knots.T, self.shares.T, strict=True)):
            values[:, j] = np.interp(scaled[:, j], shares, knots, left=np.nan, right=np.nan)
        return values


@dataclass(frozen=True, eq=False)
class WithJumps:
    """A scaling, and an input 1[x > t] for each jump of the function along a column.

    Attributes
    ----------
    scaling : Scaling or QuantileScaling
        Of the columns.
    columns : ndarray of int, shape (j,)
    thresholds : ndarray of shape (j,)
        t, in units of the column.
    """

    scaling: Scaling | QuantileScaling
    columns: np.ndarray
    thresholds: np.ndarray

    @property
    def name(self) -> str | None:
        """The name of the scaling."""
        return self.scaling.name

    @property
    def sources(self) -> np.ndarray:
        """The column of X that each input of a network is computed from."""
        return np.append(self.scaling.sources, self.columns)

    def transform(self, values: Any, out: np.ndarray | None = None) -> np.ndarray:
        """``values`` scaled, and further inputs, as a new float64 array or in ``out``; sparse rows are made dense."""
        values = values.toarray() if sparse.issparse(values) else values
        first = values.shape[1]
        inputs = np.empty((first + len(self.columns), len(values))).T if out is None else out
        self.scaling.transform(values, inputs[:, :first])
        np.greater(values[:, self.columns], self.thresholds, out=inputs[:, first:])
        return inputs


@dataclass(frozen=True, eq=False)
class WithQuantiles:
    """A scaling, and the quantiles of all columns as further inputs, for nodes of networks with either.

    Attributes
    ----------
    scaling : Scaling or WithJumps
    quantiles : QuantileScaling
    """

    scaling: Scaling | WithJumps
    quantiles: QuantileScaling

    @property
    def name(self) -> str | None:
        """The name of the scaling."""
        return self.scaling.name

    @property
    def sources(self) -> np.ndarray:
        """The column of X that each input of a network is computed from."""
        return np.append(self.scaling.sources, self.quantiles.sources)

    def transform(self, values: Any, out: np.ndarray | None = None) -> np.ndarray:
        """``values`` scaled, and their quantiles, as a new float64 array or in ``out``; sparse rows are made dense."""
        values = values.toarray() if sparse.issparse(values) else values
        first, width = len(self.scaling.sources), len(self.sources)
        inputs = np.empty((width, len(values))).T if out is None else out
        self.scaling.transform(values, inputs[:, :first])
        self.quantiles.transform(values, inputs[:, first:])
        return inputs


ColumnScaling = Scaling | QuantileScaling
InputScaling = ColumnScaling | WithJumps | WithQuantiles


def scaling_of_columns(scaling: InputScaling) -> ColumnScaling:
    """The scaling of the columns themselves, without further inputs."""
    return scaling_of_columns(scaling.scaling) if isinstance(scaling, WithJumps | WithQuantiles) else scaling


# An array, a sparse matrix (SciPy has no types), or inputs in a file, with ``shape`` and a method ``column(number)``.
Columns: TypeAlias = Any


class Statistics(Protocol):
    """What scalings need to know about inputs or targets, column by column."""

    def range(self) -> tuple[np.ndarray, np.ndarray]:
        """The smallest and the largest value."""
        ...

    def quantiles(self, shares: np.ndarray) -> np.ndarray:
        """Shape (shares, d): for each share, the smallest value at or below which that share of the weight lies."""
        ...

    def moments(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance."""
        ...

    def below(self, cuts: np.ndarray) -> np.ndarray:
        """Shape (k, d), as the cuts: the weight of the rows at or below each of them."""
        ...


@dataclass(frozen=True, eq=False)
class ArrayStatistics:
    """Of an array, a sparse matrix, or inputs in a file."""

    values: Columns
    weights: np.ndarray | None = None

    def range(self) -> tuple[np.ndarray, np.ndarray]:
        """The smallest and the largest value."""
        values = self.values
        if sparse.issparse(values):
            low, high = min_max_axis(values, axis=0)
        elif not isinstance(values, np.ndarray):
            low, high = np.array([(c.min(), c.max()) for c in _columns(values)]).T
        else:
            low, high = values.min(axis=0), values.max(axis=0)
        return np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)

    def quantiles(self, shares: np.ndarray) -> np.ndarray:
        """For each share, the smallest value at or below which that share of the weight lies."""
        found, last = [], self.values.shape[0] - 1
        for column in _columns(self.values):
            if self.weights is None:
                # The rows need not be sorted.
                places = np.maximum(np.ceil(wanted_weight(shares, len(column))).astype(int) - 1, 0)
                found.append(np.partition(column, np.unique(places))[places])
            else:
                order = np.argsort(column, kind="stable")
                below = np.cumsum(self.weights[order])
                places = np.searchsorted(below, wanted_weight(shares, below[-1]))
                found.append(column[order][np.minimum(places, last)])
        return np.array(found).T

    def moments(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance."""
        if sparse.issparse(self.values):
            mean, variance = mean_variance_axis(self.values.astype(np.float64), axis=0, weights=self.weights)
            return mean, variance
        means, variances = [], []
        for column in _columns(self.values):
            values = np.ascontiguousarray(column, dtype=np.float64)
            means.append(np.average(values, weights=self.weights))
            variances.append(np.average((values - means[-1]) ** 2, weights=self.weights))
        return np.array(means), np.array(variances)

    def below(self, cuts: np.ndarray) -> np.ndarray:
        """The weight of the rows at or below each cut."""
        found = []
        for column, places in zip(_columns(self.values), cuts.T, strict=True):
            order = np.argsort(column, kind="stable")
            sums = np.arange(len(column) + 1.0)
            if self.weights is not None:
                sums = np.append(0.0, np.cumsum(self.weights[order]))
            # Rounded, so that the order of summation does not matter.
            found.append(rounded(sums[np.searchsorted(column[order], places, side="right")], unit=sums[-1]))
        return np.array(found).T


def rounded(values: np.ndarray | float, unit: np.ndarray | float | None = None) -> np.ndarray:
    """Round to about nine digits relative to the unit, by default to each value itself.

    The last digits of a sum over many rows depend on the order of summation.
    """
    _, exponent = np.frexp(values if unit is None else unit)
    digit = np.ldexp(1.0, np.maximum(exponent - 30, -1022))
    return np.asarray(np.rint(values / digit) * digit)


def _affine(name: str | None, offset: np.ndarray, scale: np.ndarray, low: float = -_FAR, high: float = _FAR) -> Scaling:
    """A column with scale 0 is constant, carries no information, and is always mapped to 0."""
    constant = scale == 0.0
    return Scaling(name, np.where(constant, 0.0, offset), np.where(constant, np.inf, scale), low, high)


def _minmax(inputs: Statistics) -> Scaling:
    """To [0, 1], as in the paper."""
    low, high = inputs.range()
    return _affine("minmax", low, _span(low, high, "X"))


def _robust(inputs: Statistics) -> Scaling:
    """Map the middle 96 % to [0, 1], and clip values farther out than half that range.

    Outliers neither compress the other values nor distort predictions.
    """
    low, inner_low, median, inner_high, high = inputs.quantiles(np.array([0.0, _INNER[0], 0.5, _INNER[1], 1.0]))
    everything = _span(low, high, "X")
    inner = inner_high - inner_low
    # A column that consists mostly of one value has no usable middle range.
    spread_out = (inner_low < median) & (median < inner_high)
    offset, scale = np.where(spread_out, inner_low, low), np.where(spread_out, inner, everything)
    return _affine("robust", offset, scale, low=-0.5, high=1.5)


def moved(earlier: Statistics, later: Statistics) -> tuple[np.ndarray, np.ndarray]:
    """How far columns have moved downwards and upwards from the first half of the rows to the second.

    Their middle and the end on that side have; one of them alone moves by chance, or because a sensor fails. What moves
    by a small share of its range, as most columns do that wander, has not moved.
    """
    before, after = (half.quantiles(np.array([_INNER[0], 0.5, _INNER[1]])) for half in (earlier, later))
    least = _MOVED * (np.maximum(before[2], after[2]) - np.minimum(before[0], after[0]))
    low, middle, high = after - before
    downwards, upwards = np.minimum(-low, -middle), np.minimum(middle, high)
    return np.where(downwards > least, downwards, 0.0), np.where(upwards > least, upwards, 0.0)


def with_room(scaling: ColumnScaling, below: np.ndarray, above: np.ndarray) -> ColumnScaling:
    """The robust scaling with a range that is extended, so that values there are told apart; others as they are."""
    if not isinstance(scaling, Scaling) or scaling.name != "robust":
        return scaling
    return replace(scaling, offset=scaling.offset - below, scale=scaling.scale + below + above)


def _standard(inputs: Statistics) -> Scaling:
    """To mean 0 and standard deviation 1."""
    low, high = inputs.range()
    _span(low, high, "X")
    mean, variance = inputs.moments()
    # Rounding gives a constant column a variance that is almost 0, or below.
    deviation = np.where(low == high, 0.0, np.sqrt(np.maximum(variance, 0.0)))
    return _affine("standard", rounded(mean, unit=deviation), rounded(deviation))


def _quantile(inputs: Statistics) -> QuantileScaling:
    """Map to the share of rows below, so that values are spread evenly over [0, 1] whatever their distribution."""
    shares = np.linspace(0.0, 1.0, _KNOTS)
    knots = inputs.quantiles(shares)
    mapped = np.empty_like(knots)
    for j, column in enumerate(knots.T):
        # A value that fills several quantiles is mapped to their middle; the only value of a constant column to 0.
        _, place, count = np.unique(column, return_inverse=True, return_counts=True)
        mapped[:, j] = (np.bincount(place, shares) / count)[place] if len(count) > 1 else 0.0
    return QuantileScaling("quantile", knots, mapped)


def _as_given(values: Statistics, what: str = "X") -> Scaling:
    low, high = values.range()
    if max(-low.min(initial=0.0), high.max(initial=0.0)) > _LARGEST:
        raise ValueError(
            f"scaling=None uses {what} as it is, but it has values beyond {_LARGEST:g}; use scaling='minmax'."
        )
    return Scaling(None, np.zeros_like(low), np.ones_like(low), low=-_LARGEST, high=_LARGEST)


def _span(low: np.ndarray, high: np.ndarray, what: str) -> np.ndarray:
    with np.errstate(over="ignore"):
        span = np.asarray(high - low)
    if not np.isfinite(span).all():
        raise ValueError(
            f"The range of column {int(np.argmin(np.isfinite(span)))} of {what} is larger than float64 can hold; "
            "divide the column by a constant first."
        )
    return span


def _columns(values: Columns) -> Iterator[np.ndarray]:
    """Column by column, to save memory; objects other than arrays have a method of their own for it."""
    if sparse.issparse(values):
        values = values.tocsc()
    for j in range(values.shape[1]):
        if sparse.issparse(values):
            yield values[:, [j]].toarray()[:, 0]
        else:
            yield values[:, j] if isinstance(values, np.ndarray) else values.column(j)


def wanted_weight(shares: np.ndarray, total: float) -> np.ndarray:
    """The weight at which a quantile is reached: a little less than its share, so rounding does not decide ties."""
    return shares * total * (1.0 - 2.0**-30)


def weighted_quantiles(values: np.ndarray, weights: np.ndarray | None, shares: np.ndarray) -> np.ndarray:
    """For each column of ``values``, the smallest value at or below which its share of the weight lies.

    A row of weight 2 counts as two rows.
    """
    order = np.argsort(values, axis=0, kind="stable")
    ordered = np.take_along_axis(values, order, axis=0)
    below = np.cumsum(np.ones_like(order, dtype=np.float64) if weights is None else weights[order], axis=0)
    place = (below < wanted_weight(shares, below[-1])).sum(axis=0)
    return np.asarray(np.take_along_axis(ordered, np.minimum(place, len(values) - 1)[np.newaxis, :], axis=0)[0])


SCALINGS: dict[str | None, Callable[[Statistics], ColumnScaling]] = {
    "minmax": _minmax,
    "robust": _robust,
    "standard": _standard,
    "quantile": _quantile,
    None: _as_given,
}


def scale_inputs(name: str | None, X: Columns, sample_weight: np.ndarray | None = None) -> ColumnScaling:
    """The named scaling fitted to inputs X."""
    return SCALINGS[name](ArrayStatistics(X, sample_weight))


def scale_targets(name: str | None, y: np.ndarray | Statistics) -> Scaling:
    """A scaling fitted to targets of shape (N, m), or to what is known of them.

    They stay as they are if the name is None, else they are mapped to [0, 1]; a constant target becomes 0, and 0 maps
    back to it.
    """
    targets = ArrayStatistics(y) if isinstance(y, np.ndarray) else y
    if name is None:
        return _as_given(targets, "y")
    low, high = targets.range()
    span = _span(low, high, "y")
    return Scaling(name, low, np.where(span == 0.0, 1.0, span), -_FAR, _FAR)


def medians_of(X: np.ndarray) -> np.ndarray:
    """The median of what is known in each column; 0 where nothing is."""
    known = (column[~np.isnan(column)] for column in np.asarray(X, dtype=np.float64).T)
    # Halves, because the sum of two huge numbers overflows.
    return np.array([np.median(some / 2.0) * 2.0 if len(some) else 0.0 for some in known])
