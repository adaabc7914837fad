"""``skscn outliers``: the rows of a table that look like outliers to a model whose loss weighs rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from skscn.cli._arguments import open_data
from skscn.cli._models import Model, encoded_batches, open_model
from skscn.cli._outputs import TABLE_ENDINGS, check_output
from skscn.cli._table_output import table_writer
from skscn.cli._voice import Voice, short
from skscn.fitted_loss import loss_of, row_weights
from skscn.losses import OUTLIER, name_of
from skscn.readers.arrow import arrow
from skscn.tables import TableFile, Target, outside_sentences
from skscn.words import count, quoted, shortened

# The most rows that are listed for people unless they ask for more.
_SHOWN = 20


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


class OutlierSearch:
    """The outliers among the rows of a table that have a target, found some rows at a time."""

    def __init__(self, model: Model, file: TableFile, target: Target):
        self.n_rows, self.missing = 0, 0
        encoder = model.columns(file, without=(target.name,))
        outside = encoder.looking_outside()
        found: list[OutlierRow] = []
        for batch in encoded_batches(model, file, encoder, {target.name: target.read_type}):
            X, table = batch.X, batch.table
            y, present = target.values(table.column(target.name))
            numbers = self.n_rows + self.missing + 1 + np.flatnonzero(present)
            self.n_rows += len(y)
            self.missing += len(table) - len(y)
            if len(y):
                outside.add(X[present], table.filter(present))
                found += _outliers(model, X[present], y, numbers)
        if not self.n_rows:
            raise ValueError(f"{file.label} has no row with a value of {quoted(target.name)} to compare with.")
        self.rows = sorted(found, key=lambda row: (row.weight, -abs(row.residual)))
        self.outside = outside.found()


def _outliers(model: Model, X: np.ndarray, y: np.ndarray, numbers: np.ndarray) -> Iterator[OutlierRow]:
    weights = row_weights(model.estimator, X, y)
    assert weights is not None, "models whose loss does not weigh rows are refused before"
    far = np.flatnonzero(weights < OUTLIER)
    if len(far):
        predictions = model.estimator.predict(X[far])
        columns = numbers[far], y[far], predictions, weights[far]
        yield from (OutlierRow(*values) for values in zip(*(column.tolist() for column in columns), strict=True))


def run_outliers(
    model_path: Path, data: Path, out: Path | None, most: int | None, target_name: str | None, voice: Voice
) -> None:
    """List the outliers, those of the smallest weight first."""
    if out is not None:
        check_output(out, [model_path, data], TABLE_ENDINGS)
    model = open_model(model_path)
    loss = _loss(model)
    file = open_data(data)
    target = model.find_target(target_name, file)
    search = OutlierSearch(model, file, target)
    rows = search.rows[:most]
    if out is not None:
        _write(out, rows, target)
    notes = [*model.remarks, *_notes(search, target)]
    voice.notes(notes)
    facts = {
        **{"model": str(model_path), "data": str(data), "target": target.name, "loss": loss},
        **{"rows": search.n_rows, "outliers": len(search.rows), "below": OUTLIER},
        "out": None if out is None else str(out),
        "listed": [{**vars(row), "residual": row.residual} for row in rows],
        "notes": notes,
    }
    voice.result(facts, _lines(search, rows, most, out, target, loss))


def _loss(model: Model) -> str:
    """The name of the loss; ValueError if it does not weigh rows."""
    loss = None if model.is_classifier else loss_of(model.estimator)
    if loss is None or not loss.weighs:
        what = "predicts classes" if model.is_classifier else "was fitted with a loss that does not weigh rows"
        raise ValueError(
            f"{model.path.name} {what}, so it cannot tell which rows are outliers; fit a model of a numeric target "
            "with --loss welsch, huber, bisquare or kde first: skscn fit … --loss welsch."
        )
    return name_of(loss)


def _write(out: Path, rows: list[OutlierRow], target: Target) -> None:
    """A file with the number of each row, its target, prediction, residual and weight."""
    pa = arrow()
    numbers = ("prediction", "residual", "weight")
    # A target may have the name of another column here.
    name = f"{target.name} (target)" if target.name in ("row", *numbers) else target.name
    columns = {"row": pa.array([row.row for row in rows], pa.int64())}
    columns[name] = pa.array([row.target for row in rows], pa.float64())
    columns |= {other: pa.array([getattr(row, other) for row in rows], pa.float64()) for other in numbers}
    with table_writer(out) as write:
        write(pa.table(columns))


def _notes(search: OutlierSearch, target: Target) -> list[str]:
    left_out = f"Left out: {count(search.missing, 'row')} without a value of {shortened(target.name)}."
    return [*([left_out] if search.missing else []), *outside_sentences(search.outside)]


def _lines(
    search: OutlierSearch, rows: list[OutlierRow], most: int | None, out: Path | None, target: Target, loss: str
) -> list[tuple[str, str]]:
    """How many there are, and the first of them; those in a file are not listed again."""
    lines = [
        ("Rows", f"{search.n_rows:,}"),
        ("Outliers", f"{len(search.rows):,}, with a weight below {OUTLIER:g} (loss {loss})"),
    ]
    if out is not None:
        return [*lines, ("Written to", f"{out}, {count(len(rows), 'row')}")]
    shown = rows if most is not None else rows[:_SHOWN]
    lines += [(f"Row {row.row:,}", _describe(row, target)) for row in shown]
    more = len(search.rows) - len(shown)
    return [*lines, *([("", f"and {more:,} more; --most {len(search.rows)} lists all")] if more else [])]


def _describe(row: OutlierRow, target: Target) -> str:
    return (
        f"{shortened(target.name)} {short(row.target)}, predicted {short(row.prediction)}, weight {short(row.weight)}"
    )
