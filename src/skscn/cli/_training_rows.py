"""The training rows of a table in memory: those that have a target, in order, with their weights."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from skscn.cli._series import Series
from skscn.cli._voice import Voice
from skscn.tables import Target
from skscn.tables.columns import Number
from skscn.tables.values import read_values
from skscn.words import count, quoted, shortened

FEWEST_ROWS = 10


@dataclass(frozen=True)
class WholeSeries:
    """All rows of a series in order of time, those without a target included: inputs as a table, and targets.

    Targets have a column for the number to predict, or for each class; NaN where they are missing. Of several series,
    ``groups`` says which one each row belongs to.
    """

    table: Any
    names: list[str]
    targets: np.ndarray
    groups: np.ndarray | None = None

    def part(self, start: int, end: int) -> WholeSeries:
        """Some consecutive rows."""
        groups = None if self.groups is None else self.groups[start:end]
        return WholeSeries(self.table.slice(start, end - start), self.names, self.targets[start:end], groups)


@dataclass(frozen=True)
class TableRows:
    """Training rows in memory: inputs as a table, targets, weights, and where they are in the file, from 1 on.

    For models that use earlier rows, ``whole`` has all of them, and ``places`` says which of these the rows are.
    For others, ``groups`` says which rows belong together, if some do.
    """

    table: Any
    y: np.ndarray
    sample_weight: np.ndarray | None
    numbers: np.ndarray
    whole: WholeSeries | None = None
    places: np.ndarray | None = None
    groups: np.ndarray | None = None

    @property
    def series(self) -> np.ndarray | None:
        """Which of several series each row belongs to; None if there is only one."""
        if self.whole is None or self.whole.groups is None:
            return None
        labels: np.ndarray = self.whole.groups[self.places]
        return labels

    def take(self, rows: np.ndarray) -> TableRows:
        """These rows only."""
        weight = None if self.sample_weight is None else self.sample_weight[rows]
        places = None if self.places is None else self.places[rows]
        groups = None if self.groups is None else self.groups[rows]
        return TableRows(self.table.take(rows), self.y[rows], weight, self.numbers[rows], self.whole, places, groups)

    def split(self, train: np.ndarray, test: np.ndarray) -> tuple[TableRows, TableRows]:
        """Known and unseen rows; of a series, each with the part of it that ends where the other begins."""
        known, unseen = self.take(train), self.take(test)
        if self.whole is None or self.places is None or unseen.places is None:
            return known, unseen
        start, end = int(unseen.places[0]), int(unseen.places[-1]) + 1
        return (
            replace(known, whole=self.whole.part(0, start)),
            replace(unseen, whole=self.whole.part(start, end), places=unseen.places - start),
        )


def complete_rows(
    table: Any,
    inputs: list[str],
    target: Target,
    weight: str | None,
    series: Series,
    voice: Voice,
    *,
    whole: bool = False,
    groups: np.ndarray | None = None,
) -> TableRows:
    """The rows that have a target, in order of time if they are a series; with ``whole``, the others as well.

    ``groups`` are the series, or the groups, that the rows of the table belong to, if there are several.
    """
    order = np.arange(len(table)) if series.order is None else series.order
    table = table if series.order is None else table.take(order)
    y, present = target.values(table.column(target.name))
    weights = None if weight is None else row_weights(weight, table)[present]
    missing = len(present) - len(y)
    if missing:
        without = f"{count(missing, 'row')} without a value of {shortened(target.name)}"
        voice.note(f"- Used as earlier rows only: {without}." if whole else f"- Left out: {without}.")
    if len(y) < FEWEST_ROWS:
        raise ValueError(
            f"{quoted(target.name)} has a value in only {count(len(y), 'row')}; training needs at least {FEWEST_ROWS}."
        )
    _check_varies(y, target)
    rows = TableRows(table.filter(present).select(inputs), y, weights, order[np.asarray(present)] + 1)
    if not whole:
        return replace(rows, groups=None if groups is None else groups[order][np.asarray(present)])
    all_rows = _whole(table.select(inputs), y, np.asarray(present), target)
    all_rows = replace(all_rows, groups=None if groups is None else groups[order])
    return replace(rows, whole=all_rows, places=np.flatnonzero(present))


def _whole(table: Any, y: np.ndarray, present: np.ndarray, target: Target) -> WholeSeries:
    """All rows, with targets where they are present."""
    names, values = [target.name], y[:, np.newaxis]
    if target.task == "classification":
        classes = np.unique(y)
        names, values = [f"{target.name} = {label}" for label in classes], values == classes
    targets = np.full((len(present), len(names)), np.nan)
    targets[present] = values
    return WholeSeries(table, names, targets)


def _check_varies(y: np.ndarray, target: Target) -> None:
    classes = np.unique(y)
    if len(classes) == 1:
        raise ValueError(
            f"The target {quoted(target.name)} is {shortened(str(classes[0]))} in all rows; there is nothing to learn."
        )
    if target.task == "classification" and len(classes) > len(y) / 2:
        raise ValueError(
            f"The target {quoted(target.name)} has {len(classes)} classes in {count(len(y), 'row')}; classes need "
            "several rows each. Is it the right column, or is it a number to be predicted (--task regression)?"
        )


def row_weights(name: str, table: Any) -> np.ndarray:
    """The weights in a column, which must be numbers of at least 0."""
    column = read_values(table.column(name), name)
    if column.kind != "number":
        raise ValueError(f"The weights {quoted(name)} are {column.holds}; they must be numbers.")
    weights: np.ndarray = Number(name, 0.0, False).floats(column)
    if np.isnan(weights).any() or (weights < 0).any():
        raise ValueError(f"The weights {quoted(name)} must be numbers that are not negative, in every row.")
    return weights
