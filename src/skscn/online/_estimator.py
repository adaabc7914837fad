"""What the two estimators share: parameters, validation, and the learner of the stream."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from skscn.activations import ACTIVATIONS, Activation
from skscn.estimators import SCNRegressor
from skscn.estimators.recipe import Recipe
from skscn.layers import Dense
from skscn.online._learner import StreamLearner, StreamSettings
from skscn.rows.masked import refuse_masked

# The fewest rows with which models can be grown after a change.
_SMALLEST_WINDOW = 100
_LARGEST_SEED = 2**31 - 2000


class OnlineNetwork(BaseEstimator):
    """Base of :class:`OnlineSCNRegressor` and :class:`OnlineSCNClassifier`."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "forgetting": [StrOptions({"auto"}), Interval(Real, 0.5, 1.0, closed="both")],
        "max_nodes": [Interval(Integral, 1, None, closed="left")],
        "window": [Interval(Integral, _SMALLEST_WINDOW, None, closed="left")],
        "activation": [StrOptions(set(ACTIVATIONS)), Activation, callable],
        "random_state": ["random_state"],
    }
    learner_: StreamLearner

    @property
    def n_rows_seen_(self) -> int:
        """How many rows it has learnt."""
        check_is_fitted(self, "learner_")
        return self.learner_.rows

    @property
    def n_nodes_(self) -> int:
        """The number of nodes of the network that has been best lately."""
        check_is_fitted(self, "learner_")
        return self.learner_.n_nodes

    @property
    def events_(self) -> np.ndarray:
        """What has happened: a structured array with one entry for each event, at most the last 1000."""
        check_is_fitted(self, "learner_")
        return self.learner_.log.table

    @property
    def shares_(self) -> dict[str, float]:
        """The present weights of the mean, the linear model and the networks in predictions; their sum is 1."""
        check_is_fitted(self, "learner_")
        mean, linear, *networks = self.learner_.mixture.shares.sum(axis=1).tolist()
        return {"mean": mean, "linear": linear, "networks": sum(networks)}

    def settings(self, seed: int) -> StreamSettings:
        """What the parameters mean for the learner."""
        recipe = Recipe.of(SCNRegressor(activation=self.activation))
        assert isinstance(recipe.layer, Dense)
        forgetting = None if self.forgetting == "auto" else float(self.forgetting)
        return StreamSettings(
            recipe.layer, recipe.configuration, int(self.max_nodes), int(self.window), forgetting, seed
        )

    def _begin(self, n_outputs: int) -> None:
        seed = int(check_random_state(self.random_state).randint(_LARGEST_SEED))
        self.learner_ = StreamLearner(self.settings(seed), self.n_features_in_, n_outputs)

    def _rows(self, X: Any) -> np.ndarray:
        if hasattr(self, "learner_") and self._is_plain(X):
            return np.asarray(X)
        check_is_fitted(self, "learner_")
        refuse_masked(X=X)
        rows: np.ndarray = validate_data(self, X, dtype=np.float64, reset=False)
        return rows

    def _is_plain(self, X: Any) -> bool:
        """Whether rows are as they should be.

        scikit-learn's validation would not change them, and for a single row it takes longer than everything else.
        """
        return (
            type(X) is np.ndarray
            and X.dtype == np.float64
            and X.ndim == 2
            and len(X) > 0
            and X.shape[1] == self.n_features_in_
            and not hasattr(self, "feature_names_in_")
            and bool(np.isfinite(X).all())
        )

    def _predicted(self, X: Any) -> np.ndarray:
        """Outputs of shape (n, m)."""
        rows = self._rows(X)
        return self.learner_.predict(rows)
