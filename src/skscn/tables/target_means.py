"""Categories of high cardinality, such as postcodes: the mean of the target for each, cross-fitted in training.

Training rows get means of rows in other folds, or a network would find their own targets in them. Means of few rows are
drawn towards that of all rows, as far as the categories differ by no more than rows within one do: the posterior
mean of a random effect, with its variances by analysis of variance.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import ClassVar

import numpy as np

from skscn.tables.columns import Category
from skscn.tables.values import ColumnValues

_FOLDS = 5


@dataclass(frozen=True)
class TargetMeans(Category):
    """A category for which the mean of each target is encoded too.

    Attributes
    ----------
    levels : tuple of str
        All categories of the training rows.
    means : tuple of sequences of float
        For each of them, the mean of each target.
    absent : tuple of float
        The means where the category is missing.
    unknown : tuple of float
        Those of a category that training did not have.
    """

    kind: ClassVar[str] = "category with target means"
    levels: tuple[str, ...]
    means: tuple[tuple[float, ...], ...]
    absent: tuple[float, ...]
    unknown: tuple[float, ...]

    def __post_init__(self) -> None:
        widths = {len(self.absent), len(self.unknown), *map(len, self.means)}
        if len(self.means) != len(self.levels) or len(widths) != 1:
            raise ValueError("A category with target means must have as many means for each of its levels.")

    @property
    def encoded_names(self) -> list[str]:
        """Those of the category, and one for the mean of each target."""
        count = len(self.unknown)
        numbers = [""] if count == 1 else [f" {number}" for number in range(count)]
        return [*super().encoded_names, *(f"{self.name}: mean of target{number}" for number in numbers)]

    @property
    def n_levels(self) -> int:
        """All of those in training."""
        return len(self.levels)

    @property
    def table(self) -> np.ndarray:
        """The means of all categories, of a missing one, and of an unknown one, one row each."""
        return np.array([*self.means, self.absent, self.unknown], dtype=np.float64)

    @property
    def _known(self) -> tuple[str, ...]:
        return self.levels

    def encode(self, values: ColumnValues) -> np.ndarray:
        """Columns of 0 and 1, and the means."""
        shown = super().encode(values)
        shown[:, -len(self.unknown) :] = self.table[codes(self.texts(values), self.levels)]
        return shown


def codes(texts: ColumnValues, levels: tuple[str, ...]) -> np.ndarray:
    """The number of each text among the levels; further ones stand for a missing and for an unknown text."""
    places = {text: place for place, text in enumerate(levels)}
    known = np.array([places.get(text, len(levels) + 1) for text in texts.levels], dtype=np.int64)
    return texts.of_rows(known, len(levels))


def learn_target_means(
    column: Category, values: ColumnValues, targets: np.ndarray, weights: np.ndarray, folds: np.ndarray
) -> tuple[TargetMeans, np.ndarray]:
    """The column with means of the targets (n, m), and the cross-fitted means of the training rows (n, m)."""
    texts = column.texts(values)
    levels = tuple(sorted(texts.levels))
    sums = _LevelSums.of(codes(texts, levels), targets, weights, len(levels) + 2)
    strength = sums.strength()
    means = sums.means(strength)
    shown = np.empty_like(targets)
    for fold in range(_FOLDS):
        rows = folds == fold
        shown[rows] = sums.without(rows).means(strength)[sums.codes[rows]]
    known = {field.name: getattr(column, field.name) for field in fields(Category)}
    *of_levels, absent, unknown = map(tuple, means.tolist())
    return TargetMeans(**known, levels=levels, means=tuple(of_levels), absent=absent, unknown=unknown), shown


def folds_of(rows: np.ndarray) -> np.ndarray:
    """The fold of each row: equal rows are in the same one, wherever they stand."""
    bits = np.ascontiguousarray(rows + 0.0, dtype=np.float64).view(np.uint64)
    # Odd numbers, with which products keep all bits.
    factors = np.random.default_rng(0).integers(2**63, size=bits.shape[1], dtype=np.uint64) << np.uint64(1)
    sums = (bits * (factors | np.uint64(1))).sum(axis=1, dtype=np.uint64)
    folds: np.ndarray = ((sums >> np.uint64(32)) % np.uint64(_FOLDS)).astype(np.int64)
    return folds


@dataclass(frozen=True)
class _LevelSums:
    """Weights and weighted targets of each category, with what they are sums of."""

    codes: np.ndarray
    targets: np.ndarray
    weights: np.ndarray
    weight: np.ndarray
    total: np.ndarray

    @classmethod
    def of(cls, codes: np.ndarray, targets: np.ndarray, weights: np.ndarray, count: int) -> _LevelSums:
        totals = [np.bincount(codes, weights * target, count) for target in targets.T]
        return cls(codes, targets, weights, np.bincount(codes, weights, count), np.column_stack(totals))

    def without(self, rows: np.ndarray) -> _LevelSums:
        """The sums over the other rows."""
        return _LevelSums.of(self.codes[~rows], self.targets[~rows], self.weights[~rows], len(self.weight))

    def means(self, strength: np.ndarray) -> np.ndarray:
        """The mean of each category, drawn towards that of all rows as if it had this many further rows."""
        overall = self.total.sum(axis=0) / max(self.weight.sum(), np.finfo(float).tiny)
        share = self.weight[:, np.newaxis] / (self.weight[:, np.newaxis] + strength)
        found: np.ndarray = overall + share * (self._plain_means() - overall)
        return found

    def strength(self) -> np.ndarray:
        """The variance within categories over that between them, for each target; at least a small number."""
        weight, plain = self.weight[:, np.newaxis], self._plain_means()
        n, levels = self.weight.sum(), np.count_nonzero(self.weight)
        overall = self.total.sum(axis=0) / n
        within = (self.weights[:, np.newaxis] * (self.targets - plain[self.codes]) ** 2).sum(axis=0)
        within /= max(n - levels, 1.0)
        between = (weight * (plain - overall) ** 2).sum(axis=0) - (levels - 1) * within
        between /= n - (self.weight**2).sum() / n
        return np.asarray(within / np.maximum(between, 1e-6 * within + np.finfo(float).tiny) + 1e-6)

    def _plain_means(self) -> np.ndarray:
        return np.asarray(self.total / np.maximum(self.weight, np.finfo(float).tiny)[:, np.newaxis])
