"""The rows of a table that look like outliers to a model whose loss weighs rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from skscn.fitted_loss import loss_of, row_weights
from skscn.losses import OUTLIER
from skscn.tables import TableFile, Target, outside_sentences
from skscn.words import count, shortened

if TYPE_CHECKING:
    from skscn.table_model import TableModel


@dataclass(frozen=True)
class OutlierRow:
    """A row that looks like an outlier; its number in the file is counted from 1."""

    row: int
    target: float
    prediction: float
    weight: float

    @property
    def residual(self) -> float:
        """Target minus prediction."""
        return self.target - self.prediction


@dataclass(frozen=True)
class Outliers:
    """The rows that look like outliers, those of the smallest weight first; how many rows there are, and notes."""

    rows: list[OutlierRow]
    n_rows: int
    notes: list[str]


def find_outliers(model: TableModel, file: TableFile, target: Target) -> Outliers:
    """The outliers among the rows of a table that have a target; ValueError for a model that does not weigh rows."""
    from skscn.table_model.arriving import SupervisedReader

    loss = None if model.is_classifier else loss_of(model.estimator_)
    if loss is None or not loss.weighs:
        what = "predicts classes" if model.is_classifier else "was fitted with a loss that does not weigh rows"
        raise ValueError(
            f"{model.subject} {what}, so it cannot tell which rows are outliers; fit a model of a numeric target with "
            'loss="welsch", huber, bisquare or kde first.'
        )
    reader, found = SupervisedReader(model, file, target), list[OutlierRow]()
    for part in reader.parts():
        X = part.batch.X[part.present]
        weights = row_weights(model.estimator_, X, part.y)
        assert weights is not None, "models whose loss does not weigh rows are refused before"
        far = np.flatnonzero(weights < OUTLIER)
        if len(far):
            columns = part.numbers[far], part.y[far], model.estimator_.predict(X[far]), weights[far]
            found += (OutlierRow(*values) for values in zip(*(column.tolist() for column in columns), strict=True))
    rows = sorted(found, key=lambda row: (row.weight, -abs(row.residual)))
    left_out = f"Left out: {count(reader.missing, 'row')} without a value of {shortened(target.name)}."
    notes = [*reader.remarks, *([left_out] if reader.missing else []), *outside_sentences(reader.outside.found())]
    return Outliers(rows, reader.sketch.rows, notes)
