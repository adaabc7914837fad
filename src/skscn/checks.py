"""What comes before every fit and prediction: parameters are validated, and what cannot be read is refused.

A fit that fails leaves the estimator as it was.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np
from sklearn.base import BaseEstimator, _fit_context

Method = TypeVar("Method", bound=Callable[..., Any])


def fit_context(*, prefer_skip_nested_validation: bool) -> Callable[[Method], Method]:
    """Validate the parameters of an estimator before it is fitted; if the fit fails, restore its attributes.

    Attributes are restored after any exception, an interruption included, so a model that was fitted before still
    predicts. Methods must assign new values to attributes instead of changing the old ones in place.
    """
    validating = _fit_context(prefer_skip_nested_validation=prefer_skip_nested_validation)
    return lambda method: restoring(validating(method))


def restoring(method: Method) -> Method:
    """Restore the attributes of an estimator if a method that changes them fails."""

    @wraps(method)
    def fit_or_restore(estimator: BaseEstimator, *args: Any, **kwargs: Any) -> Any:
        before = vars(estimator).copy()
        try:
            return method(estimator, *args, **kwargs)
        except BaseException:
            vars(estimator).clear()
            vars(estimator).update(before)
            raise

    return cast(Method, fit_or_restore)


def is_dask(value: object) -> bool:
    """Whether this is a Dask collection; dask is not imported to find out."""
    return hasattr(value, "__dask_graph__") and hasattr(value, "to_delayed")


def refuse_masked(**arrays: object) -> None:
    """Raise ValueError for a masked array, named by its keyword, if any of its values is masked.

    Converting one to an array drops the mask, and masked values would be used as data.
    """
    for name, array in arrays.items():
        if isinstance(array, np.ma.MaskedArray) and np.ma.is_masked(array):
            # Inputs can be filled in, targets and weights cannot.
            fill = ", or put numbers in their place, for example with sklearn.impute.SimpleImputer on X.filled(np.nan)"
            raise ValueError(
                f"{name} is a masked array with {np.ma.getmaskarray(array).sum()} masked values, which cannot be "
                f"used as they are: drop their rows{fill if name == 'X' else ''}."
            )
