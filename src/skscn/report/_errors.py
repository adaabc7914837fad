"""How large the error is, how certain that is, and what a model without inputs would achieve."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import binomtest
from sklearn.metrics import confusion_matrix, precision_recall_fscore_support

from skscn.judging.uncertainty import means, regression_terms, resampled_limits
from skscn.report._data import ReportData
from skscn.words import alike, percent, share

COVERAGES = (0.5, 0.8, 0.9, 0.95)
_LEAST_PROBABILITY = 1e-15


@dataclass(frozen=True)
class Measure:
    """One number about the error: its value, a 95 % confidence interval, and the value of a model without inputs.

    ``score`` is its name in an Assessment, if it is one of those scores.
    """

    name: str
    meaning: str
    value: float
    low: float
    high: float
    baseline: float
    is_share: bool = False
    score: str = ""

    @property
    def texts(self) -> list[str]:
        """Value, ends of the interval and baseline, with the same number of digits."""
        numbers = [self.value, self.low, self.high, self.baseline]
        return list(map(share, numbers)) if self.is_share else alike(numbers)


def measures(data: ReportData) -> dict[str, list[Measure]]:
    """The measures of each output, or of the classes."""
    if data.classifies:
        return {data.outputs[0]: classification_measures(data)}
    columns = zip(data.outputs, data.y.T, data.predictions.T, strict=True)
    if data.quantile is not None:
        return {name: quantile_measures(y, f, data.quantile, data.blocks) for name, y, f in columns}
    return {name: regression_measures(y, f, data.blocks) for name, y, f in columns}


def _measured(terms: np.ndarray, scores: Any, blocks: np.ndarray | None) -> list[tuple[float, float, float]]:
    """Value, and ends of the confidence interval, of each score."""
    values = scores(terms.sum(axis=0, keepdims=True))[0]
    return list(zip(values, *resampled_limits(terms, scores, blocks), strict=True))


def regression_measures(y: np.ndarray, predictions: np.ndarray, blocks: np.ndarray | None = None) -> list[Measure]:
    """Errors of one output; the model without inputs always predicts the mean."""
    mae, rmse, r2 = _measured(*regression_terms(y, predictions), blocks)
    of_mae = "how far off predictions are, on average"
    of_rmse = "root mean squared error; gives more weight to large errors"
    of_r2 = "share of the variance that the model explains; a value below 0 is worse than predicting the mean"
    return [
        Measure("Mean absolute error", of_mae, *mae, np.abs(y - y.mean()).mean(), score="mae"),
        Measure("RMSE", of_rmse, *rmse, y.std(), score="rmse"),
        Measure("R²", of_r2, *r2, 0.0, score="r2"),
    ]


def quantile_measures(
    y: np.ndarray, predictions: np.ndarray, quantile: float, blocks: np.ndarray | None = None
) -> list[Measure]:
    """Errors of an estimate of a quantile; the model without inputs always predicts the quantile of these rows."""
    constant = np.full_like(y, np.quantile(y, quantile))
    terms, reference = (
        np.column_stack([np.ones_like(y), _pinball(y - f, quantile), y <= f]) for f in (predictions, constant)
    )
    loss, below = _measured(terms, means, blocks)
    baselines = reference.mean(axis=0)[1:]
    meaning = f"true values above the prediction have weight {quantile:g}, and those below {1.0 - quantile:g}"
    share_meant = f"share of the true values that are not above the prediction; should be {percent(quantile)}"
    return [
        Measure("Pinball loss", f"mean error in which {meaning}", *loss, baselines[0], score="pinball"),
        Measure("True values below", share_meant, *below, baselines[1], is_share=True, score="below"),
    ]


def _pinball(residuals: np.ndarray, quantile: float) -> np.ndarray:
    return np.maximum(quantile * residuals, (quantile - 1.0) * residuals)


def classification_measures(data: ReportData) -> list[Measure]:
    """Errors of classes; the model without inputs knows how frequent the classes are."""
    y, classes = data.y, data.estimator.classes_
    truth = (y[:, np.newaxis] == classes).astype(np.float64)
    right = (data.probabilities * truth).sum(axis=1)
    log_loss = -np.log(np.maximum(right, _LEAST_PROBABILITY))
    # With two classes, the error of the one probability, as in scikit-learn; with more, the sum over the classes.
    part = 0.5 if len(classes) == 2 else 1.0
    brier = part * ((data.probabilities - truth) ** 2).sum(axis=1)
    terms = np.column_stack([np.ones(len(y)), data.predictions == y, log_loss, brier])
    accuracy, loss, score = _measured(terms, means, data.blocks)
    shares = np.unique(y, return_counts=True)[1] / len(y)
    baselines = shares.max(), -(shares * np.log(shares)).sum(), part * (1.0 - (shares**2).sum())
    of_accuracy = "share of the rows whose class is predicted correctly"
    of_loss = "larger if the true classes are given lower probabilities; 0 is perfect"
    of_score = "mean squared error of the probabilities; 0 is perfect"
    return [
        Measure("Accuracy", of_accuracy, *accuracy, baselines[0], is_share=True, score="accuracy"),
        Measure("Log loss", of_loss, *loss, baselines[1], score="log_loss"),
        Measure("Brier score", of_score, *score, baselines[2]),
    ]


@dataclass(frozen=True)
class Coverage:
    """Prediction intervals that were asked to hold a share of the targets, and the share that they hold."""

    asked: float
    held: float
    low: float
    high: float
    width: float


def interval_coverages(data: ReportData) -> list[list[Coverage]]:
    """For each output, how its prediction intervals do on the sampled rows."""
    y = data.y[data.sample]
    found = []
    for asked in COVERAGES:
        lower, upper = data.limits(asked, sampled=True)
        held = ((lower <= y) & (y <= upper)).sum(axis=0)
        found.append(
            [
                _coverage(asked, int(k), len(y), width)
                for k, width in zip(held, (upper - lower).mean(axis=0), strict=True)
            ]
        )
    return [list(output) for output in zip(*found, strict=True)]


def _coverage(asked: float, held: int, n_rows: int, width: float) -> Coverage:
    interval = binomtest(held, n_rows).proportion_ci(method="wilson")
    return Coverage(asked, held / n_rows, interval.low, interval.high, float(width))


@dataclass(frozen=True)
class ClassQuality:
    """How well one class is predicted."""

    name: str
    rows: int
    precision: float
    recall: float
    f1: float


def class_qualities(data: ReportData) -> list[ClassQuality]:
    """Precision and recall of each class; undefined ones are NaN."""
    labels = all_labels(data)
    table = precision_recall_fscore_support(data.y, data.predictions, labels=labels, zero_division=np.nan)
    return [
        ClassQuality(str(label), int(support), precision, recall, f1)
        for label, precision, recall, f1, support in zip(labels, *table, strict=True)
    ]


def confusions(data: ReportData) -> np.ndarray:
    """Rows of each true class (down) that were given each class (across)."""
    return np.asarray(confusion_matrix(data.y, data.predictions, labels=all_labels(data)))


def all_labels(data: ReportData) -> np.ndarray:
    """The model's classes, and those of the rows that it does not know."""
    return np.union1d(data.estimator.classes_, data.y)
