"""Lazy predictions for Dask collections."""

from functools import partial, wraps
from typing import Any, cast

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skscn.estimators._typing import Method
from skscn.rows import is_dask
from skscn.rows.collections import mapped


def lazily(method: Method) -> Method:
    """Make a method that returns arrays for rows return Dask arrays for Dask collections, partition by partition."""

    @wraps(method)
    def of_any_rows(self: Any, X: Any, *arguments: Any, **named: Any) -> Any:
        if not is_dask(X):
            return method(self, X, *arguments, **named)
        check_is_fitted(self)
        if X.ndim != 2 or X.shape[1] != self.n_features_in_:
            raise ValueError(f"X has shape {X.shape}, but the model expects {self.n_features_in_} features.")
        few = np.zeros((1, self.n_features_in_))
        if getattr(self, "feature_names_in_", None) is not None and hasattr(X, "_meta_nonempty"):
            few = X._meta_nonempty
        return mapped(partial(_called, method.__name__, arguments, named), self, X, few)

    return cast(Method, of_any_rows)


def _called(name: str, arguments: tuple[Any, ...], named: dict[str, Any], model: Any, rows: Any) -> Any:
    return getattr(model, name)(rows, *arguments, **named)
