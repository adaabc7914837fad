"""Classification with a stochastic configuration network, and the calibration of its probabilities."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax
from sklearn.base import ClassifierMixin
from sklearn.utils import Tags, column_or_1d
from sklearn.utils._param_validation import StrOptions

from skscn.checks import fit_context
from skscn.declarations import attribute, parameter
from skscn.estimators.base import GrowingNetwork, lazily
from skscn.estimators.networks import is_multilabel
from skscn.estimators.parameters import MatrixLike, TrainingRows
from skscn.fit.data import (
    NO_VALIDATION_ROWS,
    TrainingData,
    ValidationArguments,
    check_indicators,
    check_labels,
    class_factors,
    indicators,
    labels_of,
    numbers_of,
)
from skscn.fit.plan import Recipe
from skscn.fit.trainer import GrowingLayer, fit_network
from skscn.fit.updating import check_can_learn_on, learn_on
from skscn.fit.validation import held_out_data, read_rows, training_data
from skscn.losses import LOSSES
from skscn.nodes import blocks
from skscn.tables.frames import exact_labels
from skscn.words import listed

_FLOORS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3)
_LARGEST_EXPONENT = 30.0
# Number of rows that is enough to choose two numbers.
ENOUGH_ROWS = 10_000


@dataclass(frozen=True)
class Calibration:
    """γ, ε and the share of equal probabilities in the map from outputs to probabilities."""

    exponent: float
    floor: float
    equal_share: float

    def probabilities(self, outputs: np.ndarray) -> np.ndarray:
        """Probabilities of shape (n, classes) for outputs of that shape."""
        probabilities = np.empty(outputs.shape)
        for rows in blocks(*outputs.shape):
            powers = softmax(self.exponent * _log_floored(outputs[rows], self.floor), axis=1)
            probabilities[rows] = (1.0 - self.equal_share) * powers + self.equal_share / outputs.shape[1]
        return probabilities


def calibrate(
    outputs: np.ndarray,
    labels: np.ndarray,
    sample_weight: np.ndarray | None,
    *,
    weight: float,
    n_nodes: int,
    averaged: bool = False,
) -> Calibration:
    """The calibration with the lowest log loss for leave-one-out outputs (n, classes) and indices of the true classes.

    Parameters
    ----------
    outputs, labels, sample_weight
        Of the training rows, or of some of them.
    weight : float
        Of all training rows.
    n_nodes : int
        Number of nodes of the network.
    averaged : bool
        Whether the probabilities will be averaged with those of other networks.
    """
    classes = outputs.shape[1]
    indicators = np.eye(classes)[labels]
    if averaged:
        smoothing, equal_share = 0.0, min(1.0, n_nodes / weight) ** 2 / 2
    else:
        smoothing, equal_share = classes / (weight + classes), 0.0
    frequencies = np.average(indicators, axis=0, weights=sample_weight)
    targets = (1.0 - smoothing) * indicators + smoothing * frequencies
    _, exponent, floor = min(_fit_exponent(outputs, targets, sample_weight, floor) for floor in _FLOORS)
    return Calibration(exponent, floor, equal_share)


def _fit_exponent(
    outputs: np.ndarray, targets: np.ndarray, sample_weight: np.ndarray | None, floor: float
) -> tuple[float, float, float]:
    logarithms = _log_floored(outputs, floor)

    def log_loss(exponent: float) -> float:
        losses = -(targets * log_softmax(exponent * logarithms, axis=1)).sum(axis=1)
        return float(np.average(losses, weights=sample_weight))

    # The log loss is convex in the exponent, so a bounded search finds its minimum.
    found = minimize_scalar(log_loss, bounds=(0.0, _LARGEST_EXPONENT), method="bounded")
    return float(found.fun), float(found.x), floor


def _log_floored(outputs: np.ndarray, floor: float) -> np.ndarray:
    """log s(f); for f < 0 the sum f + √(f² + 4ε²) cancels, so the equal 4ε²/(√(f² + 4ε²) + |f|) is used."""
    outputs = np.clip(outputs.astype(np.float64), -1e300, 1e300)
    positive = np.log(np.hypot(outputs, 2.0 * floor) + np.abs(outputs))
    logarithms: np.ndarray = np.where(outputs > 0.0, positive - np.log(2.0), np.log(2.0 * floor**2) - positive)
    return logarithms


class SCNClassifier(ClassifierMixin, GrowingNetwork):
    """Classification with a stochastic configuration network.

    A network with one hidden layer that is built node by node: random hidden nodes are drawn from small and large
    scopes, the best one that satisfies a supervisory inequality is added, so that the error provably decreases, and the
    output weights are re-evaluated. Nodes are grown by least squares on class indicators. Then, by default, the output
    weights maximise the likelihood of the classes, with a penalty that held-out rows choose.

    Attributes
    ----------
    classes_ : ndarray
        The classes; with several labels, their numbers.
    calibration_ : Calibration or None
        How outputs become probabilities with ``loss="squared"``; None under the default loss, whose outputs are logits.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.model_selection import train_test_split
    >>> from skscn import SCNClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    >>> model = SCNClassifier(max_nodes=30, random_state=0).fit(X_train, y_train)
    >>> model.score(X_test, y_test) > 0.9
    True
    """

    loss: str = parameter(
        default="log_loss",
        constraint=[StrOptions(LOSSES.keys())],
        text="""{"log_loss", "squared"}
        What is minimised: the log loss, by penalised likelihood, or the squared error of class indicators
        ("squared"), whose outputs are then calibrated.""",
    )
    class_weight: Mapping[Any, float] | Literal["balanced"] | None = parameter(
        default=None,
        constraint=[dict, StrOptions({"balanced"}), None],
        text="""dict, "balanced" or None
        Weights of the classes, by their labels, which multiply the sample weights; "balanced" gives all classes the
        same total weight.""",
    )
    classes_: np.ndarray = attribute()
    calibration_: Calibration | None = attribute()
    # What the weights of each class's rows are multiplied by; None without class_weight.
    _class_factors: np.ndarray | None = attribute(None)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = self.loss == "log_loss"
        return tags

    @fit_context(prefer_skip_nested_validation=True)
    def partial_fit(
        self,
        X: TrainingRows,
        y: ArrayLike | None = None,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Grow a network on the first rows; let further rows join it.

        The first call is a :meth:`fit`. Further calls add no nodes. Under the default loss, the log loss of the further
        rows is minimised together with a quadratic approximation of the penalised log loss of all rows before: close
        to what all rows at once would give for these nodes, but not the same. With ``loss="squared"`` the output
        weights are those of least squares over all rows seen, whatever the order of the rows and the size of the parts;
        the calibration stays that of the first call. Weights of classes are those of the first call as well.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), path or Chunks
            Files and chunks are read block by block. The first call accepts Dask collections as well.
        y : array-like of shape (n_samples,) or (n_samples, n_labels)
            As in :meth:`fit`.
        classes : array-like of shape (n_classes,), default=None
            All classes that will occur, in the first call; at least two of them must occur there. By default those of
            y. With several labels it is not needed.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, in the same unit in all calls; None is 1 for each row.

        Returns
        -------
        self
        """
        check_labels(y)
        known = None if classes is None else np.unique(np.asarray(exact_labels(classes)))
        if not hasattr(self, "network_"):
            recipe = Recipe.of(self)
            check_can_learn_on(recipe)
            return self._grow(recipe, X, y, sample_weight, classes=known, updatable=True)
        if known is not None and not np.array_equal(known, self.classes_):
            raise ValueError(
                f"The classes of the first call were {listed(map(str, self.classes_))}, and classes is now "
                f"{listed(map(str, known))}; leave it out, or fit again."
            )
        learn_on(self, X, y, sample_weight, self._indicate, multi_output=True)
        return self

    def _grow(
        self,
        recipe: Recipe,
        X: Any,
        y: Any,
        sample_weight: Any,
        validation: ValidationArguments = NO_VALIDATION_ROWS,
        *,
        classes: np.ndarray | None = None,
        updatable: bool = False,
    ) -> Self:
        check_labels(y)
        check_labels(validation.y_val)
        with training_data(self, "classification", X, y, sample_weight, multi_output=True) as data:
            hold_out = held_out_data(self, "classification", validation, data, multi_output=True)
            data = data if classes is None or data.multilabel else data.with_classes(classes)
            self._check_classes(data)
            factors = self._factors(data)
            weighted = data if factors is None else data.with_class_factors(factors)
            hold_out = hold_out if factors is None else hold_out.with_class_factors(factors)
            fit_network(self, recipe.for_labels(data.multilabel), weighted, hold_out, updatable=updatable)
            self._class_factors = factors
        return self

    def _indicate(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """Targets of further rows, and the factors of their weights."""
        if is_multilabel(self):
            y = y.reshape(len(y), -1)
            check_indicators(y)
            return y.astype(np.float64), None
        labels = numbers_of(y if y.ndim == 1 else column_or_1d(y, warn=True), self.classes_)
        factors = None if self._class_factors is None else self._class_factors[labels]
        return indicators(labels, len(self.classes_)), factors

    def _factors(self, data: TrainingData) -> np.ndarray | None:
        """What the weights of each class's rows are multiplied by; None if they stay as they are."""
        if self.class_weight is None:
            return None
        if data.multilabel:
            raise ValueError(
                "class_weight is for classes that exclude each other; use sample_weight with several labels."
            )
        assert data.classes is not None
        return class_factors(self.class_weight, data.classes, data.class_totals())

    def _check_classes(self, data: TrainingData) -> None:
        classes = data.classes
        assert classes is not None
        # Of classes that were named before, some may have no rows.
        present = classes if data.multilabel or len(classes) < 2 else classes[data.class_totals() > 0.0]
        if len(present) < 2:
            raise ValueError(f"A classifier needs at least two classes; y has only one class: {present[0]}.")
        if self.is_continued() and not np.array_equal(classes, self.classes_):
            raise ValueError("warm_start=True needs the same classes as before; those of y are different.")

    def _fitted_attributes(self, layer: GrowingLayer) -> dict[str, Any]:
        learnt = {**super()._fitted_attributes(layer), "classes_": layer.data.classes}
        return {**learnt, "calibration_": self._calibration(layer) if layer.spec.loss.plain else None}

    def _calibration(self, layer: GrowingLayer) -> Calibration:
        best = layer.at_best()
        n_rows = best.rows.n_rows
        if n_rows <= ENOUGH_ROWS:
            rows = np.arange(n_rows)
        else:
            rows = np.random.default_rng(layer.fit.start.seed).choice(n_rows, ENOUGH_ROWS, replace=False)
        data, scaling = best.data.take(rows), best.spec.outputs
        left_out = scaling.transform(data.targets) - best.output_weights.leave_one_out(best.rows, rows)
        outputs = scaling.inverse_transform(left_out)
        return calibrate(
            class_outputs(outputs),
            labels_of(data.targets),
            data.sample_weight,
            weight=best.rows.weight,
            n_nodes=best.n_below + best.output_weights.nodes,
            averaged=self._averaged,
        )

    @lazily
    def predict(self, X: MatrixLike) -> np.ndarray:
        """Predict the class of each row.

        Parameters
        ----------
        X : array-like, sparse matrix or Dask collection of shape (n_samples, n_features)

        Returns
        -------
        y : ndarray of shape (n_samples,), or (n_samples, n_labels) for several labels
        """
        rows = read_rows(self, X)
        return self._classes_of(self.network_.predict(rows, self.n_jobs))

    def staged_predict(self, X: MatrixLike) -> Iterator[np.ndarray]:
        """Yield the predicted classes after each node, in one pass over the rows; with ``loss="squared"`` only.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)

        Yields
        ------
        y : ndarray of shape (n_samples,)
        """
        rows = read_rows(self, X)
        yield from map(self._classes_of, self.network_.staged_predict(rows))

    @lazily
    def decision_function(self, X: MatrixLike) -> np.ndarray:
        """Return the network's outputs: larger for more likely classes; with two classes, above 0 for the second.

        Under the default loss these are logits: with two classes, or for each of several labels, the logarithm of the
        odds; with more classes, logarithms of their probabilities up to a constant for each row.

        Parameters
        ----------
        X : array-like, sparse matrix or Dask collection of shape (n_samples, n_features)

        Returns
        -------
        decision : ndarray of shape (n_samples,) for two classes, else (n_samples, n_classes)
        """
        rows = read_rows(self, X)
        network = self.network_
        if self.calibration_ is None:
            outputs = network.link(rows)
            return outputs[:, 0] if network.single_output else outputs
        outputs = network.predict(rows, self.n_jobs)
        return 2.0 * outputs - 1.0 if network.single_output else outputs

    @lazily
    def predict_proba(self, X: MatrixLike) -> np.ndarray:
        """Predict the probability of each class.

        Parameters
        ----------
        X : array-like, sparse matrix or Dask collection of shape (n_samples, n_features)

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes), float64
            With several labels, of each label by itself.
        """
        return self._response(read_rows(self, X))

    def _response(self, X: Any) -> np.ndarray:
        """The probabilities for validated rows."""
        if self.calibration_ is None:
            # In single precision, 1 minus a large probability may be 0.
            return class_outputs(self.network_.predict(X, self.n_jobs, double=True))
        return self.calibration_.probabilities(class_outputs(self.network_.predict(X, self.n_jobs)))

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
        if is_multilabel(self):
            return np.asarray(outputs > 0.5).astype(np.int64)
        classes: np.ndarray = self.classes_[class_outputs(outputs).argmax(axis=1)]
        return classes


def class_outputs(outputs: np.ndarray) -> np.ndarray:
    """Outputs of shape (n, classes), whether the network has a column for each class or, for two, just one."""
    if outputs.ndim == 2 and outputs.shape[1] > 1:
        return outputs
    second = outputs.reshape(-1)
    return np.column_stack([1.0 - second, second])
