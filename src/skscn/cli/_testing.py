"""How good a model is on rows that it has not seen: fits on some rows, scores on others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import KFold, StratifiedKFold

from skscn.cli._growth import Growth
from skscn.cli._scores import Baseline, Validated, classification_scores, regression_scores, true_class_shares
from skscn.tables import TableEncoder


@dataclass(frozen=True)
class Rows:
    """Training rows in memory: inputs as a table, targets, weights."""

    table: Any
    y: np.ndarray
    sample_weight: np.ndarray | None

    def take(self, rows: np.ndarray) -> Rows:
        """These rows only."""
        weight = None if self.sample_weight is None else self.sample_weight[rows]
        return Rows(self.table.take(rows), self.y[rows], weight)


@dataclass(frozen=True)
class Folds:
    """Training and test rows of the parts to test on, and in how many parts the rows were split."""

    parts: list[tuple[np.ndarray, np.ndarray]]
    count: int
    task: str


def split(y: np.ndarray, task: str, folds: int, every_part: bool) -> Folds:
    """Split the rows in parts, each with its share of every class; no parts for less than 2."""
    folds = min(folds, len(y))
    if folds < 2:
        return Folds([], 0, task)
    stratified = task == "classification" and np.unique(y, return_counts=True)[1].min() >= folds
    splitter = (StratifiedKFold if stratified else KFold)(folds, shuffle=True, random_state=0)
    parts = [(train, test) for train, test in splitter.split(np.zeros(len(y)), y) if len(np.unique(y[train])) > 1]
    return Folds(parts if every_part else parts[:1], folds, task)


def cross_validate(
    encoder: TableEncoder, estimator: BaseEstimator, rows: Rows, folds: Folds, growth: Growth
) -> Validated | None:
    """Fit on all parts but one and predict that one; an interrupt leaves the parts that are done."""
    scores, baselines, words = [], [], ""
    for number, (train, test) in enumerate(folds.parts, start=1):
        growth.begin(f"Testing {number}/{len(folds.parts)}", estimator)
        known, unseen = rows.take(train), rows.take(test)
        score = _score(encoder.refitted(known.table), clone(estimator), known, unseen, folds.task)
        if growth.interrupted:
            break
        baseline = Baseline.of(known.y, folds.task, known.sample_weight)
        scores.append(score)
        baselines.append(baseline.scores(unseen.y))
        words = baseline.words
    return Validated(scores, baselines, folds.count, words) if scores else None


def _score(encoder: TableEncoder, estimator: Any, known: Rows, unseen: Rows, task: str) -> dict[str, float]:
    estimator.fit(encoder.transform(known.table), known.y, sample_weight=known.sample_weight)
    X = encoder.transform(unseen.table)
    if task == "regression":
        return regression_scores(unseen.y, estimator.predict(X))
    shares = true_class_shares(unseen.y, estimator.classes_, estimator.predict_proba(X))
    return classification_scores(unseen.y, estimator.predict(X), shares)
