"""The decorator of ``fit`` and ``partial_fit``: parameters are validated, and a fit that fails changes nothing."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from sklearn.base import BaseEstimator, _fit_context

Method = TypeVar("Method", bound=Callable[..., Any])


def fit_context(*, prefer_skip_nested_validation: bool) -> Callable[[Method], Method]:
    """Validate the parameters of an estimator before it is fitted; if the fit fails, restore its attributes.

    Attributes are restored after any exception, an interruption included, so a model that was fitted before still
    predicts. Methods must assign new values to attributes instead of changing the old ones in place.
    """
    validating = _fit_context(prefer_skip_nested_validation=prefer_skip_nested_validation)

    def decorate(method: Method) -> Method:
        fit = validating(method)

        @wraps(method)
        def fit_or_restore(estimator: BaseEstimator, *args: Any, **kwargs: Any) -> Any:
            before = vars(estimator).copy()
            try:
                return fit(estimator, *args, **kwargs)
            except BaseException:
                vars(estimator).clear()
                vars(estimator).update(before)
                raise

        return cast(Method, fit_or_restore)

    return decorate
