"""How large the error is, how certain that is, and what a model without inputs would achieve."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.stats import binomtest
from sklearn.metrics import confusion_matrix, precision_recall_fscore_support

from skscn.report._subject import SEED, Subject
from skscn.report._words import alike, percent, share

_RESAMPLES = 1000
_GROUPS = 2000
COVERAGES = (0.5, 0.8, 0.9, 0.95)
PICTURED_COVERAGE = 0.9
_LEAST_PROBABILITY = 1e-15


@dataclass(frozen=True)
class Measure:
    """One number about the error: its value, a 95 % confidence interval, and the value of a model without inputs."""

    name: str
    meaning: str
    value: float
    low: float
    high: float
    baseline: float
    is_share: bool = False

    @property
    def texts(self) -> list[str]:
        """Value, ends of the interval and baseline, with the same number of digits."""
        numbers = [self.value, self.low, self.high, self.baseline]
        return list(map(share, numbers)) if self.is_share else alike(numbers)


def regression_measures(y: np.ndarray, predictions: np.ndarray) -> list[Measure]:
    """Errors of one output; the model without inputs always predicts the mean."""
    errors, centred = y - predictions, y - y.mean()
    # A constant has no variance to explain, whatever is left of it.
    rounding = (1e-12 * np.abs(y).max()) ** 2
    terms = np.column_stack([np.ones_like(y), np.abs(errors), errors**2, centred, centred**2])

    def measures(sums: np.ndarray) -> np.ndarray:
        n, absolute, squared, total, total_squared = sums.T
        spread = total_squared - total**2 / n
        explained = 1.0 - np.divide(squared, spread, out=np.ones_like(spread), where=spread > n * rounding)
        return np.column_stack([absolute / n, np.sqrt(squared / n), explained])

    (mae, rmse, r2), low, high = _with_intervals(terms, measures)
    return [
        Measure(
            "Mean absolute error", "how far off predictions are, on average", mae, low[0], high[0], abs(centred).mean()
        ),
        Measure("RMSE", "root mean squared error; gives more weight to large errors", rmse, low[1], high[1], y.std()),
        Measure(
            "R²",
            "share of the variance that the model explains; a value below 0 is worse than predicting the mean",
            r2,
            low[2],
            high[2],
            0.0,
        ),
    ]


def quantile_measures(y: np.ndarray, predictions: np.ndarray, quantile: float) -> list[Measure]:
    """Errors of an estimate of a quantile; the model without inputs always predicts the quantile of these rows."""
    constant = np.full_like(y, np.quantile(y, quantile))
    terms, reference = (
        np.column_stack([np.ones_like(y), _pinball(y - f, quantile), y <= f]) for f in (predictions, constant)
    )
    (loss, below), low, high = _with_intervals(terms, lambda sums: sums[:, 1:] / sums[:, :1])
    baselines = reference.mean(axis=0)[1:]
    meaning = f"distances to true values above count {quantile:g} times, to those below {1.0 - quantile:g} times"
    share_meant = f"share of the true values that are not above the prediction; should be {percent(quantile)}"
    return [
        Measure("Pinball loss", f"mean error in which {meaning}", loss, low[0], high[0], baselines[0]),
        Measure("True values below", share_meant, below, low[1], high[1], baselines[1], True),
    ]


def _pinball(residuals: np.ndarray, quantile: float) -> np.ndarray:
    return np.maximum(quantile * residuals, (quantile - 1.0) * residuals)


def classification_measures(subject: Subject) -> list[Measure]:
    """Errors of classes; the model without inputs knows how frequent the classes are."""
    y, classes = subject.y, subject.estimator.classes_
    truth = (y[:, np.newaxis] == classes).astype(np.float64)
    right = (subject.probabilities * truth).sum(axis=1)
    log_loss = -np.log(np.maximum(right, _LEAST_PROBABILITY))
    # With two classes, the error of the one probability, as in scikit-learn; with more, the sum over the classes.
    share = 0.5 if len(classes) == 2 else 1.0
    brier = share * ((subject.probabilities - truth) ** 2).sum(axis=1)
    terms = np.column_stack([np.ones(len(y)), subject.predictions == y, log_loss, brier])
    (accuracy, loss, score), low, high = _with_intervals(terms, lambda sums: sums[:, 1:] / sums[:, :1])
    shares = np.unique(y, return_counts=True)[1] / len(y)
    baselines = shares.max(), -(shares * np.log(shares)).sum(), share * (1.0 - (shares**2).sum())
    return [
        Measure(
            "Accuracy",
            "share of the rows whose class is predicted correctly",
            accuracy,
            low[0],
            high[0],
            baselines[0],
            True,
        ),
        Measure(
            "Log loss",
            "larger if the true classes are given lower probabilities; 0 is perfect",
            loss,
            low[1],
            high[1],
            baselines[1],
        ),
        Measure(
            "Brier score", "mean squared error of the probabilities; 0 is perfect", score, low[2], high[2], baselines[2]
        ),
    ]


def _with_intervals(
    terms: np.ndarray, measures: Callable[[np.ndarray], np.ndarray]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Measures that are functions of sums over rows, with the ends of 95 % bootstrap intervals.

    Many rows are first summed in random groups; drawing groups spreads a mean as much as drawing rows does.
    """
    rng = np.random.default_rng(SEED)
    groups = min(len(terms), _GROUPS)
    sums = np.zeros((groups, terms.shape[1]))
    np.add.at(sums, rng.permutation(len(terms)) % groups, terms)
    draws = rng.multinomial(groups, np.full(groups, 1.0 / groups), size=_RESAMPLES)
    low, high = np.nanquantile(measures(draws @ sums), (0.025, 0.975), axis=0)
    return measures(sums.sum(axis=0, keepdims=True))[0], low, high


@dataclass(frozen=True)
class Coverage:
    """Prediction intervals that were asked to hold a share of the targets, and the share that they hold."""

    asked: float
    held: float
    low: float
    high: float
    width: float


def interval_coverages(subject: Subject) -> list[list[Coverage]]:
    """For each output, how its prediction intervals do on the sampled rows."""
    y = subject.y[subject.sample]
    found = []
    for asked in COVERAGES:
        lower, upper = subject.sample_limits(asked)
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


def class_qualities(subject: Subject) -> list[ClassQuality]:
    """Precision and recall of each class; undefined ones are NaN."""
    labels = all_labels(subject)
    table = precision_recall_fscore_support(subject.y, subject.predictions, labels=labels, zero_division=np.nan)
    return [
        ClassQuality(str(label), int(support), precision, recall, f1)
        for label, precision, recall, f1, support in zip(labels, *table, strict=True)
    ]


def confusions(subject: Subject) -> np.ndarray:
    """Rows of each true class (down) that were given each class (across)."""
    return np.asarray(confusion_matrix(subject.y, subject.predictions, labels=all_labels(subject)))


def all_labels(subject: Subject) -> np.ndarray:
    """The model's classes, and those of the rows that it does not know."""
    return np.union1d(subject.estimator.classes_, subject.y)
