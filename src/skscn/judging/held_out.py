"""What tests on rows that were held out say about a model, and what about these tests cannot be trusted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from skscn.following import FreeRuns
from skscn.judging.cautions import NAMED, Caution
from skscn.judging.drift import (
    PredictedRows,
    changing_gain,
    changing_level,
    later_r2,
    later_share,
    rising_error,
    wandering_level,
)
from skscn.judging.scores import TITLES, RareClass, baseline_score, main_error
from skscn.losses import are_counts
from skscn.words import count, finite, short, shortened

# The coverage of the intervals that are tested, and what they have to hold not to be remarked on.
COVERAGE = 0.9
_TOO_LOW_COVERAGE, _TOO_HIGH_COVERAGE = 0.85, 0.97
# The same for rows further away from the training rows than those of the next part.
_TOO_LOW_FURTHER_ON = 0.8
# Of few rows, they may hold less by chance: this many standard errors.
_STANDARD_ERRORS = 2.0
# A model whose error is no further than this below the baseline's is no better than that.
_NO_BETTER = 0.995
# Only inputs that contain the target leave errors this small, compared with the baseline, or functions without noise.
_TOO_GOOD = 0.01
# How much R² may gain where predictions are too high or too low for long, and how far R² of later rows may be below the
# one of the tests, in this share of cases, before that is said.
_UNCERTAIN, _FAR_BELOW, _CASES = 0.15, 0.3, 0.6
# A smaller R² promises so little that its uncertainty needs no caution.
_WEAK = 0.2
# The share of the rows with inputs outside their earlier range, and of the squared errors that these rows have, from
# which on that is said.
_BEYOND, _BEYOND_SQUARES = 0.1, 0.25
# The share of the squared errors that differences between series may have before that is said.
_BETWEEN = 0.3
# Residuals beyond this many robust standard deviations are outliers, where there are rows enough and few of them. Wrong
# targets in training disturb predictions of other rows too; then those further out are looked for.
_FAR = (6.0, 20.0)
_FEWEST_ROWS_FOR_OUTLIERS = 50
_LARGEST_SHARE_OF_OUTLIERS = 0.05
# What the numbers after ± are.
_SPREAD = " (± standard deviation over the {part})"


def are_too_narrow(share: float, n_rows: int) -> bool:
    """Whether intervals that contained this share of the targets of some rows promise more, beyond chance."""
    by_chance = _STANDARD_ERRORS * np.sqrt(COVERAGE * (1.0 - COVERAGE) / n_rows)
    return bool(share < min(_TOO_LOW_COVERAGE, COVERAGE - by_chance))


@dataclass(frozen=True)
class Ahead:
    """All rows after those that a model was trained on: targets, predictions, and whether intervals hold the targets.

    ``inside`` is None for a model without intervals. ``beyond`` says which rows have an input outside the range of the
    training rows.
    """

    y: np.ndarray
    predicted: np.ndarray
    inside: np.ndarray | None = None
    beyond: np.ndarray | None = None

    def within(self, rows: int) -> float | None:
        """The share of the first rows that intervals hold."""
        return None if self.inside is None else float(self.inside[:rows].mean())


@dataclass(frozen=True)
class HeldOutPart:
    """Rows that were held out: targets, predictions, where they are in the file, scores, and what intervals held.

    n_new is how many of them have a class that training did not have. For models that forecast, there are free runs
    that start within the rows, and the scores of predicting the last known target. Of several series, ``labels`` say
    which one each row belongs to. ``ahead`` has the rows after the part as well, predicted by the same model.
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
    ahead: Ahead | None = None

    @property
    def residuals(self) -> np.ndarray:
        """Targets minus predictions."""
        residuals: np.ndarray = self.y - self.predicted
        return residuals


@dataclass(frozen=True)
class HeldOutTests:
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
    rare : RareClass or None
        The rarest class, if the classes differ much in how frequent they are.
    training : PredictedRows or None
        The training rows in order of time, as the model of all of them fits them.
    """

    parts: list[HeldOutPart]
    folds: int
    words: str
    ordered: bool = False
    early_variance: float = np.nan
    has_losses: bool = True
    group: str | None = None
    rare: RareClass | None = None
    training: PredictedRows | None = None

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
                **({} if (later := self.later_r2) is None else {"later_r2": list(later)}),
                **({} if (share := self.later_within) is None else {"later_interval_90": list(share)}),
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
            if name == "r2" and (later := self.later_r2):
                more = f"  (on the same number of later rows, if nothing changes: {later[0]:.2f} to {later[1]:.2f})"
            lines.append((TITLES[name], f"{short(self.value(name))}{more}{baseline}"))
        if self.rare is not None and np.isfinite(self.value("rare_recall")):
            lines.append(self.rare.line(self.value("rare_recall")))
        if self.within is not None:
            contained = f"{COVERAGE:.0%} prediction intervals contained {self.within:.1%} of the true values"
            if share := self.later_within:
                low, high = share
                contained += f"  (on the same number of later rows, if nothing changes: {low:.0%} to {high:.0%})"
            lines.append(("Intervals", contained))
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

    def cautions(self, faulty: bool = False) -> list[Caution]:
        """What to be careful about before these tests are relied on.

        ``faulty`` says that training rows were recorded wrongly, which then explains what looks like drift.
        """
        no_better = self._no_better()
        found = [no_better, self._no_better_forecasts(), self._too_good()]
        found += [self._doubts(faulty, useless=no_better is not None)]
        found += [None if faulty else self._moving(), self._between(), self._misjudged_intervals()]
        found += [None if faulty else self._outliers()]
        return [caution for caution in found if caution]

    def _no_better(self) -> Caution | None:
        """The model is no better than its baseline."""
        if self.is_regression:
            error = main_error(self.parts[0].scores, self.parts[0].baseline)
            poor = self.value(error) >= _NO_BETTER * self.value(error, baseline=True)
            poor = poor or (error == "rmse" and self.ordered and self.value("r2") <= 1.0 - _NO_BETTER**2)
            return Caution("no_better", {"words": self.words}) if poor else None
        # Weighted classes count the same, whatever their frequencies.
        weighted = self.rare is not None and self.rare.weighted
        score = "balanced_accuracy" if weighted else "accuracy"
        accuracy, guessed = self.value(score), self.value(score, baseline=True)
        told = self.value("log_loss") < _NO_BETTER * self.value("log_loss", baseline=True)
        # Within a standard error of the baseline, the probabilities decide.
        by_chance = np.sqrt(guessed * (1.0 - guessed) / len(self._targets))
        if accuracy > guessed + (0.0 if told else by_chance):
            return None
        return Caution("no_better", {"words": self.words, "told": told})

    def _no_better_forecasts(self) -> Caution | None:
        """A model that forecasts is no better than what needs no model."""
        runs = self.runs
        if runs is None or self.persistence is None:
            return None
        if self.value("rmse") >= _NO_BETTER * self.persistence:
            return Caution("no_better_one_step")
        worse = [h for h in runs.horizons if runs.rmse[h - 1] >= _NO_BETTER * runs.persistence_rmse[h - 1]]
        return Caution("no_better_forecast", {"rows": int(worse[0])}) if worse else None

    def _too_good(self) -> Caution | None:
        """The target is all but known from the inputs, which do not include its own past."""
        if not self.is_regression or self.persistence is not None:
            return None
        error = main_error(self.parts[0].scores, self.parts[0].baseline)
        value, guessed = self.value(error), self.value(error, baseline=True)
        return Caution("too_good") if value <= _TOO_GOOD * guessed > 0.0 else None

    def _doubts(self, faulty: bool, useless: bool) -> Caution | None:
        """Why the error may be another one on later rows than on those tested.

        What looks like drift is explained by rows that were recorded wrongly, and from a small R² nobody expects much.
        """
        if not self.ordered:
            return None
        if not self.is_regression:
            rows = sum(part.n_new for part in self.parts)
            return Caution("new_classes", {"rows": rows, "tested": len(self._targets)}) if rows else None
        if "r2" not in self.parts[0].scores:
            return None
        if np.isnan(self._variance):
            return Caution("constant_target")
        found = [] if faulty else [self._drift() or (None if useless else self._offset())]
        found += [] if self.value("r2") < _WEAK else [self._uneven(), self._changed_variance()]
        reasons = [reason for reason in found if reason]
        return Caution("unreliable", {"intervals": self.within is not None, "reasons": reasons}) if reasons else None

    @property
    def _tests(self) -> PredictedRows:
        """All test rows, each predicted from the rows before its part."""
        return PredictedRows(self._targets, np.concatenate([part.predicted for part in self.parts]))

    @property
    def _courses(self) -> list[PredictedRows]:
        """Rows that one model predicts: the test rows by the model of the first part, and the training rows."""
        ahead = self.parts[0].ahead
        tests = self._tests if ahead is None else PredictedRows(ahead.y, ahead.predicted)
        return [tests] if self.training is None else [tests, self.training]

    def _drift(self) -> Caution | None:
        """Something that the inputs do not show changes with time."""
        courses, values = self._courses, dict[str, Any]()
        level, gain = changing_level(courses), changing_gain(courses)
        if level:
            values["level"] = tuple(level)
        if gain:
            values["gain"] = tuple(gain)
        if not level and (wander := wandering_level(courses)):
            values["wander"] = (wander.first, wander.last)
        if rising_error(courses[0]):
            values |= self._rising_error()
        return Caution("drift", values) if values else None

    def _rising_error(self) -> dict[str, Any]:
        """How the error of one model rises with the time since its training."""
        first = self.parts[0]
        if first.ahead is None or len(self.parts) == 1:
            return {"rising": [part.scores["rmse"] for part in self.parts]}
        far = self._courses[0].residuals[-len(self.parts[-1].y) :]
        return {"rising": [first.scores["rmse"], float(np.sqrt(np.mean(far**2)))], "same_model": True}

    def _offset(self) -> Caution | None:
        """Predictions are off in one direction for long: drift that the inputs do not show."""
        squares = sum(len(part.y) * part.residuals.mean() ** 2 for part in self.parts)
        without = self.value("r2") + squares / (self._variance * len(self._targets))
        return Caution("offset", {"r2": float(without)}) if without - self.value("r2") > _UNCERTAIN else None

    def _moving(self) -> Caution | None:
        """Inputs leave the range of earlier rows, and errors are larger there."""
        ahead = self.parts[0].ahead
        if not self.ordered or ahead is None or ahead.beyond is None or not _BEYOND < ahead.beyond.mean() < 1.0:
            return None
        squares, beyond = (ahead.y - ahead.predicted) ** 2, ahead.beyond
        outside, within = (float(np.sqrt(squares[rows].mean())) for rows in (beyond, ~beyond))
        if not squares[beyond].sum() > _BEYOND_SQUARES * squares.sum() or not outside > within:
            return None
        return Caution("moving", {"share": float(beyond.mean()), "outside": outside, "within": within})

    def _between(self) -> Caution | None:
        """Predictions are off in one direction for some series, and in the other for others."""
        labels = [part.labels for part in self.parts if part.labels is not None]
        if not labels or not self.is_regression:
            return None
        names, places = np.unique(np.concatenate(labels), return_inverse=True)
        residuals = np.concatenate([part.residuals for part in self.parts])
        means = np.bincount(places, residuals) / np.bincount(places)
        if not np.mean((means - means.mean())[places] ** 2) > _BETWEEN * np.mean(residuals**2):
            return None
        largest = sorted(np.argsort(-np.abs(means), kind="stable")[:NAMED].tolist())
        return Caution("series_differ", {"means": [(str(names[place]), float(means[place])) for place in largest]})

    @property
    def later_within(self) -> tuple[float, float] | None:
        """The ends between which the share of as many later rows in 90 % intervals is expected, if nothing changes."""
        ahead = [(part.ahead.inside, len(part.y)) for part in self.parts if self.ordered and part.ahead is not None]
        inside = [held[:rows] for held, rows in ahead if held is not None]
        return later_share(np.concatenate(inside)) if inside else None

    @property
    def later_r2(self) -> tuple[float, float] | None:
        """The ends between which R² of as many later rows is expected, if nothing changes."""
        known = self.ordered and self.is_regression and "r2" in self.parts[0].scores
        return later_r2(self._tests) if known else None

    def _uneven(self) -> Caution | None:
        """R² differs much over time, perhaps by a few rows far off, and so may R² of later rows."""
        later = self.later_r2
        likely = later and later_r2(self._tests, _CASES)
        if not later or not likely or not self.value("r2") - likely[0] > _FAR_BELOW:
            return None
        values = [float(1.0 - part.scores["rmse"] ** 2 / self._variance) for part in self.parts]
        return Caution("uneven", {"parts": values, "low": later[0], "high": later[1]})

    def _changed_variance(self) -> Caution | None:
        """The target varies more in the tests than before, without which R² would be smaller at the same error."""
        if not self.early_variance > 0.0:
            return None
        error = self.value("rmse") ** 2
        early, late = 1.0 - error / self.early_variance, 1.0 - error / self._variance
        return Caution("changed_variance", {"late": late, "early": early}) if late - early > _FAR_BELOW else None

    def _misjudged_intervals(self) -> Caution | None:
        """Intervals hold fewer rows than they promise, or far more."""
        shares = {"Intervals": self.within, "Forecast intervals": None if self.runs is None else self.runs.held}
        found = [
            (what, share)
            for what, share in shares.items()
            if share is not None and (are_too_narrow(share, len(self._targets)) or share > _TOO_HIGH_COVERAGE)
        ]
        further = self._within_further_on
        if further is not None and not further < min(_TOO_LOW_FURTHER_ON, self.within or 1.0):
            further = None
        if not found and further is None:
            return None
        return Caution("intervals", {"found": found, "coverage": COVERAGE, "further": further})

    @property
    def _within_further_on(self) -> float | None:
        """The share of the rows after each part that intervals of its model held; None if there are none."""
        ahead = [(part.ahead.inside, len(part.y)) for part in self.parts if part.ahead is not None]
        further = [inside[rows:] for inside, rows in ahead if inside is not None]
        rows = np.concatenate(further) if further else np.zeros(0)
        return float(rows.mean()) if len(rows) else None

    def _outliers(self) -> Caution | None:
        # Losses that weigh rows say themselves which look like outliers, and large counts vary more than small ones.
        if not self.is_regression or {"median_error", "deviance"} & {*self.parts[0].scores}:
            return None
        if are_counts(self._targets):
            return None
        # Within a part, so that one that is off as a whole does not count.
        distances = np.concatenate([part.residuals - np.median(part.residuals) for part in self.parts])
        return far_residuals(distances, np.concatenate([part.numbers for part in self.parts]), self.has_losses)


def far_residuals(residuals: np.ndarray, numbers: np.ndarray, has_losses: bool = True) -> Caution | None:
    """A few residuals are far outside the range of the others; numbers are those of the rows.

    ``has_losses`` says whether the kind of model can be fitted with a loss that gives them little weight.
    """
    distances = np.abs(residuals - np.median(residuals))
    scale, most = 1.4826 * np.median(distances), _LARGEST_SHARE_OF_OUTLIERS * len(residuals)
    found = ((limit, np.flatnonzero(distances > limit * scale)) for limit in _FAR)
    limit, far = next(((limit, far) for limit, far in found if len(far) <= most), (np.inf, np.zeros(0, dtype=int)))
    if len(residuals) < _FEWEST_ROWS_FOR_OUTLIERS or not len(far):
        return None
    largest = far[np.argsort(-distances[far], kind="stable")[:NAMED]]
    named = sorted(numbers[largest].tolist())
    return Caution("outliers", {"rows": len(far), "named": named, "limit": limit, "has_losses": has_losses})
