"""Classification of a stream of rows that may drift."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin, _fit_context
from sklearn.utils.multiclass import check_classification_targets, unique_labels
from sklearn.utils.validation import column_or_1d, validate_data

from skscn.activations import Activation, Function
from skscn.online._estimator import OnlineNetwork
from skscn.rows.masked import refuse_masked


class OnlineSCNClassifier(ClassifierMixin, OnlineNetwork):
    """Classification with stochastic configuration networks that learn row by row and follow drift.

    Like :class:`OnlineSCNRegressor` on an indicator of each class. Its outputs, between 0 and 1 and with sum 1, are the
    probabilities; they are those of least squares, and less well calibrated than those of
    :class:`~skscn.SCNClassifier`.

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
    activation : str, Activation or callable, default="sigmoid"
        Of the nodes.
    random_state : int, RandomState instance or None, default=None
        Determines the nodes.

    Attributes
    ----------
    classes_ : ndarray
        The classes.
    n_rows_seen_, n_nodes_, events_, shares_, n_features_in_, feature_names_in_
        As in :class:`OnlineSCNRegressor`.

    Examples
    --------
    >>> import numpy as np
    >>> from skscn import OnlineSCNClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(600, 2))
    >>> y = np.where(np.hypot(*(X - 0.5).T) < 0.4, "inside", "outside")
    >>> model = OnlineSCNClassifier(random_state=0)
    >>> for start in range(0, 400, 50):
    ...     rows = slice(start, start + 50)
    ...     model = model.partial_fit(X[rows], y[rows], classes=["inside", "outside"])
    >>> model.score(X[400:], y[400:]) > 0.9
    True
    """

    classes_: np.ndarray

    def __init__(
        self,
        forgetting: float | Literal["auto"] = "auto",
        max_nodes: int = 100,
        window: int = 2000,
        activation: str | Activation | Function = "sigmoid",
        random_state: int | np.random.RandomState | None = None,
    ):
        self.forgetting = forgetting
        self.max_nodes = max_nodes
        self.window = window
        self.activation = activation
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Forget everything, then learn rows in their order.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)

        Returns
        -------
        self
        """
        if hasattr(self, "learner_"):
            del self.learner_, self.classes_
        self._learn(X, y, None)
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: ArrayLike, y: ArrayLike, classes: ArrayLike | None = None) -> Self:
        """Learn further rows, one after the other; how they are divided into calls makes no difference.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        classes : array-like of shape (n_classes,), default=None
            All classes that y may have in this or in later calls. Needed in the first call.

        Returns
        -------
        self
        """
        if classes is None and not hasattr(self, "learner_"):
            raise ValueError("The first call of partial_fit needs classes=, all classes that y may have later on.")
        self._learn(X, y, None if classes is None else unique_labels(classes))
        return self

    def _learn(self, X: ArrayLike, y: ArrayLike, classes: np.ndarray | None) -> None:
        refuse_masked(X=X)
        first = not hasattr(self, "learner_")
        rows: Any
        rows, y = validate_data(self, X, y, dtype=np.float64, reset=first)
        check_classification_targets(y)
        labels = column_or_1d(y)
        if first:
            self.classes_ = self._checked(np.unique(labels) if classes is None else classes)
            self._begin(len(self.classes_))
        elif classes is not None and not np.array_equal(classes, self.classes_):
            raise ValueError(f"classes must stay the same; this model has learnt {self.classes_.tolist()}.")
        for x, t in zip(rows, self._indicators(labels), strict=True):
            self.learner_.learn(x, t)

    @staticmethod
    def _checked(classes: np.ndarray) -> np.ndarray:
        if len(classes) < 2:
            raise ValueError(f"A classifier needs at least two classes; there is only one class: {classes[0]}.")
        return classes

    def _indicators(self, labels: np.ndarray) -> np.ndarray:
        known = np.isin(labels, self.classes_)
        if not known.all():
            raise ValueError(
                f"y has the class {labels[~known].tolist()[0]!r}, which is not among those of the first call: "
                f"{self.classes_.tolist()}."
            )
        indicators: np.ndarray = (labels[:, np.newaxis] == self.classes_).astype(np.float64)
        return indicators

    def predict_proba(self, X: ArrayLike) -> np.ndarray:
        """Predict the probability of each class, for rows that come next.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
        """
        # A little is added, so that there are probabilities even if no output is positive.
        outputs = self._predicted(X).clip(0.0, 1.0) + np.finfo(np.float64).eps
        probabilities: np.ndarray = outputs / outputs.sum(axis=1, keepdims=True)
        return probabilities

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Predict the class of each row that comes next.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        likeliest = self.predict_proba(X).argmax(axis=1)
        classes: np.ndarray = self.classes_[likeliest]
        return classes
