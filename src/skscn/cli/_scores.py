"""How good predictions are, compared with a baseline that knows nothing but the target."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.metrics import mean_absolute_error, r2_score

from skscn.cli._voice import short

TITLES = {"rmse": "RMSE", "mae": "MAE", "r2": "R²", "accuracy": "accuracy", "log_loss": "log loss"}


@dataclass(frozen=True)
class Baseline:
    """Predicts the mean or, for classes, how frequent each of them is."""

    mean: float = np.nan
    classes: np.ndarray | None = None
    frequencies: np.ndarray | None = None

    @classmethod
    def of(cls, y: np.ndarray, task: str, sample_weight: np.ndarray | None = None) -> Baseline:
        """The baseline that knows these targets."""
        if task == "regression":
            return cls(mean=float(np.average(y, weights=sample_weight)))
        classes, numbers = np.unique(y, return_inverse=True)
        frequencies = np.bincount(numbers, weights=sample_weight)
        return cls(classes=classes, frequencies=frequencies / frequencies.sum())

    @property
    def words(self) -> str:
        """What it does."""
        return "predicting the mean" if self.classes is None else "predicting the most frequent class"

    def scores(self, y: np.ndarray) -> dict[str, float]:
        """How good it is on these targets."""
        if self.classes is None or self.frequencies is None:
            return regression_scores(y, np.full(len(y), self.mean))
        most_frequent = self.classes[self.frequencies.argmax()]
        predictions = np.full(len(y), most_frequent, dtype=self.classes.dtype)
        shares = true_class_shares(y, self.classes, np.tile(self.frequencies, (len(y), 1)))
        return classification_scores(y, predictions, shares)


def regression_scores(y: np.ndarray, predictions: np.ndarray) -> dict[str, float]:
    """RMSE, mean absolute error and R²."""
    return {
        "rmse": float(np.sqrt(np.mean((y - predictions) ** 2))),
        "mae": float(mean_absolute_error(y, predictions)),
        "r2": float(r2_score(y, predictions)) if len(y) > 1 else np.nan,
    }


def classification_scores(y: np.ndarray, predictions: np.ndarray, shares: np.ndarray) -> dict[str, float]:
    """Accuracy and log loss; shares are the probabilities that the true classes were given."""
    return {
        "accuracy": float(np.mean(y == predictions)),
        "log_loss": float(-np.mean(np.log(np.clip(shares, np.finfo(float).eps, 1.0)))),
    }


def true_class_shares(y: np.ndarray, classes: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
    """The probability that each row's true class was given; 0 for a class that is not known."""
    places = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
    return np.where(classes[places] == y, probabilities[np.arange(len(y)), places], 0.0)


def baseline_score(name: str, baseline: float, words: str) -> str:
    """The score of a baseline, to be printed after the model's; R² is a comparison with it by itself."""
    return "" if name == "r2" else f"  (baseline {words}: {short(baseline)})"
