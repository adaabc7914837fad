"""Regression on a stream of rows that may drift."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin
from sklearn.utils import Tags
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import validate_data

from skscn.activations import Activation, Function
from skscn.adaptive_intervals import AdaptiveWidth
from skscn.online._estimator import OnlineNetwork
from skscn.rows.masked import refuse_masked


class OnlineSCNRegressor(RegressorMixin, OnlineNetwork):
    """Regression with stochastic configuration networks that learn row by row and follow drift.

    A prediction is a mixture of the mean of recent targets, a linear model and two networks, weighted by their recent
    errors. Output weights follow every row by recursive least squares with forgetting. Networks are grown on the last
    rows whenever there are 1.75 times as many, and after an alarm of a drift detector on the errors; nodes are
    accepted by the supervisory inequality, and useless ones are removed. A new network is on probation: of the two, the
    one that was worse in the meantime is replaced by the next one.

    Predictions are for the row that comes next: they include a correction for the last errors, if that has helped.

    Parameters
    ----------
    forgetting : float or "auto", default="auto"
        The weight that all earlier rows keep with each new one, between 0.5 and 1: rows older than
        1/(1 − forgetting) hardly count. "auto" has two sets of output weights side by side: 0.9999, and a memory of
        three rows for each column.
    max_nodes : int, default=100
        The largest number of nodes of a network.
    window : int, default=2000
        How many of the last rows are kept, on which networks are grown.
    coverage : float, default=0.9
        The share of targets that :meth:`predict_interval` is to contain.
    activation : str, Activation or callable, default="sigmoid"
        Of the nodes.
    random_state : int, RandomState instance or None, default=None
        Determines the nodes.

    Attributes
    ----------
    n_rows_seen_ : int
        How many rows it has learnt.
    n_nodes_ : int
        The number of nodes of the network that has been best lately.
    events_ : structured ndarray
        At most the last 1000 events: ``row``, how many rows had been learnt; ``event``, "alarm", or "grown" or
        "extended" for a new network, or "kept" or "rejected" at the end of its probation; ``reason``, "warm-up",
        "more rows" or "drift"; ``n_nodes``; and at the end of a probation the root mean squared errors of the older
        network, ``error_before``, and of the newer one, ``error_after``.
    shares_ : dict
        The present weights of the mean, the linear model and the networks.
    n_features_in_ : int
        How many inputs a row has.
    feature_names_in_ : ndarray
        Their names, if X has had names.

    Examples
    --------
    >>> import numpy as np
    >>> from skscn import OnlineSCNRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(600, 2))
    >>> y = np.sin(6 * X[:, 0]) * np.repeat([1.0, -1.0], 300) + 0.1 * rng.normal(size=600)
    >>> model = OnlineSCNRegressor(random_state=0)
    >>> for start in range(0, 600, 50):
    ...     model = model.partial_fit(X[start : start + 50], y[start : start + 50])
    >>> [int(event["row"]) for event in model.events_ if event["event"] == "alarm"][0] > 300
    True
    >>> model.score(X[300:], y[300:]) > 0.9
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **OnlineNetwork._parameter_constraints,
        "coverage": [Interval(Real, 0.0, 1.0, closed="neither")],
    }
    width_: AdaptiveWidth
    _single_output: bool

    def __init__(
        self,
        forgetting: float | Literal["auto"] = "auto",
        max_nodes: int = 100,
        window: int = 2000,
        coverage: float = 0.9,
        activation: str | Activation | Function = "sigmoid",
        random_state: int | np.random.RandomState | None = None,
    ):
        self.forgetting = forgetting
        self.max_nodes = max_nodes
        self.window = window
        self.coverage = coverage
        self.activation = activation
        self.random_state = random_state

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Forget everything, then learn rows in their order.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)

        Returns
        -------
        self
        """
        if hasattr(self, "learner_"):
            del self.learner_
        self.partial_fit(X, y)
        return self

    def partial_fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn further rows, one after the other; how they are divided into calls makes no difference.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)

        Returns
        -------
        self
        """
        first = not hasattr(self, "learner_")
        if first:
            self._validate_params()
        rows, targets = self._rows_and_targets(X, y, first)
        T = targets.reshape(len(targets), -1)
        if first:
            self._single_output = targets.ndim == 1
            self._begin(T.shape[1])
            self.width_ = AdaptiveWidth(self.coverage, np.empty((0, T.shape[1])))
        if T.shape[1] != self.learner_.n_outputs:
            raise ValueError(f"y has {T.shape[1]} outputs, and this model has learnt {self.learner_.n_outputs}.")
        for x, t in zip(rows, T, strict=True):
            error = self.learner_.learn(x, t)
            if self.learner_.rows > 1:
                self.width_.hit(np.abs(error))
        return self

    def _rows_and_targets(self, X: Any, y: Any, first: bool) -> tuple[np.ndarray, np.ndarray]:
        if not first and self._is_plain(X) and self._is_plain_target(y, len(X)):
            return X, y
        refuse_masked(X=X, y=y)
        rows, targets = validate_data(self, X, y, dtype=np.float64, reset=first, multi_output=True, y_numeric=True)
        return rows, np.asarray(targets, dtype=np.float64)

    def _is_plain_target(self, y: Any, n_rows: int) -> bool:
        plain = type(y) is np.ndarray and y.dtype == np.float64 and y.shape == (n_rows,) and self._single_output
        return plain and bool(np.isfinite(y).all())

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Predict the targets of rows that come next.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        outputs = self._predicted(X)
        return outputs[:, 0] if self._single_output else outputs

    def predict_interval(self, X: ArrayLike, coverage: float | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Predict an interval for the target of each row, the prediction ± a width that is steered by recent misses.

        The width is a quantile of the last 500 errors, all of rows that had not been learnt yet. Its level rises after
        a miss and falls slightly after a hit (adaptive conformal inference), so that the share of targets in their
        intervals stays near ``coverage`` under drift. It is the same for all rows of a call, and for each output by
        itself.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        coverage : float or None, default=None
            The parameter of the model, the only one it has learnt; others are rejected.

        Returns
        -------
        lower, upper : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Infinite before there has been an error.
        """
        outputs = self._predicted(X)
        if coverage is not None and coverage != self.width_.coverage:
            raise ValueError(
                f"The intervals of this model have learnt to contain {self.width_.coverage:.0%} of the targets; for "
                f"others, use OnlineSCNRegressor(coverage={coverage!r}) from the first row on."
            )
        width = self.width_.width
        lower, upper = outputs - width, outputs + width
        return (lower[:, 0], upper[:, 0]) if self._single_output else (lower, upper)
