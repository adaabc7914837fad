"""Earlier rows as columns: the terms that ``Lags`` adds, the past they look at, and what it is given."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import astuple, dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from sklearn.utils.validation import validate_data

from skscn.checks import refuse_masked
from skscn.words import count, listed, quoted

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from skscn.series._lags import Lags


# The longest lag and the longest window of a moving mean, in rows.
LONGEST = 100_000


@dataclass(frozen=True, order=True)
class LagTerm:
    """A column to add.

    Attributes
    ----------
    of_target : bool
        Whether it is computed from the target rather than from an input.
    column : int
        The place of the input, or of the target.
    is_mean : bool
        Whether it is the mean of the last ``rows`` rows, this one included, instead of the value ``rows`` rows ago.
    rows : int
    """

    of_target: bool
    column: int
    is_mean: bool
    rows: int

    @property
    def reach(self) -> int:
        """How many earlier rows it needs."""
        return self.rows - 1 if self.is_mean else self.rows

    def name(self, inputs: Sequence[str], targets: Sequence[str]) -> str:
        """The name of the column."""
        source = (targets if self.of_target else inputs)[self.column]
        return f"{source}, mean of {self.rows} rows" if self.is_mean else f"{source} {count(self.rows, 'row')} ago"

    def values(self, past: Past) -> np.ndarray:
        """Its values in the rows of a sequence; NaN where a target has never been known."""
        if self.is_mean:
            return past.means(self.column, self.rows)
        return (past.earlier_targets if self.of_target else past.earlier_inputs)(self.column, self.rows)

    def to_json(self) -> list[Any]:
        """Itself as plain data."""
        return list(astuple(self))


def term_from_json(state: Any, n_inputs: int, n_targets: int) -> LagTerm:
    """The term that gave this state; ValueError for anything else."""
    kinds = [bool, int, bool, int]
    if not isinstance(state, list) or [type(value) for value in state] != kinds:
        raise ValueError("an added column is not described by two flags and two whole numbers")
    term = LagTerm(*state)
    if not 0 <= term.column < (n_targets if term.of_target else n_inputs) or not 1 <= term.rows <= LONGEST:
        raise ValueError("an added column refers to an input, or to earlier rows, that do not exist")
    if term.of_target and term.is_mean:
        raise ValueError("an added column is a mean of the target")
    return term


def depth_of(terms: Iterable[LagTerm]) -> int:
    """How many earlier rows the terms need."""
    return max((term.reach for term in terms), default=0)


def are_complete(past: Past, terms: Collection[LagTerm]) -> np.ndarray:
    """Whether all that the terms need is known, in each row."""
    targets = [~np.isnan(term.values(past)) for term in terms if term.of_target]
    complete: np.ndarray = np.logical_and.reduce([past.reaches(depth_of(terms)), *targets])
    return complete


# The rows of one sequence with the rows before them, from which earlier values and moving means are taken.
#
# Nothing here can look ahead: a value in a row is taken from that row or from rows before it.


@dataclass(frozen=True)
class SeriesEnd:
    """The last rows of a sequence: inputs, and targets where a missing one has the value known before it."""

    inputs: np.ndarray
    targets: np.ndarray

    @classmethod
    def nothing(cls, n_inputs: int, n_targets: int) -> SeriesEnd:
        """The end of a sequence that has not begun."""
        return cls(np.zeros((0, n_inputs)), np.zeros((0, n_targets)))


@dataclass(frozen=True)
class Past:
    """Rows of a sequence behind the rows before them.

    Attributes
    ----------
    inputs : ndarray of shape (before + n, d)
        Before the first known row, the values of that row.
    targets : ndarray of shape (before + n, m)
        Missing ones have the value known before; NaN before the first known value.
    before : int
        How many rows are before the n rows.
    known : int
        How many of these have been seen; they are the last ones.
    """

    inputs: np.ndarray
    targets: np.ndarray
    before: int
    known: int

    @classmethod
    def of(cls, end: SeriesEnd, X: np.ndarray, targets: np.ndarray, depth: int) -> Past:
        """The rows X, with their targets, after the end of earlier ones."""
        before = end.inputs[len(end.inputs) - min(depth, len(end.inputs)) :]
        inputs = np.concatenate([before, X])
        held = last_known(np.concatenate([end.targets, targets]))[len(end.targets) - len(before) :]
        padding = depth - len(before)
        unknown = np.full((padding, targets.shape[1]), np.nan)
        inputs = np.concatenate([np.repeat(inputs[:1], padding, axis=0), inputs])
        return cls(inputs, np.concatenate([unknown, held]), depth, len(before))

    @property
    def n_rows(self) -> int:
        """n."""
        return len(self.inputs) - self.before

    def earlier_inputs(self, column: int, rows: int) -> np.ndarray:
        """An input some rows before each row."""
        return self._earlier(self.inputs[:, column], rows)

    def earlier_targets(self, column: int, rows: int) -> np.ndarray:
        """The last target that was known some rows before each row."""
        return self._earlier(self.targets[:, column], rows)

    def _earlier(self, values: np.ndarray, rows: int) -> np.ndarray:
        return values[self.before - rows : len(values) - rows]

    def means(self, column: int, rows: int) -> np.ndarray:
        """The mean of an input over some rows that end with each row."""
        windows = sliding_window_view(self.inputs[self.before - rows + 1 :, column], rows)
        # Each window on its own: running sums would lose digits, and depend on where a table begins.
        means: np.ndarray = windows.mean(axis=1)
        return means

    def reaches(self, rows: int) -> np.ndarray:
        """Whether at least this number of rows have been seen before each row."""
        enough: np.ndarray = np.arange(self.n_rows) + self.known >= rows
        return enough

    def end(self) -> SeriesEnd:
        """The last rows, for those that will follow."""
        # The newest known target is kept even if no earlier row is needed.
        keep = min(max(self.before, 1), self.known + self.n_rows)
        start = len(self.inputs) - keep
        return SeriesEnd(self.inputs[start:].copy(), self.targets[start:].copy())


def last_known(values: np.ndarray) -> np.ndarray:
    """Missing values replaced by the last one before them in their column; NaN before the first."""
    rows = np.where(np.isnan(values), -1, np.arange(len(values))[:, np.newaxis])
    latest = np.maximum.accumulate(rows, axis=0)
    held = np.take_along_axis(values, np.maximum(latest, 0), axis=0) if len(values) else values
    return np.where(latest < 0, np.nan, held)


# What Lags was given: rows, columns, lags and groups, checked.


def validated(lags: Lags, X: ArrayLike, *, reset: bool) -> np.ndarray:
    """X as an array of finite numbers."""
    refuse_masked(X=X)
    rows: np.ndarray = validate_data(lags, X, reset=reset, dtype=np.float64, ensure_all_finite=False)
    bad = ~np.isfinite(rows)
    if bad.any():
        place = int(bad.any(axis=0).argmax())
        raise ValueError(
            f"The input {quoted(str(names_or_places(lags)[place]))} contains NaN or infinity in "
            f"{count(int(bad[:, place].sum()), 'row')}; fill them in first, for example with SimpleImputer."
        )
    return rows


def names_or_places(lags: Lags) -> list[str]:
    names = getattr(lags, "feature_names_in_", None)
    return [f"x{place}" for place in range(lags.n_features_in_)] if names is None else list(names)


def place_of(column: Any, names: list[Any], n_columns: int) -> int:
    """The place of a column given by its name or its place."""
    if is_whole(column):
        if not 0 <= int(column) < n_columns:
            raise ValueError(f"There is no column {column}; X has the columns 0 to {n_columns - 1}.")
        return int(column)
    if column not in names:
        there = f"its columns are {listed(map(str, names))}" if names else "its columns have no names"
        raise ValueError(f"X has no column {quoted(str(column))}; {there}.")
    return names.index(column)


def checked_lags(lags: Any) -> list[int]:
    """Lags, or windows, as whole numbers; ValueError for those that are not earlier."""
    values = np.atleast_1d(np.asarray(lags, dtype=object)).tolist()
    for value in values:
        if not is_whole(value) or not 1 <= value <= LONGEST:
            raise ValueError(
                f"Lags are whole numbers of rows from 1 to {LONGEST:,}, not {value!r}; a lag of 0 is the row itself, "
                "and a negative one would look ahead."
            )
    return sorted({int(value) for value in values})


def sequences_of(groups: ArrayLike | None, n_rows: int) -> list[tuple[Any, np.ndarray]]:
    """The key of each group, and the places of its rows in their order."""
    if groups is None:
        return [(None, np.arange(n_rows))]
    keys = np.asarray(groups)
    if keys.shape != (n_rows,):
        raise ValueError(f"groups must have one value for each of the {n_rows} rows; its shape is {keys.shape}.")
    places: dict[Any, list[int]] = {}
    for place, key in enumerate(keys.tolist()):
        if key is None or key != key:
            raise ValueError(f"groups has no value in row {place + 1}; every row must belong to a group.")
        places.setdefault(key, []).append(place)
    return [(key, np.array(some)) for key, some in places.items()]


def known_means(targets: np.ndarray, sequences: list[tuple[Any, np.ndarray]], names: list[str]) -> np.ndarray:
    """The mean of each target; ValueError if a group has no value of one."""
    for key, places in sequences:
        missing = np.isnan(targets[places]).all(axis=0)
        if missing.any():
            where = "any row" if key is None else f"the group {key!r}"
            raise ValueError(f"The target {quoted(names[int(missing.argmax())])} is not known in {where}.")
    means: np.ndarray = np.nanmean(targets, axis=0)
    return means


def is_whole(value: Any) -> bool:
    """Whether it is a whole number."""
    return not isinstance(value, bool) and isinstance(value, Integral)


# Targets of a series as numbers, NaN where they are missing.


def read_targets(y: ArrayLike | None, n_rows: int, *, as_numbers: bool) -> tuple[list[str], np.ndarray]:
    """The names of the targets, and their values of shape (n, m); without columns if they are not to be used."""
    refuse_masked(y=y)
    if y is None or not as_numbers:
        return [], np.zeros((n_rows, 0))
    values = np.asarray(y)
    if values.dtype.kind not in "fiub":
        raise ValueError("Earlier targets must be numbers; earlier classes cannot be inputs. Leave target at None.")
    values = _finite(_columns(values.astype(np.float64), n_rows))
    return _names(y, values.shape[1]), values


def searched_targets(y: ArrayLike | None, n_rows: int) -> np.ndarray:
    """What lags are to explain: the targets, or, of classes, an indicator of each."""
    values = np.asarray(y)
    if values.dtype.kind in "fiu":
        return _finite(_columns(values.astype(np.float64), n_rows))
    classes, codes = np.unique(_columns(values.astype(str), n_rows)[:, 0], return_inverse=True)
    return np.eye(len(classes))[codes.reshape(-1)]


def _finite(values: np.ndarray) -> np.ndarray:
    if np.isinf(values).any():
        raise ValueError("The target contains infinity; where it is not known, give NaN.")
    return values


def _columns(values: np.ndarray, n_rows: int) -> np.ndarray:
    if values.ndim not in (1, 2) or len(values) != n_rows:
        raise ValueError(f"There are {n_rows} rows and targets of shape {values.shape}; give a target for each row.")
    return values.reshape(n_rows, -1)


def _names(y: ArrayLike, n_targets: int) -> list[str]:
    # Tables of pyarrow have columns too, but these are not names.
    names = getattr(y, "column_names", getattr(y, "columns", None))
    if names is not None:
        return list(map(str, names))
    if n_targets == 1:
        return [str(getattr(y, "name", None) or "target")]
    return [f"target {place}" for place in range(n_targets)]


def names_from_json(state: object, what: str) -> list[str]:
    """Names that are different from each other; ValueError for anything else."""
    if not isinstance(state, list) or not all(isinstance(name, str) for name in state) or len({*state}) < len(state):
        raise ValueError(f"the names of {what} are {quoted(listed(map(str, [state])))}")
    return state
