"""scikit-learn's transformers, Pipelines and ColumnTransformers in a model file, and all that a file can contain.

Transformers are stored with their parameters and public learnt attributes; private ones differ between versions of
scikit-learn. A class that has them is fitted to a row that represents the training rows, and its learnt attributes are
then set from the file, so that the version that loads a file creates its own private attributes. skops would store
them, and what it loads would have to be checked here all the same, class by class.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, OneHotEncoder, RobustScaler, StandardScaler

from skscn.persistence import _fields as f
from skscn.persistence._estimators import NAMES, FittedEstimator, check_class, check_fitted, write_parameters
from skscn.persistence._fields import (
    Field,
    Place,
    UnusableError,
    check_keys,
    read_fields,
    refusals,
    refuse_if,
    shorten,
    write_fields,
)
from skscn.persistence._networks import NETWORKS
from skscn.persistence._streams import STREAMS

_INPUTS: dict[str, Field] = {"n_features_in_": f.INPUTS, NAMES: f.Names()}
# What may be given instead of a transformer.
_PASS, _WORDS = "passthrough", ("drop", "passthrough")


class _FloatsField(Field):
    """An array of float32 or float64, one number for each input; kept in double precision with its type."""

    types = f.Choice("float32", "float64")

    def __init__(self, lowest: float = -np.inf):
        self.array = f.Array("d", lowest=lowest)

    def write(self, value: np.ndarray, place: Place) -> dict[str, Any]:
        name = self.types.read(value.dtype.name, place.at("type"))
        return {"type": name, "shape": self.array.write(value, place)}

    def read(self, stored: Any, place: Place) -> np.ndarray:
        check_keys(stored, ("type", "shape"), place)
        name = self.types.read(stored["type"], place.at("type"))
        with np.errstate(over="ignore"):
            return self.array.read(stored["shape"], place).astype(name)


class _RowCountsField(Field):
    """How many rows, or how much weight, a scaler has seen: one number, or one for each input."""

    def write(self, value: Any, place: Place) -> Any:
        return (f.Values() if np.ndim(value) else f.COUNT).write(value, place)

    def read(self, stored: Any, place: Place) -> Any:
        if not isinstance(stored, dict):
            return f.Scalar(0, 2**53, whole=isinstance(stored, int)).read(stored, place)
        counts = f.Values(kinds="if").read(stored, place)
        if not place.fits("d", len(counts)):
            raise place.refusal(stored)
        return counts


class TransformerField(FittedEstimator):
    """A fitted transformer, with the declared attributes that it has learnt."""

    key = "learnt"

    def __init__(self, cls: type[BaseEstimator], **fields: Field):
        super().__init__(cls, {**_INPUTS, **fields})

    def parameters(self, value: BaseEstimator, place: Place) -> dict[str, Any]:
        """Parameters that differ from their defaults; other versions may not have the others."""
        for name, parameter in value.get_params(deep=False).items():
            wrong = callable(parameter) and not isinstance(parameter, type)
            refuse_if(wrong, f"{place.at(name)} is a function, which cannot be kept in a file")
        usual = write_parameters(self.cls(), Place(f.ArrayStore()))
        return {k: each for k, each in write_parameters(value, place).items() if usual.get(k, ...) != each}

    def restore(self, estimator: Any, learnt: dict[str, Any], sizes: dict[str, int]) -> None:
        count = learnt["n_features_in_"]
        wrong = sizes.get("d", count) != count
        refuse_if(wrong, f"it is for {count} inputs and has arrays for {sizes.get('d')}")
        super().restore(estimator, learnt, sizes)


class _ImputerField(TransformerField):
    """Statistics, the type of the training rows, and the columns that have an indicator of missing values."""

    def learnt(self, value: SimpleImputer) -> dict[str, Any]:
        # scikit-learn has no public name for the type; statistics usually have the same type.
        dtype = getattr(value, "_fit_dtype", value.statistics_.dtype)
        indicated = None if value.indicator_ is None else value.indicator_.features_
        return {**vars(value), "statistics": value.statistics_, "type": dtype.name, "indicated": indicated}

    def restore(self, estimator: SimpleImputer, learnt: dict[str, Any], sizes: dict[str, int]) -> None:
        count, statistics, indicated = learnt["n_features_in_"], learnt["statistics"], learnt["indicated"]
        wrong = len(statistics) != count or (indicated is None) == estimator.add_indicator
        refuse_if(wrong, "a SimpleImputer has statistics or indicators for columns other than its inputs")
        some = "-" if learnt["type"] == "object" else 1 if estimator.missing_values == 0 else 0
        estimator.fit(np.full((1, count), some, dtype=learnt["type"]))
        estimator.statistics_ = statistics
        if indicated is not None:
            wrong = not np.isin(indicated, np.arange(count)).all()
            refuse_if(wrong, "a SimpleImputer has indicators of columns that it does not have")
            estimator.indicator_.features_ = indicated


class _OneHotField(TransformerField):
    """Categories; all other attributes of an encoder follow from them."""

    def learnt(self, value: OneHotEncoder) -> dict[str, Any]:
        if value.min_frequency is not None or value.max_categories is not None:
            raise UnusableError(
                "a OneHotEncoder with min_frequency or max_categories cannot be kept in a file; group rare categories "
                "before it, or leave these parameters at None"
            )
        return vars(value)

    def restore(self, estimator: OneHotEncoder, learnt: dict[str, Any], sizes: dict[str, int]) -> None:
        self.learnt(estimator)
        categories, given = learnt["categories_"], estimator.categories
        wrong = len(categories) != learnt["n_features_in_"] or not all(len(some) for some in categories)
        refuse_if(wrong, "a OneHotEncoder has categories for more or fewer columns than its inputs")
        row = np.empty((1, len(categories)), dtype=object)
        row[0] = [some.tolist()[0] for some in categories]
        estimator.set_params(categories=[some.astype(object) for some in categories]).fit(row)
        estimator.set_params(categories=given)
        super().restore(estimator, learnt, sizes)


# Scalers divide or multiply by scales; they replace zeros.
_ANY, _POSITIVE, _SCALE = _FloatsField(), _FloatsField(0.0), _FloatsField(np.finfo(np.float64).tiny)
_SEEN, _ITEMS = _RowCountsField(), f.Values(missing=True)
_TRANSFORMERS = (
    TransformerField(
        StandardScaler,
        mean_=f.Optional(_ANY),
        var_=f.Optional(_POSITIVE),
        scale_=f.Optional(_SCALE),
        n_samples_seen_=_SEEN,
    ),
    TransformerField(
        MinMaxScaler,
        **dict.fromkeys(("min_", "data_min_", "data_max_"), _ANY),
        data_range_=_POSITIVE,
        scale_=_SCALE,
        n_samples_seen_=_SEEN,
    ),
    TransformerField(MaxAbsScaler, scale_=_SCALE, max_abs_=_POSITIVE, n_samples_seen_=_SEEN),
    TransformerField(RobustScaler, center_=f.Optional(_ANY), scale_=f.Optional(_SCALE)),
    _ImputerField(
        SimpleImputer,
        statistics=_ITEMS,
        type=f.Choice(*f.NUMBERS, "object"),
        indicated=f.Optional(f.Values(kinds="i")),
    ),
    _OneHotField(OneHotEncoder, categories_=f.Several(_ITEMS)),
)


def _write_part(name: str, part: Any, place: Place) -> Any:
    """A part of a model; if it cannot be saved, the message names it."""
    try:
        return _PARTS.write(part, place.at(name))
    except UnusableError as error:
        raise UnusableError(f"its step {name!r} cannot be kept in a file: {error}") from error


def _check_part(stored: Any, length: int, reason: str) -> None:
    """Reject what is not a list of this length that begins with a name."""
    named = isinstance(stored, list) and len(stored) == length and isinstance(stored[0], str)
    refuse_if(not named or not stored[0].isprintable(), reason)


def _width_of(part: Any) -> int | None:
    """How many columns a fitted transformer returns, if it says so."""
    if hasattr(part, "_n_features_out"):
        return int(part._n_features_out)
    try:
        return len(part.get_feature_names_out())
    except (AttributeError, ValueError):
        return None


class _PipelineField(Field):
    """A Pipeline of parts that files can hold; its steps must fit together."""

    def write(self, value: Pipeline, place: Place) -> dict[str, Any]:
        check_class(value, Pipeline)
        set_none = value.memory is not None or value.transform_input is not None
        refuse_if(set_none, "a Pipeline is kept without memory and transform_input; set them to None")
        steps = [
            [name, _PASS if step in (None, _PASS) else _write_part(name, step, place)] for name, step in value.steps
        ]
        return {"steps": steps, "verbose": bool(value.verbose)}

    def read(self, stored: Any, place: Place) -> Pipeline:
        check_keys(stored, ("steps", "verbose"), place)
        verbose = f.FLAG.read(stored["verbose"], place.at("verbose"))
        if not isinstance(stored["steps"], list) or not stored["steps"]:
            raise UnusableError("a Pipeline has no steps")
        steps = [self._read_step(step, place) for step in stored["steps"]]
        pipeline = Pipeline(steps, verbose=verbose)
        with refusals("it is not a Pipeline: "):
            # Names that occur twice, and steps that are not transformers.
            pipeline._validate_steps()
        # The output of a step must have as many columns as the next one expects, as far as these are known.
        for step, following in pairwise(step for _, step in steps if step != _PASS):
            width = _width_of(step)
            expected = getattr(following, "n_features_in_", width)
            wrong = width is not None and width != expected
            refuse_if(wrong, f"a step returns {width} columns, the next one expects {expected}")
        return pipeline

    def _read_step(self, stored: Any, place: Place) -> tuple[str, Any]:
        _check_part(stored, 2, f"a step of a Pipeline is {shorten(stored)}")
        name, step = stored
        return name, step if step == _PASS else _PARTS.read(step, place.at(name))


class _ColumnTransformerField(Field):
    """A ColumnTransformer of supported parts; columns that a function has selected are saved as selected.

    It is fitted with placeholders, whose parts are then set from the file.
    """

    fields: dict[str, Field] = {
        **_INPUTS,
        "sparse_threshold": f.Scalar(0.0, 1.0),
        "n_jobs": f.Optional(f.Scalar(-(2**31), 2**31, whole=True)),
        "verbose": f.FLAG,
        "verbose_feature_names_out": f.FLAG,
        "sparse_output_": f.FLAG,
    }

    def write(self, value: ColumnTransformer, place: Place) -> dict[str, Any]:
        check_fitted(value, ColumnTransformer)
        weighted = value.transformer_weights is not None
        refuse_if(weighted, "a ColumnTransformer with transformer_weights cannot be kept in a file")
        given = {name: part for name, part, _ in value.transformers} | {"remainder": value.remainder}
        columns = self._write_columns(value)
        parts: list[list[Any]] = []
        for name, fitted, _ in value.transformers_:
            # Without a column there was nothing to fit.
            empty = all(column is False for column in columns[name])
            word = given[name] if isinstance(given[name], str) else "drop" if empty else None
            parts.append([name, word or _write_part(name, fitted, place), columns[name]])
        return {"transformers": parts, **write_fields(self.fields, {NAMES: None, **vars(value)}, place)}

    def _write_columns(self, value: ColumnTransformer) -> dict[str, list[Any]]:
        """The columns of each part; those of the remainder as numbers, since versions of scikit-learn differ there."""
        names, count = getattr(value, NAMES, None), value.n_features_in_
        listed = {}
        for name, _, columns in value.transformers_:
            if name != "remainder":
                columns = _listed(columns, names, count)
                if isinstance(columns, str) or np.ndim(columns) != 1:
                    only = shorten(columns)
                    raise UnusableError(f"{name} gets the column {only} alone; give a list of columns, or a slice")
                listed[name] = [each.item() if isinstance(each, np.generic) else each for each in columns]
        taken = (_column_numbers(columns, names, count) for columns in listed.values())
        return {**listed, "remainder": sorted(set(range(count)).difference(*taken))}

    def read(self, stored: Any, place: Place) -> ColumnTransformer:
        check_keys(stored, ("transformers", *self.fields), place)
        rest = {name: each for name, each in stored.items() if name != "transformers"}
        about = read_fields(self.fields, rest, place.apart())
        if not isinstance(stored["transformers"], list):
            raise UnusableError(f"{place} has no list of transformers")
        parts = [self._read_part(part, place) for part in stored["transformers"]]
        names, count, sparse = about.pop(NAMES), about.pop("n_features_in_"), about.pop("sparse_output_")
        # Every input is a column of some part, at least of the remainder; so memory is bounded by the file.
        wrong = count > sum(len(columns) for *_, columns in parts) or (names is not None and len(names) != count)
        refuse_if(wrong, f"{place} has {count} inputs, and columns or names for others")
        numbered = [(name, part, _column_numbers(columns, names, count)) for name, part, columns in parts]
        transformer = self._fit_placeholders(numbered, about, count, place)
        transformer.transformers_ = [
            (name, own if isinstance(part, str) else part, columns)
            for (_, own, _), (name, part, columns) in zip(transformer.transformers_, parts, strict=True)
        ]
        transformer.sparse_output_ = sparse
        if names is not None:
            transformer.feature_names_in_ = names
        unfitted = [(name, part if isinstance(part, str) else clone(part), columns) for name, part, columns in parts]
        return transformer.set_params(**_transformers_and_remainder(unfitted))

    def _fit_placeholders(self, parts: list[tuple[Any, ...]], about: dict[str, Any], count: int, place: Place) -> Any:
        """A ColumnTransformer that is fitted with placeholders for its parts."""
        placed = [(name, _placeholder(part, columns), columns) for name, part, columns in parts]
        with refusals(f"{place} is not a ColumnTransformer: "):
            transformer = ColumnTransformer(**_transformers_and_remainder(placed), **about)
            transformer.fit(np.zeros((1, count)))
        fitted = [(name, columns) for name, _, columns in transformer.transformers_]
        wrong = fitted != [(name, columns) for name, _, columns in placed]
        refuse_if(wrong, f"the remainder of {place} is not what the other columns leave")
        return transformer

    def _read_part(self, stored: Any, place: Place) -> tuple[str, Any, list[Any]]:
        _check_part(stored, 3, f"a transformer of {place} is {shorten(stored)}")
        name, part, columns = stored
        if part not in _WORDS:
            part = _PARTS.read(part, place.at(name))
        if not isinstance(columns, list) or not {type(column) for column in columns} <= {str, int, bool}:
            raise UnusableError(f"{place.at(name)} has the columns {shorten(columns)}")
        return name, part, columns


def _transformers_and_remainder(parts: list[tuple[Any, ...]]) -> dict[str, Any]:
    """The parameters of a ColumnTransformer whose fitted parts, the remainder last, are these."""
    remainder = [part for name, part, _ in parts if name == "remainder"]
    others = [part for part in parts if part[0] != "remainder"]
    return {"transformers": others, "remainder": remainder[0] if remainder else "drop"}


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


def _column_numbers(columns: list[Any], names: np.ndarray | None, count: int) -> list[int]:
    """Columns as numbers."""
    known = [] if names is None else names.tolist()
    with refusals(f"the columns {shorten(columns)} are not among the {count} inputs: ", IndexError):
        if columns and all(type(column) is bool for column in columns):
            return [number for number, chosen in zip(range(count), columns, strict=True) if chosen]
        return [known.index(column) if isinstance(column, str) else range(count)[column] for column in columns]


def _placeholder(part: Any, numbers: list[int]) -> Any:
    """A transformer that is fitted instead of a part that has these columns."""
    if isinstance(part, str):
        return part
    name, width, given = type(part).__name__, _width_of(part), len(numbers)
    expected = getattr(part, "n_features_in_", given)
    refuse_if(expected != given, f"a {name} expects {expected} columns and gets {given}")
    if width is None:
        raise UnusableError(f"a {name} does not say how many columns it returns")
    return _Placeholder(width)


class _Placeholder(BaseEstimator):
    """A transformer that returns zeros, in a certain number of columns."""

    def __init__(self, width: int = 1):
        self.width = width

    def fit(self, X: Any, y: Any = None) -> _Placeholder:
        return self

    def transform(self, X: Any) -> np.ndarray:
        return np.zeros((len(X), self.width))


# What a model file can contain: to support another class, add it here.
MODELS: dict[str, Field] = {
    **NETWORKS,
    **STREAMS,
    "Pipeline": _PipelineField(),
    "TableEncoder": f.ByJson("skscn.tables", "TableEncoder"),
    "Lags": f.ByJson("skscn.series", "Lags"),
    **{each.cls.__name__: each for each in _TRANSFORMERS},
    "ColumnTransformer": _ColumnTransformerField(),
}
_PARTS = f.OneOf("models", MODELS)


def write_model(model: Any, store: f.ArrayStore) -> dict[str, Any]:
    """A model as JSON, its arrays in the store."""
    return _PARTS.write(model, Place(store))


def read_model(stored: Any, store: f.ArrayStore) -> Any:
    """The model that was written like this; UnusableError if there is none."""
    model = _PARTS.read(stored, Place(store))
    refuse_if(store.arrays, f"nothing refers to the array {shorten(next(iter(store.arrays), None))}")
    return model
