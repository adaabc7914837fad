"""How good a model is on a table, how far that can be trusted, and what to be careful about."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline

from skscn.fitted_loss import loss_of
from skscn.judging.cautions import Caution
from skscn.judging.held_out import COVERAGE, HeldOutTests
from skscn.judging.scores import (
    TITLES,
    Baseline,
    RareClass,
    baseline_score,
    classification_scores,
    compared,
    regression_scores,
    true_class_shares,
)
from skscn.judging.uncertainty import confidence_limits, means, resampled_limits, row_blocks
from skscn.losses import Poisson, Squared
from skscn.readers import as_file
from skscn.tables import OutsideColumn, Target
from skscn.words import count, finite, quoted, short, shortened

# A mean error is remarked on if it has this share of the squared errors.
_BIAS = 0.1


@dataclass(frozen=True, eq=False)
class Assessment:
    """How good a model is: on the rows of a table, or on rows that were held out while it was fitted.

    Attributes
    ----------
    target : str
    n_rows : int
        The number of rows with a target: those assessed, or those of training.
    scores : dict of str to float
    baseline : dict of str to float
        The same scores of a model that predicts the mean, or the most frequent class.
    words : str
        What the baseline does.
    limits : dict of str to (float, float)
        The ends of 95 % confidence intervals of the scores. Rows of a series are resampled in blocks, those of groups
        by groups.
    persistence : float or None
        The RMSE of predicting the last known target, for models that know it.
    seasonal : tuple of int and float, or None
        For rows in order of time: the rows of a season, and the RMSE of predicting the target one season before.
    coverage : float or None
        The share of the targets that 90 % prediction intervals contain; None for a model without intervals.
    verdict : str
        A sentence that compares the model with its baseline.
    better : bool or None
        Whether the model is better than the baseline; None if that cannot be told.
    cautions : list of Caution
    notes : list of str
        Remarks on the rows, such as inputs outside the training range.
    tests : HeldOutTests or None
        The tests, of an assessment made by ``fit``.
    share_seen : float or None
        The share of the rows that the model was trained on, if it can be told.
    confirmed : bool or None
        Whether the scores are as good as in the tests of the fit; None if there were none.
    outside : list of OutsideColumn
    rare : RareClass or None
        The rarest class, if the classes differ much in frequency.
    """

    target: str
    n_rows: int
    scores: dict[str, float] = field(default_factory=dict)
    baseline: dict[str, float] = field(default_factory=dict)
    words: str = ""
    limits: dict[str, tuple[float, float]] = field(default_factory=dict)
    persistence: float | None = None
    seasonal: tuple[int, float] | None = None
    coverage: float | None = None
    verdict: str = ""
    better: bool | None = None
    cautions: list[Caution] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    tests: HeldOutTests | None = None
    share_seen: float | None = None
    confirmed: bool | None = None
    outside: list[OutsideColumn] = field(default_factory=list)
    rare: RareClass | None = None

    @classmethod
    def of_tests(
        cls, target: Target, n_rows: int, tests: HeldOutTests | None, cautions: list[Caution], notes: list[str]
    ) -> Assessment:
        """The assessment of a model by the tests of its fit."""
        if tests is None:
            return cls(target.name, n_rows, cautions=cautions, notes=notes)
        scores, baseline = (
            {name: tests.value(name, baseline=known) for name in tests.parts[0].scores} for known in (False, True)
        )
        better, verdict = compared(scores, baseline, tests.words, tests.rare)
        return cls(
            *(target.name, n_rows, scores, baseline, tests.words),
            coverage=tests.within,
            verdict=verdict,
            better=better,
            cautions=cautions,
            notes=notes,
            tests=tests,
            rare=tests.rare,
        )

    def lines(self) -> list[tuple[str, str]]:
        """Lines of a heading and a sentence, for people."""
        if self.tests is not None:
            found = self.tests.lines()
        else:
            found = [*self._score_lines(), *([("Verdict", self.verdict)] if self.verdict else [])]
        return [*found, *(("Caution", str(caution)) for caution in self.cautions)]

    def _score_lines(self) -> Iterator[tuple[str, str]]:
        for name, value in self.scores.items():
            if not np.isnan(value):
                ends = self.limits.get(name)
                between = "" if ends is None else f"  (95 % confidence: {short(ends[0])} to {short(ends[1])})"
                yield TITLES[name], f"{short(value)}{between}{baseline_score(name, self.baseline[name], self.words)}"
        if self.rare is not None:
            yield self.rare.line(self.scores["rare_recall"])
        if self.persistence is not None:
            yield "Persistence", f"RMSE {short(self.persistence)} of predicting the last known value"
        if self.seasonal is not None:
            period, error = self.seasonal
            yield "Seasonal", f"RMSE {short(error)} of predicting the value {count(period, 'row')} before"
        if self.coverage is not None:
            yield "Intervals", f"{COVERAGE:.0%} prediction intervals contain {self.coverage:.1%} of the true values"

    def to_json(self) -> dict[str, Any]:
        """Plain values, which JSON can hold."""
        return finite(
            {
                "target": self.target,
                "rows": self.n_rows,
                **self.scores,
                "baseline": self.baseline,
                "confidence": {name: list(ends) for name, ends in self.limits.items()},
                **({} if self.persistence is None else {"persistence": {"rmse": self.persistence}}),
                **(
                    {}
                    if self.seasonal is None
                    else {"seasonal": dict(zip(("rows", "rmse"), self.seasonal, strict=True))}
                ),
                "interval_90": self.coverage,
                "better_than_baseline": self.better,
                "verdict": self.verdict,
                "share_trained_on": self.share_seen,
                "test_confirmed": self.confirmed,
                "outside": [column.to_json() for column in self.outside],
                "cautions": [{"code": caution.code, "text": str(caution)} for caution in self.cautions],
                "notes": self.notes,
            }
        )

    def __str__(self) -> str:
        lines = [("Target", self.target), ("Rows", f"{self.n_rows:,}"), *self.lines()]
        width = max(len(heading) for heading, _ in lines)
        return "\n".join(f"{heading:{width}}  {text}".rstrip() for heading, text in lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr style='text-align:left'><th>{escape(heading)}</th><td>{escape(text)}</td></tr>"
            for heading, text in [("Target", self.target), ("Rows", f"{self.n_rows:,}"), *self.lines()]
        )
        notes = "".join(f"<li>{escape(note)}</li>" for note in self.notes)
        return f"<table>{rows}</table>" + (
            f"<details><summary>Notes</summary><ul>{notes}</ul></details>" if notes else ""
        )


def assess(
    model: Any, table: Any, target: str | None = None, *, time: str | None = None, group: str | None = None
) -> Assessment:
    """Assess a fitted model on a table that contains the target.

    Parameters
    ----------
    model : TableModel, or a fitted regressor or classifier of scikit-learn's kind
    table : path, data frame, Arrow table or mapping of columns
        Rows that the model was not trained on, unless you want to know how well it fits.
    target : str, default=None
        The target column, needed only if the model does not name it.
    time, group : str, default=None
        For models of other classes: the column by which rows are in order, and the column with groups of rows, which
        are then resampled in blocks or by groups. These columns are inputs too if the model was trained on them.

    Returns
    -------
    assessment : Assessment
        ``print`` it, or show it in a notebook.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.ensemble import HistGradientBoostingRegressor
    >>> import skscn
    >>> frame = load_diabetes(as_frame=True).frame
    >>> inputs = frame.columns[:-1]
    >>> model = HistGradientBoostingRegressor(random_state=0).fit(frame[:300][inputs], frame[:300]["target"])
    >>> print(skscn.assess(model, frame[300:], "target").verdict)
    Better than always predicting the mean: its RMSE is 21 % smaller.
    """
    if hasattr(model, "assess"):
        return model.assess(table, target)
    return _assess_other(model, table, target, time, group)


@dataclass(frozen=True, eq=False)
class Answers:
    """Targets and what a model says about them: predictions, probabilities of classes, and intervals."""

    y: np.ndarray
    predicted: np.ndarray
    probabilities: np.ndarray | None = None
    classes: np.ndarray | None = None
    inside: np.ndarray | None = None


def judge(answers: Answers, model: Any, blocks: np.ndarray | None) -> dict[str, Any]:
    """The scores, their limits, those of the baseline, the verdict, and a caution if the mean error is not 0."""
    y, predicted, shares = answers.y, answers.predicted, answers.probabilities
    rare, loss, true_shares = None, loss_of(model), None
    if shares is None or answers.classes is None:
        scores = regression_scores(y, predicted, loss)
    else:
        rare, true_shares = RareClass.of(y, model), true_class_shares(y, answers.classes, shares)
        scores = classification_scores(y, predicted, true_shares)
        scores |= {} if rare is None else rare.scores(y, predicted, answers.classes, shares)
    known = Baseline.of(y, "regression" if shares is None else "classification", loss=loss)
    baseline = known.scores(y, rare)
    better, verdict = compared(scores, baseline, known.words, rare)
    # Other losses estimate no means.
    has_mean = shares is None and (loss is None or isinstance(loss, Squared | Poisson))
    bias = _bias(y - predicted, blocks) if has_mean else None
    return {
        "scores": scores,
        "baseline": baseline,
        "words": known.words,
        "limits": confidence_limits(scores, y, predicted, true_shares, blocks),
        "coverage": None if answers.inside is None else float(np.mean(answers.inside)),
        "better": better,
        "verdict": verdict,
        "rare": rare,
        "cautions": [] if bias is None else [bias],
    }


def _bias(residuals: np.ndarray, blocks: np.ndarray | None) -> Caution | None:
    """Predictions are too high or too low on average: further than by chance, by twice its 95 % interval."""
    mean, square = float(residuals.mean()), float(np.mean(residuals**2))
    if not mean**2 > _BIAS * square:
        return None
    low, high = resampled_limits(np.column_stack([np.ones_like(residuals), residuals]), means, blocks)
    if abs(mean) <= float(high[0] - low[0]):
        return None
    return Caution("biased", {"mean": mean, "rmse": float(np.sqrt(square)), "without": float(np.std(residuals))})


def seasonal_period(times: np.ndarray) -> int | None:
    """The rows of a day, or of a week if rows are days, or of a year if they are months; None without a regular one."""
    steps = np.diff(times) / np.timedelta64(1, "D")
    usual = float(np.median(steps)) if len(steps) else 0.0
    for season in (1.0, 7.0, 365.25):
        period = round(season / usual) if usual > 0.0 else 0
        if period >= 2:
            return period if abs(period * usual - season) < 0.05 * season else None
    return None


def _assess_other(model: Any, table: Any, target: str | None, time: str | None, group: str | None) -> Assessment:
    """Assess a model of another class on a frame."""
    import narwhals as nw

    frame = nw.from_native(as_file(table).read() if isinstance(table, str) else table, eager_only=True)
    if target is None:
        raise ValueError(f"{type(model).__name__} does not say what it predicts; name the target column.")
    for name in (target, time, group):
        if name is not None and name not in frame.columns:
            raise ValueError(f"The table has no column {quoted(name)}; its columns are {', '.join(frame.columns)}.")
    frame = frame if time is None else frame.sort(time)
    known = getattr(model[0] if isinstance(model, Pipeline) else model, "feature_names_in_", None)
    inputs = [name for name in frame.columns if name != target and (known is None or name in set(known))]
    inputs = inputs if known is None else list(known)
    present = ~frame[target].is_null().to_numpy()
    y, X = frame[target].to_numpy()[present], frame.filter(present.tolist()).select(inputs).to_native()
    shares = model.predict_proba(X) if is_classifier(model) else None
    inside = None
    if shares is None and hasattr(model, "predict_interval"):
        lower, upper = model.predict_interval(X, coverage=COVERAGE)
        inside = (lower <= y) & (y <= upper)
    answers = Answers(y, model.predict(X), shares, model.classes_ if is_classifier(model) else None, inside)
    groups = None if group is None else frame[group].to_numpy()[present]
    missing = len(present) - len(y)
    notes = [f"Left out: {count(missing, 'row')} without a value of {shortened(target)}."] if missing else []
    judged = judge(answers, model, row_blocks(len(y), time is not None, groups))
    return Assessment(target, len(y), **judged, notes=notes)
