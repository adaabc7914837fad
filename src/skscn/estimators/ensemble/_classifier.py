"""Classification with an ensemble: the members' probabilities, averaged as logarithms or as they are."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, softmax
from sklearn.base import ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from skscn.checks import fit_context
from skscn.declarations import attribute, parameter
from skscn.estimators.base import lazily
from skscn.estimators.classifier import SCNClassifier
from skscn.estimators.ensemble._base import BaseEnsemble
from skscn.estimators.ensemble.members import DistinctRows
from skscn.estimators.ensemble.out_of_bag import OutOfBag, by_blocks
from skscn.estimators.networks import is_multilabel
from skscn.estimators.parameters import MatrixLike
from skscn.fit.data import NO_VALIDATION_ROWS, ValidationArguments, check_indicators, check_labels, numbers_of
from skscn.fit.validation import read_rows
from skscn.tables.frames import exact_labels


class SCNEnsembleClassifier(ClassifierMixin, BaseEnsemble):
    """Classification with an ensemble of stochastic configuration networks.

    The members differ in their random draws, in the rows that early stopping holds out, and, optionally, in bootstrap
    rows and columns. The logarithms of their probabilities are averaged; with ``loss="squared"``, the probabilities
    themselves. Rows that a member has not seen are *out of bag*; probabilities for them, from those members that have
    not seen them, are an honest estimate of the accuracy. After these predictions, the output weights of a member are
    those of all its rows, those it has held out included, unless the loss is squared error.

    Attributes
    ----------
    classes_ : ndarray
        The classes.
    oob_decision_function_ : ndarray of shape (n_samples, n_classes)
        Probabilities by the members that have not seen a row; NaN if all have seen it.
    oob_score_ : float
        Accuracy of the out-of-bag predictions; NaN without any.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from skscn import SCNEnsembleClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> model = SCNEnsembleClassifier(n_members=5, random_state=0).fit(X, y)
    >>> model.oob_score_ > 0.9
    True
    """

    estimator: SCNClassifier | None = parameter(
        default=None,
        constraint=[SCNClassifier, None],
        text="""SCNClassifier or None
        The base estimator; None means ``SCNClassifier(early_stopping=True, validation_fraction=0.2)``. Its
        `random_state` and `n_jobs` are ignored. If there are too few rows to hold any out, a member is grown without
        early stopping.""",
    )
    classes_: np.ndarray = attribute()
    oob_decision_function_: np.ndarray = attribute()
    members_: list[SCNClassifier] = attribute()
    _checks: ClassVar[dict[str, Any]] = {"multi_output": True}

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = self.estimator is None or self.estimator.loss == "log_loss"
        return tags

    def _default_estimator(self, n_rows: int | None = None) -> SCNClassifier:
        return SCNClassifier(early_stopping=True, validation_fraction=0.2)

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
            return self._grow("partial_fit", X, y, sample_weight)
        check_labels(y)
        return self._learn_on(X, y, sample_weight)

    def _grow(
        self,
        method: str,
        X: MatrixLike,
        y: ArrayLike | None,
        sample_weight: ArrayLike | None,
        given: ValidationArguments = NO_VALIDATION_ROWS,
    ) -> Self:
        check_labels(y)
        check_labels(given.y_val)
        return super()._grow(method, X, y, sample_weight, given)

    def _number_targets(self, y: np.ndarray, sample_weight: np.ndarray) -> np.ndarray:
        check_classification_targets(y)
        if y.ndim == 2:
            check_indicators(y)
            self.classes_ = np.arange(y.shape[1])
            return y
        # A class with only rows of weight 0 is ignored.
        self.classes_ = np.unique(y[sample_weight > 0])
        if len(self.classes_) < 2:
            raise ValueError(f"A classifier needs at least two classes; y has only one class: {self.classes_[0]}.")
        return np.asarray(np.unique(y, return_inverse=True)[1])

    def _targets(self, data: DistinctRows) -> tuple[np.ndarray, np.ndarray]:
        if data.y.ndim == 2:
            return data.y.astype(np.float64), np.zeros(len(data.y), dtype=int)
        numbers_of(data.y[data.n_training :], self.classes_)
        indicators = data.y[:, np.newaxis] == self.classes_
        return indicators.astype(np.float64), indicators.argmax(axis=1)

    def _score(self, data: DistinctRows, out_of_bag: OutOfBag) -> None:
        combined = self._combine(out_of_bag.predictions, out_of_bag.coefficients(self.weights_)[:, :, np.newaxis])
        combined[~out_of_bag.unseen.any(axis=0)] = np.nan
        self.oob_decision_function_ = combined[data.inverse]
        self.oob_score_ = self._accuracy(out_of_bag, combined)

    def _combine(self, probabilities: np.ndarray, weights: np.ndarray) -> np.ndarray:
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
        X = read_rows(self, X)
        weights = self.weights_[:, np.newaxis, np.newaxis]
        (probabilities,) = by_blocks(X, lambda rows: (self._combine(self._responses(rows), weights),))
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

    def compact(self, max_nodes: int = 200, X: MatrixLike | None = None) -> SCNClassifier:
        check_is_fitted(self, "members_")
        if self.members_[0].calibration_ is not None:
            raise ValueError('compact is for members with loss="log_loss", whose outputs are logits.')
        model = super().compact(max_nodes, X)
        assert isinstance(model, SCNClassifier)
        model.classes_, model.calibration_, model._class_factors = self.classes_, None, None
        return model

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
