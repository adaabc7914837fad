"""Scores of predictions, compared with a baseline that knows nothing but the target, and with earlier tests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import mean_absolute_error, mean_poisson_deviance, median_absolute_error, r2_score, roc_auc_score

from skscn.fitted_loss import estimated
from skscn.losses import Loss, Poisson, Quantile
from skscn.words import short, shortened

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

# Errors that differ by less than this share are about the same.
SAME = 0.01
# By how much a score may fall below that of the tests, also in standard deviations over the parts of the tests.
_FALL = {"r2": 0.15, "accuracy": 0.05}
_DEVIATIONS = 3.0
# How much larger than the tested one an error may be.
_LARGER = 1.5


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


def compared(
    scores: dict[str, float], baseline: dict[str, float], words: str, rare: RareClass | None = None
) -> tuple[bool | None, str]:
    """Whether a model is better than its baseline, and a sentence about it; None if the target is a constant.

    ``words`` say what the baseline does. If classes are weighted because one of them is ``rare``, they count the same.
    """
    classes, weighted = "accuracy" in scores, rare is not None and rare.weighted
    name = ("balanced_accuracy" if weighted else "accuracy") if classes else main_error(scores, baseline)
    error, reference = (1.0 - s[name] if classes else s[name] for s in (scores, baseline))
    if reference <= 0.0:
        return None, "All rows have the same target; there is no baseline to compare with."
    ratio = error / reference
    title = TITLES[name]
    less, more = f"its {title} is {_percent(1.0 - ratio)} smaller", f"its {title} is {_percent(ratio - 1.0)} larger"
    if classes:
        same = " if all classes count the same" * weighted
        less = f"it makes {_percent(1.0 - ratio)} fewer errors{same}"
        more = f"it makes {_percent(ratio - 1.0)} more errors{same}"
    always = f"always {words}"
    if ratio > 1.0 + SAME:
        return False, f"Worse than {always}: {more}."
    if ratio >= 1.0 - SAME:
        return False, f"No better than {always}."
    return True, f"Better than {always}: {less}.{'' if weighted else _overconfident(scores, baseline)}"


def _overconfident(scores: dict[str, float], baseline: dict[str, float]) -> str:
    """A further sentence if the classes are right more often, but the probabilities are not."""
    if not scores.get("log_loss", 0.0) > (1.0 + SAME) * baseline.get("log_loss", 0.0):
        return ""
    return " Its probabilities are worse than the class frequencies: the log loss is larger."


def _percent(share: float) -> str:
    if 0.995 < share < 1.0:
        return "more than 99 %"
    return f"{100 * share:.0f} %" if share < 10.0 else "more than 10 times"


def unconfirmed(scores: dict[str, float], tested: Any) -> tuple[str, float] | None:
    """The score that is much worse than when the model was tested, and what it was then; None if there is none."""
    for name in OWN_ERRORS:
        then = _then(tested, name)
        if then is not None and name in scores:
            return (name, then[0]) if _is_larger(scores[name], then) else None
    for name, fall in _FALL.items():
        then = _then(tested, name)
        if then is not None and name in scores:
            mean, deviation = then
            if scores[name] < mean - max(fall, _DEVIATIONS * deviation):
                return name, mean
    then = _then(tested, "rmse")
    if then is not None and "rmse" in scores and _is_larger(scores["rmse"], then):
        return "rmse", then[0]
    return None


def _is_larger(error: float, then: tuple[float, float]) -> bool:
    mean, deviation = then
    return error > _LARGER * (mean + _DEVIATIONS * deviation)


def _then(tested: Any, name: str) -> tuple[float, float] | None:
    """Mean and deviation of a score when the model was tested, if its notes have them."""
    score = tested.get(name) if isinstance(tested, dict) else None
    if not isinstance(score, dict) or not all(isinstance(score.get(key), float | int) for key in ("mean", "std")):
        return None
    return score["mean"], score["std"]
