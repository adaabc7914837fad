"""Types in the signatures of estimators, and scikit-learn's decorator of ``fit`` with a type."""

from collections.abc import Callable
from typing import Any, TypeVar

from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import _fit_context

Method = TypeVar("Method", bound=Callable[..., Any])
MatrixLike = ArrayLike | sparse.sparray | sparse.spmatrix


def fit_context(*, prefer_skip_nested_validation: bool) -> Callable[[Method], Method]:
    """Validate the parameters of an estimator before its ``fit``, whose signature stays as it is."""
    context: Callable[[Method], Method] = _fit_context(prefer_skip_nested_validation=prefer_skip_nested_validation)
    return context
