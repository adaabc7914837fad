"""What turns the rows of a table into the numbers that a model takes: an encoder and, for a series, lags."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from sklearn.base import clone

from skscn.cli._training_rows import TableRows
from skscn.fit.data import targets_to_learn
from skscn.readers.arrow import arrow
from skscn.series import Lags
from skscn.tables import TableEncoder
from skscn.tables.row_encoder import with_targets


class PreparedRows(NamedTuple):
    """What has been learnt from training rows, those of them that are complete, and their numbers."""

    preparation: Preparation
    rows: TableRows
    X: np.ndarray


@dataclass(frozen=True)
class Preparation:
    """An encoder of columns, and lags that are yet to be fitted to the encoded rows, if there are to be any.

    For a recurrent network, rows stand for the whole series, and so do their numbers.
    """

    encoder: TableEncoder
    lags: Lags | None = None
    recurrent: bool = False

    def refitted(self, rows: TableRows) -> Preparation:
        """One for other rows, which knows nothing of those seen before."""
        return replace(self, encoder=self.encoder.refitted(rows.table))

    def learn(self, rows: TableRows, task: str) -> PreparedRows:
        """Learn from the targets of training rows; with lags, those rows remain of which all earlier values are known.

        Models of single rows encode many categories by means of the target, and fill in missing numbers themselves.
        """
        if self.recurrent and rows.whole is not None:
            return PreparedRows(self, rows, self.encoder.transform(rows.whole.table))
        if self.lags is None or rows.whole is None or rows.places is None:
            weights = np.ones(len(rows.y)) if rows.sample_weight is None else rows.sample_weight
            targets = targets_to_learn(rows.y, classes=task == "classification")
            encoder, X = with_targets(self.encoder, rows.table, targets, weights)
            return PreparedRows(replace(self, encoder=encoder), rows, X)
        lags, whole = clone(self.lags), rows.whole
        known = arrow().table(dict(zip(whole.names, whole.targets.T, strict=True)))
        X = lags.fit_transform(self.encoder.transform(whole.table), known, groups=whole.groups)
        complete = rows.take(np.flatnonzero(lags.complete_[rows.places]))
        return PreparedRows(replace(self, lags=lags), complete, X[complete.places])

    def follow(self, rows: TableRows) -> np.ndarray:
        """The numbers of rows that follow the training rows; earlier targets count from when they are known."""
        if self.recurrent and rows.whole is not None:
            return self.encoder.transform(rows.whole.table)
        if self.lags is None or rows.whole is None:
            return self.encoder.transform(rows.table)
        X, groups = self.encoder.transform(rows.whole.table), rows.whole.groups
        if groups is not None:
            self.lags.restart(set(groups.tolist()) - set(self.lags.groups_ or ()))
        X = self.lags.transform(X, groups=groups, targets=rows.whole.targets)
        following: np.ndarray = X[rows.places]
        return following
