"""Tests of a model on rows that were held out: fits on some rows, scores on others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold, TimeSeriesSplit

from skscn.fitted_loss import loss_of
from skscn.judging.held_out import COVERAGE, Ahead, HeldOutPart, HeldOutTests
from skscn.judging.scores import Baseline, RareClass, classification_scores, regression_scores, true_class_shares
from skscn.table_model.observing import FitObserver
from skscn.table_model.rows import FollowingRows, Preparation, TableRows, fit_rows


@dataclass(frozen=True)
class Folds:
    """Training and test rows of the parts to test on, in how many parts the rows were split, and whether in order."""

    parts: list[tuple[np.ndarray, np.ndarray]]
    count: int
    task: str
    ordered: bool = False
    group: str | None = None


def split(y: np.ndarray, task: str, folds: int, every_part: bool) -> Folds:
    """Split the rows in parts, each with its share of every class; no parts for less than 2."""
    folds = min(folds, len(y) // 2)
    if folds < 2:
        return Folds([], 0, task)
    splitter = (StratifiedKFold if _stratifies(y, task, folds) else KFold)(folds, shuffle=True, random_state=0)
    parts = [(train, test) for train, test in splitter.split(np.zeros(len(y)), y) if len(np.unique(y[train])) > 1]
    return Folds(parts if every_part else parts[:1], folds, task)


def split_groups(y: np.ndarray, task: str, folds: int, every_part: bool, groups: np.ndarray, name: str) -> Folds:
    """Split whole groups, which the column ``name`` has, in parts of about as many rows."""
    folds = min(folds, len(np.unique(groups)))
    if folds < 2:
        return Folds([], 0, task, group=name)
    splitter = (StratifiedGroupKFold if _stratifies(y, task, folds) else GroupKFold)(
        folds, shuffle=True, random_state=0
    )
    windows = splitter.split(np.zeros(len(y)), y, groups)
    parts = [(train, test) for train, test in windows if len(test) and len(np.unique(y[train])) > 1]
    return Folds(parts if every_part else parts[:1], folds, task, group=name)


def _stratifies(y: np.ndarray, task: str, folds: int) -> bool:
    """Whether there are classes, and enough rows of each for every part."""
    return task == "classification" and bool(np.unique(y, return_counts=True)[1].min() >= folds)


def split_series(y: np.ndarray, task: str, folds: int, every_part: bool) -> Folds:
    """Parts of rows in order of time, each to be predicted from all rows before it; of those the last half.

    A model of fewer rows than half says little about one of all rows. There are at least two rows in a part.
    """
    folds = min(folds, len(y) // 2 - 1)
    if folds < 2:
        return Folds([], 0, task, ordered=True)
    windows = TimeSeriesSplit(folds).split(y)
    parts = [
        (train, test) for train, test in windows if 2 * len(train) >= len(y) - folds and len(np.unique(y[train])) > 1
    ]
    return Folds(parts if every_part else parts[-1:], folds, task, ordered=True)


def cross_validate(
    preparation: Preparation, estimator: BaseEstimator, rows: TableRows, folds: Folds, observer: FitObserver
) -> HeldOutTests | None:
    """Fit clones of a fitted estimator on all parts but one, and predict that one.

    An interrupt leaves the parts that are done. Of recurrent networks on rows in order of time, those of later parts
    are like that of the first one, which has seen none of the rows that they are tested on.
    """
    parts, first, rare = [], None, RareClass.of(rows.y, estimator) if folds.task == "classification" else None
    for number, (train, test) in enumerate(folds.parts, start=1):
        observer.begin(f"Testing {number}/{len(folds.parts)}", estimator)
        known, unseen = rows.split(train, test)
        # A model is also tried on all rows after its own part, which are further away from its training rows.
        further = folds.ordered and folds.task == "regression"
        later = rows.split(train, np.arange(test[0], len(rows.y)))[1] if further else unseen
        fitted = clone(estimator)
        part = _part(preparation.refitted(known), fitted, known, unseen, later, folds.task, rare, first)
        first = fitted if first is None and folds.ordered else first
        if observer.interrupted:
            break
        parts.append(part)
    if not parts:
        return None
    spread = float(np.var(rows.y[: len(rows.y) // 2])) if folds.task == "regression" else np.nan
    words = Baseline.of(rows.y, folds.task, loss=loss_of(estimator)).words
    has_losses = not preparation.recurrent
    return HeldOutTests(parts, folds.count, words, folds.ordered, spread, has_losses, folds.group, rare)


def _part(
    preparation: Preparation,
    estimator: Any,
    known: TableRows,
    unseen: TableRows,
    later: TableRows,
    task: str,
    rare: RareClass | None = None,
    like: Any = None,
) -> HeldOutPart:
    """Fit on the known rows, predict the unseen ones; these are the first of the later rows, which may be more."""
    preparation, known, X = preparation.learn(known, task)
    fit_rows(preparation.constrained(estimator), X, known, like)
    trained, X, y = X, preparation.follow(later), unseen.y
    if preparation.recurrent:
        rows = FollowingRows(estimator, preparation.follow(unseen), unseen)
        return _following_part(rows, FollowingRows(estimator, X, later), known, unseen)
    ahead = None
    if task == "regression":
        ahead = Ahead(later.y, estimator.predict(X), _inside(estimator, X, later.y), _beyond(X, trained))
    X = X[: len(y)]
    predicted = estimator.predict(X) if ahead is None else ahead.predicted[: len(y)]
    loss = loss_of(estimator)
    baseline = Baseline.of(known.y, task, known.sample_weight, loss).scores(y, rare)
    if task == "regression":
        scores = regression_scores(y, predicted, loss)
    else:
        classes, probabilities = estimator.classes_, estimator.predict_proba(X)
        scores = classification_scores(y, predicted, true_class_shares(y, classes, probabilities))
        scores |= {} if rare is None else rare.scores(y, predicted, classes, probabilities)
    n_new = 0 if task == "regression" else int(np.count_nonzero(~np.isin(y, known.y)))
    within = None if ahead is None else ahead.within(len(y))
    about = y, predicted, unseen.numbers, scores, baseline, within, n_new
    return HeldOutPart(*about, labels=unseen.series, ahead=ahead)


def _following_part(rows: FollowingRows, later: FollowingRows, known: TableRows, unseen: TableRows) -> HeldOutPart:
    """What a recurrent network says about the rows that follow those that it was fitted on."""
    ahead = Ahead(later.targets, later.predict(), later.inside(COVERAGE))
    predicted = ahead.predicted[: len(unseen.y)]
    scores = regression_scores(unseen.y, predicted)
    baseline = Baseline.of(known.y, "regression").scores(unseen.y)
    runs = rows.runs(COVERAGE)
    return HeldOutPart(
        *(unseen.y, predicted, unseen.numbers, scores, baseline, ahead.within(len(unseen.y))),
        runs=runs,
        persistence=rows.persistence(known),
        labels=unseen.series,
        ahead=ahead,
    )


def _beyond(X: np.ndarray, trained: np.ndarray) -> np.ndarray:
    """Which rows have an input outside the range of the training rows."""
    below, above = np.less(X, np.fmin.reduce(trained)), np.greater(X, np.fmax.reduce(trained))
    beyond: np.ndarray = (below | above).any(axis=1)
    return beyond


def _inside(estimator: Any, X: np.ndarray, y: np.ndarray) -> np.ndarray | None:
    """Whether the 90 % intervals hold the targets; None for a model without intervals."""
    if not hasattr(estimator, "predict_interval") or not np.isfinite(estimator.oob_prediction_).any():
        return None
    lower, upper = estimator.predict_interval(X, COVERAGE)
    inside: np.ndarray = (lower <= y) & (y <= upper)
    return inside
