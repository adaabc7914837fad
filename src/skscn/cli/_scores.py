"""How good predictions are, compared with a baseline that knows nothing but the target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import mean_absolute_error, mean_poisson_deviance, median_absolute_error, r2_score, roc_auc_score

from skscn.cli._voice import short
from skscn.fitted_loss import estimated
from skscn.losses import Loss, Poisson, Quantile
from skscn.words import shortened

# Errors that certain losses are judged by; models with other losses are judged by the RMSE.
OWN_ERRORS = {"pinball": "pinball loss", "deviance": "Poisson deviance", "median_error": "median error"}
TITLES = {
    **OWN_ERRORS,
    "below": "share below",
    "rmse": "RMSE",
    "mae": "MAE",
    "r2": "R²",
    "accuracy": "accuracy",
    "log_loss": "log loss",
    "balanced_accuracy": "balanced accuracy",
    "roc_auc": "ROC AUC",
    "rare_recall": "rare recall",
}
# A class is rare if it has less than this share of the rows that it would have if all classes had as many.
_RARE = 0.5
# The recall of a rare class from which on there is nothing to advise.
_HIGH_RECALL = 0.75


class RareClass(NamedTuple):
    """The rarest of classes that differ much in frequency, its share of the rows, and whether classes are weighted."""

    label: Any
    share: float
    weighted: bool

    @classmethod
    def of(cls, y: np.ndarray, model: Any) -> RareClass | None:
        """The rarest class, for a model that predicts it; None if the classes are about as frequent as each other."""
        classes, counts = np.unique(y, return_counts=True)
        share = float(counts.min() / len(y))
        if share >= _RARE / len(classes):
            return None
        weights = [value for name, value in model.get_params().items() if name.endswith("class_weight")]
        return cls(classes[counts.argmin()], share, any(weight is not None for weight in weights))

    def scores(
        self, y: np.ndarray, predictions: np.ndarray, classes: np.ndarray, shares: np.ndarray
    ) -> dict[str, float]:
        """Scores in which all classes count the same, and the recall of this one.

        ``shares`` are the probabilities of the classes, shape (n, n_classes).
        """
        recalls = {label: float(np.mean(predictions[y == label] == label)) for label in np.unique(y)}
        area = np.nan
        if len(classes) == 2 and classes[1] in recalls and len(recalls) > 1:
            area = roc_auc_score(y == classes[1], shares[:, 1])
        elif np.array_equal(list(recalls), classes):
            area = roc_auc_score(y, shares, multi_class="ovr", labels=classes)
        return {
            "balanced_accuracy": float(np.mean(list(recalls.values()))),
            "roc_auc": float(area),
            "rare_recall": recalls.get(self.label, np.nan),
        }

    def line(self, recall: float) -> tuple[str, str]:
        """How many rows of the class are found, and what would find more."""
        few = recall < _HIGH_RECALL and not self.weighted
        advice = "; fit --class-weight balanced finds more, with more false alarms" if few else ""
        name = shortened(str(self.label))
        return "Imbalance", f"{self.share:.1%} of the rows are {name}, of which {recall:.0%} are found (recall){advice}"


@dataclass(frozen=True)
class Baseline:
    """Predicts a constant, by default the mean, or, for classes, how frequent each of them is."""

    constant: float = np.nan
    loss: Loss | None = None
    classes: np.ndarray | None = None
    frequencies: np.ndarray | None = None

    @classmethod
    def of(
        cls, y: np.ndarray, task: str, sample_weight: np.ndarray | None = None, loss: Loss | None = None
    ) -> Baseline:
        """The baseline that knows these targets, for a model with this loss."""
        if task == "regression":
            return cls(_constant(y, sample_weight, loss), loss)
        classes, numbers = np.unique(y, return_inverse=True)
        frequencies = np.bincount(numbers, weights=sample_weight)
        return cls(classes=classes, frequencies=frequencies / frequencies.sum())

    @property
    def words(self) -> str:
        """What it does."""
        return f"predicting {_predicted(self.loss)}" if self.classes is None else "predicting the most frequent class"

    def scores(self, y: np.ndarray, rare: RareClass | None = None) -> dict[str, float]:
        """How good it is on these targets, with the scores of a rare class if there is one."""
        if self.classes is None or self.frequencies is None:
            return regression_scores(y, np.full(len(y), self.constant), self.loss)
        most_frequent = self.classes[self.frequencies.argmax()]
        predictions = np.full(len(y), most_frequent, dtype=self.classes.dtype)
        frequencies = np.tile(self.frequencies, (len(y), 1))
        scores = classification_scores(y, predictions, true_class_shares(y, self.classes, frequencies))
        return scores if rare is None else {**scores, **rare.scores(y, predictions, self.classes, frequencies)}


def _predicted(loss: Loss | None) -> str:
    """What the baseline predicts in comparison with a model with this loss."""
    if loss is not None and loss.weighs:
        return "the median"
    return estimated(loss) if isinstance(loss, Quantile) else "the mean"


def _constant(y: np.ndarray, weights: np.ndarray | None, loss: Loss | None) -> float:
    """The mean; a quantile under a loss that estimates it, and the median under a loss that outliers do not disturb."""
    weights = np.ones(len(y)) if weights is None else weights
    if loss is None or not (loss.weighs or isinstance(loss, Quantile)):
        return float(np.average(y, weights=weights))
    order = np.argsort(y)
    below = np.cumsum(weights[order])
    share = loss.quantile if isinstance(loss, Quantile) else 0.5
    return float(y[order][np.searchsorted(below, share * below[-1])])


def regression_scores(y: np.ndarray, predictions: np.ndarray, loss: Loss | None = None) -> dict[str, float]:
    """RMSE, mean absolute error and R², and what a model with this loss is judged by.

    A quantile other than the median is meant to be far from most targets, so there the usual scores are left out.
    """
    own = {} if loss is None else _own_scores(y, predictions, loss)
    if isinstance(loss, Quantile) and loss.quantile != 0.5:
        return own
    return {
        **own,
        "rmse": float(np.sqrt(np.mean((y - predictions) ** 2))),
        "mae": float(mean_absolute_error(y, predictions)),
        "r2": float(r2_score(y, predictions)) if len(y) > 1 else np.nan,
    }


def _own_scores(y: np.ndarray, predictions: np.ndarray, loss: Loss) -> dict[str, float]:
    if isinstance(loss, Quantile):
        pinball = loss.value(y[:, np.newaxis], predictions[:, np.newaxis])
        return {"pinball": float(pinball.mean()), "below": float(np.mean(y <= predictions))}
    if isinstance(loss, Poisson):
        defined = y.min() >= 0.0 and predictions.min() > 0.0
        return {"deviance": float(mean_poisson_deviance(y, predictions)) if defined else np.nan}
    return {"median_error": float(median_absolute_error(y, predictions))} if loss.weighs else {}


def main_error(scores: dict[str, float], baseline: dict[str, float]) -> str:
    """The error by which a regression model is compared with its baseline."""
    # The median error of a baseline is 0 if more than half of the targets are equal.
    own = [name for name in OWN_ERRORS if np.isfinite(scores.get(name, np.nan)) and baseline[name] > 0.0]
    return own[0] if own else "rmse" if "rmse" in scores else "pinball"


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
