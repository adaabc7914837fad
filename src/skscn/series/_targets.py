"""Targets of a series as numbers, NaN where they are missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from skscn.words import listed, quoted

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def read_targets(y: ArrayLike | None, n_rows: int, *, as_numbers: bool) -> tuple[list[str], np.ndarray]:
    """The names of the targets, and their values of shape (n, m); without columns if they are not to be used."""
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
