"""Assessments of a table model on a table, and the rows that look like outliers to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from skscn.fitted_loss import loss_of, row_weights
from skscn.judging.assessment import Answers, Assessment, judge, seasonal_period
from skscn.judging.cautions import Caution
from skscn.judging.held_out import COVERAGE, are_too_narrow
from skscn.judging.scores import TITLES, regression_scores, unconfirmed
from skscn.judging.sketch import seen_caution
from skscn.judging.uncertainty import row_blocks
from skscn.losses import OUTLIER
from skscn.readers.arrow import arrow
from skscn.table_model.arriving import SupervisedReader
from skscn.table_model.series import labels_of
from skscn.tables import TableFile, Target, outside_sentences
from skscn.words import count, shortened

if TYPE_CHECKING:
    import pyarrow as pa

    from skscn.table_model.model import TableModel

# A seasonal baseline needs this many periods, and has to be better than the model by this share to be mentioned.
_FEWEST_PERIODS, _BETTER = 3, 0.02


def assess_model(model: TableModel, file: TableFile, target_name: str | None) -> Assessment:
    """Predict every row that has a target, some at a time, and compare."""
    target = model.find_target(target_name, file)
    extra = model.order_types(file)
    rows, found, labels, times = SupervisedReader(model, file, target, extra), list[Answers](), [], []
    intervals = model.has_intervals and not model.runs_free(file)
    for part in rows.parts():
        batch, present, y = part.batch, part.present, part.y
        shares = batch.predict_proba(present) if model.is_classifier else None
        inside = None
        if intervals:
            lower, upper = batch.predict_interval(COVERAGE, present)
            inside = (lower <= y) & (y <= upper)
        found.append(Answers(y, batch.predict(present), shares, None, inside))
        there = batch.table.filter(part.present)
        labels += [] if model.group_ is None else [labels_of(model.group_, there)]
        times += [model.encoder_.row_times(there)] if extra and model.encoder_.time_ in extra else []
    answers = _joined(found, model.estimator_.classes_ if model.is_classifier else None)
    ordered = bool(times) or model.uses_past
    groups = np.concatenate(labels) if labels else None
    judged = judge(answers, model.estimator_, row_blocks(len(answers.y), ordered, groups))
    scores, outside = judged["scores"], rows.outside.found()
    share = rows.sketch.share_in(model.sketch_)
    tested = unconfirmed(scores, model.record_.get("tested"))
    cautions = [seen_caution(share, file.label), *judged.pop("cautions")]
    if tested is not None:
        values = {"score": TITLES[tested[0]], "then": tested[1], "now": scores[tested[0]], "outside": bool(outside)}
        cautions.append(Caution("unconfirmed", values))
    coverage = judged["coverage"]
    if coverage is not None and are_too_narrow(coverage, len(answers.y)):
        cautions.append(Caution("intervals", {"found": [("Intervals", coverage)], "coverage": COVERAGE}))
    persistence, seasonal = _naive_errors(model, answers.y, np.concatenate(times) if times else None, groups)
    if seasonal is not None and seasonal[1] < (1.0 - _BETTER) * scores.get("rmse", 0.0):
        values = {"period": seasonal[0], "score": "RMSE", "own": scores["rmse"], "baseline": seasonal[1]}
        cautions.append(Caution("seasonal", values))
    without = f"{count(rows.missing, 'row')} without a value of {shortened(target.name)}"
    left_out = f"Used as earlier rows only: {without}." if model.uses_past else f"Left out: {without}."
    return Assessment(
        target.name,
        len(answers.y),
        **judged,
        persistence=persistence,
        seasonal=seasonal,
        cautions=[caution for caution in cautions if caution is not None],
        notes=[
            *rows.remarks,
            *([left_out] if rows.missing else []),
            *rows.outside.missing_sentences(),
            *outside_sentences(outside),
        ],
        share_seen=share,
        confirmed=None if not model.record_.get("tested") else tested is None,
        outside=outside,
    )


def _joined(found: list[Answers], classes: np.ndarray | None) -> Answers:
    """The answers about all rows."""

    def whole(name: str) -> np.ndarray | None:
        parts = [getattr(some, name) for some in found]
        return None if parts[0] is None else np.concatenate(parts)

    y, predicted = np.concatenate([some.y for some in found]), np.concatenate([some.predicted for some in found])
    return Answers(y, predicted, whole("probabilities"), classes, whole("inside"))


def _naive_errors(
    model: TableModel, y: np.ndarray, times: np.ndarray | None, groups: np.ndarray | None
) -> tuple[float | None, tuple[int, float] | None]:
    """The RMSE of predicting the last target, for a model that knows it, and the target one season before."""
    # Rows of several series are not those before each other.
    if model.is_classifier or groups is not None or len(y) < 3:
        return None, None
    persistence = regression_scores(y[1:], y[:-1])["rmse"] if model.knows_targets else None
    period = None if times is None else seasonal_period(times)
    if period is None or len(y) < _FEWEST_PERIODS * period:
        return persistence, None
    return persistence, (period, regression_scores(y[period:], y[:-period])["rmse"])


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
    target: str

    def table(self, most: int | None = None) -> pa.Table:
        """The number of each row, or of ``most`` rows, with its target, prediction, residual and weight."""
        pa, numbers = arrow(), ("prediction", "residual", "weight")
        # A target may have the name of another column here.
        name = f"{self.target} (target)" if self.target in ("row", *numbers) else self.target
        kinds = {"row": ("row", pa.int64()), name: ("target", pa.float64())}
        kinds |= {other: (other, pa.float64()) for other in numbers}
        rows = self.rows[:most]
        return pa.table(
            {title: pa.array([getattr(row, field) for row in rows], kind) for title, (field, kind) in kinds.items()}
        )

    def to_json(self, most: int | None = None) -> dict[str, Any]:
        """Plain values, which JSON can hold, with at most ``most`` rows."""
        listed = [{**vars(row), "residual": row.residual} for row in self.rows[:most]]
        about = {"target": self.target, "rows": self.n_rows, "outliers": len(self.rows)}
        return {**about, "listed": listed, "notes": self.notes}


def find_outliers(model: TableModel, file: TableFile, target: Target) -> Outliers:
    """The outliers among the rows of a table that have a target; ValueError for a model that does not weigh rows."""
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
    return Outliers(rows, reader.sketch.rows, notes, target.name)
