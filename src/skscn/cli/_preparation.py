"""What turns the rows of a table into the numbers that a model takes: an encoder and, for a series, lags."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.base import clone

from skscn.cli._training_rows import TableRows
from skscn.readers.arrow import arrow
from skscn.series import Lags
from skscn.tables import TableEncoder


@dataclass(frozen=True)
class Preparation:
    """A fitted encoder, and lags that are fitted to the encoded rows, if there are to be any.

    For a recurrent network, rows stand for the whole series, and so do their numbers.
    """

    encoder: TableEncoder
    lags: Lags | None = None
    recurrent: bool = False

    def refitted(self, rows: TableRows) -> Preparation:
        """One for other rows, which knows nothing of those seen before."""
        return Preparation(
            self.encoder.refitted(rows.table), None if self.lags is None else clone(self.lags), self.recurrent
        )

    def learn(self, rows: TableRows) -> tuple[TableRows, np.ndarray]:
        """Fit the lags to training rows; those rows of which all earlier values are known, and their numbers."""
        if self.recurrent and rows.whole is not None:
            return rows, self.encoder.transform(rows.whole.table)
        if self.lags is None or rows.whole is None or rows.places is None:
            return rows, self.encoder.transform(rows.table)
        targets = arrow().table(dict(zip(rows.whole.names, rows.whole.targets.T, strict=True)))
        X = self.lags.fit_transform(self.encoder.transform(rows.whole.table), targets, groups=rows.whole.groups)
        complete = rows.take(np.flatnonzero(self.lags.complete_[rows.places]))
        return complete, X[complete.places]

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
