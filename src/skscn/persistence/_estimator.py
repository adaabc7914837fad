"""A fitted estimator in a model file: its class, its parameters and what it has learnt."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sklearn.base import BaseEstimator

from skscn.estimators.base import GrowingNetwork
from skscn.persistence._base import Field, Shelf, Sizes, UnusableError, at, check_class, check_keys
from skscn.persistence._composed import Optional, split_added
from skscn.persistence._parameters import read_parameters, write_parameters
from skscn.persistence._steps import check_fitted
from skscn.persistence._values import Names


class FittedEstimator:
    """A fitted estimator: its class, its parameters and its learnt attributes.

    Parameters
    ----------
    cls : type
    fields : dict of str to Field
        Of the attributes to keep.
    derived : callable
        Returns the attributes that follow from those, and raises UnusableError if they contradict each other.
    """

    def __init__(
        self, cls: type[BaseEstimator], fields: dict[str, Field], derived: Callable[[Any, Sizes], dict[str, Any]]
    ):
        self.cls, self.derived = cls, derived
        self.fields = {**fields, "feature_names_in_": Optional(Names())}

    def write(self, value: BaseEstimator, place: str, shelf: Shelf) -> dict[str, Any]:
        check_class(value, self.cls)
        check_fitted(value)
        fitted = {
            name: field.write(getattr(value, name, None), at(place, name), shelf) for name, field in self.fields.items()
        }
        return {"parameters": write_parameters(value, place, shelf), "fitted": fitted}

    def read(self, stored: Any, place: str, shelf: Shelf, sizes: Sizes) -> BaseEstimator:
        check_keys(stored, ("parameters", "fitted"), place)
        estimator = self._unfitted(stored["parameters"], place, shelf)
        present, missing = split_added(self.fields, stored["fitted"])
        check_keys(stored["fitted"], present, place)
        read: dict[str, Any] = {}
        for name, field in present.items():
            # The names are those of the user's columns, of which networks may see more or fewer numbers.
            encoder = read.get("encoder_") if name == "feature_names_in_" else None
            own = sizes if encoder is None else {"d": encoder.n_columns}
            read[name] = field.read(stored["fitted"][name], at(place, name), shelf, own)
        for name, value in (missing | read).items():
            setattr(estimator, name, value)
        if estimator.feature_names_in_ is None:
            del estimator.feature_names_in_
        for name, value in self.derived(estimator, sizes).items():
            setattr(estimator, name, value)
        return estimator

    def _unfitted(self, stored: Any, place: str, shelf: Shelf) -> BaseEstimator:
        estimator = self.cls(**read_parameters(self.cls, stored, place, shelf))
        try:
            estimator._validate_params()
            if isinstance(estimator, GrowingNetwork):
                estimator._configuration()
        except ValueError as error:
            raise UnusableError(str(error)) from error
        return estimator
