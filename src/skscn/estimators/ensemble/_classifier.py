"""Classification with an ensemble: the members' probabilities, averaged as logarithms or as they are."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, softmax
from sklearn.base import ClassifierMixin
from sklearn.utils import Tags, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from skscn.estimators.base import lazily
from skscn.estimators.classifier import SCNClassifier
from skscn.estimators.ensemble._base import BaseEnsemble, EnsembleHoldOut
from skscn.estimators.ensemble.intervals import OutOfBag, by_blocks
from skscn.estimators.ensemble.members import DistinctRows
from skscn.estimators.networks import is_multilabel
from skscn.estimators.parameters import MatrixLike
from skscn.fit.data import NOTHING_ASKED, Asked, check_indicators, check_labels, numbers_of
from skscn.fit_context import fit_context
from skscn.tables.frames import exact_labels


class SCNEnsembleClassifier(ClassifierMixin, BaseEnsemble):
    """Classification with an ensemble of stochastic configuration networks.

    The members differ in their random draws, in the rows that early stopping holds out, and, optionally, in bootstrap
    rows and columns. The logarithms of their probabilities are averaged; with ``loss="squared"``, the probabilities
    themselves. Rows that a member has not seen are *out of bag*; probabilities
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
        How members are weighted: equally, or by nonnegative weights with sum 1 that minimise the Brier score of the
        arithmetic mean of their probabilities on out-of-bag rows.
    validation : {"random", "last"}, default="random"
        Which rows the early stopping of the members holds out. "last" is for rows in order of time: each member is
        grown on the rows up to a different time, between half and one and a half times `validation_fraction` before
        the end, and only later rows are out of bag. So `oob_score_` and `combination` are based on rows later than
        those that a member was trained on.
    categorical_features : "from_dtype", list of str or int, mask, or None, default="from_dtype"
        Which columns hold categories, as in :class:`SCNClassifier`. Tables are encoded, and missing numbers
        filled in, once for all members, whose own parameter is ignored.
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
        The columns of each member, as they are encoded.
    weights_ : ndarray of shape (n_members,)
        The weights of the members; their sum is 1.
    feature_importances_ : ndarray of shape (n_features,)
        The weighted mean of the members' importances, which are 0 for columns that a member does not have. Their sum is
        1. If members have none, an AttributeError says why.
    out_of_bag_ : ndarray of bool, shape (n_members, n_samples)
        Which rows each member has not seen.
    oob_decision_function_ : ndarray of shape (n_samples, n_classes)
        Probabilities by the members that have not seen a row; NaN if all have seen it.
    oob_score_ : float
        Accuracy of the out-of-bag predictions; NaN without any.
    n_rows_seen_ : int
        Number of rows of positive weight that `fit` and `partial_fit` were given.
    encoder_ : RowEncoder or None
        What turns rows into the numbers that the members see, as in :class:`SCNClassifier`.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of str
        Names of the columns, if X has them.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from skscn import SCNEnsembleClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> model = SCNEnsembleClassifier(n_members=5, random_state=0).fit(X, y)
    >>> model.oob_score_ > 0.9
    True
    """

    _parameter_constraints: dict[str, list[Any]] = {
        **BaseEnsemble._parameter_constraints,
        "estimator": [SCNClassifier, None],
    }
    _response = "predict_proba"
    classes_: np.ndarray
    oob_decision_function_: np.ndarray
    oob_score_: float

    members_: list[SCNClassifier]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = self.estimator is None or self.estimator.loss == "log_loss"
        return tags

    def _default_estimator(self) -> SCNClassifier:
        return SCNClassifier(early_stopping=True, validation_fraction=0.2)

    # Members check their own parameters.
    @fit_context(prefer_skip_nested_validation=False)
    def fit(
        self,
        X: MatrixLike,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        X_val: MatrixLike | None = None,
        y_val: ArrayLike | None = None,
        sample_weight_val: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Grow the members on rows X and classes y.

        Parameters
        ----------
        X : array-like, DataFrame, Arrow table or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_labels)
            Class labels, or an indicator, 0 or 1, for each of several labels that a row may have.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; rows of weight 0 are ignored.
        X_val, y_val : as X and y, default=None
            Rows for early stopping, which no member is trained on. They are out of bag for all members, so
            `oob_score_` and prediction intervals are computed from them. By default each member holds out rows of its
            own.
        sample_weight_val : array-like of shape (n_val_samples,), default=None
            Their weights.
        groups : array-like of shape (n_samples,), default=None
            Members hold out whole groups of rows with the same value, for rows of which new groups are to be
            predicted, such as patients, machines or batches.

        Returns
        -------
        self
        """
        return self._grown("fit", X, y, sample_weight, Asked(X_val, y_val, sample_weight_val, groups))

    # Members check their own parameters.
    @fit_context(prefer_skip_nested_validation=False)
    def partial_fit(
        self,
        X: MatrixLike,
        y: ArrayLike | None = None,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Grow the members on the first rows; let further rows join all of them.

        The first call is a :meth:`fit`, and needs rows of every class. Further calls add neither members nor nodes: the
        output weights of each member are updated by :meth:`SCNClassifier.partial_fit`, to those of the rows that it was
        grown on and all further rows. The weights of the members and `oob_score_` stay those of the first call.

        Parameters
        ----------
        X : array-like, DataFrame, Arrow table or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_labels)
        classes : array-like of shape (n_classes,), default=None
            The classes; they must be those of y in the first call.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, in the same unit in all calls; None is 1 for each row.

        Returns
        -------
        self
        """
        first = not hasattr(self, "members_")
        known = np.asarray([] if y is None else exact_labels(y)) if first else self.classes_
        if (
            classes is not None
            and known.ndim == 1
            and not np.array_equal(np.unique(exact_labels(classes)), np.unique(known))
        ):
            raise ValueError(
                "classes must be those of y in the first call of partial_fit; SCNClassifier can begin without rows of "
                "some of them."
            )
        if first:
            return self._grown("partial_fit", X, y, sample_weight)
        check_labels(y)
        self._learn_on(X, y, sample_weight, multi_output=True)
        return self

    def _grown(
        self,
        method: str,
        X: MatrixLike,
        y: ArrayLike | None,
        sample_weight: ArrayLike | None,
        asked: Asked = NOTHING_ASKED,
    ) -> Self:
        check_labels(y)
        rows, labels, weights, unit = self._validated_training(X, y, sample_weight, multi_output=True)
        check_classification_targets(labels)
        if labels.ndim == 2 and labels.shape[1] == 1:
            labels = column_or_1d(labels, warn=True)
        check_labels(asked.y_val)
        held_out = self._validated_held_out(asked, labels, multi_output=True)
        if labels.ndim == 2:
            return self._fit_labels(rows, labels, weights, method, unit, held_out)
        # A class with only rows of weight 0 is ignored.
        classes = np.unique(labels[weights > 0])
        if len(classes) < 2:
            raise ValueError(f"A classifier needs at least two classes; y has only one class: {classes[0]}.")
        _, numbers = np.unique(labels, return_inverse=True)
        data = self._rows(rows, labels, numbers, weights, held_out)
        numbers_of(data.y[data.n_training :], classes)
        indicators = data.y[:, np.newaxis] == classes
        out_of_bag = self._grow(data, indicators.astype(np.float64), strata=indicators.argmax(axis=1), method=method)
        self.classes_ = classes
        return self._scored(data, out_of_bag, unit)

    def _fit_labels(
        self,
        X: Any,
        y: np.ndarray,
        sample_weight: np.ndarray,
        method: str,
        unit: float,
        held_out: EnsembleHoldOut,
    ) -> Self:
        """Grow the members on an indicator for each of several labels."""
        check_indicators(y)
        data = self._rows(X, y, y, sample_weight, held_out)
        out_of_bag = self._grow(data, data.y.astype(np.float64), strata=np.zeros(len(data.y), dtype=int), method=method)
        self.classes_ = np.arange(y.shape[1])
        return self._scored(data, out_of_bag, unit)

    def _scored(self, data: DistinctRows, out_of_bag: OutOfBag, unit: float) -> Self:
        self._weight_unit = unit
        combined = self._combined(out_of_bag.predictions, out_of_bag.coefficients(self.weights_)[:, :, np.newaxis])
        combined[~out_of_bag.unseen.any(axis=0)] = np.nan
        self.oob_decision_function_ = combined[data.inverse]
        self.oob_score_ = self._accuracy(out_of_bag, combined)
        return self

    def _combined(self, probabilities: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """The members' probabilities (members, n, classes) combined, with weights of a shape that broadcasts."""
        if self.members_[0].calibration_ is not None:
            return np.asarray((weights * probabilities).sum(axis=0))
        logarithms = (weights * _log(probabilities)).sum(axis=0)
        if not self._is_multilabel:
            return np.asarray(softmax(logarithms, axis=1))
        return np.asarray(expit(logarithms - (weights * _log(1.0 - probabilities)).sum(axis=0)))

    @property
    def _is_multilabel(self) -> bool:
        return is_multilabel(self.members_[0])

    @lazily
    def predict(self, X: MatrixLike) -> np.ndarray:
        """Predict the class of each row: the one with the highest probability.

        Parameters
        ----------
        X : array-like, sparse matrix or Dask collection of shape (n_samples, n_features)

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        probabilities = self.predict_proba(X)
        if self._is_multilabel:
            return np.asarray(probabilities > 0.5).astype(np.int64)
        return np.asarray(np.take(self.classes_, probabilities.argmax(axis=1)))

    def _probabilities(self, X: Any) -> np.ndarray:
        return self._combined(self._responses(X), self.weights_[:, np.newaxis, np.newaxis])

    @lazily
    def predict_proba(self, X: MatrixLike) -> np.ndarray:
        """Predict the probability of each class: those of the members, combined.

        The weighted mean of the logarithms of their probabilities, normalised; with ``loss="squared"``, the weighted
        mean of their probabilities.

        Parameters
        ----------
        X : array-like, sparse matrix or Dask collection of shape (n_samples, n_features)

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            With several labels, of each label by itself.
        """
        (probabilities,) = by_blocks(self._validated_rows(X), lambda rows: (self._probabilities(rows),))
        return probabilities

    @lazily
    def predict_log_proba(self, X: MatrixLike) -> np.ndarray:
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
    def decision_function(self, X: MatrixLike) -> np.ndarray:
        """Return the log odds of the second class if there are two classes, else the probabilities.

        Parameters
        ----------
        X : array-like, sparse matrix or Dask collection of shape (n_samples, n_features)

        Returns
        -------
        decision : ndarray of shape (n_samples,) for two classes, else (n_samples, n_classes)
        """
        probabilities = self.predict_proba(X)
        if len(self.classes_) > 2 or self._is_multilabel:
            return probabilities
        logarithms = _log(probabilities)
        odds: np.ndarray = logarithms[:, 1] - logarithms[:, 0]
        return odds

    def _accuracy(self, out_of_bag: OutOfBag, combined: np.ndarray) -> float:
        rows = out_of_bag.rows
        if not rows.size:
            return np.nan
        found, wanted = combined[rows], out_of_bag.targets[rows]
        if self._is_multilabel:
            right = ((found > 0.5) == wanted).all(axis=1)
        else:
            right = found.argmax(axis=1) == wanted.argmax(axis=1)
        return float(np.average(right, weights=out_of_bag.sample_weight[rows]))


def _log(probabilities: np.ndarray) -> np.ndarray:
    return np.asarray(np.log(np.maximum(probabilities, np.finfo(probabilities.dtype).tiny)))
