"""Types in the signatures of estimators, and scikit-learn's decorator of ``fit`` with a type."""

import os
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import _fit_context

from skscn.activations import Activation, Function
from skscn.rows import Chunks

Method = TypeVar("Method", bound=Callable[..., Any])
# Rows in memory, and training rows wherever they are; Dask collections are array-like.
MatrixLike: TypeAlias = ArrayLike | sparse.sparray | sparse.spmatrix
TrainingRows: TypeAlias = MatrixLike | os.PathLike[str] | Chunks
# Parameters that several estimators have.
Auto: TypeAlias = Literal["auto"]
ActivationLike: TypeAlias = str | Activation | Function
ScalingName: TypeAlias = Literal["minmax", "robust", "standard", "quantile"] | None
Criterion: TypeAlias = bool | Literal["validation", "gcv", "aic", "bic"]
CategoricalFeatures: TypeAlias = Literal["from_dtype"] | Sequence[bool | int | str] | None
HeldOut: TypeAlias = Literal["random", "last"]
PathLike: TypeAlias = str | os.PathLike[str]
Seed: TypeAlias = int | np.random.RandomState | None


def fit_context(*, prefer_skip_nested_validation: bool) -> Callable[[Method], Method]:
    """Validate the parameters of an estimator before its ``fit``, whose signature stays as it is."""
    context: Callable[[Method], Method] = _fit_context(prefer_skip_nested_validation=prefer_skip_nested_validation)
    return context
