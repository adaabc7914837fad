"""What tests on rows that were held out say about a model, and what about these tests cannot be trusted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from skscn.cli._drift import changing_gain, rising_error
from skscn.cli._scores import TITLES, baseline_score, main_error
from skscn.cli._voice import finite, short
from skscn.estimators.ensemble.out_of_bag import positive
from skscn.following import FreeRuns
from skscn.words import count, listed, shortened

# The coverage of the intervals that are tested, and what they have to hold not to be remarked on.
COVERAGE = 0.9
_TOO_LOW_COVERAGE = 0.85
# Of few rows, they may hold less by chance: this many standard errors.
_STANDARD_ERRORS = 2.0
# A model whose error is no further than this below the baseline's is no better than that.
_NO_BETTER = 0.995
# How much R² may depend on when it is measured before that is said.
_UNCERTAIN = 0.15
# The share of the squared errors that differences between series may have before that is said.
_BETWEEN = 0.3
# Stretches of time that are left out in turn to see how much R² depends on them.
_STRETCHES = 12
# Residuals beyond this many robust standard deviations are outliers, where there are rows enough and few of them. Wrong
# targets in training disturb predictions of other rows too; then those further out are looked for.
_FAR = (6.0, 20.0)
_FEWEST_ROWS_FOR_OUTLIERS = 50
_LARGEST_SHARE_OF_OUTLIERS = 0.05
_NAMED = 3
# What the numbers after ± are.
_SPREAD = " (± standard deviation over the {part})"


@dataclass(frozen=True)
class HeldOutPart:
    """Rows that were held out: targets, predictions, where they are in the file, scores, and what intervals held.

    n_new is how many of them have a class that training did not have. For models that forecast, there are free runs
    that start within the rows, and the scores of predicting the last known target. Of several series, ``labels`` say
    which one each row belongs to.
    """

    y: np.ndarray
    predicted: np.ndarray
    numbers: np.ndarray
    scores: dict[str, float]
    baseline: dict[str, float]
    within: float | None
    n_new: int = 0
    runs: FreeRuns | None = None
    persistence: dict[str, float] | None = None
    labels: np.ndarray | None = None

    @property
    def residuals(self) -> np.ndarray:
        """Targets minus predictions."""
        residuals: np.ndarray = self.y - self.predicted
        return residuals


@dataclass(frozen=True)
class Validated:
    """Tests on rows that were held out.

    Attributes
    ----------
    parts : list of HeldOutPart
        In order of time, if the rows are ordered.
    folds : int
        In how many parts the rows were split.
    words : str
        What the baseline does.
    ordered : bool
        Whether each part was predicted from rows before it.
    early_variance : float
        The variance of the target in the first half of the rows, for regression.
    has_losses : bool
        Whether the kind of model can be fitted with a loss that gives outliers little weight.
    group : str or None
        The column with groups that were held out as a whole, if they were.
    """

    parts: list[HeldOutPart]
    folds: int
    words: str
    ordered: bool = False
    early_variance: float = np.nan
    has_losses: bool = True
    group: str | None = None

    @property
    def is_regression(self) -> bool:
        """Whether a number was predicted."""
        return "accuracy" not in self.parts[0].scores

    def value(self, name: str, baseline: bool = False) -> float:
        """A score: the mean over the parts, or, of parts in order of time, that of all their rows."""
        scores = [part.baseline if baseline else part.scores for part in self.parts]
        values = np.array([score[name] for score in scores])
        if not self.ordered:
            return float(values.mean())
        rows = np.array([len(part.y) for part in self.parts])
        if name == "rmse":
            return float(np.sqrt(np.average(values**2, weights=rows)))
        if name == "r2":
            squares = sum(score["rmse"] ** 2 * len(part.y) for score, part in zip(scores, self.parts, strict=True))
            return float(1.0 - squares / (self._variance * rows.sum()))
        return float(np.average(values, weights=rows))

    @property
    def _targets(self) -> np.ndarray:
        return np.concatenate([part.y for part in self.parts])

    @property
    def _variance(self) -> float:
        """The variance of the targets; NaN where they are all the same, and R² is not defined."""
        variance = float(np.var(self._targets))
        return variance if variance > 0.0 else np.nan

    def _spread(self, name: str) -> float:
        return float(np.std([part.scores[name] for part in self.parts]))

    @property
    def within(self) -> float | None:
        """The share of the rows that 90 % intervals held."""
        shares = [part.within for part in self.parts if part.within is not None]
        rows = [len(part.y) for part in self.parts if part.within is not None]
        return float(np.average(shares, weights=rows)) if shares else None

    def facts(self) -> dict[str, Any]:
        """For JSON."""
        facts: dict[str, Any] = finite(
            {
                "folds": self.folds,
                "parts": len(self.parts),
                "ordered": self.ordered,
                **{name: {"mean": self.value(name), "std": self._spread(name)} for name in self.parts[0].scores},
                "baseline": {name: self.value(name, baseline=True) for name in self.parts[0].baseline},
                "interval_90": self.within,
                **self._forecast_facts(),
            }
        )
        return facts

    def lines(self) -> list[tuple[str, str]]:
        """For people."""
        lines = [("Tested by", self._how())]
        for name in self.parts[0].scores:
            if np.isnan(self.value(name)):
                continue
            spread = self._spread(name)
            several = len(self.parts) > 1 and not (self.ordered and name == "r2")
            more = f" ± {short(float(f'{spread:.2g}'))}" if several else ""
            baseline = baseline_score(name, self.value(name, baseline=True), self.words)
            if name == "rmse" and self.persistence is not None:
                baseline = f"{baseline[:-1]}, the last known value: {short(self.persistence)})"
            lines.append((TITLES[name], f"{short(self.value(name))}{more}{baseline}"))
        if self.within is not None:
            lines.append(
                ("Intervals", f"{COVERAGE:.0%} prediction intervals contained {self.within:.1%} of the true values")
            )
        return [*lines, *self._forecast_lines()]

    @property
    def runs(self) -> FreeRuns | None:
        """The free runs of all parts; None for models that do not forecast."""
        runs = [part.runs for part in self.parts if part.runs is not None]
        return FreeRuns.joined(runs) if runs else None

    @property
    def persistence(self) -> float | None:
        """The RMSE of predicting the last known target, one step ahead; None for models that do not forecast."""
        scores = [(part.persistence["rmse"] ** 2, len(part.y)) for part in self.parts if part.persistence is not None]
        squares, rows = zip(*scores, strict=True) if scores else ((), ())
        return float(np.sqrt(np.average(squares, weights=rows))) if scores else None

    def _forecast_facts(self) -> dict[str, Any]:
        runs = self.runs
        if runs is None:
            return {}
        errors = zip(runs.horizons, runs.rmse[runs.horizons - 1], runs.persistence_rmse[runs.horizons - 1], strict=True)
        horizons = [{"rows": int(h), "rmse": float(own), "persistence": float(last)} for h, own, last in errors]
        return {
            "persistence": {"rmse": self.persistence},
            "forecast": {"horizons": horizons, "interval_90": runs.held},
        }

    def _forecast_lines(self) -> list[tuple[str, str]]:
        runs = self.runs
        if runs is None or self.persistence is None:
            return []
        lines = [
            f"RMSE {short(runs.rmse[h - 1])} {count(h, 'row')} ahead  (last known value: "
            f"{short(runs.persistence_rmse[h - 1])})"
            for h in runs.horizons.tolist()
            if h in (1, 10, runs.horizons[-1])
        ]
        if np.isfinite(runs.held):
            lines.append(f"{COVERAGE:.0%} forecast intervals contained {runs.held:.1%} of the true values")
        return [("" if place else "Forecasts", line) for place, line in enumerate(lines)]

    def _how(self) -> str:
        parts = len(self.parts)
        if self.ordered:
            rows = sum(len(part.y) for part in self.parts)
            each = "from the rows before them" if parts == 1 else f"in {parts} parts, each from the rows before it"
            return f"predicting the last {count(rows, 'row')} {each}{_SPREAD.format(part='parts') if parts > 1 else ''}"
        whole = "" if self.group is None else f" of whole groups ({shortened(self.group)})"
        if parts == 1:
            return f"predicting one of {self.folds} parts{whole} from the others"
        cut = f", interrupted after {count(parts, 'fold')}" if parts < self.folds else ""
        return f"{self.folds}-fold cross-validation{whole}{cut}{_SPREAD.format(part='folds')}"

    def warnings(self) -> list[str]:
        """What there is to say about these tests before they are relied on."""
        found = [self._no_better(), self._no_better_forecasts(), self._doubts(), self._between(), self._narrow()]
        found.append(self._outliers())
        return [text for text in found if text]

    def _no_better(self) -> str | None:
        """The model is no better than its baseline."""
        if self.is_regression:
            error = main_error(self.parts[0].scores, self.parts[0].baseline)
            poor = self.value(error) >= _NO_BETTER * self.value(error, baseline=True)
            poor = poor or (error == "rmse" and self.ordered and self.value("r2") <= 1.0 - _NO_BETTER**2)
            return f"The model is no better than {self.words} on rows that it was not trained on." if poor else None
        accuracy, guessed = self.value("accuracy"), self.value("accuracy", baseline=True)
        told = self.value("log_loss") < _NO_BETTER * self.value("log_loss", baseline=True)
        # Within a standard error of the baseline, the probabilities decide.
        by_chance = np.sqrt(guessed * (1.0 - guessed) / len(self._targets))
        if accuracy > guessed + (0.0 if told else by_chance):
            return None
        more = "; only its probabilities are better than the frequencies of the classes" if told else ""
        return f"The model is no better than {self.words} on rows that it was not trained on{more}."

    def _no_better_forecasts(self) -> str | None:
        """A model that forecasts is no better than what needs no model."""
        runs = self.runs
        if runs is None or self.persistence is None:
            return None
        if self.value("rmse") >= _NO_BETTER * self.persistence:
            return "One step ahead, the model is no better than predicting the last known value."
        worse = [h for h in runs.horizons if runs.rmse[h - 1] >= _NO_BETTER * runs.persistence_rmse[h - 1]]
        if not worse:
            return None
        return f"{count(worse[0], 'row')} ahead, forecasts are no better than predicting the last known value."

    def _doubts(self) -> str | None:
        """Why the error may be another one on later rows than on those tested."""
        if not self.ordered:
            return None
        if not self.is_regression:
            return self._new_classes()
        if "r2" not in self.parts[0].scores:
            return None
        if np.isnan(self._variance):
            return "R² is not defined: the target is the same in all test rows. Look at the RMSE instead."
        reasons = [
            reason
            for reason in (self._offset(), self._changing() or self._uneven(), self._changed_variance())
            if reason
        ]
        what = "R²" if self.within is None else "R² and intervals"
        return f"{what} cannot be trusted for later rows. {' '.join(reasons)}" if reasons else None

    def _new_classes(self) -> str | None:
        """Rows of classes that had not come up before."""
        rows = sum(part.n_new for part in self.parts)
        if not rows:
            return None
        return (
            f"Accuracy and log loss cannot be trusted for later rows: {count(rows, 'row')} of the "
            f"{len(self._targets):,} tested {'has a class' if rows == 1 else 'have classes'} that no earlier row has, "
            "which no model can predict."
        )

    def _offset(self) -> str | None:
        """Predictions are off in one direction for long: drift that the inputs do not show."""
        squares = sum(len(part.y) * part.residuals.mean() ** 2 for part in self.parts)
        without = self.value("r2") + squares / (self._variance * len(self._targets))
        if not without - self.value("r2") > _UNCERTAIN:
            return None
        return (
            f"Predictions are too high or too low for long stretches of time (R² would be {without:.2f} without this): "
            "something drifts that the inputs do not show. Retrain often, or add inputs that show the drift."
        )

    def _changing(self) -> str | None:
        """The error, or what the target does where the prediction moves, changes in one direction."""
        predicted = np.concatenate([part.predicted for part in self.parts])
        parts = listed(short(part.scores["rmse"]) for part in self.parts)
        if found := rising_error(self._targets, predicted):
            what = f"The error rises with time (RMSE from the first part to the last: {parts})"
        elif found := changing_gain(self._targets, predicted):
            how = "weaker" if found.last < found.first else "stronger"
            what = (
                f"What the model predicts shows {how} and {how} in the target with time (where predictions differ by "
                f"1, targets differed by {found.first:.2f} at first and by {found.last:.2f} at the end of the tests)"
            )
        else:
            return None
        return (
            f"{what}: something changes that the inputs do not show. If it goes on like this, the RMSE of as many "
            f"later rows will be about {short(found.later)}. Retrain often, or add inputs that show the change."
        )

    def _between(self) -> str | None:
        """Predictions are off in one direction for some series, and in the other for others."""
        labels = [part.labels for part in self.parts if part.labels is not None]
        if not labels or not self.is_regression:
            return None
        names, places = np.unique(np.concatenate(labels), return_inverse=True)
        residuals = np.concatenate([part.residuals for part in self.parts])
        means = np.bincount(places, residuals) / np.bincount(places)
        if not np.mean((means - means.mean())[places] ** 2) > _BETWEEN * np.mean(residuals**2):
            return None
        largest = np.argsort(-np.abs(means), kind="stable")[:_NAMED]
        off = listed(f"{short(means[place])} ({names[place]})" for place in sorted(largest))
        return (
            f"The series differ in what the inputs do not show: on average, targets exceed predictions by {off}. The "
            "model does not know which series a row belongs to; a copy of that column, under another name, tells it."
        )

    def _uneven(self) -> str | None:
        """R² differs much over time: between the parts or, perhaps by a few rows far off, between shorter stretches."""
        values = [1.0 - part.scores["rmse"] ** 2 / self._variance for part in self.parts]
        error = self._prediction_error()
        later = f"the uncertainty of R² on as many later rows is ±{error:.2f}"
        if max(values) - min(values) > 2 * _UNCERTAIN:
            parts = listed(f"{value:.2f}" for value in values)
            return (
                "The error differs strongly from one stretch of time to another "
                f"(R² from the first part to the last: {parts}; {later})."
            )
        return f"R² depends on the stretch of time in which it is measured ({later})." if error > _UNCERTAIN else None

    def _changed_variance(self) -> str | None:
        """The target varies more in some stretches than in others, which changes R² at the same error."""
        if not self.early_variance > 0.0:
            return None
        error = self.value("rmse") ** 2
        early, late = 1.0 - error / self.early_variance, 1.0 - error / self._variance
        if not abs(early - late) > _UNCERTAIN:
            return None
        return (
            f"The target varies {'less' if late < early else 'more'} in the second half of the rows than in the first "
            f"(with the same error, R² would be {late:.2f} and {early:.2f}, respectively): rely on the RMSE instead."
        )

    def _prediction_error(self) -> float:
        """How far R² of as many later rows may lie off, in 9 of 10 cases, by the jackknife over stretches of time."""
        residuals = np.concatenate([part.residuals for part in self.parts])
        squares = np.stack([residuals, self._targets - self._targets.mean()]) ** 2
        sums = np.stack([block.sum(axis=1) for block in np.array_split(squares, _STRETCHES, axis=1)])
        without = sums.sum(axis=0) - sums
        values = 1.0 - without[:, 0] / positive(without[:, 1])
        deviation = np.sqrt((_STRETCHES - 1) * np.var(values))
        return float(1.645 * np.sqrt(2.0) * deviation)

    @property
    def _lowest_coverage(self) -> float:
        """The smallest share that is not remarked on."""
        by_chance = _STANDARD_ERRORS * np.sqrt(COVERAGE * (1.0 - COVERAGE) / len(self._targets))
        return float(min(_TOO_LOW_COVERAGE, COVERAGE - by_chance))

    def _narrow(self) -> str | None:
        """Intervals hold fewer rows than they promise."""
        shares = {"Intervals": self.within, "Forecast intervals": None if self.runs is None else self.runs.held}
        narrow = [
            f"{what} are too narrow: those for {COVERAGE:.0%} contained {share:.0%} of the true values."
            for what, share in shares.items()
            if share is not None and share < self._lowest_coverage
        ]
        return " ".join(narrow) or None

    def _outliers(self) -> str | None:
        # Losses that weigh rows say themselves which look like outliers, and large counts vary more than small ones.
        if not self.is_regression or {"median_error", "deviance"} & {*self.parts[0].scores}:
            return None
        # Within a part, so that one that is off as a whole does not count.
        distances = np.concatenate([part.residuals - np.median(part.residuals) for part in self.parts])
        return describe_outliers(distances, np.concatenate([part.numbers for part in self.parts]), self.has_losses)


def describe_outliers(residuals: np.ndarray, numbers: np.ndarray, has_losses: bool = True) -> str | None:
    """What to say where a few residuals are far outside the others; numbers are those of the rows.

    ``has_losses`` says whether the kind of model can be fitted with a loss that gives them little weight.
    """
    distances = np.abs(residuals - np.median(residuals))
    scale, most = 1.4826 * np.median(distances), _LARGEST_SHARE_OF_OUTLIERS * len(residuals)
    found = ((limit, np.flatnonzero(distances > limit * scale)) for limit in _FAR)
    limit, far = next(((limit, far) for limit, far in found if len(far) <= most), (np.inf, np.zeros(0, dtype=int)))
    if len(residuals) < _FEWEST_ROWS_FOR_OUTLIERS or not len(far):
        return None
    largest = far[np.argsort(-distances[far], kind="stable")[:_NAMED]]
    rows = listed(f"{number:,}" for number in sorted(numbers[largest]))
    if len(far) == 1:
        have, which, check = "1 row has a residual", "row", "Check it; if its target is wrong, correct or remove it"
    else:
        have = f"{count(len(far), 'row')} have residuals"
        which = "rows" if len(far) <= _NAMED else "the largest are in rows"
        check = "Check them; if their targets are wrong, correct or remove them"
    return (
        f"{have} far outside the range of the others (more than {limit:g} robust standard deviations): {which} {rows}, "
        f"not counting the header. {check} and fit again{'; --loss welsch gives such rows little weight' * has_losses}."
    )
