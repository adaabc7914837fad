"""Recurrent networks of ``skscn fit``: trained on whole series, tested on the rows that follow, described in words."""

from __future__ import annotations

from typing import Any

import numpy as np

from skscn.cli._drift import PredictedRows
from skscn.cli._fit_options import FitOptions
from skscn.cli._scores import regression_scores
from skscn.cli._training_rows import TableRows
from skscn.cli._voice import short
from skscn.following import FreeRuns, GroupRows, free_runs, limits_of_stretches, predict_stretches, stretches
from skscn.recurrent import RecurrentSCNRegressor
from skscn.tables import TableEncoder

# Tables of more rows than that are tested on the last part only, unless the user says otherwise.
MOST_ROWS_TESTED = 10_000
# The longest horizon that is tested, and from how many rows.
_LONGEST_HORIZON, _RUNS = 100, 40
# How much larger than the error of the tests that on the training rows may be.
_UNLIKE = 1.5


def default_encoding(options: FitOptions) -> dict[str, Any]:
    """Parameters of the encoder that differ for a recurrent network.

    Delayed sines and cosines of the time depend on each other, and their weights become so large that predictions
    explode when the time jumps, as it does after a gap. A forecast, whose times go on, is worth that risk.
    """
    return {"cycles": False} if options.recurrent and not options.feedback else {}


def check_inputs(options: FitOptions, encoder: TableEncoder) -> None:
    """Raise ValueError if there is nothing to predict from; with feedback, the past of the target is enough."""
    if not encoder.columns_ and not options.feedback:
        more = " Add --feedback to predict the target from its own past." if options.recurrent else ""
        raise ValueError(f"There is no column to learn from but the time of the rows. {' '.join(encoder.notes_)}{more}")


def fit_rows(estimator: Any, X: np.ndarray, rows: TableRows) -> None:
    """Fit an estimator to training rows; a recurrent one to the whole series, whose rows X are."""
    if isinstance(estimator, RecurrentSCNRegressor):
        estimator.fit(X if X.shape[1] else None, _targets(rows), _groups(rows))
    else:
        estimator.fit(X, rows.y, sample_weight=rows.sample_weight, groups=rows.groups)


def fitted_values(estimator: Any, X: np.ndarray, rows: TableRows) -> np.ndarray:
    """What a model says about its own training rows, those with a target."""
    if not isinstance(estimator, RecurrentSCNRegressor):
        return np.asarray(estimator.predict(X))
    parts = stretches(estimator, _groups(rows), len(X), None)
    return np.asarray(predict_stretches(estimator, X, _targets(rows), parts)[rows.places])


def _targets(rows: TableRows) -> np.ndarray:
    """The targets of the whole series, NaN where they are missing."""
    assert rows.whole is not None, "recurrent networks are trained on whole series"
    targets: np.ndarray = rows.whole.targets[:, 0]
    return targets


def _groups(rows: TableRows) -> np.ndarray | None:
    """Which of several series each row of the whole belongs to."""
    assert rows.whole is not None, "recurrent networks are trained on whole series"
    return rows.whole.groups


def training_course(estimator: Any, X: np.ndarray, rows: TableRows) -> PredictedRows:
    """The training rows as a model fits them; those of a recurrent network after the first quarter, when it settles."""
    settled = slice(None)
    if isinstance(estimator, RecurrentSCNRegressor):
        assert rows.places is not None, "recurrent networks are trained on whole series"
        settled = slice(int(np.searchsorted(rows.places, len(X) // 4)), None)
    return PredictedRows(rows.y[settled], fitted_values(estimator, X, rows)[settled])


def unlike_tests(training: PredictedRows, tested: float) -> str | None:
    """What to say where a network fits its own training rows worse than those of the tests predicted later rows."""
    own = float(np.sqrt(np.mean(training.residuals**2)))
    if not own > _UNLIKE * tested:
        return None
    return (
        f"The model does not even fit its training rows as well (RMSE {short(own)}) as the models of the tests "
        f"predicted later rows (RMSE {short(tested)}); fit again with another --seed."
    )


class FollowingRows:
    """What a recurrent network says about rows that follow its training rows, of which X has the whole series."""

    def __init__(self, estimator: RecurrentSCNRegressor, X: np.ndarray, rows: TableRows):
        self._estimator, self._X, self._rows, self._y = estimator, X, rows, _targets(rows)
        self._parts = list(stretches(estimator, _groups(rows), len(X), "end"))

    def predict(self) -> np.ndarray:
        """Predictions of the rows with a target, one step ahead."""
        return predict_stretches(self._estimator, self._X, self._y, self._parts)[self._rows.places]

    @property
    def targets(self) -> np.ndarray:
        """The targets of the rows that have one."""
        return self._rows.y

    def inside(self, coverage: float) -> np.ndarray:
        """Whether prediction intervals contain the targets."""
        limits = limits_of_stretches(self._estimator, self._X, self._y, self._parts, coverage)
        lower, upper = (ends[self._rows.places] for ends in limits)
        inside: np.ndarray = (lower <= self._rows.y) & (self._rows.y <= upper)
        return inside

    def runs(self, coverage: float) -> FreeRuns | None:
        """Forecasts from several of these rows, for a model with feedback."""
        if not self._estimator.feedback:
            return None
        found = [self._runs_of(part, coverage) for part in self._parts]
        known = [runs for runs in found if runs is not None]
        return FreeRuns.joined(known) if known else None

    def _runs_of(self, part: GroupRows, coverage: float) -> FreeRuns | None:
        X, y = self._X[part.rows], self._y[part.rows]
        steps, runs = min(_LONGEST_HORIZON, len(y) // 2), max(1, _RUNS // len(self._parts))
        if steps < 1:
            return None
        return free_runs(self._estimator, X, y, steps=steps, runs=runs, coverage=coverage, state=part.state)

    def persistence(self, known: TableRows) -> dict[str, float] | None:
        """How good it is to predict the last known target, for a model with feedback; ``known`` are training rows."""
        if not self._estimator.feedback:
            return None
        return regression_scores(self._rows.y, _persistent(known, self._rows))


def _persistent(known: TableRows, rows: TableRows) -> np.ndarray:
    """The last known target before each of these rows, in the same series; their mean before the first one."""
    before, here = (_labels(some) for some in (known, rows))
    predicted = np.full(len(rows.y), known.y.mean())
    for label in np.unique(here):
        own, last = here == label, known.y[before == label][-1:]
        first = last if len(last) else [known.y.mean()]
        predicted[own] = np.concatenate([first, rows.y[own][:-1]])
    return predicted


def _labels(rows: TableRows) -> np.ndarray:
    """The series of each row with a target."""
    return np.zeros(len(rows.y)) if rows.series is None else rows.series
