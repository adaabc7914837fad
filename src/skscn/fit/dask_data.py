"""Training rows of Dask collections: what a fit needs from them is computed on the workers."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import NamedTuple, TypeAlias

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from skscn.fit.data import (
    ArrayData,
    RowStatistics,
    TrainingData,
    WeightCount,
    check_indicators,
    check_labels,
    fingerprint,
    indicators,
    labels_of,
    largest_weight,
    product,
    stretch_sums,
    stretchwise,
)
from skscn.fit.plan import MANY_ROWS
from skscn.losses import Loss, RowFunction, StatisticsOf
from skscn.network import Outputs
from skscn.rows import Backend, DaskBackend, stretch_length
from skscn.rows.blocks import Block
from skscn.rows.partitions import Collections, Part, Partitions
from skscn.scaling import InputScaling, Scaling, rounded, wanted_weight

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
        below = self.parts.changed(_ordered, self.values_of).total(_below, keys_of(cuts))
        return rounded(below, unit=self.parts.total(total_weight))

    def quantiles(self, shares: np.ndarray) -> np.ndarray:
        """For each share, the smallest value at or below which that share of the weight lies, by a search.

        Every step narrows the range of each quantile by a fixed factor, whatever the numbers; only the weights below
        the cuts of each range are sent to the driver.
        """
        ordered = self.parts.changed(_ordered, self.values_of)
        low, high = (keys_of(bound) for bound in self.range())
        total = ordered.total(_ordered_weight)
        return searched_quantiles(shares, total, low, high, lambda cuts: ordered.total(_below, cuts)).astype(self.dtype)


def searched_quantiles(
    shares: np.ndarray, total: float, low: np.ndarray, high: np.ndarray, below: Callable[[np.ndarray], np.ndarray]
) -> np.ndarray:
    """Shape (shares, d): quantiles of columns whose values are between ``low`` and ``high``, given as keys.

    ``below`` returns the weight up to each cut, of shape (steps, shares, d).
    """
    wanted = wanted_weight(shares, total)[:, np.newaxis]
    lows, highs = np.tile(low, (len(shares), 1)), np.tile(high, (len(shares), 1))
    while (lows < highs).any():
        cuts = _cuts(lows, highs)
        weights = below(cuts)
        # The first cut at or below which the share lies, and the one before it.
        first = (weights < wanted).sum(axis=0)
        begins, ends = np.vstack([lows[np.newaxis], cuts + np.uint64(1)]), np.vstack([cuts, highs[np.newaxis]])
        highs = np.take_along_axis(ends, first[np.newaxis], axis=0)[0]
        # Because of rounding, the weights may not quite reach the last share.
        lows = np.minimum(np.take_along_axis(begins, first[np.newaxis], axis=0)[0], highs)
    return values_of_keys(lows)


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
    keys = keys_of(values_of(part))
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


def keys_of(values: np.ndarray) -> np.ndarray:
    """Integers in the order of the float64 values, consecutive for neighbouring values."""
    # Adding 0 turns −0 into 0.
    bits = (values.astype(np.float64) + 0.0).view(np.uint64)
    negative = bits >> np.uint64(63) == 1
    return np.where(negative, ~bits, bits | np.uint64(1 << 63))


def values_of_keys(keys: np.ndarray) -> np.ndarray:
    """The float64 values again."""
    positive = keys >> np.uint64(63) == 1
    return np.where(positive, keys & np.uint64((1 << 63) - 1), ~keys).view(np.float64)


# Makes targets of the values of y.
MakeTargets: TypeAlias = Callable[[np.ndarray], np.ndarray]


class DaskData(TrainingData):
    """Rows in :class:`~skscn.rows.partitions.Partitions`; the driver keeps only what does not grow with them."""

    sample_weight = None

    def __init__(
        self,
        parts: Partitions[Part],
        shape: tuple[int, int],
        n_outputs: int,
        classes: np.ndarray | None,
        single_output: bool,
        single_precision: bool,
        n_given: int = 0,
        multilabel: bool = False,
        unit: float = 1.0,
    ):
        self.n_given, self.multilabel, self.unit = n_given, multilabel, unit
        self.parts, self.shape, self.n_outputs = parts, shape, n_outputs
        self.classes, self.single_output, self.single_precision = classes, single_output, single_precision
        self.X = self.y = parts
        self.dtype, self._weighted = parts.map(_kind)[0]

    @classmethod
    def regression(cls, collections: Collections) -> DaskData:
        """Rows with numbers as targets."""
        blocks = collections.blocks
        shapes, types = zip(*blocks.map(_target_kind), strict=True)
        parts, unit = _prepared(collections, _numbers)
        n_outputs = 1 if len(shapes[0]) == 0 else shapes[0][0]
        shape, single_precision = (parts.n_rows, collections.n_features), all(t == np.float32 for t in types)
        return cls(parts, shape, n_outputs, None, len(shapes[0]) == 0, single_precision, blocks.n_rows, unit=unit)

    @classmethod
    def classification(cls, collections: Collections) -> DaskData:
        """Rows with indicators of their classes as targets."""
        largest = _largest_weight(collections.blocks)
        n_labels = max(collections.blocks.map(_n_labels))
        if n_labels > 1:
            parts, unit = _prepared(collections, _indicator_table)
            shape = (parts.n_rows, collections.n_features)
            n_given = collections.blocks.n_rows
            return cls(parts, shape, n_labels, np.arange(n_labels), False, True, n_given, multilabel=True, unit=unit)
        found = np.concatenate(collections.blocks.map(_classes_in, largest))
        check_labels(found)
        classes = np.unique(found)
        # As if there were several rows per class, so that scikit-learn does not warn that they may not be classes.
        check_classification_targets(np.tile(classes, 3))
        parts, unit = _prepared(collections, partial(_indicated, classes=classes))
        n_outputs = 1 if len(classes) == 2 else len(classes)
        shape = (parts.n_rows, collections.n_features)
        return cls(parts, shape, n_outputs, classes, len(classes) == 2, True, collections.blocks.n_rows, unit=unit)

    def row_numbers(self) -> np.ndarray:
        """The numbers of the rows in the user's data, brought to the driver."""
        return np.concatenate(self.parts.map(_numbers_of))

    @cached_property
    def weight(self) -> float:  # type: ignore[override]
        """The sum of the weights; the number of rows without them."""
        return float(self.parts.total(total_weight)) if self._weighted else float(self.shape[0])

    def labels(self) -> np.ndarray | None:
        """The number of each row's class, if there are classes."""
        self._check_few()
        return None if self.classes is None or self.multilabel else np.concatenate(self.parts.map(_labels))

    def class_totals(self) -> np.ndarray:
        """The weight of the rows of each class."""
        assert self.classes is not None
        return self.parts.total(_class_totals, len(self.classes))

    def with_classes(self, classes: np.ndarray) -> DaskData:
        """The rows as they are: y has all of these classes."""
        if self.classes is None or not np.array_equal(classes, self.classes):
            raise ValueError("With Dask collections the first call of partial_fit needs rows of every class.")
        return self

    def with_class_factors(self, factors: np.ndarray) -> DaskData:
        """The rows with their weights multiplied by a factor for their class."""
        return self._with(self.parts.changed(_with_factors, factors))

    def _with(self, parts: Partitions[Part]) -> DaskData:
        """Other parts with the same targets."""
        shape = (parts.n_rows, self.shape[1])
        return DaskData(
            parts,
            shape,
            self.n_outputs,
            self.classes,
            self.single_output,
            self.single_precision,
            self.n_given,
            self.multilabel,
            self.unit,
        )

    def _check_few(self) -> None:
        if self.shape[0] > MANY_ROWS:
            raise ValueError(
                f"Rows are held out by their numbers, which for {self.shape[0]} rows are too many for the driver; use "
                'early_stopping="gcv", which holds out no rows, or "auto", which selects it.'
            )

    def take(self, rows: np.ndarray) -> ArrayData:
        """These rows, brought to the driver."""
        part = self.parts.take(rows)
        return ArrayData(
            part.X,
            part.targets,
            part.numbers,
            part.sample_weight,
            self._given(part.targets),
            self.classes,
            self.single_output,
            self.single_precision,
            multilabel=self.multilabel,
        )

    def _given(self, targets: np.ndarray) -> np.ndarray:
        """The targets as they were given."""
        if self.classes is None or self.multilabel:
            return targets[:, 0] if self.single_output else targets
        return np.repeat(self.classes, len(targets)) if len(self.classes) == 1 else self.classes[labels_of(targets)]

    def keep(self, rows: np.ndarray) -> DaskData:
        """These rows, left on the workers."""
        return self._with(self.parts.kept(rows))

    def statistics(self) -> RowStatistics:
        """What scalings need to know of the rows."""
        targets = PartStatistics(self.parts, _targets_of, np.dtype(np.float64))
        return RowStatistics(PartStatistics(self.parts, _inputs_of, self.dtype), targets)

    def statistics_of(self, model: Outputs | None) -> StatisticsOf:
        """Statistics of functions of targets and outputs of a model; None stands for outputs of 0."""
        # Whether the last bits of outputs depend on the stretches does not matter without any.
        parts = self.parts if model is None else self._aligned
        return lambda function: PartStatistics(
            parts.changed(_evaluated, function, model, self._length), _targets_of, np.dtype(np.float64)
        )

    def row_values(self, function: RowFunction, model: Outputs) -> np.ndarray:
        """A function of targets and outputs of a model, for each row, brought to the driver."""
        return np.concatenate(self._aligned.map(_values, function, model, self._length))

    @property
    def _length(self) -> int:
        return stretch_length(self.shape[0])

    @cached_property
    def _aligned(self) -> Partitions[Part]:
        """Parts of whole stretches, whose outputs have the same last bits as those of rows in memory."""
        values, _ = self.parts.aligned()
        return Partitions(values)

    def open_backend(self, inputs: InputScaling, outputs: Scaling, n_jobs: int | None) -> Backend:
        """The rows for growth, inputs and targets scaled; the cluster determines how many workers run at a time."""
        shape = (self.shape[0], len(inputs.sources), self.n_outputs)
        return DaskBackend(self.parts, shape, scaling=inputs, outputs=outputs)

    def working(self, loss: Loss, model: Outputs | None) -> DaskData:
        """The rows with the working targets and weights of a loss, given the model so far."""
        if loss.plain:
            return self
        return self._with(self._aligned.changed(_working, loss, model, self._length))

    def mean_loss(self, loss: Loss, model: Outputs) -> float:
        """The weighted mean of the loss over the rows."""
        sums = self._aligned.map(_sums_of_loss, loss, model, self._length)
        return float(np.concatenate(sums).sum()) / self.weight

    def fingerprint_sums(self) -> np.ndarray:
        """The two numbers of :func:`fingerprint` for all rows."""
        return np.sum(self.parts.map_with_starts(_fingerprint), axis=0)


# ---- what happens on a worker


def _prepared(collections: Collections, make_targets: MakeTargets) -> tuple[Partitions[Part], float]:
    """Parts with targets and effective weights, without the rows of weight 0, and the unit of the weights."""
    blocks = collections.blocks
    types, weighted = zip(*blocks.map(_kind), strict=True)
    dtype = np.result_type(*types)
    largest = _largest_weight(blocks)
    counted = blocks.total(_weight_count, largest) if weighted[0] else None
    parts = blocks.changed_with_starts(_part, make_targets, dtype, largest, counted)
    # The parts contain all that is needed from them.
    blocks.values.clear()
    return parts, 1.0 if counted is None else counted.unit(largest)


def _largest_weight(blocks: Partitions[Block]) -> float:
    return largest_weight([some for some in blocks.map(_weight_range) if some is not None])


def _kind(part: Part | Block) -> tuple[np.dtype, bool]:
    return part.X.dtype, part.sample_weight is not None


def _target_kind(block: Block) -> tuple[tuple[int, ...], np.dtype]:
    return block.y.shape[1:], block.y.dtype


def _classes_in(block: Block, largest: float) -> np.ndarray:
    if block.y.ndim != 1 and block.y.shape[1:] != (1,):
        raise ValueError(f"y must have one column of classes, but it has shape {block.y.shape}.")
    check_labels(block.y)
    return np.unique(block.y.reshape(-1)[weights_of(block) / largest > 0.0])


def _weight_range(block: Block) -> tuple[float, float] | None:
    weights = weights_of(block)
    return (float(weights.min()), float(weights.max())) if len(weights) else None


def _weight_count(block: Block, largest: float) -> WeightCount:
    return WeightCount.of(weights_of(block), largest)


def _part(
    block: Block, start: int, make_targets: MakeTargets, dtype: np.dtype, largest: float, counted: WeightCount | None
) -> Part:
    X, targets = block.X.astype(dtype, copy=False), make_targets(block.y)
    numbers = np.arange(start, start + len(X))
    if counted is None:
        return Part(X, targets, None, numbers)
    counts = weights_of(block) / largest > 0.0
    if not counts.all():
        X, targets, numbers = X[counts], targets[counts], numbers[counts]
    part = Part(X, targets, weights_of(block)[counts], numbers)
    return part._replace(sample_weight=counted.scaled(weights_of(part), largest))


def _numbers(y: np.ndarray) -> np.ndarray:
    if y.dtype.kind not in "biufO":
        raise ValueError(f"The target has values of type {y.dtype}, not numbers; use a classifier for classes.")
    return (y[:, np.newaxis] if y.ndim == 1 else y).astype(np.float64)


def _indicated(y: np.ndarray, classes: np.ndarray) -> np.ndarray:
    return indicators(np.searchsorted(classes, y.reshape(-1)), len(classes))


def _outputs(part: Part, model: Outputs | None, length: int) -> np.ndarray:
    return np.zeros_like(part.targets) if model is None else stretchwise(model.link, part.X, length)


def _values(part: Part, function: RowFunction, model: Outputs | None, length: int) -> np.ndarray:
    return function(part.targets, _outputs(part, model, length))


def _evaluated(part: Part, function: RowFunction, model: Outputs | None, length: int) -> Part:
    return part._replace(targets=_values(part, function, model, length))


def _working(part: Part, loss: Loss, model: Outputs | None, length: int) -> Part:
    targets, weights = loss.working(part.targets, None if model is None else _outputs(part, model, length))
    return part._replace(targets=targets, sample_weight=product(part.sample_weight, weights))


def _sums_of_loss(part: Part, loss: Loss, model: Outputs, length: int) -> np.ndarray:
    return stretch_sums(_values(part, loss.value, model, length), part.sample_weight, length)


def _inputs_of(part: Part) -> np.ndarray:
    return part.X


def _targets_of(part: Part) -> np.ndarray:
    return part.targets


def _numbers_of(part: Part) -> np.ndarray:
    return part.numbers


def _n_labels(block: Block) -> int:
    return 1 if block.y.ndim == 1 else int(block.y.shape[1])


def _indicator_table(y: np.ndarray) -> np.ndarray:
    check_indicators(y)
    return y.astype(np.float64)


def _class_totals(part: Part, count: int) -> np.ndarray:
    return np.bincount(labels_of(part.targets), part.sample_weight, count).astype(np.float64)


def _with_factors(part: Part, factors: np.ndarray) -> Part:
    return part._replace(sample_weight=product(part.sample_weight, factors[labels_of(part.targets)]))


def _labels(part: Part) -> np.ndarray:
    return labels_of(part.targets)


def _fingerprint(part: Part, start: int) -> np.ndarray:
    weights = None if part.sample_weight is None else part.sample_weight[:, np.newaxis]
    return fingerprint(start, part.X, part.targets, weights)
