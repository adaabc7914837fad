"""scikit-learn's transformers in a model file: their parameters and their public learnt attributes.

Private attributes differ between versions of scikit-learn. A class that has them is fitted to a row or two that
represent the training rows, and its learnt attributes are then set from the file. So the version that loads a file
creates its own private attributes. A file mentions only parameters that differ from their defaults.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, OneHotEncoder, RobustScaler, StandardScaler
from sklearn.utils.validation import check_is_fitted

from skscn.persistence._fields import (
    Array,
    Choice,
    Field,
    Names,
    Optional,
    Scalar,
    Several,
    Shelf,
    Sizes,
    UnusableError,
    Values,
    at,
    check_class,
    check_keys,
    shortened,
)
from skscn.persistence._parameters import read_parameters, write_parameters

_COUNT = Scalar(1, 2**53, whole=True)
_INPUTS: dict[str, Field] = {"n_features_in_": _COUNT, "feature_names_in_": Optional(Names())}
_TYPES = (
    "float16",
    "float32",
    "float64",
    "object",
    "bool",
    *(f"{s}int{b}" for s in ("", "u") for b in (8, 16, 32, 64)),
)


class Floats:
    """An array of float32 or float64, one number for each input; kept in double precision with its type."""

    def __init__(self, lowest: float = -np.inf):
        self.array = Array(np.float64, "d", lowest=lowest)

    def write(self, value: np.ndarray, place: str, shelf: Shelf) -> dict:
        Choice("float32", "float64").read(value.dtype.name, f"the type of {place}", shelf, {})
        return {"type": value.dtype.name, "shape": self.array.write(value, place, shelf)}

    def read(self, stored: Any, place: str, shelf: Shelf, sizes: Sizes) -> np.ndarray:
        check_keys(stored, ("type", "shape"), place)
        name = Choice("float32", "float64").read(stored["type"], at(place, "type"), shelf, sizes)
        values = self.array.read(stored["shape"], place, shelf, sizes)
        with np.errstate(over="ignore"):
            return values.astype(name)


class RowCounts:
    """How many rows, or how much weight, a scaler has seen: one number, or one for each input."""

    array = Values()

    def write(self, value: Any, place: str, shelf: Shelf) -> Any:
        field = self._number(value) if np.ndim(value) == 0 else self.array
        return field.write(value, place, shelf)

    @staticmethod
    def _number(value: Any) -> Scalar:
        return Scalar(0, 2**53, whole=isinstance(value, int))

    def read(self, stored: Any, place: str, shelf: Shelf, sizes: Sizes) -> Any:
        if not isinstance(stored, dict):
            return self._number(stored).read(stored, place, shelf, sizes)
        counts = self.array.read(stored, place, shelf, sizes)
        if sizes.setdefault("d", len(counts)) != len(counts) or counts.dtype.kind not in "if":
            raise UnusableError(f"{place} is {shortened(stored)}")
        return counts


class Transformer:
    """A fitted transformer with its parameters and attributes.

    Parameters
    ----------
    cls : type
    fields : dict of str to Field
        Of what it has learnt.
    """

    def __init__(self, cls: type[BaseEstimator], fields: dict[str, Field]):
        self.cls, self.fields = cls, {**_INPUTS, **fields}

    def write(self, value: BaseEstimator, place: str, shelf: Shelf) -> dict:
        check_class(value, self.cls)
        _check_fitted(value)
        learnt = {
            name: field.write(attribute, at(place, name), shelf)
            for (name, field), attribute in zip(self.fields.items(), self._learnt(value), strict=True)
        }
        return {"parameters": written_parameters(value, self.cls(), place, shelf), "learnt": learnt}

    def _learnt(self, value: Any) -> list:
        return [getattr(value, name, None) for name in self.fields]

    def read(self, stored: Any, place: str, shelf: Shelf, sizes: Sizes) -> BaseEstimator:
        check_keys(stored, ("parameters", "learnt"), place)
        transformer = made(self.cls, read_parameters(self.cls, stored["parameters"], place, shelf))
        check_keys(stored["learnt"], self.fields, place)
        own: Sizes = {}
        learnt = {
            name: field.read(stored["learnt"][name], at(place, name), shelf, own) for name, field in self.fields.items()
        }
        if own.setdefault("d", learnt["n_features_in_"]) != learnt["n_features_in_"]:
            raise UnusableError(f"{place} is for {learnt['n_features_in_']} inputs and has arrays for {own['d']}")
        try:
            return self._restored(transformer, learnt)
        except (ValueError, TypeError) as error:
            raise UnusableError(f"{place or 'the model'} is not a {self.cls.__name__}: {error}") from error

    def _restored(self, transformer: Any, learnt: dict) -> BaseEstimator:
        for name, value in learnt.items():
            if name != "feature_names_in_" or value is not None:
                setattr(transformer, name, value)
        return transformer


class _Imputer(Transformer):
    """Statistics, the type of the training rows, and the columns that have an indicator of missing values."""

    def __init__(self) -> None:
        fields: dict[str, Field] = {
            "statistics": Values(nan=True),
            "type": Choice(*_TYPES),
            "indicated": Optional(Values()),
        }
        super().__init__(SimpleImputer, fields)

    def _learnt(self, value: SimpleImputer) -> list:
        # scikit-learn has no public name for the type; statistics usually have the same type.
        dtype = getattr(value, "_fit_dtype", value.statistics_.dtype)
        indicated = None if value.indicator_ is None else value.indicator_.features_
        names = getattr(value, "feature_names_in_", None)
        return [value.n_features_in_, names, value.statistics_, dtype.name, indicated]

    def _restored(self, transformer: SimpleImputer, learnt: dict) -> BaseEstimator:
        n_features, statistics, indicated = learnt["n_features_in_"], learnt["statistics"], learnt["indicated"]
        if len(statistics) != n_features or (indicated is None) == transformer.add_indicator:
            raise UnusableError("a SimpleImputer has statistics or indicators for columns other than its inputs")
        some = "-" if learnt["type"] == "object" else 1 if transformer.missing_values == 0 else 0
        transformer.fit(np.full((1, n_features), some, dtype=learnt["type"]))
        transformer.statistics_ = statistics
        if indicated is not None:
            if indicated.dtype.kind != "i" or not np.isin(indicated, np.arange(n_features)).all():
                raise UnusableError("a SimpleImputer has indicators of columns that it does not have")
            transformer.indicator_.features_ = indicated
        return super()._restored(transformer, {"feature_names_in_": learnt["feature_names_in_"]})


class _OneHot(Transformer):
    """Categories; all other attributes of an encoder follow from them."""

    def __init__(self) -> None:
        super().__init__(OneHotEncoder, {"categories_": Several(Values(nan=True))})

    def _learnt(self, value: OneHotEncoder) -> list:
        if value.min_frequency is not None or value.max_categories is not None:
            raise UnusableError(
                "a OneHotEncoder with min_frequency or max_categories cannot be kept in a file; group rare categories "
                "before it, or leave these parameters at None"
            )
        return super()._learnt(value)

    def _restored(self, transformer: OneHotEncoder, learnt: dict) -> BaseEstimator:
        categories, given = learnt["categories_"], transformer.categories
        if len(categories) != learnt["n_features_in_"] or not all(len(some) for some in categories):
            raise UnusableError("a OneHotEncoder has categories for more or fewer columns than its inputs")
        if transformer.min_frequency is not None or transformer.max_categories is not None:
            raise UnusableError("a OneHotEncoder has min_frequency or max_categories")
        row = np.empty((1, len(categories)), dtype=object)
        row[0] = [some.tolist()[0] for some in categories]
        transformer.set_params(categories=[some.astype(object) for some in categories]).fit(row)
        transformer.set_params(categories=given)
        return super()._restored(transformer, learnt)


class _ColumnList:
    """The columns of a transformer: a list of names, numbers or booleans."""

    def write(self, value: Any, place: str, shelf: Shelf) -> list:
        if isinstance(value, str) or np.ndim(value) != 1:
            raise UnusableError(f"{place} gets the column {shortened(value)} alone; give a list of columns, or a slice")
        return [column.item() if isinstance(column, np.generic) else column for column in value]

    def read(self, stored: Any, place: str, shelf: Shelf, sizes: Sizes) -> list:
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


def _numbers(columns: list, names: np.ndarray | None, count: int) -> list[int]:
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

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return np.zeros((len(X), self.width))


# What may be given instead of a transformer.
_WORDS = ("drop", "passthrough")
_PARAMETERS: dict[str, Field] = {
    "sparse_threshold": Scalar(0.0, 1.0),
    "n_jobs": Optional(Scalar(-(2**31), 2**31, whole=True)),
    "verbose": Choice(False, True),
    "verbose_feature_names_out": Choice(False, True),
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
        self.fields: dict[str, Field] = {**_INPUTS, **_PARAMETERS, "sparse_output_": Choice(False, True)}

    def write(self, value: ColumnTransformer, place: str, shelf: Shelf) -> dict:
        check_class(value, ColumnTransformer)
        _check_fitted(value)
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

    def _columns(self, value: ColumnTransformer, shelf: Shelf) -> dict[str, list]:
        """The columns of each part; those of the remainder as numbers, since versions of scikit-learn differ there."""
        inputs = getattr(value, "feature_names_in_", None), value.n_features_in_
        others = [(name, columns) for name, _, columns in value.transformers_ if name != "remainder"]
        listed = {name: self.columns.write(_listed(columns, *inputs), name, shelf) for name, columns in others}
        taken = (_numbers(columns, *inputs) for columns in listed.values())
        return {**listed, "remainder": sorted(set(range(value.n_features_in_)).difference(*taken))}

    def _write_part(self, name: str, given: Any, fitted: Any, columns: list, place: str, shelf: Shelf) -> Any:
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

    def _stood_in(self, parts: list[tuple], about: dict, count: int, place: str) -> ColumnTransformer:
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

    def _read_part(self, stored: Any, place: str, shelf: Shelf) -> tuple[str, Any, list]:
        named = isinstance(stored, list) and len(stored) == 3 and isinstance(stored[0], str)
        if not named or not stored[0].isprintable():
            raise UnusableError(f"a transformer of {place or 'the model'} is {shortened(stored)}")
        name, part, columns = stored
        if part not in _WORDS:
            part = self.parts.read(part, at(place, name), shelf, {})
        return name, part, self.columns.read(columns, at(place, name), shelf, {})


def _given(parts: list[tuple]) -> dict:
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


def width_of(part: Any) -> int | None:
    """How many columns a fitted transformer returns, if it says so."""
    if hasattr(part, "_n_features_out"):
        return part._n_features_out
    try:
        return len(part.get_feature_names_out())
    except (AttributeError, ValueError):
        return None


def _unfitted(part: Any) -> Any:
    return part if isinstance(part, str) else clone(part)


def _check_fitted(value: BaseEstimator) -> None:
    try:
        check_is_fitted(value)
    except NotFittedError as error:
        raise UnusableError(f"this {type(value).__name__} is not fitted") from error


def made(cls: type, parameters: dict) -> Any:
    """An instance with these parameters, which must be valid for fitting."""
    try:
        instance = cls(**parameters)
        instance._validate_params()
    except (ValueError, TypeError) as error:
        raise UnusableError(str(error)) from error
    return instance


def written_parameters(value: BaseEstimator, default: BaseEstimator, place: str, shelf: Shelf) -> dict:
    """Parameters that differ from their defaults."""
    for name, parameter in value.get_params(deep=False).items():
        if callable(parameter) and not isinstance(parameter, type):
            raise UnusableError(f"{at(place, name)} is a function, which cannot be kept in a file")
    usual = write_parameters(default, place, Shelf())
    written = write_parameters(value, place, shelf)
    return {name: parameter for name, parameter in written.items() if usual.get(name, ...) != parameter}


def written_step(parts: Field, name: str, step: Any, place: str, shelf: Shelf) -> Any:
    """A part of a model; if it cannot be saved, the message names it."""
    try:
        return parts.write(step, place, shelf)
    except UnusableError as error:
        raise UnusableError(f"its step {name!r} cannot be kept in a file: {error}") from error


# Scalers divide or multiply by it; they replace zeros.
_SCALE = Floats(np.finfo(np.float64).tiny)
TRANSFORMERS: dict[str, Field] = {
    "StandardScaler": Transformer(
        StandardScaler,
        {
            "mean_": Optional(Floats()),
            "var_": Optional(Floats(0.0)),
            "scale_": Optional(_SCALE),
            "n_samples_seen_": RowCounts(),
        },
    ),
    "MinMaxScaler": Transformer(
        MinMaxScaler,
        {
            **{name: Floats() for name in ("min_", "data_min_", "data_max_")},
            "data_range_": Floats(0.0),
            "scale_": _SCALE,
            "n_samples_seen_": RowCounts(),
        },
    ),
    "MaxAbsScaler": Transformer(
        MaxAbsScaler, {"scale_": _SCALE, "max_abs_": Floats(0.0), "n_samples_seen_": RowCounts()}
    ),
    "RobustScaler": Transformer(RobustScaler, {"center_": Optional(Floats()), "scale_": Optional(_SCALE)}),
    "SimpleImputer": _Imputer(),
    "OneHotEncoder": _OneHot(),
}
