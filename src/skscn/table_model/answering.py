"""Tables of predictions, with intervals, probabilities and copied columns: of a file, and of lines as they arrive."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from skscn.readers.arrow import arrow
from skscn.readers.lines import LinesOfText
from skscn.readers.writing import table_writer
from skscn.table_model.arriving import Batch
from skscn.table_model.live import LiveModel
from skscn.table_model.model import TableModel
from skscn.tables import OutsideColumn, TableFile, outside_sentences
from skscn.words import listed, quoted

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Wanted:
    """The columns of a table of predictions: intervals of this coverage, probabilities, and columns to copy."""

    coverage: float | None = None
    proba: bool = False
    keep: tuple[str, ...] = ()

    def check(self, model: TableModel, file: TableFile | None = None) -> None:
        """Raise ValueError for what a model cannot provide."""
        if self.coverage is not None:
            model.check_intervals(file)
        if self.proba:
            model.check_probabilities()

    def names(self, model: TableModel) -> list[str]:
        """The columns of predictions, intervals and probabilities."""
        labels: Any = model.classes_ if self.proba else []
        written = [str(label).lower() if isinstance(label, bool | np.bool_) else str(label) for label in labels]
        ends = [] if self.coverage is None else ["lower", "upper"]
        return ["prediction", *ends, *(f"probability of {label}" for label in written)]

    def copied(self, model: TableModel) -> dict[str, str]:
        """The columns to copy and what they are called in the output, where predictions have the first right."""
        taken, names = set(self.names(model)), {}
        for name in dict.fromkeys(self.keep):
            new = name
            while new in taken:
                new += " (kept)"
            taken.add(new)
            names[name] = new
        return names

    def columns(self, batch: Batch) -> dict[str, Any]:
        """The columns of predictions, intervals and probabilities of some rows."""
        predicted = batch.predict()
        columns = [predicted if batch.model.target_ is None else batch.model.target_.written(predicted)]
        columns += [] if self.coverage is None else batch.predict_interval(self.coverage)
        columns += list(batch.predict_proba().T) if self.proba else []
        lists = (values.tolist() if values.dtype.kind in "OU" else np.ascontiguousarray(values) for values in columns)
        return dict(zip(self.names(batch.model), lists, strict=True))


class Written(NamedTuple):
    """What has been written: how many rows, their inputs outside the training range, and notes."""

    n_rows: int
    outside: list[OutsideColumn]
    notes: list[str]


def write_predictions(
    model: TableModel, file: TableFile, wanted: Wanted, out: Path | None, for_spreadsheet: bool = False
) -> Written:
    """Predict the rows of a file that the model has opened, some at a time, and write them as a table.

    With ``for_spreadsheet``, text that a spreadsheet would take for a formula has an apostrophe before it.
    """
    wanted.check(model, file)
    if model.every_ is not None:
        # Rows of the output are steps, which their times tell apart.
        wanted = replace(wanted, keep=tuple(dict.fromkeys([model.every_.time, *wanted.keep])))
    names = wanted.copied(model)
    rows, copies = model.read(file, without=wanted.keep), _Copies(file, names)
    with table_writer(out, for_spreadsheet) as write:
        for batch in rows:
            write(arrow().table(copies.next(len(batch.X)) | wanted.columns(batch)))
            rows.outside.add(batch.X, batch.table)
        if not rows.n_rows:
            raise ValueError(f"{file.label} has no rows to predict.")
    renamed = [
        f"The column {quoted(name)} is written as {quoted(new)}, because the output has its own column of that name."
        for name, new in names.items()
        if new != name
    ]
    found = rows.outside.found()
    notes = [*renamed, *rows.remarks, *outside_sentences(found), *rows.outside.missing_sentences()]
    return Written(rows.n_rows, found, notes)


class _Copies:
    """Columns of a file as they are written, some rows at a time; ``names`` says what they are called in the output."""

    def __init__(self, file: TableFile, names: dict[str, str]):
        self._names: dict[str, str] = names
        self._tables: Iterator[pa.Table] = file.verbatim(list(names))
        self._rest: list[pa.Table] = []

    def next(self, n_rows: int) -> dict[str, Any]:
        """The rows that come next."""
        if not self._names:
            return {}
        while sum(len(table) for table in self._rest) < n_rows:
            self._rest.append(next(self._tables))
        rows = arrow().concat_tables(self._rest)
        self._rest = [rows.slice(n_rows)]
        return dict(zip(self._names.values(), rows.slice(0, n_rows).columns, strict=True))


class LineFollower:
    """Answers lines of text one by one with a live model, and learns from each that has a target.

    Parameters
    ----------
    model : TableModel
    rows : LinesOfText
    label : str
        How messages refer to the lines.
    wanted : Wanted
    learn : bool
    journal : Path or None
        As in LiveModel.
    """

    def __init__(
        self, model: TableModel, rows: LinesOfText, label: str, wanted: Wanted, learn: bool, journal: Path | None
    ):
        names, self._rows, self._wanted = rows.names, rows, wanted
        self._target = model.target_ if learn else None
        if learn and (model.target_ is None or model.target_.name not in names):
            needed = "the target" if model.target_ is None else quoted(model.target_.name)
            raise ValueError(f"learn=True needs a column {needed}; the columns are {listed(names)}.")
        unknown = [name for name in wanted.keep if name not in names]
        if unknown:
            raise ValueError(f"There is no column {quoted(unknown[0])} to keep; the columns are {listed(names)}.")
        self.live = LiveModel(model, wanted.coverage or 0.9, learn=learn, journal=journal)
        missing = [name for name in self.live.columns if name not in names]
        if missing:
            raise ValueError(
                f"{label} lacks {listed(map(quoted, missing))}, which {model.label} needs; its columns are "
                f"{listed(names)}."
            )
        types = dict(model.encoder_.read_types)
        types |= {} if self._target is None else {self._target.name: self._target.read_type}
        # Numbers are read with a decimal point, unless the column has its own decimal sign.
        self._numbers = {name for name, kind in types.items() if kind == "double"}
        self._names, self._row = [*wanted.keep, *wanted.names(model)], dict[str, Any]()

    def answer(self, line: bytes) -> pa.Table:
        """A table with the prediction of one row, and the columns to keep as they are written."""
        cells, decimal, live, wanted = self._rows.cells(line), self._rows.decimal, self.live, self._wanted
        self._row = {
            name: _number(cell.replace(decimal, ".")) if name in self._numbers else cell for name, cell in cells.items()
        }
        values = [*map(cells.get, wanted.keep), live.predict_one(self._row)]
        values += live.interval() if wanted.coverage is not None else ()
        values += live.probabilities().tolist() if wanted.proba else []
        return arrow().table({name: [value] for name, value in zip(self._names, values, strict=True)})

    def learn(self) -> None:
        """Learn from the row that was answered last, if that is wanted; ValueError if its target is not learnt."""
        if self._target is None:
            return
        events = len(self.live.events)
        self.live.learn_one(self._row, self._row[self._target.name])
        if len(self.live.events) > events:
            raise ValueError(self.live.events[-1])

    def nothing(self) -> pa.Table:
        """The line for a row that is wrong, so that lines of output keep corresponding to rows."""
        return arrow().table({name: arrow().array([None], arrow().string()) for name in self._names})


def _number(text: str) -> float | str:
    """The number in a text, or the text, which may have a unit or stand for a missing value."""
    try:
        return text if "_" in text else float(text)
    except ValueError:
        return text
