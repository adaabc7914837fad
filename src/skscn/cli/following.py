"""``skscn follow``: rows come one by one on standard input, and each is answered at once."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from time import monotonic
from typing import Any, BinaryIO

from skscn.cli.arguments import STANDARD_INPUT
from skscn.cli.commands import Wanted, predictions
from skscn.cli.console import Console, Write, check_output, table_writer
from skscn.cli.interrupts import end_at_signals, ignore_signals
from skscn.judging.sketch import RowSketch
from skscn.readers.arrow import arrow
from skscn.readers.dialect import Dialect, find_dialect
from skscn.readers.text_rows import scan
from skscn.table_model import TableModel, open_model
from skscn.table_model.arriving import Batch
from skscn.table_model.updating import FAR_OUTSIDE, check_updatable, gate_of
from skscn.tables import Target
from skscn.words import count, listed, quoted, short


def run_follow(model_path: Path, wanted: Wanted, learn: bool, save_every: float, console: Console) -> None:
    """Answer each row of standard input, and learn from those that have a target, if asked to.

    What was learnt is saved every ``save_every`` minutes, and in the end, whatever ends the rows.
    """
    out = wanted.out
    if out is not None:
        check_output(out, [])
    model = open_model(model_path)
    wanted.check(model)
    if model.uses_past:
        raise ValueError(f"{model_path.name} uses earlier rows; predict its rows as a table, without --follow.")
    if learn:
        check_updatable(model)
    rows = LinesOfText(sys.stdin.buffer)
    follower, saved = RowByRow(model, rows.names, wanted, learn, rows.decimal), monotonic()
    with ignore_signals():
        try:
            with table_writer(None) as write, end_at_signals():
                for number, line in enumerate(rows, start=1):
                    _answer(follower, rows, number, line, write, console)
                    if out is not None and monotonic() - saved >= 60.0 * save_every:
                        follower.save(out)
                        saved = monotonic()
        finally:
            # Before anything is said, as the terminal may be gone.
            if out is not None:
                follower.save(out)
        aside = f"; set aside {follower.set_aside:,}" if follower.set_aside else ""
        console.note(f"Answered {count(follower.answered, 'row')}; learnt from {follower.learnt:,}{aside}.")
        console.notes(follower.outside.missing_sentences())
        if follower.learnt and out is None:
            console.note("What was learnt is forgotten now; -o MODEL would have written it to a file.")
        if out is not None:
            console.note(f"Wrote the model to {out}.")


def _answer(follower: RowByRow, rows: LinesOfText, number: int, line: bytes, write: Write, console: Console) -> None:
    """Answer a row and learn from it; a row that is wrong has an empty answer."""
    try:
        write(follower.answer(rows.cells(line)))
    except ValueError as error:
        console.note(f"Row {number} was neither predicted nor learnt: {error}")
        write(follower.nothing())
        return
    try:
        follower.learn()
    except ValueError as error:
        console.note(f"Row {number} was predicted, but not learnt: {error}")


class LinesOfText:
    """Rows of a stream of text, each as soon as its line is there; the first line has the names of the columns.

    Delimiter and decimal sign follow from the first two lines. A row is one line.
    """

    def __init__(self, stream: BinaryIO):
        self._stream = stream
        header, self._first = stream.readline(), stream.readline()
        self._dialect: Dialect = find_dialect(STANDARD_INPUT, ".csv", header + self._first)
        self.names, self.decimal = self._dialect.names, self._dialect.decimal

    def __iter__(self) -> Iterator[bytes]:
        line = self._first
        while line:
            if line.strip():
                yield line
            line = self._stream.readline()

    def cells(self, line: bytes) -> dict[str, str]:
        """What is written in each column."""
        text = line.decode(self._dialect.encoding).rstrip("\r\n")
        (row,) = scan([text], self._dialect.delimiter)
        if not row.closed:
            raise ValueError(f"a quote is opened and never closed: {quoted(text)}.")
        if len(row.values) != len(self.names):
            raise ValueError(
                f"A row of {STANDARD_INPUT} has {count(len(row.values), 'value')} for "
                f"{count(len(self.names), 'column')}: {quoted(text)}."
            )
        return dict(zip(self.names, row.values, strict=True))


class RowByRow:
    """Predicts rows one by one, and learns from each after its prediction."""

    def __init__(self, model: TableModel, names: list[str], wanted: Wanted, learn: bool, decimal: str = "."):
        self.model, self.wanted, self.answered, self.learnt, self.set_aside = model, wanted, 0, 0, 0
        self.gate, self._decimal = gate_of(model), decimal
        self.target: Target | None = None
        self._latest: tuple[Any, Any] = (None, None)
        self._sketch = RowSketch.continued(model.sketch_)
        if learn:
            if model.target_ is None or model.target_.name not in names:
                needed = "the target" if model.target_ is None else quoted(model.target_.name)
                raise ValueError(f"--learn needs a column {needed}; the columns are {listed(names)}.")
            self.target = model.target_
        unknown = [name for name in wanted.keep if name not in names]
        if unknown:
            raise ValueError(f"There is no column {quoted(unknown[0])} to keep; the columns are {listed(names)}.")
        if model.encoder_ is None:
            raise ValueError(f"{model.label} does not say which columns it needs; predict a table instead.")
        self._encoder, self.outside = model.encoder_, model.encoder_.looking_outside()
        self._types = dict(self._encoder.read_types)
        if self.target is not None:
            self._types[self.target.name] = self.target.read_type
        missing = [name for name in self._encoder.read_types if name not in names]
        if missing:
            raise ValueError(
                f"{STANDARD_INPUT} lacks {listed(map(quoted, missing))}, which {model.label} needs; its columns "
                f"are {listed(names)}."
            )

    def answer(self, cells: dict[str, str]) -> Any:
        """A table with the prediction of one row, and the columns to keep as they are written."""
        pa = arrow()
        table = pa.table({name: pa.array([self._value(name, cell)], pa.string()) for name, cell in cells.items()})
        X = self._encoder.transform(table)
        kept = pa.table({name: pa.array([cells[name]]) for name in self.wanted.keep})
        answer = predictions(self.model, Batch(self.model, X, table), kept, self.wanted)
        self.outside.add(X, table)
        self._latest = X, table
        self.answered += 1
        return answer

    def _value(self, name: str, cell: str) -> str:
        """What a column is read from: numbers with a decimal point, unless the column has its own decimal sign."""
        return cell.replace(self._decimal, ".") if self._types.get(name) == arrow().float64() else cell

    def learn(self) -> None:
        """Learn from the row that was answered last, if that is wanted and it has a target.

        ValueError if the target is not plausible.
        """
        X, table = self._latest
        y, _ = (None, None) if self.target is None else self.target.values(table.column(self.target.name))
        if y is None or not len(y):
            return
        if self.gate is not None and not self.gate.admits(y, self.model.estimator_.predict(X)):
            self.set_aside += 1
            raise ValueError(f"{FAR_OUTSIDE}: {short(y[0])}. It is learnt if such values go on.")
        self.model.estimator_.partial_fit(X, y)
        self.learnt += 1
        if self._sketch is not None:
            self._sketch.add(X, y)

    def save(self, out: Path) -> None:
        """Write the model as it is now."""
        model = self.model
        model.gate_ = self.gate
        model.sketch_ = model.sketch_ if self._sketch is None else self._sketch.to_json()
        before = model.record_
        model.note_update(STANDARD_INPUT, self.learnt)
        model.save(out)
        # What was learnt in all is written down once.
        model.record_ = before

    def nothing(self) -> Any:
        """The line for a row that is wrong, so that lines of output keep corresponding to rows."""
        names = [*self.wanted.keep, *self.wanted.names(self.model)]
        return arrow().table({name: arrow().array([None], arrow().string()) for name in names})
