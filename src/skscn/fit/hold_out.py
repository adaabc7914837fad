"""Which rows early stopping holds out: drawn at random, the last ones, whole groups, or those given to ``fit``."""

from __future__ import annotations

from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics.cluster import contingency_matrix
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit

from skscn.fit.data import ArrayData, TrainingData

# What is held out of the training rows: rows drawn at random, or the last ones, for rows in order of time.
HELD_OUT = ("random", "last")


class Asked(NamedTuple):
    """What the user has given to ``fit`` for early stopping, as it was given."""

    X_val: Any = None
    y_val: Any = None
    sample_weight_val: Any = None
    groups: Any = None


NOTHING_ASKED = Asked()


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

    @property
    def names(self) -> str:
        """The arguments that were given; empty if none were."""
        if self.rows is not None:
            return "X_val and y_val"
        return "" if self.groups is None else "groups"

    def split(self, data: TrainingData, share: float, seed: int, which: str) -> Split:
        """Rows to train on, and about this share of them held out, unless there are rows for that."""
        if self.rows is not None:
            return Split(data, self.rows)
        training, held_out = split_rows(data.shape[0], share, data.labels(), seed, which, self.groups)
        groups = None if self.groups is None else self.groups[training]
        return Split(data.keep(training), data.take(held_out), groups)

    def with_class_factors(self, factors: np.ndarray) -> HoldOut:
        """With the weights of given rows multiplied by a factor for their class."""
        return self if self.rows is None else replace(self, rows=self.rows.with_class_factors(factors))

    def signed(self, fingerprint: str) -> str:
        """The fingerprint of a fit's rows, together with what is held out of them."""
        if self.rows is not None:
            return f"{fingerprint}, held out {self.rows.fingerprint()}"
        if self.groups is not None:
            return f"{fingerprint}, groups {sha256(self.groups.astype(np.int64).tobytes()).hexdigest()}"
        return fingerprint


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
        begin = _first_held_out(n_rows, n_rows - held_out, labels)
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


def _first_held_out(n_rows: int, begin: int, labels: np.ndarray | None) -> int:
    """The first row to hold out: after the first row of every class, so that training sees all of them."""
    if labels is not None:
        begin = max(begin, int(np.unique(labels, return_index=True)[1].max()) + 1)
    return min(begin, n_rows - 1)


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
