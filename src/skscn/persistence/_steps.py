"""The steps of a model, as scikit-learn has them: made from parameters, fitted, and as wide as their output."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from skscn.persistence._base import Field, Shelf, UnusableError


def check_fitted(value: BaseEstimator) -> None:
    """Reject an estimator that is not fitted."""
    try:
        check_is_fitted(value)
    except NotFittedError as error:
        raise UnusableError(f"this {type(value).__name__} is not fitted") from error


def made(cls: type, parameters: dict[str, Any]) -> Any:
    """An instance with these parameters, which must be valid for fitting."""
    try:
        instance = cls(**parameters)
        instance._validate_params()
    except (ValueError, TypeError) as error:
        raise UnusableError(str(error)) from error
    return instance


def width_of(part: Any) -> int | None:
    """How many columns a fitted transformer returns, if it says so."""
    if hasattr(part, "_n_features_out"):
        return int(part._n_features_out)
    try:
        return len(part.get_feature_names_out())
    except (AttributeError, ValueError):
        return None


def written_step(parts: Field, name: str, step: Any, place: str, shelf: Shelf) -> Any:
    """A part of a model; if it cannot be saved, the message names it."""
    try:
        return parts.write(step, place, shelf)
    except UnusableError as error:
        raise UnusableError(f"its step {name!r} cannot be kept in a file: {error}") from error
