"""scikit-learn's transformers in a model file: their parameters and their public learnt attributes.

Private attributes differ between versions of scikit-learn. A class that has them is fitted to a row or two that
represent the training rows, and its learnt attributes are then set from the file. So the version that loads a file
creates its own private attributes. A file mentions only parameters that differ from their defaults.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, OneHotEncoder, RobustScaler, StandardScaler

from skscn.persistence._base import Field, Shelf, Sizes, UnusableError, at, check_class, check_keys, shortened
from skscn.persistence._composed import Optional, Several
from skscn.persistence._fields import Array, Enumerated, Scalar
from skscn.persistence._parameters import read_parameters, write_parameters
from skscn.persistence._steps import check_fitted, made
from skscn.persistence._values import Names, Values

INPUTS: dict[str, Field] = {"n_features_in_": Scalar(1, 2**53, whole=True), "feature_names_in_": Optional(Names())}
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

    def write(self, value: np.ndarray, place: str, shelf: Shelf) -> dict[str, Any]:
        Enumerated("float32", "float64").read(value.dtype.name, f"the type of {place}", shelf, {})
        return {"type": value.dtype.name, "shape": self.array.write(value, place, shelf)}

    def read(self, stored: Any, place: str, shelf: Shelf, sizes: Sizes) -> np.ndarray:
        check_keys(stored, ("type", "shape"), place)
        name = Enumerated("float32", "float64").read(stored["type"], at(place, "type"), shelf, sizes)
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
        self.cls, self.fields = cls, {**INPUTS, **fields}

    def write(self, value: BaseEstimator, place: str, shelf: Shelf) -> dict[str, Any]:
        check_class(value, self.cls)
        check_fitted(value)
        learnt = {
            name: field.write(attribute, at(place, name), shelf)
            for (name, field), attribute in zip(self.fields.items(), self._learnt(value), strict=True)
        }
        return {"parameters": written_parameters(value, self.cls(), place, shelf), "learnt": learnt}

    def _learnt(self, value: Any) -> list[Any]:
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

    def _restored(self, transformer: Any, learnt: dict[str, Any]) -> BaseEstimator:
        for name, value in learnt.items():
            if name != "feature_names_in_" or value is not None:
                setattr(transformer, name, value)
        return transformer


class _Imputer(Transformer):
    """Statistics, the type of the training rows, and the columns that have an indicator of missing values."""

    def __init__(self) -> None:
        fields: dict[str, Field] = {
            "statistics": Values(nan=True),
            "type": Enumerated(*_TYPES),
            "indicated": Optional(Values()),
        }
        super().__init__(SimpleImputer, fields)

    def _learnt(self, value: SimpleImputer) -> list[Any]:
        # scikit-learn has no public name for the type; statistics usually have the same type.
        dtype = getattr(value, "_fit_dtype", value.statistics_.dtype)
        indicated = None if value.indicator_ is None else value.indicator_.features_
        names = getattr(value, "feature_names_in_", None)
        return [value.n_features_in_, names, value.statistics_, dtype.name, indicated]

    def _restored(self, transformer: SimpleImputer, learnt: dict[str, Any]) -> BaseEstimator:
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

    def _learnt(self, value: OneHotEncoder) -> list[Any]:
        if value.min_frequency is not None or value.max_categories is not None:
            raise UnusableError(
                "a OneHotEncoder with min_frequency or max_categories cannot be kept in a file; group rare categories "
                "before it, or leave these parameters at None"
            )
        return super()._learnt(value)

    def _restored(self, transformer: OneHotEncoder, learnt: dict[str, Any]) -> BaseEstimator:
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


def written_parameters(value: BaseEstimator, default: BaseEstimator, place: str, shelf: Shelf) -> dict[str, Any]:
    """Parameters that differ from their defaults."""
    for name, parameter in value.get_params(deep=False).items():
        if callable(parameter) and not isinstance(parameter, type):
            raise UnusableError(f"{at(place, name)} is a function, which cannot be kept in a file")
    usual = write_parameters(default, place, Shelf())
    written = write_parameters(value, place, shelf)
    return {name: parameter for name, parameter in written.items() if usual.get(name, ...) != parameter}


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
