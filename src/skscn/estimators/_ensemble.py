"""Ensembles of growing networks: members with different rows, columns or draws, and the rows unseen by each.

Members are grown on the distinct rows, each with the sum of its weights. So a weight of 2 is the row twice, the order
of the rows does not matter, and a member is never grown on a copy of a row that is out of bag for it. Where rows repeat
more than ten times on average, new rows are copies of old ones too, and all rows are kept.

With validation="last" rows are in order of time and are not merged. Each member is grown on rows up to a different
time, and only later rows are out of bag.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import BrokenExecutor
from dataclasses import dataclass
from itertools import takewhile
from numbers import Integral, Real
from pathlib import Path

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MultiOutputMixin, RegressorMixin, _fit_context, clone
from sklearn.metrics import r2_score
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted, validate_data
from threadpoolctl import threadpool_limits

from skscn.estimators._classifier import SCNClassifier
from skscn.estimators._distinct_rows import DistinctRows, checked_weights, distinct_rows
from skscn.estimators._early_stopping import HELD_OUT
from skscn.estimators._inputs import naming_encoder
from skscn.estimators._labels import check_labels
from skscn.estimators._lazily import lazily
from skscn.estimators.calibration import averaged
from skscn.estimators.intervals import Conformal, choose_scale, learn_size
from skscn.estimators.out_of_bag import OutOfBag, nonnegative_weights, positive
from skscn.estimators.regressor import IRVFLRegressor, ModifiedQuickpropRegressor, SCNRegressor
from skscn.progress import Listener, current_listener, listening
from skscn.rows import Chunks, is_dask
from skscn.rows.masked import refuse_masked

_DTYPES = (np.float64, np.float32)
_GET_OUT_OF_BAG_ROWS = "use bootstrap=True or an estimator with early_stopping=True, and more rows or members"
# Networks that learn the size of the out-of-bag residuals, each without its part of the rows; and the number of rows
# below which there is little to learn.
_SCALE_FOLDS = 5
_ROWS_FOR_SCALE = 50
# With validation="last" a member holds out between half and one and a half times its validation_fraction.
_SHARES_HELD_OUT = (0.5, 1.5)
# Number of rows that members predict at a time.
_BLOCK = 8192


class _BaseEnsemble(BaseEstimator, ABC):
    """Parameters, growth of the members and their combination."""

    _parameter_constraints: dict = {
        "n_members": [Interval(Integral, 1, None, closed="left")],
        "bootstrap": ["boolean"],
        "max_features": [Interval(Real, 0, 1, closed="right")],
        "combination": [StrOptions({"average", "nonnegative"})],
        "validation": [StrOptions(set(HELD_OUT))],
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }
    # What the ensemble combines: the name of the members' method.
    _response: str

    def __init__(
        self,
        estimator=None,
        n_members=10,
        bootstrap=False,
        max_features=1.0,
        combination="average",
        validation="random",
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self.estimator = estimator
        self.n_members = n_members
        self.bootstrap = bootstrap
        self.max_features = max_features
        self.combination = combination
        self.validation = validation
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @abstractmethod
    def _default_estimator(self) -> SCNRegressor | SCNClassifier:
        """The default member."""

    def _grow(self, data: DistinctRows, targets: np.ndarray, strata: np.ndarray) -> OutOfBag:
        """Grow and weight the members, and set the common attributes; targets and strata are of the distinct rows."""
        estimator = self._member()
        rng = check_random_state(self.random_state)
        seeds = rng.randint(np.iinfo(np.int32).max, size=self.n_members)
        plans = [self._plan(number, int(seed), data, strata) for number, seed in enumerate(seeds)]
        listener = current_listener()
        elsewhere = None if listener is None else listener.elsewhere()
        grown = self._follow(
            delayed(_grow_member)(estimator, data.X, data.y, data.sample_weight, plan, self._response, elsewhere)
            for plan in plans
        )
        numbers, members, predictions, unseen = zip(*grown, strict=True)
        plans = [plans[number] for number in numbers]
        out_of_bag = OutOfBag(
            np.stack(predictions).astype(np.float64).reshape(len(plans), *targets.shape),
            np.stack(unseen),
            targets,
            data.sample_weight,
        )
        self.weights_ = self._combination_weights(out_of_bag)
        self.members_ = list(members)
        self.features_ = [plan.features for plan in plans]
        self.out_of_bag_ = out_of_bag.unseen[:, data.inverse]
        return out_of_bag

    def _member(self):
        """The member to clone, with the ensemble's way of holding out rows."""
        estimator = self._default_estimator() if self.estimator is None else self.estimator
        if estimator.validation != "random" and estimator.validation != self.validation:
            raise ValueError(
                f"The members of this ensemble have validation={estimator.validation!r}; give it to the ensemble as "
                f"well: {type(self).__name__}(estimator, validation={estimator.validation!r})."
            )
        return clone(estimator).set_params(validation=self.validation)

    def _rows(self, X, y: np.ndarray, numbers: np.ndarray, sample_weight: np.ndarray) -> DistinctRows:
        """The rows to grow members on: each distinct row once, or all rows if their order matters."""
        if self.validation == "last":
            return DistinctRows(X, y, sample_weight, np.arange(len(y)))
        return distinct_rows(X, y, numbers, sample_weight)

    def _plan(self, number: int, seed: int, data: DistinctRows, strata: np.ndarray) -> _Plan:
        """A member's own draws. They depend only on its seed, so the first members do not depend on n_members."""
        rng = np.random.default_rng(seed)
        n_features = data.X.shape[1]
        size = max(1, round(self.max_features * n_features))
        features = np.sort(rng.choice(n_features, size, replace=False))
        counts = _bootstrap_counts(strata, data.sample_weight > 0, rng) if self.bootstrap else None
        # Windows of different lengths give residuals at different distances from the training rows.
        stretch = rng.uniform(*_SHARES_HELD_OUT) if self.validation == "last" else 1.0
        return _Plan(number, seed, features, counts, stretch)

    def _follow(self, tasks) -> list:
        """Grow members and notify the listener; when it asks to stop, no more are started and finished ones are kept.

        A member that was cut short is kept only if there is no other.
        """
        listener = current_listener()
        if listener is None:
            return self._parallel(tasks)
        grown: list[tuple] = []
        ended = False
        tasks = takewhile(lambda _: not (ended or listener.stopped()), tasks)
        try:
            # Members arrive one by one, after the limit within _parallel has ended.
            with threadpool_limits(limits=1, user_api="blas"):
                for member in self._parallel(tasks, return_as="generator_unordered", pre_dispatch="n_jobs"):
                    grown.append(member)
                    ended = listener.member(member[1], len(grown), self.n_members) or ended
        except (KeyboardInterrupt, BrokenExecutor):
            # Whatever has stopped the processes, their finished members are available.
            if not listener.stopped():
                raise
        if not grown:
            raise KeyboardInterrupt
        return _finished(grown) if ended or listener.stopped() else sorted(grown, key=_number)

    def _parallel(self, tasks, **settings):
        """Run the tasks in processes, unless the user has chosen another joblib backend.

        Growth is many short NumPy calls, in which threads wait for each other. With configuration="ladder" on two
        cores, 6 members of 1000 rows took 0.52 s one by one, 0.55 s in two threads and 0.37 s in two processes (1.5 s
        with their start); 4 members of 20000 rows and 15 nodes took 0.92 s, 0.68 s and 0.55 s.
        """
        # Around all of them: threads that each set and restore the limit of the process would undo each other's.
        with threadpool_limits(limits=1, user_api="blas"):
            return Parallel(n_jobs=self.n_jobs, verbose=self.verbose, **settings)(tasks)

    def _combination_weights(self, out_of_bag: OutOfBag) -> np.ndarray:
        n_members = len(out_of_bag.predictions)
        equal = np.full(n_members, 1.0 / n_members)
        if self.combination == "average":
            return equal
        if not out_of_bag.rows.size:
            raise ValueError(
                'combination="nonnegative" weights the members by their errors on out-of-bag rows, and there are none; '
                f'{_GET_OUT_OF_BAG_ROWS}, or combination="average".'
            )
        return nonnegative_weights(out_of_bag.errors(), equal)

    def _by_blocks(self, X, answer: Callable[..., tuple[np.ndarray, ...]]) -> tuple[np.ndarray, ...]:
        """Apply a function that returns arrays with one entry per row, block by block.

        So the predictions of all members for all rows are never in memory at once.
        """
        check_is_fitted(self, "members_")
        refuse_masked(X=X)
        with naming_encoder():
            X = validate_data(self, X, accept_sparse="csr", dtype=_DTYPES, reset=False)
        n_rows = X.shape[0]
        first = answer(X[:_BLOCK])
        if n_rows <= _BLOCK:
            return first
        answers = tuple(np.empty((n_rows, *values.shape[1:]), values.dtype) for values in first)
        for start in range(0, n_rows, _BLOCK):
            for whole, values in zip(answers, answer(X[start : start + _BLOCK]) if start else first, strict=True):
                whole[start : start + _BLOCK] = values
        return answers

    def _mean_and_spread(self, X) -> tuple[np.ndarray, np.ndarray]:
        """Weighted mean and standard deviation of the members' predictions for validated rows."""
        return _mean_and_spread(self._responses(X), self.weights_)

    def _responses(self, X) -> np.ndarray:
        """The predictions of each member for validated rows: shape (n_members, n_samples, ...)."""
        return np.stack(
            [
                getattr(member, self._response)(_columns(X, features))
                for member, features in zip(self.members_, self.features_, strict=True)
            ]
        )


class SCNEnsembleRegressor(RegressorMixin, MultiOutputMixin, _BaseEnsemble):
    """Regression with an ensemble of stochastic configuration networks, with prediction intervals.

    The members differ in their random draws, in the rows that early stopping holds out, and, optionally, in bootstrap
    rows and columns. Rows that a member has not seen are *out of bag*; predictions for them, from those members that
    have not seen them, are an honest estimate of the error.

    Parameters
    ----------
    estimator : SCNRegressor, IRVFLRegressor, ModifiedQuickpropRegressor or None, default=None
        The base estimator; None means ``SCNRegressor(early_stopping=True, validation_fraction=0.2)``. Its
        `random_state` and `n_jobs` are ignored. If there are too few rows to hold any out, a member is grown without
        early stopping.
    n_members : int, default=10
        Number of networks.
    bootstrap : bool, default=False
        Whether each member is grown on a bootstrap sample: n_samples rows drawn with replacement.
    max_features : float, default=1.0
        Share of the columns that each member gets, drawn without replacement; at least one column.
    combination : {"average", "nonnegative"}, default="average"
        How members are weighted: equally, or by nonnegative weights with sum 1 that minimise the squared error on
        out-of-bag rows.
    validation : {"random", "last"}, default="random"
        Which rows the early stopping of the members holds out. "last" is for rows in order of time: each member is
        grown on the rows up to a different time, between half and one and a half times `validation_fraction` before
        the end, and only later rows are out of bag. So `oob_score_`, `combination` and the intervals are based on
        errors on rows later than those that a member was trained on.
    n_jobs : int or None, default=None
        Processes that grow members; None means 1, −1 all processors. The ensemble does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws; pass an int for reproducible results.
    verbose : int, default=0
        1 or more shows how many members are finished.

    Attributes
    ----------
    members_ : list of estimators
        The networks. Unless validation="last" they were grown on the distinct rows in a different order, so use
        `out_of_bag_` rather than their `held_out_`.
    features_ : list of ndarray of int
        The columns of each member.
    weights_ : ndarray of shape (n_members,)
        The weights of the members; their sum is 1.
    out_of_bag_ : ndarray of bool, shape (n_members, n_samples)
        Which rows each member has not seen.
    oob_prediction_ : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        Predictions by the members that have not seen a row; NaN if all have seen it.
    oob_score_ : float
        R² of the out-of-bag predictions; NaN with fewer than two of them.
    n_features_in_ : int
        Number of inputs.
    feature_names_in_ : ndarray of str
        Names of the inputs, if X has them.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from skscn import SCNEnsembleRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = SCNEnsembleRegressor(n_members=5, random_state=0).fit(X[:300], y[:300])
    >>> model.oob_score_ > 0.3
    True
    >>> lower, upper = model.predict_interval(X[300:], coverage=0.9)
    >>> bool(0.8 < ((lower <= y[300:]) & (y[300:] <= upper)).mean())
    True
    """

    _parameter_constraints: dict = {
        **_BaseEnsemble._parameter_constraints,
        "estimator": [SCNRegressor, IRVFLRegressor, ModifiedQuickpropRegressor, None],
    }
    _response = "predict"

    def _default_estimator(self) -> SCNRegressor:
        return SCNRegressor(early_stopping=True, validation_fraction=0.2)

    # Members check their own parameters.
    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y=None, sample_weight=None):
        """Grow the members on rows X and targets y.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; rows of weight 0 are ignored.

        Returns
        -------
        self
        """
        _refuse_chunks(X)
        refuse_masked(X=X, y=y, sample_weight=sample_weight)
        with naming_encoder():
            X, y = validate_data(self, X, y, accept_sparse="csr", dtype=_DTYPES, multi_output=True, y_numeric=True)
        data = self._rows(X, y, y, checked_weights(sample_weight, X))
        targets = np.asarray(data.y, dtype=np.float64).reshape(len(data.y), -1)
        out_of_bag = self._grow(data, targets, strata=np.zeros(len(targets), dtype=int))
        combined = out_of_bag.combined(self.weights_)
        self.oob_prediction_ = combined[data.inverse].reshape(y.shape)
        self.oob_score_ = _r2(out_of_bag, combined)
        self._conformal = self._learn_interval(data.X, out_of_bag)
        return self

    @lazily
    def predict(self, X, return_std=False):
        """Predict the target of each row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        return_std : bool, default=False
            Whether to return the spread of the members as well.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            The weighted mean of the members' predictions.
        std : ndarray of the shape of y
            Their standard deviation, if ``return_std``. It measures how much the members disagree, without the noise
            of the target; :meth:`predict_interval` includes both.
        """
        mean, spread = self._by_blocks(X, self._mean_and_spread)
        return (mean, spread) if return_std else mean

    @lazily
    def predict_interval(self, X, coverage=0.9):
        """Predict an interval for the target of each row.

        The interval is the prediction ± q·s(x). The local scale s(x) is the size of the residual that small networks
        have learnt to expect at x, plus a share of the members' spread, plus a constant; q is the quantile of the
        absolute out-of-bag residuals over s, of the training rows, at rank ⌈(n + 1)·coverage⌉. The more coverage, the
        wider.

        If the residuals were those of a fixed model on new rows, the interval would hold the target with at least this
        probability, on average over rows like the training rows, whatever their distribution (split conformal
        prediction). Here this is approximate. An out-of-bag prediction comes from some of the members and a new one
        from all, which is corrected by the members' variance; early stopping has chosen the number of nodes on some
        of these rows, which is counted as one degree of freedom. In trials on unseen rows the mean coverage at
        90 % was 88 to 92 %, and up to 98 % for few rows with hardly any noise, where members differ more than the
        target does. With several outputs the coverage is that of each of them.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        coverage : float, default=0.9
            Share of the targets that should lie within.

        Returns
        -------
        lower, upper : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Infinite where there are too few out-of-bag rows for such a coverage.
        """
        if not 0.0 < coverage < 1.0:
            raise ValueError(f"coverage must lie between 0 and 1, both excluded, for example 0.9; got {coverage!r}.")
        check_is_fitted(self, "members_")
        if self._conformal is None:
            raise ValueError(
                f"predict_interval learns from out-of-bag rows, and there are none; {_GET_OUT_OF_BAG_ROWS}."
            )
        scale, quantile = self._conformal.scale, self._conformal.quantile(coverage)

        def interval(rows) -> tuple[np.ndarray, np.ndarray]:
            mean, spread = self._mean_and_spread(rows)
            half = (quantile * scale.at(rows, spread.reshape(len(spread), -1))).reshape(mean.shape)
            return mean - half, mean + half

        return self._by_blocks(X, interval)

    def _learn_interval(self, X, out_of_bag: OutOfBag) -> Conformal | None:
        """The values that intervals need, from the out-of-bag rows."""
        rows, shares = out_of_bag.shares(self.weights_)
        if not rows.size:
            return None
        predictions, sample_weight = out_of_bag.predictions[:, rows], out_of_bag.sample_weight[rows]
        residuals = out_of_bag.targets[rows] - np.einsum("mr,mro->ro", shares, predictions)
        # In units of the largest, so that squares neither overflow nor vanish.
        units = positive(np.abs(residuals).max(axis=0))
        _, spread = _mean_and_spread(predictions, self.weights_)
        sizes = np.abs(residuals) / units
        sizes *= self._fairness(sizes, spread / units, (shares**2).sum(axis=0)[:, np.newaxis], sample_weight)
        networks, learnt = self._learn_sizes(X[rows], sizes, sample_weight)
        scale = choose_scale(networks, learnt, sizes, spread / units, units)
        return Conformal(scale, sizes * units / scale.of(learnt * units, spread), sample_weight)

    def _fairness(
        self, sizes: np.ndarray, spread: np.ndarray, part: np.ndarray, sample_weight: np.ndarray
    ) -> np.ndarray:
        """Factor that converts each out-of-bag residual to one of the whole ensemble on new rows.

        With the variance V of one member, members with the shares w leave E e² = s² + V·Σw²; part is Σw² of the rows.
        """
        whole = float((self.weights_**2).sum())
        # The spread is measured around the ensemble's own mean, which leaves 1 − Σw² of a member's variance.
        variance = np.average(spread**2, axis=0, weights=sample_weight) / max(1.0 - whole, 1e-12)
        total = np.average(sizes**2, axis=0, weights=sample_weight)
        rest = np.maximum(total - np.average(part * variance, axis=0, weights=sample_weight), 1e-12)
        held_out = np.mean([len(member.held_out_) for member in self.members_])
        optimism = (held_out + 1.0) / (held_out - 1.0) if held_out > 1.0 else 1.0
        return np.sqrt(optimism * (rest + whole * variance) / (rest + part * variance))

    def _learn_sizes(self, X, sizes: np.ndarray, sample_weight: np.ndarray) -> tuple[list, np.ndarray]:
        """Small networks for the size of the residual at x, and their predictions for rows they were not grown on."""
        n_rows = len(sizes)
        if n_rows < _ROWS_FOR_SCALE:
            return [], np.zeros_like(sizes)
        # Distinct rows are in the order of their fingerprints, so every fifth one is a random part; of a series the
        # parts are stretches of time.
        ordered = self.validation == "last"
        folds = np.arange(n_rows) * _SCALE_FOLDS // n_rows if ordered else np.arange(n_rows) % _SCALE_FOLDS
        # They are not members.
        with listening(None):
            fitted = self._parallel(
                delayed(learn_size)(
                    X, sizes, sample_weight * (folds != fold), self.members_[0].random_state + fold, self.validation
                )
                for fold in range(_SCALE_FOLDS)
            )
        networks, predictions = zip(*fitted, strict=True)
        return list(networks), np.stack(predictions)[folds, np.arange(n_rows)]


class SCNEnsembleClassifier(ClassifierMixin, _BaseEnsemble):
    """Classification with an ensemble of stochastic configuration networks.

    The members differ in their random draws, in the rows that early stopping holds out, and, optionally, in bootstrap
    rows and columns; their probabilities are averaged. Rows that a member has not seen are *out of bag*; probabilities
    for them, from those members that have not seen them, are an honest estimate of the accuracy.

    Parameters
    ----------
    estimator : SCNClassifier or None, default=None
        The base estimator; None means ``SCNClassifier(early_stopping=True, validation_fraction=0.2)``. Its
        `random_state` and `n_jobs` are ignored. If there are too few rows to hold any out, a member is grown without
        early stopping.
    n_members : int, default=10
        Number of networks.
    bootstrap : bool, default=False
        Whether each member is grown on a bootstrap sample, drawn within each class, so that every member is trained on
        every class.
    max_features : float, default=1.0
        Share of the columns that each member gets, drawn without replacement; at least one column.
    combination : {"average", "nonnegative"}, default="average"
        How members are weighted: equally, or by nonnegative weights with sum 1 that minimise the Brier score on
        out-of-bag rows.
    validation : {"random", "last"}, default="random"
        Which rows the early stopping of the members holds out. "last" is for rows in order of time: each member is
        grown on the rows up to a different time, between half and one and a half times `validation_fraction` before
        the end, and only later rows are out of bag. So `oob_score_` and `combination` are based on rows later than
        those that a member was trained on.
    n_jobs : int or None, default=None
        Processes that grow members; None means 1, −1 all processors. The ensemble does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws; pass an int for reproducible results.
    verbose : int, default=0
        1 or more shows how many members are finished.

    Attributes
    ----------
    classes_ : ndarray
        The classes.
    members_ : list of estimators
        The networks. Unless validation="last" they were grown on the distinct rows in a different order, so use
        `out_of_bag_` rather than their `held_out_`.
    features_ : list of ndarray of int
        The columns of each member.
    weights_ : ndarray of shape (n_members,)
        The weights of the members; their sum is 1.
    out_of_bag_ : ndarray of bool, shape (n_members, n_samples)
        Which rows each member has not seen.
    oob_decision_function_ : ndarray of shape (n_samples, n_classes)
        Probabilities by the members that have not seen a row; NaN if all have seen it.
    oob_score_ : float
        Accuracy of the out-of-bag predictions; NaN without any.
    n_features_in_ : int
        Number of inputs.
    feature_names_in_ : ndarray of str
        Names of the inputs, if X has them.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from skscn import SCNEnsembleClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> model = SCNEnsembleClassifier(n_members=5, random_state=0).fit(X, y)
    >>> model.oob_score_ > 0.9
    True
    """

    _parameter_constraints: dict = {**_BaseEnsemble._parameter_constraints, "estimator": [SCNClassifier, None]}
    _response = "predict_proba"

    def _default_estimator(self) -> SCNClassifier:
        return SCNClassifier(early_stopping=True, validation_fraction=0.2)

    # Members check their own parameters.
    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y=None, sample_weight=None):
        """Grow the members on rows X and classes y.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; rows of weight 0 are ignored.

        Returns
        -------
        self
        """
        _refuse_chunks(X)
        refuse_masked(X=X, y=y, sample_weight=sample_weight)
        check_labels(y)
        with naming_encoder():
            X, y = validate_data(self, X, y, accept_sparse="csr", dtype=_DTYPES)
        check_classification_targets(y)
        sample_weight = checked_weights(sample_weight, X)
        # A class with only rows of weight 0 is ignored.
        classes = np.unique(y[sample_weight > 0])
        if len(classes) < 2:
            raise ValueError(f"A classifier needs at least two classes; y has only one class: {classes[0]}.")
        _, numbers = np.unique(y, return_inverse=True)
        data = self._rows(X, y, numbers, sample_weight)
        indicators = data.y[:, np.newaxis] == classes
        out_of_bag = self._grow(data, indicators.astype(np.float64), strata=indicators.argmax(axis=1))
        combined = out_of_bag.combined(self.weights_)
        self.classes_ = classes
        self.oob_decision_function_ = combined[data.inverse]
        self.oob_score_ = _accuracy(out_of_bag, combined)
        return self

    @lazily
    def predict(self, X):
        """Predict the class of each row: the one with the highest probability.

        Parameters
        ----------
        X : array-like, sparse matrix or Dask collection of shape (n_samples, n_features)

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        (winners,) = self._by_blocks(X, lambda rows: (self._mean_and_spread(rows)[0].argmax(axis=1),))
        return self.classes_[winners]

    @lazily
    def predict_proba(self, X):
        """Predict the probability of each class: the weighted mean of the members' probabilities.

        Parameters
        ----------
        X : array-like, sparse matrix or Dask collection of shape (n_samples, n_features)

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
        """
        (mean,) = self._by_blocks(X, lambda rows: self._mean_and_spread(rows)[:1])
        return mean

    @lazily
    def predict_log_proba(self, X):
        """Predict the logarithm of the probability of each class.

        Parameters
        ----------
        X : array-like, sparse matrix or Dask collection of shape (n_samples, n_features)

        Returns
        -------
        logarithms : ndarray of shape (n_samples, n_classes)
        """
        return _log(self.predict_proba(X))

    @lazily
    def decision_function(self, X):
        """Return the log odds of the second class if there are two classes, else the probabilities.

        Parameters
        ----------
        X : array-like, sparse matrix or Dask collection of shape (n_samples, n_features)

        Returns
        -------
        decision : ndarray of shape (n_samples,) for two classes, else (n_samples, n_classes)
        """
        probabilities = self.predict_proba(X)
        if len(self.classes_) > 2:
            return probabilities
        logarithms = _log(probabilities)
        return logarithms[:, 1] - logarithms[:, 0]


@dataclass(frozen=True)
class _Plan:
    """What makes a member differ.

    Its number, its seed, its columns, how often each row was drawn, if any were, and the factor of validation_fraction.
    """

    number: int
    seed: int
    features: np.ndarray
    counts: np.ndarray | None
    stretch: float


def _bootstrap_counts(strata: np.ndarray, counts_at_all: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """How often each row is drawn in a bootstrap sample within each stratum."""
    counts = np.zeros(len(strata))
    for stratum in np.unique(strata[counts_at_all]):
        rows = np.flatnonzero(counts_at_all & (strata == stratum))
        counts += np.bincount(rng.choice(rows, len(rows)), minlength=len(strata))
    return counts


def _number(grown: tuple) -> int:
    return grown[0]


def _finished(grown: list[tuple]) -> list[tuple]:
    """The members that were not cut short, in their order; the first one if all were."""
    grown = sorted(grown, key=_number)
    return [one for one in grown if one[1].stop_reason_ != "callback"] or grown[:1]


def _grow_member(
    estimator,
    X,
    y: np.ndarray,
    sample_weight: np.ndarray,
    plan: _Plan,
    response: str,
    elsewhere: Listener | None,
) -> tuple:
    """The number of a member, the member itself, its predictions for all rows, and which of them it has not seen."""
    weights = sample_weight if plan.counts is None else sample_weight * plan.counts
    member = clone(estimator).set_params(random_state=plan.seed, n_jobs=1)
    if member.checkpoint is not None:
        # Each member has its own file.
        member.set_params(checkpoint=f"{os.fspath(member.checkpoint)}-{plan.seed}")
    # At most halfway from the requested share to all rows.
    share = member.validation_fraction
    member.set_params(validation_fraction=min(plan.stretch * share, 0.5 + 0.5 * share))
    n_rows = np.count_nonzero(weights)
    holds_out = member.early_stopping in (True, "validation")
    if holds_out and max(1, round(member.validation_fraction * n_rows)) >= n_rows:
        member.set_params(early_stopping=False)
    X = _columns(X, plan.features)
    # Sums in BLAS depend on the number of threads, which may be larger in a worker process than here.
    with threadpool_limits(limits=1, user_api="blas"), listening(current_listener() or elsewhere), averaged():
        member.fit(X, y, sample_weight=weights if np.ptp(weights) else None)
        predictions = getattr(member, response)(X)
    return plan.number, member, predictions, _unseen(member, weights)


def _unseen(member, weights: np.ndarray) -> np.ndarray:
    """Which rows are out of bag: those that the member was not grown on; in a series, only those that are later."""
    unseen = weights == 0
    unseen[member.held_out_] = True
    if member.validation == "last":
        unseen[: np.flatnonzero(~unseen)[-1]] = False
    return unseen


def _refuse_chunks(X) -> None:
    if isinstance(X, Chunks | str | Path):
        raise TypeError(
            "Ensembles are grown on rows in memory: read them first, or give files and chunks to SCNRegressor or "
            "SCNClassifier."
        )
    if is_dask(X):
        raise TypeError(
            "Ensembles are grown on rows in memory: compute() them first, and grow the members over the cluster with "
            'joblib.parallel_config(backend="dask"); or give Dask collections to SCNRegressor or SCNClassifier.'
        )


def _columns(X, features: np.ndarray):
    """These columns; X itself if they are all of them."""
    return X if len(features) == X.shape[1] else X[:, features]


def _mean_and_spread(predictions: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weighted mean and standard deviation over the first axis, in the type of the predictions."""
    weights = weights.reshape(-1, *[1] * (predictions.ndim - 1))
    mean = (weights * predictions).sum(axis=0)
    deviations = np.abs(predictions - mean)
    # In units of the largest, so that squares neither overflow nor vanish.
    largest = positive(deviations.max(axis=0))
    spread = largest * np.sqrt((weights * (deviations / largest) ** 2).sum(axis=0))
    return mean.astype(predictions.dtype), spread.astype(predictions.dtype)


def _r2(out_of_bag: OutOfBag, combined: np.ndarray) -> float:
    rows = out_of_bag.rows
    if len(rows) < 2:
        return np.nan
    targets = out_of_bag.targets[rows]
    units = positive(np.abs(targets).max(axis=0))
    return float(r2_score(targets / units, combined[rows] / units, sample_weight=out_of_bag.sample_weight[rows]))


def _accuracy(out_of_bag: OutOfBag, combined: np.ndarray) -> float:
    rows = out_of_bag.rows
    if not rows.size:
        return np.nan
    right = combined[rows].argmax(axis=1) == out_of_bag.targets[rows].argmax(axis=1)
    return float(np.average(right, weights=out_of_bag.sample_weight[rows]))


def _log(probabilities: np.ndarray) -> np.ndarray:
    return np.log(np.maximum(probabilities, np.finfo(probabilities.dtype).tiny))
