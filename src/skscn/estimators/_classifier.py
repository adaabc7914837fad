"""Classification with a stochastic configuration network."""

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin

from skscn.estimators._docs import document
from skscn.estimators._fitting import fit_network
from skscn.estimators._labels import check_labels
from skscn.estimators._lazily import lazily
from skscn.estimators._opening import training_data
from skscn.estimators._scn import BaseSCN
from skscn.estimators._typing import MatrixLike, TrainingRows, fit_context
from skscn.estimators.calibration import ENOUGH_ROWS, Calibration, calibrate
from skscn.estimators.data import labels_of
from skscn.estimators.recipe import Recipe
from skscn.estimators.training import Training


@document(
    summary="Classification with a stochastic configuration network, trained on class indicators.",
    story="""
A network with one hidden layer that is built node by node: random hidden nodes are drawn from small and large scopes,
the best one that satisfies a supervisory inequality is added, so that the error provably decreases, and the output
weights are re-evaluated.
""",
    attributes="""
classes_ : ndarray
    The classes.
calibration_ : Calibration
    How outputs become probabilities.
""",
    examples="""
>>> from sklearn.datasets import load_wine
>>> from sklearn.model_selection import train_test_split
>>> from skscn import SCNClassifier
>>> X, y = load_wine(return_X_y=True)
>>> X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
>>> model = SCNClassifier(max_nodes=30, random_state=0).fit(X_train, y_train)
>>> model.score(X_test, y_test) > 0.9
True
""",
)
class SCNClassifier(ClassifierMixin, BaseSCN):
    classes_: np.ndarray
    calibration_: Calibration

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: TrainingRows, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> Self:
        """Grow a network on rows X and classes y.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), path, Chunks, or Dask array or dataframe
            A path of a Parquet, CSV, TSV or Arrow file, or of a folder of them, is read chunk by chunk; so are
            :class:`~skscn.Chunks`. If they do not fit in memory they are kept in temporary files. Dask collections
            stay on their workers.
        y : array-like of shape (n_samples,)
            Labels; the name of the target column with a path or a Dask dataframe, nothing with Chunks.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; rows of weight 0 are ignored. With a Dask dataframe it can be the name of a column.

        Returns
        -------
        self
        """
        check_labels(y)
        recipe = Recipe.of(self)
        with training_data(self, "classification", X, y, sample_weight) as data:
            self._check_classes(data.classes)
            fit_network(self, recipe, data)
        return self

    def _check_classes(self, classes: np.ndarray | None) -> None:
        assert classes is not None
        if len(classes) < 2:
            raise ValueError(f"A classifier needs at least two classes; y has only one class: {classes[0]}.")
        if self.is_continued() and not np.array_equal(classes, self.classes_):
            raise ValueError("warm_start=True needs the same classes as before; those of y are different.")

    def _learnt(self, training: Training, seed: int) -> dict[str, Any]:
        settled = training.settled()
        n_rows = settled.rows.n_rows
        if n_rows <= ENOUGH_ROWS:
            rows = np.arange(n_rows)
        else:
            rows = np.random.default_rng(seed).choice(n_rows, ENOUGH_ROWS, replace=False)
        data, scaling = settled.data.take(rows), settled.frame.outputs
        left_out = scaling.transform(data.targets) - settled.output_weights.leave_one_out(settled.rows, rows)
        outputs = scaling.inverse_transform(left_out)
        calibration = calibrate(
            _class_outputs(outputs),
            labels_of(data.targets),
            data.sample_weight,
            weight=settled.rows.weight,
            n_nodes=settled.output_weights.nodes,
        )
        learnt = super()._learnt(training, seed)
        return {**learnt, "classes_": data.classes, "calibration_": calibration}

    @lazily
    def predict(self, X: MatrixLike) -> np.ndarray:
        """Predict the class of each row.

        Parameters
        ----------
        X : array-like, sparse matrix or Dask collection of shape (n_samples, n_features)

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        rows = self._validated(X)
        return self._classes_of(self.network_.predict(rows, self.n_jobs))

    def staged_predict(self, X: MatrixLike) -> Iterator[np.ndarray]:
        """Yield the predicted classes after each node, in one pass over the rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Yields
        ------
        y : ndarray of shape (n_samples,)
        """
        rows = self._validated(X)
        yield from map(self._classes_of, self.network_.staged_predict(rows))

    @lazily
    def decision_function(self, X: MatrixLike) -> np.ndarray:
        """Return the network's outputs: larger for more likely classes; with two classes, above 0 for the second.

        Parameters
        ----------
        X : array-like, sparse matrix or Dask collection of shape (n_samples, n_features)

        Returns
        -------
        decision : ndarray of shape (n_samples,) for two classes, else (n_samples, n_classes)
        """
        rows = self._validated(X)
        outputs = self.network_.predict(rows, self.n_jobs)
        return 2.0 * outputs - 1.0 if self.network_.single_output else outputs

    @lazily
    def predict_proba(self, X: MatrixLike) -> np.ndarray:
        """Predict the probability of each class.

        Parameters
        ----------
        X : array-like, sparse matrix or Dask collection of shape (n_samples, n_features)

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes), float64
        """
        rows = self._validated(X)
        outputs = self.network_.predict(rows, self.n_jobs)
        return self.calibration_.probabilities(_class_outputs(outputs))

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
        logarithms: np.ndarray = np.log(self.predict_proba(X))
        return logarithms

    def _classes_of(self, outputs: np.ndarray) -> np.ndarray:
        classes: np.ndarray = self.classes_[_class_outputs(outputs).argmax(axis=1)]
        return classes


def _class_outputs(outputs: np.ndarray) -> np.ndarray:
    """Outputs of shape (n, classes), whether the network has a column for each class or, for two, just one."""
    if outputs.ndim == 2 and outputs.shape[1] > 1:
        return outputs
    second = outputs.reshape(-1)
    return np.column_stack([1.0 - second, second])
