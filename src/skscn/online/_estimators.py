"""Networks that follow a stream, as scikit-learn estimators."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets, unique_labels
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from skscn.activations import Activation, Function
from skscn.adaptive_intervals import AdaptiveWidth
from skscn.checks import fit_context, restoring
from skscn.declarations import Estimator, attribute, constant, parameter
from skscn.estimators import SCNRegressor
from skscn.estimators.parameters import AT_LEAST_1, NetworkParameters, Seed
from skscn.fit.plan import Recipe
from skscn.fit.validation import read_numbers
from skscn.nodes import Dense
from skscn.online._learner import StreamLearner, StreamSettings
from skscn.plausibility import LARGEST
from skscn.tables.frames import exact_labels
from skscn.words import listed, quoted

# The fewest rows with which models can be grown after a change.
_SMALLEST_WINDOW = 100
_LARGEST_SEED = 2**31 - 2000


class OnlineNetwork(Estimator):
    """Base of :class:`OnlineSCNRegressor` and :class:`OnlineSCNClassifier`."""

    forgetting: float | Literal["auto"] = parameter(
        default="auto",
        constraint=[StrOptions({"auto"}), Interval(Real, 0.5, 1.0, closed="both")],
        text="""float or "auto"
        The weight that all earlier rows keep with each new one, between 0.5 and 1: rows older than
        1/(1 − forgetting) hardly count. "auto" has two sets of output weights side by side: 0.9999, and a memory of
        three rows for each column.""",
    )
    max_nodes: int = parameter(
        default=100,
        constraint=[AT_LEAST_1],
        text="""int
        The largest number of nodes of a network.""",
    )
    window: int = parameter(
        default=2000,
        constraint=[Interval(Integral, _SMALLEST_WINDOW, None, closed="left")],
        text="""int
        How many of the last rows are kept, on which networks are grown.""",
    )
    coverage: float = constant()
    activation: str | Activation | Function = parameter(
        default="sigmoid",
        constraint=NetworkParameters._parameter_constraints["activation"],
        text="""str, Activation or callable
        Of the nodes.""",
    )
    random_state: Seed = parameter(
        default=None,
        constraint=["random_state"],
        text="""int, RandomState instance or None
        Determines the nodes.""",
    )

    learner_: StreamLearner = attribute()
    # The parameters that were validated last.
    _validated: dict[str, Any] | None = attribute(None)

    @property
    def n_rows_seen_(self) -> int:
        """How many rows it has learnt."""
        check_is_fitted(self, "learner_")
        return self.learner_.rows

    @property
    def n_rows_set_aside_(self) -> int:
        """How many rows were not learnt, because they are not finite or their targets are not plausible."""
        check_is_fitted(self, "learner_")
        return self.learner_.set_aside

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
        mixture = self.learner_.mixture
        mean, linear, *networks = mixture.by_expert(mixture.shares).sum(axis=(1, 2)).tolist()
        return {"mean": mean, "linear": linear, "networks": sum(networks)}

    def settings(self, seed: int) -> StreamSettings:
        """What the parameters mean for the learner."""
        recipe = Recipe.of(SCNRegressor(activation=self.activation))
        assert isinstance(recipe.layer, Dense)
        forgetting = None if self.forgetting == "auto" else float(self.forgetting)
        return StreamSettings(
            recipe.layer, recipe.configuration, int(self.max_nodes), int(self.window), forgetting, seed
        )

    def _check_parameters(self) -> None:
        """Validate the parameters if they are new: scikit-learn does so in the first call only, and it takes long."""
        parameters = {name: getattr(self, name) for name in self._parameter_constraints}
        if parameters != self._validated:
            self._validate_params()
            self._validated = parameters

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _is_plain(self, X: Any) -> bool:
        """Whether rows are as they should be.

        scikit-learn's validation would not change them, and for a single row it takes longer than everything else.
        """
        return (
            type(X) is np.ndarray
            and X.dtype == np.float64
            and X.ndim == 2
            and len(X) > 0
            and hasattr(self, "learner_")
            and X.shape[1] == self.n_features_in_
            and not hasattr(self, "feature_names_in_")
            and bool(np.isfinite(X).all())
        )

    def _learn_rows(self, rows: np.ndarray, T: np.ndarray) -> np.ndarray:
        """Learn rows with targets (n, m), from nothing if they are the first ones; the errors of the predictions."""
        if not hasattr(self, "learner_"):
            seed = int(check_random_state(self.random_state).randint(_LARGEST_SEED))
            self.learner_ = StreamLearner(self.settings(seed), self.n_features_in_, T.shape[1])
        errors = self.learner_.learn(rows, T)
        if not self.learner_.rows:
            names = getattr(self, "feature_names_in_", [f"x{place}" for place in range(rows.shape[1])])
            columns = [*((f"column {quoted(str(name))}", column) for name, column in zip(names, rows.T, strict=True))]
            lacking = [name for name, values in [*columns, ("the target", T)] if not (np.abs(values) <= LARGEST).all()]
            raise ValueError(
                f"None of the {len(rows)} rows could be learnt: inputs and targets must be finite numbers, up to "
                f"{LARGEST:g}; those of {listed(lacking)} are not all."
            )
        return errors

    def _outputs(self, X: Any) -> np.ndarray:
        """Predictions of shape (n, m); what is missing in a row is the median of the last rows."""
        rows = X
        if not self._is_plain(X):
            check_is_fitted(self, "learner_")
            rows = read_numbers(self, X, reset=False, dtype=np.float64, accept_sparse=False)
            missing = np.isnan(rows)
            if missing.any():
                rows = np.where(missing, np.median(self.learner_.last_inputs, axis=0), rows)
        return self.learner_.predict(rows)


# Regression on a stream of rows that may drift.


class OnlineSCNRegressor(RegressorMixin, OnlineNetwork):
    """Regression with stochastic configuration networks that learn row by row and follow drift.

    A prediction is a mixture of the mean of recent targets, a linear model and two networks, weighted by their recent
    errors. Output weights follow every row by recursive least squares with forgetting. Networks are grown on the last
    rows whenever there are 1.75 times as many, and after an alarm of a drift detector on the errors; nodes are
    accepted by the supervisory inequality, and useless ones are removed. A new network is on probation: of the two, the
    one that was worse in the meantime is replaced by the next one.

    One bad value does not ruin what was learnt. A row is set aside if it is not finite, or if its target is far outside
    the range of the targets so far and its error is more than ten times as large as an ordinary recent one. If such
    targets go on, for about ten rows, it was a change, and they are learnt; a value that repeats exactly, as a sensor
    that is off reports it, is learnt after about a hundred. Missing inputs of a row to predict are the medians of the
    last rows.

    Predictions are for the row that comes next: they include a correction for the last errors, if that has helped.

    Attributes
    ----------
    n_rows_seen_ : int
        How many rows it has learnt.
    n_nodes_ : int
        The number of nodes of the network that has been best lately.
    events_ : structured ndarray
        At most the last 1000 events: ``row``, how many rows had been learnt; ``event``, "alarm", or "grown" or
        "extended" for a new network, "kept" or "rejected" at the end of its probation, or "set aside"; ``reason``,
        "warm-up", "more rows" or "drift", and for rows that were set aside "target" or "input"; ``n_nodes``; and at the
        end of a probation the root mean squared errors of the older network, ``error_before``, and of the newer one,
        ``error_after``, which is the error of a target that was set aside. Rows that are set aside one after the other
        are one event.
    n_rows_set_aside_ : int
        How many rows were not learnt.
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

    coverage: float = parameter(
        default=0.9,
        constraint=[Interval(Real, 0.0, 1.0, closed="neither")],
        text="""float
        The share of targets that :meth:`predict_interval` is to contain.""",
    )

    width_: AdaptiveWidth = attribute()
    _single_output: bool = attribute()

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    @fit_context(prefer_skip_nested_validation=True)
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

    @restoring
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
        self._check_parameters()
        first = not hasattr(self, "learner_")
        rows: Any = X
        targets: Any = y
        plain = type(y) is np.ndarray and y.dtype == np.float64 and self._is_plain(X) and y.shape == (len(rows),)
        if not plain or not self._single_output:
            # Rows that are not finite are set aside.
            each: dict[str, Any] = {"dtype": np.float64, "ensure_all_finite": False}
            both = each, {**each, "ensure_2d": False}
            rows, targets = read_numbers(self, X, y, reset=first, validate_separately=both)
            check_consistent_length(rows, targets)
        T = targets.reshape(len(targets), -1)
        if first:
            self._single_output = targets.ndim == 1
            self.width_ = AdaptiveWidth(self.coverage, np.empty((0, T.shape[1])))
        elif T.shape[1] != self.learner_.n_outputs:
            raise ValueError(f"y has {T.shape[1]} outputs, but this model has learnt {self.learner_.n_outputs}.")
        for error in np.abs(self._learn_rows(rows, T)):
            self.width_.hit(error)
        return self

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Predict the targets of rows that come next.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        outputs = self._outputs(X)
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
        outputs = self._outputs(X)
        if coverage is not None and coverage != self.width_.coverage:
            raise ValueError(
                f"The intervals of this model have learnt to contain {self.width_.coverage:.0%} of the targets; for "
                f"others, use OnlineSCNRegressor(coverage={coverage!r}) from the first row on."
            )
        width = self.width_.width
        lower, upper = outputs - width, outputs + width
        return (lower[:, 0], upper[:, 0]) if self._single_output else (lower, upper)


# Classification of a stream of rows that may drift.


class OnlineSCNClassifier(ClassifierMixin, OnlineNetwork):
    """Classification with stochastic configuration networks that learn row by row and follow drift.

    Like :class:`OnlineSCNRegressor` on an indicator of each class. Its outputs, between 0 and 1 and with sum 1, are the
    probabilities; they are those of least squares, and less well calibrated than those of
    :class:`~skscn.SCNClassifier`.

    Attributes
    ----------
    classes_ : ndarray
        The classes.
    n_rows_seen_, n_rows_set_aside_, n_nodes_, events_, shares_, n_features_in_, feature_names_in_
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

    classes_: np.ndarray = attribute()

    @fit_context(prefer_skip_nested_validation=True)
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

    @fit_context(prefer_skip_nested_validation=True)
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
        self._learn(X, y, None if classes is None else unique_labels(exact_labels(classes)))
        return self

    def _learn(self, X: ArrayLike, y: ArrayLike, classes: np.ndarray | None) -> None:
        self._check_parameters()
        first = not hasattr(self, "learner_")
        # Rows that are not finite are set aside.
        checks: dict[str, Any] = {"dtype": np.float64, "accept_sparse": False, "ensure_all_finite": False}
        rows, y = read_numbers(self, X, exact_labels(y), reset=first, **checks)
        check_classification_targets(y)
        labels = column_or_1d(y)
        if first:
            self.classes_ = np.unique(labels) if classes is None else classes
            if len(self.classes_) < 2:
                only = self.classes_[0]
                raise ValueError(f"A classifier needs at least two classes; there is only one class: {only}.")
        elif classes is not None and not np.array_equal(classes, self.classes_):
            raise ValueError(f"classes must stay the same; this model has learnt {self.classes_.tolist()}.")
        known = np.isin(labels, self.classes_)
        if not known.all():
            raise ValueError(
                f"y has the class {labels[~known].tolist()[0]!r}, which is not among those of the first call: "
                f"{self.classes_.tolist()}."
            )
        self._learn_rows(rows, (labels[:, np.newaxis] == self.classes_).astype(np.float64))

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
        outputs = self._outputs(X).clip(0.0, 1.0) + np.finfo(np.float64).eps
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
