"""Validated training rows, as a fit needs them: labels, weights, targets, and which are held out for early stopping.

Rows of Dask collections are in ``dask_data.py``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from numbers import Integral, Number
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics.cluster import contingency_matrix
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight

from skscn.checks import is_dask
from skscn.losses import Loss, RowFunction, StatisticsOf
from skscn.network import Outputs
from skscn.nodes import Matrix
from skscn.rows import Backend, ScratchInputs, open_backend, stretch_length
from skscn.scaling import ArrayStatistics, InputScaling, Scaling, Statistics, rounded
from skscn.tables.row_encoder import RowEncoder
from skscn.threads import single_threaded
from skscn.words import listed

# Inputs on this machine.
LocalInputs: TypeAlias = Matrix | ScratchInputs

# What sample weights mean: counts of equal rows, or weights relative to their mean; and the unit that follows.

# Integer weights with a larger mean than this are treated as weights rather than counts of rows.
LARGEST_MEAN_COUNT = 10


class PositiveRows(NamedTuple):
    """X, y, the weights and the numbers of rows of positive weight, and the given weight that counts as 1."""

    X: LocalInputs
    y: np.ndarray
    sample_weight: np.ndarray | None
    numbers: np.ndarray
    unit: float


def positive_rows(X: LocalInputs, y: np.ndarray, sample_weight: ArrayLike | None) -> PositiveRows:
    """The rows of positive weight.

    Integers that are small on average are counts of equal rows, in units of their greatest common divisor; other
    weights are scaled to a mean of about 1. So the unit of the weights does not matter.
    """
    numbers = np.arange(X.shape[0])
    if sample_weight is None:
        return PositiveRows(X, y, None, numbers, 1.0)
    weights: np.ndarray = _check_sample_weight(sample_weight, X, dtype=np.float64)
    largest = largest_weight([(weights.min(), weights.max())])
    counted = WeightCount.of(weights, largest)
    if counted.rows < X.shape[0]:
        numbers = np.flatnonzero(weights / largest)
        X, y, weights = X[numbers], y[numbers], weights[numbers]
    return PositiveRows(X, y, counted.scaled(weights, largest), numbers, counted.unit(largest))


def largest_weight(ranges: list[tuple[float, float]]) -> float:
    """The largest weight, from the smallest and the largest of parts of the rows."""
    smallest, largest = min(low for low, _ in ranges), max(high for _, high in ranges)
    if smallest < 0 or largest <= 0:
        raise ValueError("sample_weight must contain numbers of at least 0, and not only zeros.")
    return float(largest)


@dataclass(frozen=True)
class WeightCount:
    """How sample weights are interpreted; the values of parts of the rows can be added.

    Attributes
    ----------
    rows : int
        Rows of positive weight.
    relative : float
        The sum of their weights relative to the largest, so that it cannot overflow.
    whole : float
        The sum of the weights, if they are integers; else infinity.
    divisor : int
        Their greatest common divisor, if they are integers.
    """

    rows: int
    relative: float
    whole: float
    divisor: int

    @classmethod
    def of(cls, weights: np.ndarray, largest: float) -> WeightCount:
        """For some weights; those that are 0 relative to the largest are ignored."""
        relative = weights / largest
        weights, relative = weights[relative > 0.0], relative[relative > 0.0]
        if largest >= 2**53 or (weights != np.rint(weights)).any():
            return cls(len(weights), float(relative.sum()), np.inf, 0)
        divisor = int(np.gcd.reduce(weights.astype(np.int64)))
        return cls(len(weights), float(relative.sum()), float(weights.sum()), divisor)

    def __add__(self, other: WeightCount) -> WeightCount:
        """For two sets of rows together."""
        divisor = int(np.gcd(self.divisor, other.divisor))
        return WeightCount(self.rows + other.rows, self.relative + other.relative, self.whole + other.whole, divisor)

    @property
    def _counts(self) -> bool:
        """Whether the weights are counts of equal rows."""
        return self.whole < 2**53 and self.whole <= LARGEST_MEAN_COUNT * self.divisor * self.rows

    def unit(self, largest: float) -> float:
        """The weight that counts as 1."""
        return float(self.divisor) if self._counts else largest * float(rounded(self.relative / self.rows))

    def scaled(self, weights: np.ndarray, largest: float) -> np.ndarray:
        """Counts of equal rows, or weights with a mean of about 1."""
        if self._counts:
            counts: np.ndarray = weights / self.divisor
            return counts
        # Rounded, so that the mean does not depend on the order of summation.
        scaled: np.ndarray = weights / largest / rounded(self.relative / self.rows)
        return scaled


# Training rows


# Numbers that are fingerprinted at a time.
_BLOCK = 2**20


class RowStatistics(NamedTuple):
    """What scalings need to know of the inputs, and of the targets."""

    inputs: Statistics
    targets: Statistics


class TrainingData(ABC):
    """Rows of positive weight.

    Attributes
    ----------
    X, y, sample_weight : arrays or collections
    classes : ndarray or None
        The classes, if the targets are indicators of them.
    multilabel : bool
        Whether a row may belong to several of them, or to none.
    single_output : bool
        Whether predictions are one-dimensional.
    single_precision : bool
        Whether targets fit in float32.
    n_given : int
        How many rows the user has given, including those of weight 0.
    unit : float
        The given weight that counts as 1.
    encoder : RowEncoder or None
        What turned the user's rows into numbers, if these were a table, or some numbers were missing.
    given : table or array
        Those rows.
    movable : bool
        Whether some of the rows may be taken from where they are.
    shape : tuple of int
        N and d.
    n_outputs : int
        m, columns of targets.
    weight : float
        The sum of the weights; the number of rows without them.
    dtype : dtype
        Of the inputs.
    """

    X: Any
    y: Any
    sample_weight: Any
    classes: np.ndarray | None
    multilabel: bool
    single_output: bool
    single_precision: bool
    n_given: int
    unit: float
    encoder: RowEncoder | None = None
    given: Any = None
    movable: ClassVar[bool] = True
    shape: tuple[int, int]
    n_outputs: int
    weight: float
    dtype: np.dtype

    @abstractmethod
    def row_numbers(self) -> np.ndarray:
        """The numbers of the rows in the user's data."""

    @abstractmethod
    def labels(self) -> np.ndarray | None:
        """The number of each row's class, if there are classes."""

    @abstractmethod
    def class_totals(self) -> np.ndarray:
        """The weight of the rows of each class."""

    @abstractmethod
    def with_classes(self, classes: np.ndarray) -> TrainingData:
        """The rows with indicators of these classes, some of which y may not have."""

    @abstractmethod
    def with_class_factors(self, factors: np.ndarray) -> TrainingData:
        """The rows with their weights multiplied by a factor for their class."""

    @abstractmethod
    def take(self, rows: np.ndarray) -> ArrayData:
        """These rows, as arrays."""

    @abstractmethod
    def keep(self, rows: np.ndarray) -> TrainingData:
        """These rows, in increasing order, kept where all rows are."""

    @abstractmethod
    def statistics(self) -> RowStatistics:
        """What scalings need to know of the rows."""

    @abstractmethod
    def statistics_of(self, model: Outputs | None) -> StatisticsOf:
        """Statistics of functions of targets and outputs of a model; None stands for outputs of 0."""

    @abstractmethod
    def row_values(self, function: RowFunction, model: Outputs) -> np.ndarray:
        """A function of targets and outputs of a model, for each row."""

    @abstractmethod
    def open_backend(self, inputs: InputScaling, outputs: Scaling, n_jobs: int | None) -> Backend:
        """The rows for growth, inputs and targets scaled."""

    @abstractmethod
    def working(self, loss: Loss, model: Outputs | None) -> TrainingData:
        """The rows with the working targets and weights of a loss, given the model so far."""

    @abstractmethod
    def mean_loss(self, loss: Loss, model: Outputs) -> float:
        """The weighted mean of the loss over the rows."""

    def fingerprint(self, hold_out: HoldOut | None = None) -> str:
        """A fingerprint that is the same for the same rows, wherever they are, and for what is held out of them."""
        first, second = map(int, self.fingerprint_sums())
        names = "" if self.classes is None else f" {self.classes.tolist()}"
        text = f"{self.shape[0]} x {self.shape[1]} {self.dtype} {first:016x}{second:016x}{names}"
        if hold_out is not None and hold_out.rows is not None:
            return f"{text}, held out {hold_out.rows.fingerprint()}"
        if hold_out is not None and hold_out.groups is not None:
            return f"{text}, groups {sha256(hold_out.groups.astype(np.int64).tobytes()).hexdigest()}"
        return text

    @abstractmethod
    def fingerprint_sums(self) -> np.ndarray:
        """The two numbers of :func:`fingerprint` for all rows."""


@dataclass(frozen=True, eq=False)
class ArrayData(TrainingData):
    """Rows in arrays: inputs, targets of shape (N, m), the row numbers in the user's data, weights."""

    X: LocalInputs
    targets: np.ndarray
    numbers: np.ndarray
    sample_weight: np.ndarray | None
    y: np.ndarray
    classes: np.ndarray | None = None
    single_output: bool = True
    single_precision: bool = False
    n_given: int = 0
    multilabel: bool = False
    unit: float = 1.0
    encoder: RowEncoder | None = None
    given: Any = None

    @classmethod
    def regression(cls, X: LocalInputs, y: np.ndarray, sample_weight: ArrayLike | None) -> ArrayData:
        """Rows with numbers as targets."""
        n_given = len(y)
        X, y, weights, numbers, unit = positive_rows(X, y, sample_weight)
        targets = np.asarray(y, dtype=np.float64).reshape(len(y), -1)
        return cls(X, targets, numbers, weights, y, None, y.ndim == 1, y.dtype == np.float32, n_given, unit=unit)

    @classmethod
    def classification(cls, X: LocalInputs, y: np.ndarray, sample_weight: ArrayLike | None) -> ArrayData:
        """Rows with indicators of their classes as targets."""
        check_labels(y)
        check_classification_targets(y)
        n_given = len(y)
        X, y, weights, numbers, unit = positive_rows(X, y, sample_weight)
        if y.ndim == 2:
            check_indicators(y)
            targets, classes = y.astype(np.float64), np.arange(y.shape[1])
            return cls(X, targets, numbers, weights, y, classes, False, True, n_given, multilabel=True, unit=unit)
        classes, labels = np.unique(y, return_inverse=True)
        targets = indicators(labels, len(classes))
        return cls(X, targets, numbers, weights, y, classes, len(classes) == 2, True, n_given, unit=unit)

    def __post_init__(self) -> None:
        """Count rows, inputs, outputs and weights."""
        n_rows, n_features = self.X.shape
        weight = float(n_rows if self.sample_weight is None else self.sample_weight.sum())
        shape, n_outputs = (n_rows, n_features), int(self.targets.shape[1])
        vars(self).update(shape=shape, n_outputs=n_outputs, weight=weight, dtype=self.X.dtype)

    def row_numbers(self) -> np.ndarray:
        """The numbers of the rows in the user's data."""
        return self.numbers

    def labels(self) -> np.ndarray | None:
        """The number of each row's class, if there are classes."""
        return None if self.classes is None or self.multilabel else labels_of(self.targets)

    def class_totals(self) -> np.ndarray:
        """The weight of the rows of each class."""
        assert self.classes is not None
        return np.bincount(labels_of(self.targets), self.sample_weight, len(self.classes)).astype(np.float64)

    def with_classes(self, classes: np.ndarray) -> ArrayData:
        """The rows with indicators of these classes, some of which y may not have."""
        targets = indicators(numbers_of(self.y, classes), len(classes))
        return replace(self, targets=targets, classes=classes, single_output=len(classes) == 2)

    def with_class_factors(self, factors: np.ndarray) -> ArrayData:
        """The rows with their weights multiplied by a factor for their class."""
        return replace(self, sample_weight=product(self.sample_weight, factors[labels_of(self.targets)]))

    def take(self, rows: np.ndarray) -> ArrayData:
        """These rows."""
        return ArrayData(
            self.X[rows],
            self.targets[rows],
            self.numbers[rows],
            None if self.sample_weight is None else self.sample_weight[rows],
            self.y[rows],
            self.classes,
            self.single_output,
            self.single_precision,
            multilabel=self.multilabel,
        )

    keep = take

    def statistics(self) -> RowStatistics:
        """What scalings need to know of the rows."""
        weights = self.sample_weight
        return RowStatistics(ArrayStatistics(self.X, weights), ArrayStatistics(self.targets, weights))

    def statistics_of(self, model: Outputs | None) -> StatisticsOf:
        """Statistics of functions of targets and outputs of a model; None stands for outputs of 0."""
        outputs = np.zeros_like(self.targets) if model is None else self._outputs(model)
        return lambda function: ArrayStatistics(function(self.targets, outputs), self.sample_weight)

    def row_values(self, function: RowFunction, model: Outputs) -> np.ndarray:
        """A function of targets and outputs of a model, for each row."""
        return function(self.targets, self._outputs(model))

    def _outputs(self, model: Outputs) -> np.ndarray:
        return stretchwise(model.link, self.X, stretch_length(self.shape[0]))

    def open_backend(self, inputs: InputScaling, outputs: Scaling, n_jobs: int | None) -> Backend:
        """The rows for growth, inputs and targets scaled."""
        targets = outputs.transform(self.targets)
        return open_backend(self.X, targets, scaling=inputs, sample_weight=self.sample_weight, n_jobs=n_jobs)

    def working(self, loss: Loss, model: Outputs | None) -> ArrayData:
        """The rows with the working targets and weights of a loss, given the model so far."""
        if loss.plain or not len(self.targets):
            return self
        targets, weights = loss.working(self.targets, None if model is None else self._outputs(model))
        return replace(self, targets=targets, sample_weight=product(self.sample_weight, weights))

    def mean_loss(self, loss: Loss, model: Outputs) -> float:
        """The weighted mean of the loss over the rows."""
        values = self.row_values(loss.value, model)
        return float(stretch_sums(values, self.sample_weight, stretch_length(self.shape[0])).sum()) / self.weight

    def fingerprint_sums(self) -> np.ndarray:
        """The two numbers of :func:`fingerprint` for all rows."""
        sums, count = np.zeros(2, dtype=np.uint64), max(1, _BLOCK // self.shape[1])
        for start in range(0, self.shape[0], count):
            rows = slice(start, start + count)
            X = self.X[rows]
            weights = None if self.sample_weight is None else self.sample_weight[rows, np.newaxis]
            sums += fingerprint(start, X if isinstance(X, np.ndarray) else X.toarray(), self.targets[rows], weights)
        return sums


def stretchwise(function: Callable[[Any], np.ndarray], X: Any, length: int) -> np.ndarray:
    """Apply a function of rows to one stretch at a time; the first row must begin a stretch.

    The last bits of a product depend on its number of rows and on threads; this way, not on where the rows are.
    """
    with single_threaded():
        return np.concatenate([function(X[start : start + length]) for start in range(0, X.shape[0], length)])


def stretch_sums(values: np.ndarray, weights: np.ndarray | None, length: int) -> np.ndarray:
    """Σ p v of each stretch."""
    weighted = values if weights is None else weights * values
    return np.array([weighted[start : start + length].sum() for start in range(0, len(weighted), length)])


def product(*weights: np.ndarray | None) -> np.ndarray | None:
    """The product of weights, None being 1 for every row."""
    given = [some for some in weights if some is not None]
    if not all((some > 0.0).all() and np.isfinite(some).all() for some in given):
        raise ValueError("The working weights of a loss must be positive and finite; give outliers a very small one.")
    return np.prod(given, axis=0) if given else None


def indicators(labels: np.ndarray, count: int) -> np.ndarray:
    """Targets: 1 for the class of a row and 0 for the others; one column is enough for two classes."""
    if count == 2:
        return labels[:, np.newaxis].astype(np.float64)
    targets: np.ndarray = np.eye(count)[labels]
    return targets


def targets_to_learn(y: np.ndarray, *, classes: bool) -> np.ndarray:
    """What encoders of columns may learn from: numbers (n, m); indicators of classes."""
    if classes and (y.ndim == 1 or y.shape[1] == 1):
        labels, places = np.unique(y, return_inverse=True)
        return indicators(places.ravel(), len(labels))
    return np.asarray(y, dtype=np.float64).reshape(len(y), -1)


def check_indicators(y: np.ndarray) -> None:
    """Reject a table of targets that are not indicators of several labels."""
    if y.shape[1] < 2 or not np.isin(y, (0, 1)).all():
        raise ValueError(
            "y with several columns must be an indicator for each label, 0 or 1; for several targets with classes of "
            "their own, use sklearn.multioutput.MultiOutputClassifier."
        )


def class_factors(class_weight: Mapping[Any, float] | str, classes: np.ndarray, totals: np.ndarray) -> np.ndarray:
    """The factor of the weights of each class's rows; the sum of all weights stays what it is.

    Parameters
    ----------
    class_weight : dict or "balanced"
        "balanced" gives each class the same total weight; classes that a dict does not have keep their weights.
    classes : ndarray
    totals : ndarray
        The weight of the rows of each class.
    """
    if isinstance(class_weight, str):
        if not totals.all():
            raise ValueError(
                f'class_weight="balanced" needs rows of every class; there are none of {classes[totals == 0.0][0]}.'
            )
        factors = 1.0 / totals
    else:
        unknown = [label for label in class_weight if label not in classes.tolist()]
        if unknown:
            raise ValueError(f"class_weight has classes that y does not have: {', '.join(map(repr, unknown))}.")
        factors = np.array([float(class_weight.get(label, 1.0)) for label in classes.tolist()])
        if not (np.isfinite(factors) & (factors > 0.0)).all():
            raise ValueError(
                "class_weight must be above 0 for each class; leave rows of other classes out of the data."
            )
    scaled: np.ndarray = factors * (totals.sum() / (factors @ totals))
    return scaled


def labels_of(targets: np.ndarray) -> np.ndarray:
    """The number of each row's class, from its indicators."""
    return targets[:, 0].astype(int) if targets.shape[1] == 1 else targets.argmax(axis=1)


# Which rows early stopping holds out: drawn at random, the last ones, whole groups, or those given to ``fit``


# What is held out of the training rows: rows drawn at random, or the last ones, for rows in order of time.
HELD_OUT = ("random", "last")


class ValidationArguments(NamedTuple):
    """What the user has given to ``fit`` for early stopping, as it was given."""

    X_val: Any = None
    y_val: Any = None
    sample_weight_val: Any = None
    groups: Any = None


NO_VALIDATION_ROWS = ValidationArguments()


class Split(NamedTuple):
    """Rows to train on, held-out rows, and the groups of the former, if there are any."""

    training: TrainingData
    held_out: ArrayData
    groups: np.ndarray | None = None

    def folds(self, count: int, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
        """The rows to train on, divided into ``count`` folds: for each, the numbers of the other rows and its own.

        A fold is left out if there are no other rows, or if these lack one of its classes.
        """
        labels = self.training.labels()
        numbers = fold_numbers(self.training.shape[0], count, labels, seed, self.groups)
        pairs = [(np.flatnonzero(numbers != number), np.flatnonzero(numbers == number)) for number in range(count)]
        known = np.zeros_like(numbers) if labels is None else labels
        return [(rest, fold) for rest, fold in pairs if len(fold) and np.isin(known[fold], known[rest]).all()]


@dataclass(frozen=True)
class HoldOut:
    """What ``fit`` was given for early stopping, validated.

    Attributes
    ----------
    groups : ndarray or None
        The number of each training row's group; all rows of a group are held out, or none.
    rows : ArrayData or None
        Rows that are only held out.
    """

    groups: np.ndarray | None = None
    rows: ArrayData | None = None

    def with_class_factors(self, factors: np.ndarray) -> HoldOut:
        """With the weights of given rows multiplied by a factor for their class."""
        return self if self.rows is None else replace(self, rows=self.rows.with_class_factors(factors))


def split_rows(
    n_rows: int,
    fraction: float,
    labels: np.ndarray | None,
    seed: int,
    which: str = "random",
    groups: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of the rows to train on and of those held out; each class is in both if it has enough rows."""
    held_out = max(1, round(fraction * n_rows))
    if n_rows - held_out < 1:
        raise ValueError(
            f"early_stopping=True holds out validation_fraction={fraction} of the rows, which leaves none of n_samples="
            f"{n_rows} to train on; give more rows, a smaller validation_fraction, or early_stopping=False."
        )
    if which == "last":
        begin = n_rows - held_out
        if labels is not None:
            # After the first row of every class, so that training sees all of them.
            begin = max(begin, int(np.unique(labels, return_index=True)[1].max()) + 1)
        begin = min(begin, n_rows - 1)
        return np.arange(begin), np.arange(begin, n_rows)
    if groups is not None:
        is_held_out = _whole_groups(groups, held_out, labels, seed)
        return np.flatnonzero(~is_held_out), np.flatnonzero(is_held_out)
    splitter = ShuffleSplit
    if labels is not None:
        counts = np.bincount(labels)
        if counts.min() >= 2 and min(held_out, n_rows - held_out) >= len(counts):
            splitter = StratifiedShuffleSplit
    train, validation = next(
        splitter(n_splits=1, test_size=held_out, random_state=seed).split(np.zeros((n_rows, 1)), labels)
    )
    return np.sort(train), np.sort(validation)


def fold_numbers(
    n_rows: int, count: int, labels: np.ndarray | None, seed: int, groups: np.ndarray | None = None
) -> np.ndarray:
    """The number of each row's fold: at random, with about equal shares of each class; groups are not divided."""
    groups = np.arange(n_rows) if groups is None else groups
    _, first, members = np.unique(groups, return_index=True, return_inverse=True)
    order = np.random.default_rng(seed).permutation(len(first))
    if labels is not None:
        order = order[np.argsort(labels[first[order]], kind="stable")]
    numbers = np.empty(len(order), dtype=int)
    numbers[order] = np.arange(len(order)) % count
    return np.asarray(numbers[members])


def _whole_groups(groups: np.ndarray, wanted: int, labels: np.ndarray | None, seed: int) -> np.ndarray:
    """Which rows are held out: those of groups in random order, until they are about as many as wanted.

    Groups without which a class would be missing in training are not held out. If all others are too large, the
    smallest one is.
    """
    counts = contingency_matrix(groups, np.zeros(len(groups), dtype=int) if labels is None else labels)
    sizes, chosen = counts.sum(axis=1), np.zeros(len(counts), dtype=bool)

    def can_go(group: int) -> bool:
        return bool((counts[~chosen].sum(axis=0) > counts[group]).all())

    for group in np.random.default_rng(seed).permutation(len(sizes)):
        missing = wanted - sizes[chosen].sum()
        if missing <= 0:
            break
        chosen[group] = sizes[group] <= 2 * missing and can_go(group)
    if not chosen.any():
        chosen[[group for group in np.argsort(sizes, kind="stable") if can_go(group)][:1]] = True
    if not chosen.any():
        raise ValueError(
            "Early stopping holds out whole groups, and there is none without which all classes and some rows are left "
            "to train on; give more groups, rows to hold out as X_val and y_val, or early_stopping=False."
        )
    return np.asarray(chosen[np.unique(groups, return_inverse=True)[1]])


# Labels of classes


def check_labels(y: Any) -> None:
    """Reject labels that cannot be told apart, sorted or kept in a file: None, several types, too large integers."""
    labels = _objects(y)
    missing = sum(map(_is_missing, labels))
    if missing:
        raise ValueError(
            f"y has None or NaN in {missing} of {len(labels)} rows; drop these rows, or give them a class of "
            'their own, such as "unknown".'
        )
    kinds = sorted({_kind(label) for label in labels})
    if len(kinds) > 1:
        raise ValueError(
            f"y has class labels of different types, {', '.join(kinds)}; convert them to one type, for example with "
            "[str(label) for label in y]."
        )
    if kinds == ["number"] and not _are_exact(labels):
        raise ValueError(
            f"y holds whole numbers that arrays of numbers cannot tell apart, such as {max(labels, key=abs)}; make "
            "them strings, for example with [str(label) for label in y]."
        )


def numbers_of(y: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """The number of each label among the classes, which are in increasing order; ValueError for another label."""
    try:
        numbers = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
        known = classes[numbers] == y
    except TypeError:
        known = np.zeros(len(y), dtype=bool)
    if not np.all(known):
        others = sorted({str(label) for label in np.asarray(y)[~np.asarray(known)].tolist()})
        raise ValueError(
            f"y has labels that are not among the classes of the model: {listed(others)}; it knows "
            f"{listed(map(str, classes.tolist()))}."
        )
    return np.asarray(numbers)


def _are_exact(labels: list[Any]) -> bool:
    """Whether an array holds these numbers as they are: integers of 64 bits, or, next to fractions, of 53."""
    whole = [int(label) for label in labels if isinstance(label, Integral)]
    if not whole:
        return True
    low, high = min(whole), max(whole)
    if len(whole) < len(labels):
        return max(-low, high) <= 2**53
    return any(np.iinfo(type).min <= low and high <= np.iinfo(type).max for type in (np.int64, np.uint64))


def _objects(y: Any) -> list[Any]:
    """The labels whose types may differ: those in lists, tuples and object arrays or columns."""
    if is_dask(y):
        return []
    if isinstance(y, list | tuple):
        return list(y)
    # Of pandas' own types of text and numbers, those with values that are missing.
    if (getattr(y, "dtype", None) == np.dtype(object) and np.ndim(y) <= 2) or getattr(y, "hasnans", False):
        return np.asarray(y, dtype=object).ravel().tolist()
    return []


def _is_missing(label: Any) -> bool:
    # NA and NaT of pandas have types of these names.
    return (
        label is None or type(label).__name__ in ("NAType", "NaTType") or (isinstance(label, float) and label != label)
    )


def _kind(label: Any) -> str:
    if isinstance(label, bool | np.bool_):
        return "bool"
    if isinstance(label, str):
        return "str"
    return "number" if isinstance(label, Number) else type(label).__name__


# Fingerprints of rows


def fingerprint(start: int, *columns: np.ndarray | None) -> np.ndarray:
    """Two numbers for some rows from number ``start`` on; those of all rows are their sum, modulo 2⁶⁴.

    ``columns`` are arrays of shape (n, k) with what is known of the rows; None is left out.
    """
    given = [values for values in columns if values is not None]
    hashes = np.arange(start, start + len(given[0]), dtype=np.uint64)
    step = np.uint64(0x9E3779B97F4A7C15)
    for values in given:
        for column in np.ascontiguousarray(values).view(f"u{values.dtype.itemsize}").T:
            hashes = finalised((hashes ^ column.astype(np.uint64)) + step)
    return np.array([hashes.sum(), finalised(hashes + step).sum()], dtype=np.uint64)


def finalised(numbers: np.ndarray) -> np.ndarray:
    """The finaliser of splitmix64: every bit of the result depends on every bit of the number; 0 stays 0."""
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))
