"""What Lags was given: rows, columns, lags and groups, checked."""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import validate_data

from skscn.series._terms import LONGEST
from skscn.words import count, listed, quoted

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from skscn.series._lags import Lags


def validated(lags: Lags, X: ArrayLike, *, reset: bool) -> np.ndarray:
    """X as an array of finite numbers."""
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
