"""A ColumnTransformer in a model file: fitted with placeholders, whose parts are then set from the file."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.compose import ColumnTransformer

from skscn.persistence._base import Field, Shelf, Sizes, UnusableError, at, check_class, check_keys, shortened
from skscn.persistence._composed import Optional
from skscn.persistence._fields import Enumerated, Scalar
from skscn.persistence._steps import check_fitted, made, width_of, written_step
from skscn.persistence._transformers import INPUTS

# What may be given instead of a transformer.
_WORDS = ("drop", "passthrough")
_PARAMETERS: dict[str, Field] = {
    "sparse_threshold": Scalar(0.0, 1.0),
    "n_jobs": Optional(Scalar(-(2**31), 2**31, whole=True)),
    "verbose": Enumerated(False, True),
    "verbose_feature_names_out": Enumerated(False, True),
}


class ColumnwiseTransformer:
    """A ColumnTransformer of supported parts; columns that a function has selected are saved as selected.

    Parameters
    ----------
    parts : Field
        For each transformer.
    """

    def __init__(self, parts: Field):
        self.parts, self.columns = parts, _ColumnList()
        self.fields: dict[str, Field] = {**INPUTS, **_PARAMETERS, "sparse_output_": Enumerated(False, True)}

    def write(self, value: ColumnTransformer, place: str, shelf: Shelf) -> dict[str, Any]:
        check_class(value, ColumnTransformer)
        check_fitted(value)
        if value.transformer_weights is not None:
            raise UnusableError("a ColumnTransformer with transformer_weights cannot be kept in a file")
        given = {name: transformer for name, transformer, _ in value.transformers} | {"remainder": value.remainder}
        columns = self._columns(value, shelf)
        parts = [
            [name, self._write_part(name, given[name], fitted, columns[name], place, shelf), columns[name]]
            for name, fitted, _ in value.transformers_
        ]
        fields = self.fields.items()
        about = {name: field.write(getattr(value, name, None), at(place, name), shelf) for name, field in fields}
        return {"transformers": parts, **about}

    def _columns(self, value: ColumnTransformer, shelf: Shelf) -> dict[str, list[Any]]:
        """The columns of each part; those of the remainder as numbers, since versions of scikit-learn differ there."""
        inputs = getattr(value, "feature_names_in_", None), value.n_features_in_
        others = [(name, columns) for name, _, columns in value.transformers_ if name != "remainder"]
        listed = {name: self.columns.write(_listed(columns, *inputs), name, shelf) for name, columns in others}
        taken = (_numbers(columns, *inputs) for columns in listed.values())
        return {**listed, "remainder": sorted(set(range(value.n_features_in_)).difference(*taken))}

    def _write_part(self, name: str, given: Any, fitted: Any, columns: list[Any], place: str, shelf: Shelf) -> Any:
        if isinstance(given, str):
            return given
        # Without a column there was nothing to fit.
        if all(column is False for column in columns):
            return "drop"
        return written_step(self.parts, name, fitted, at(place, name), shelf)

    def read(self, stored: Any, place: str, shelf: Shelf, sizes: Sizes) -> ColumnTransformer:
        check_keys(stored, ("transformers", *self.fields), place)
        about = {name: field.read(stored[name], at(place, name), shelf, {}) for name, field in self.fields.items()}
        if not isinstance(stored["transformers"], list):
            raise UnusableError(f"{place or 'the model'} has no list of transformers")
        parts = [self._read_part(part, place, shelf) for part in stored["transformers"]]
        names, count = about.pop("feature_names_in_"), about.pop("n_features_in_")
        # Every input is a column of some part, at least of the remainder; so memory is bounded by the file.
        if count > sum(len(columns) for *_, columns in parts) or (names is not None and len(names) != count):
            raise UnusableError(f"{place or 'the model'} has {count} inputs, and columns or names for others")
        numbered = [(name, part, _numbers(columns, names, count)) for name, part, columns in parts]
        sparse_output = about.pop("sparse_output_")
        transformer = self._stood_in(numbered, about, count, place)
        transformer.transformers_ = [
            (name, own if isinstance(part, str) else part, columns)
            for (_, own, _), (name, part, columns) in zip(transformer.transformers_, parts, strict=True)
        ]
        transformer.sparse_output_ = sparse_output
        if names is not None:
            transformer.feature_names_in_ = names
        return transformer.set_params(**_given([(name, _unfitted(part), columns) for name, part, columns in parts]))

    def _stood_in(
        self, parts: list[tuple[Any, ...]], about: dict[str, Any], count: int, place: str
    ) -> ColumnTransformer:
        """A ColumnTransformer that is fitted with placeholders for its parts."""
        standing = [(name, _stand_in(part, columns), columns) for name, part, columns in parts]
        transformer = made(ColumnTransformer, {**_given(standing), **about})
        try:
            transformer.fit(np.zeros((1, count)))
        except (ValueError, TypeError) as error:
            raise UnusableError(f"{place or 'the model'} is not a ColumnTransformer: {error}") from error
        fitted = [(name, columns) for name, _, columns in transformer.transformers_]
        if fitted != [(name, columns) for name, _, columns in standing]:
            raise UnusableError(f"the remainder of {place or 'the model'} is not what the other columns leave")
        return transformer

    def _read_part(self, stored: Any, place: str, shelf: Shelf) -> tuple[str, Any, list[Any]]:
        named = isinstance(stored, list) and len(stored) == 3 and isinstance(stored[0], str)
        if not named or not stored[0].isprintable():
            raise UnusableError(f"a transformer of {place or 'the model'} is {shortened(stored)}")
        name, part, columns = stored
        if part not in _WORDS:
            part = self.parts.read(part, at(place, name), shelf, {})
        return name, part, self.columns.read(columns, at(place, name), shelf, {})


def _given(parts: list[tuple[Any, ...]]) -> dict[str, Any]:
    """The parameters of a ColumnTransformer whose fitted parts, the remainder last, are these."""
    remainder = [part for name, part, _ in parts if name == "remainder"]
    others = [part for part in parts if part[0] != "remainder"]
    return {"transformers": others, "remainder": remainder[0] if remainder else "drop"}


def _stand_in(part: Any, numbers: list[int]) -> Any:
    """What is fitted instead of a part that has these columns."""
    if isinstance(part, str):
        return part
    if getattr(part, "n_features_in_", len(numbers)) != len(numbers):
        raise UnusableError(f"a {type(part).__name__} expects {part.n_features_in_} columns and gets {len(numbers)}")
    width = width_of(part)
    if width is None:
        raise UnusableError(f"a {type(part).__name__} does not say how many columns it returns")
    return _StandIn(width)


def _unfitted(part: Any) -> Any:
    return part if isinstance(part, str) else clone(part)


class _ColumnList:
    """The columns of a transformer: a list of names, numbers or booleans."""

    def write(self, value: Any, place: str, shelf: Shelf) -> list[Any]:
        if isinstance(value, str) or np.ndim(value) != 1:
            raise UnusableError(f"{place} gets the column {shortened(value)} alone; give a list of columns, or a slice")
        return [column.item() if isinstance(column, np.generic) else column for column in value]

    def read(self, stored: Any, place: str, shelf: Shelf, sizes: Sizes) -> list[Any]:
        if not isinstance(stored, list) or len({type(item) for item in stored} | {str, int, bool}) > 3:
            raise UnusableError(f"{place} has the columns {shortened(stored)}")
        return stored


def _listed(columns: Any, names: np.ndarray | None, count: int) -> Any:
    """A slice as a list: of names, with its end, or of numbers; anything else as it is."""
    if not isinstance(columns, slice):
        return columns
    if not isinstance(columns.start, str) and not isinstance(columns.stop, str):
        return list(range(count))[columns]
    assert names is not None
    known = names.tolist()
    start, stop = (None if limit is None else known.index(limit) for limit in (columns.start, columns.stop))
    return known[start : None if stop is None else stop + 1 : columns.step]


def _numbers(columns: list[Any], names: np.ndarray | None, count: int) -> list[int]:
    """Columns as numbers."""
    known = [] if names is None else names.tolist()
    try:
        if columns and all(type(column) is bool for column in columns):
            return [number for number, chosen in zip(range(count), columns, strict=True) if chosen]
        return [known.index(column) if isinstance(column, str) else range(count)[column] for column in columns]
    except (ValueError, IndexError) as error:
        raise UnusableError(f"the columns {shortened(columns)} are not among the {count} inputs: {error}") from error


class _StandIn(BaseEstimator):
    """Fitted instead of a transformer: returns the same number of columns."""

    def __init__(self, width: int = 1):
        self.width = width

    def fit(self, X: Any, y: Any = None) -> _StandIn:
        return self

    def transform(self, X: Any) -> np.ndarray:
        return np.zeros((len(X), self.width))
