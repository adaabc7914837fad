"""Regression with a stochastic configuration network."""

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin, _fit_context
from sklearn.utils.validation import validate_data

from skscn.estimators._base import BaseSCN, positive_rows
from skscn.estimators._docs import document
from skscn.estimators._training import TrainingData


@document(
    summary="Regression with a stochastic configuration network.",
    examples="""
>>> from sklearn.datasets import load_diabetes
>>> from sklearn.model_selection import train_test_split
>>> from skscn import SCNRegressor
>>> X, y = load_diabetes(return_X_y=True)
>>> X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
>>> model = SCNRegressor(early_stopping=True, random_state=0).fit(X_train, y_train)
>>> model.score(X_test, y_test) > 0.3
True
""",
)
class SCNRegressor(RegressorMixin, MultiOutputMixin, BaseSCN):
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Grow a network on rows X and targets y.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; rows of weight 0 are left out.

        Returns
        -------
        self
        """
        X, y = validate_data(
            self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32], multi_output=True, y_numeric=True
        )
        X, y, sample_weight = positive_rows(X, y, sample_weight)
        targets = np.asarray(y, dtype=np.float64).reshape(len(y), -1)
        self._fit_network(TrainingData(X, targets, sample_weight), y, single_output=y.ndim == 1)
        return self

    def predict(self, X):
        """Predict the target of each row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        X = self._validated(X)
        return self.network_.predict(X)

    def staged_predict(self, X):
        """Yield the predictions after each node, in one pass over the rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Yields
        ------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        X = self._validated(X)
        yield from self.network_.staged_predict(X)
