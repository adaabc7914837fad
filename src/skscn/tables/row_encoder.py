"""What an estimator does with rows before a network sees them: tables are encoded, missing numbers filled in.

Networks see numbers only. The encoder of an estimator is learnt in ``fit`` and applied to all further rows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from skscn.scaling import medians_of
from skscn.tables._encoder import TableEncoder
from skscn.tables.columns import Category, Column, Measured, RowTime
from skscn.tables.filling import Filling, fill_medians, learn_filling
from skscn.tables.frames import TableColumns, as_table, column_names, is_frame
from skscn.tables.learning import FILLED, FILLED_LATER, POOLED, RARE_LEVELS, relearn
from skscn.tables.marks import decreases_error
from skscn.tables.target_means import TargetMeans, folds_of, learn_target_means
from skscn.words import listed

if TYPE_CHECKING:
    from skscn.tables.frames import TableLike

# Categories up to this number have a column of 0 and 1 each; of more, the most frequent have one, and the means of the
# targets are encoded. `./run bench tables encodings` measures it.
MOST_CATEGORIES = 20
_MOST_FREQUENT = 10
# With fewer rows for each category, on average, their means must decrease the error of a quick model.
_FEWEST_ROWS_OF_LEVEL = 5


@dataclass(frozen=True, eq=False)
class RowEncoder:
    """What was learnt of the columns of training rows.

    Attributes
    ----------
    n_columns : int
        How many columns the user's rows have.
    names : tuple of str or None
        The columns of a table; None for arrays of numbers.
    table : TableEncoder or None
        What encodes a table; None for arrays of numbers. Missing numbers stay missing.
    filling : Filling
        What fills them in.
    """

    n_columns: int
    names: tuple[str, ...] | None
    table: TableEncoder | None
    filling: Filling

    @property
    def width(self) -> int:
        """How many numbers a row becomes."""
        return self.filling.width

    def transform(self, X: Any) -> np.ndarray:
        """The rows of a user as numbers: a table, or an array if the encoder was learnt from one."""
        return self.filling(X if self.table is None else self.table.transform(self._named(X)))

    def for_encoded(self) -> RowEncoder:
        """What remains to be done with rows that :attr:`table` has encoded."""
        return RowEncoder(self.filling.n_features, None, None, self.filling)

    def _named(self, X: Any) -> TableColumns:
        """A table; the columns of an array are those of training."""
        return as_table(X, None if is_frame(X) else self.names)

    @cached_property
    def groups(self) -> list[list[int]]:
        """The numbers that each of the user's columns becomes; none for those that are left out."""
        if self.table is None:
            groups = [[place] for place in range(self.n_columns)]
        else:
            groups = [list(self.table.groups_.get(name, [])) for name in self.names or ()]
        owners = {number: group for group in groups for number in group}
        for mark, column in enumerate(self.filling.marked.tolist()):
            owners[column].append(self.filling.n_features + mark)
        return groups

    def column(self, place: int) -> Column | None:
        """One of the user's columns; None for columns of arrays, and for those that are left out."""
        if self.table is None or self.names is None:
            return None
        return next((column for column in self.table.columns_ if column.name == self.names[place]), None)

    def encoded_names(self, columns: Sequence[str]) -> list[str]:
        """Names of the numbers that a row becomes, where its columns have these names."""
        names = list(columns) if self.table is None else list(self.table.get_feature_names_out())
        return [*names, *(f"{names[column]} is missing" for column in self.filling.marked)]

    def sum_by_column(self, values: np.ndarray) -> np.ndarray:
        """The sum of values over the numbers that each of the user's columns becomes."""
        return np.array([values[group].sum() for group in self.groups])


def encode_array(X: np.ndarray, targets: np.ndarray, weights: np.ndarray) -> tuple[RowEncoder, np.ndarray]:
    """The encoder of numbers some of which are missing, and the training rows as it encodes them."""
    filling = learn_filling(X, targets, weights)
    return RowEncoder(X.shape[1], None, None, filling), filling(X)


def encode_table(
    X: Any, categories: Collection[str], targets: np.ndarray, weights: np.ndarray
) -> tuple[RowEncoder, np.ndarray]:
    """The encoder of a table, and the training rows as networks see them, whose target means are cross-fitted.

    Parameters
    ----------
    X : DataFrame of pandas or Polars, pyarrow.Table, or array
    categories : collection of str
        Columns that hold categories, whatever their type.
    targets : ndarray of shape (n, m)
    weights : ndarray of shape (n,)
    """
    table = as_table(X)
    encoder = TableEncoder(MOST_CATEGORIES).fit(_with_categories(table, categories))
    encoder, numbers = with_targets(encoder, table, targets, weights)
    filling = learn_filling(numbers, targets, weights)
    names = column_names(X)
    return RowEncoder(len(names), tuple(names), encoder, filling), filling(numbers)


def with_targets(
    encoder: TableEncoder, X: TableLike, targets: np.ndarray, weights: np.ndarray
) -> tuple[TableEncoder, np.ndarray]:
    """An encoder that has learnt from the targets as well, and the training rows as networks see them.

    Where there are many categories, it encodes the means of the targets; those of training rows are cross-fitted.
    Missing numbers stay missing: estimators fill them in.
    """
    encoder = encoder.with_columns([_open(column) for column in encoder.columns_])
    encoder.notes_ = [note.replace(FILLED, FILLED_LATER) for note in encoder.notes_]
    return _with_target_means(encoder, as_table(X), targets, weights)


def _with_categories(table: TableColumns, categories: Collection[str]) -> TableColumns:
    """The table with text in these columns."""
    columns = (Category(name, (), others=False, missing=False) for name in categories)
    return table.with_columns({column.name: column.texts(table.column(column.name)) for column in columns})


def _open(column: Column) -> Column:
    """The column with missing numbers left as they are, unless it is the time of the rows."""
    if not isinstance(column, Measured) or isinstance(column, RowTime):
        return column
    return replace(column, fill=None, indicator=False)


def _with_target_means(
    encoder: TableEncoder, table: TableColumns, targets: np.ndarray, weights: np.ndarray
) -> tuple[TableEncoder, np.ndarray]:
    """With the means of the targets where there are many categories, and the table as it is encoded for training."""
    many = [column for column in encoder.columns_ if isinstance(column, Category) and column.others]
    numbers = encoder.transform(table)
    if not many:
        return encoder, numbers
    folds = folds_of(np.column_stack([np.nan_to_num(numbers), targets]))
    learnt, shown = {}, {}
    for column in many:
        values = table.column(column.name)
        fewer = relearn(column, values, _MOST_FREQUENT)
        assert isinstance(fewer, Category)
        learnt[column.name], shown[column.name] = learn_target_means(fewer, values, targets, weights, folds)
    filled = fill_medians(numbers, medians_of(numbers))
    useless = [name for name in learnt if not _helps(learnt[name], encoder, shown[name], filled, targets, weights)]
    useless = useless if len(useless) < len(encoder.columns_) else []
    learnt = {name: column for name, column in learnt.items() if name not in useless}
    notes = [note for note in encoder.notes_ if not note.startswith(POOLED)]
    notes += [_about_means(learnt.values())] if learnt else []
    notes += [f"{RARE_LEVELS}: {listed(useless)}."] if useless else []
    kept = [learnt.get(column.name, column) for column in encoder.columns_ if column.name not in useless]
    encoder = encoder.with_columns(kept, [*encoder.left_out_, *useless])
    encoder.notes_ = notes
    numbers = encoder.transform(table)
    for name in learnt:
        numbers[:, encoder.groups_[name][-targets.shape[1] :]] = shown[name]
    return encoder, numbers


def _helps(
    column: TargetMeans,
    encoder: TableEncoder,
    means: np.ndarray,
    filled: np.ndarray,
    targets: np.ndarray,
    weights: np.ndarray,
) -> bool:
    """Whether means of the targets, which are cross-fitted, tell more than the other columns; many rows always do."""
    if len(filled) >= _FEWEST_ROWS_OF_LEVEL * len(column.levels):
        return True
    others = np.delete(filled, encoder.groups_[column.name], axis=1)
    return others.shape[1] == 0 or decreases_error(others, means, targets, weights)


def _about_means(columns: Iterable[TargetMeans]) -> str:
    """What becomes of many categories, in words."""
    several = listed(f"{column.name} ({len(column.levels)})" for column in columns)
    return f"Many categories encoded by the mean of the target for each, and the most frequent by columns: {several}."
