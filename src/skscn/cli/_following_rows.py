"""``skscn predict --follow``: rows come one by one on standard input, and each is answered at once."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from time import monotonic
from typing import Any, BinaryIO

from skscn.cli._arguments import STANDARD_INPUT
from skscn.cli._batches import Batch
from skscn.cli._interrupts import end_at_signals, ignore_signals
from skscn.cli._models import Model, open_model
from skscn.cli._outputs import check_output
from skscn.cli._predict import Wanted, check_options, output_names, predicted
from skscn.cli._seen import RowSketch
from skscn.cli._table_output import Write, table_writer
from skscn.cli._update import FAR_OUTSIDE, check_updatable, notes_after, save_updated, target_gate_of
from skscn.cli._voice import Voice, short
from skscn.following import is_recurrent
from skscn.readers.arrow import arrow
from skscn.readers.dialect import Dialect, find_dialect
from skscn.readers.text_rows import scan
from skscn.tables import Target
from skscn.words import count, listed, quoted


def run_follow(model_path: Path, wanted: Wanted, learn: bool, save_every: float, voice: Voice) -> None:
    """Answer each row of standard input, and learn from those that have a target, if asked to.

    What was learnt is saved every ``save_every`` minutes, and in the end, whatever ends the rows.
    """
    out = wanted.out
    if out is not None:
        check_output(out, [])
    model = open_model(model_path)
    check_options(model, wanted)
    if model.lags is not None or is_recurrent(model.estimator):
        raise ValueError(f"{model_path.name} uses earlier rows; predict its rows as a table, without --follow.")
    if learn:
        check_updatable(model)
    rows = LinesOfText(sys.stdin.buffer)
    follower, saved = RowByRow(model, rows.names, wanted, learn, rows.decimal), monotonic()
    with ignore_signals():
        try:
            with table_writer(None) as write, end_at_signals():
                for number, line in enumerate(rows, start=1):
                    _answer(follower, rows, number, line, write, voice)
                    if out is not None and monotonic() - saved >= 60.0 * save_every:
                        follower.save(out)
                        saved = monotonic()
        finally:
            # Before anything is said, as the terminal may be gone.
            if out is not None:
                follower.save(out)
        aside = f"; set aside {follower.set_aside:,}" if follower.set_aside else ""
        voice.note(f"Answered {count(follower.answered, 'row')}; learnt from {follower.learnt:,}{aside}.")
        voice.notes(follower.outside.missing_sentences())
        if follower.learnt and out is None:
            voice.note("What was learnt is forgotten now; -o MODEL would have written it to a file.")
        if out is not None:
            voice.note(f"Wrote the model to {out}.")


def _answer(follower: RowByRow, rows: LinesOfText, number: int, line: bytes, write: Write, voice: Voice) -> None:
    """Answer a row and learn from it; a row that is wrong has an empty answer."""
    try:
        write(follower.answer(rows.cells(line)))
    except ValueError as error:
        voice.note(f"Row {number} was neither predicted nor learnt: {error}")
        write(follower.nothing())
        return
    try:
        follower.learn()
    except ValueError as error:
        voice.note(f"Row {number} was predicted, but not learnt: {error}")


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

    def __init__(self, model: Model, names: list[str], wanted: Wanted, learn: bool, decimal: str = "."):
        self.model, self.wanted, self.answered, self.learnt, self.set_aside = model, wanted, 0, 0, 0
        self.gate, self._decimal = target_gate_of(model), decimal
        self.target: Target | None = None
        self._latest: tuple[Any, Any] = (None, None)
        self._sketch = RowSketch.continued(model.notes.get("sketch"))
        if learn:
            if model.target is None or model.target.name not in names:
                needed = "the target" if model.target is None else quoted(model.target.name)
                raise ValueError(f"--learn needs a column {needed}; the columns are {listed(names)}.")
            self.target = model.target
        unknown = [name for name in wanted.keep if name not in names]
        if unknown:
            raise ValueError(f"There is no column {quoted(unknown[0])} to keep; the columns are {listed(names)}.")
        if model.encoder is None:
            raise ValueError(f"{model.path.name} does not say which columns it needs; predict a table instead.")
        self._encoder, self.outside = model.encoder, model.encoder.looking_outside()
        self._types = dict(self._encoder.read_types)
        if self.target is not None:
            self._types[self.target.name] = self.target.read_type
        missing = [name for name in self._encoder.read_types if name not in names]
        if missing:
            raise ValueError(
                f"{STANDARD_INPUT} lacks {listed(map(quoted, missing))}, which {model.path.name} needs; its columns "
                f"are {listed(names)}."
            )

    def answer(self, cells: dict[str, str]) -> Any:
        """A table with the prediction of one row, and the columns to keep as they are written."""
        pa = arrow()
        table = pa.table({name: pa.array([self._value(name, cell)], pa.string()) for name, cell in cells.items()})
        X = self._encoder.transform(table)
        kept = pa.table({name: pa.array([cells[name]]) for name in self.wanted.keep})
        answer = predicted(self.model, Batch(self.model.estimator, X, table), kept, self.wanted)
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
        if self.gate is not None and not self.gate.admits(y, self.model.estimator.predict(X)):
            self.set_aside += 1
            raise ValueError(f"{FAR_OUTSIDE}: {short(y[0])}. It is learnt if such values go on.")
        self.model.estimator.partial_fit(X, y)
        self.learnt += 1
        if self._sketch is not None:
            self._sketch.add(X, y)

    def save(self, out: Path) -> None:
        """Write the model as it is now."""
        notes = notes_after(self.model, STANDARD_INPUT, self.learnt, self._sketch)
        if self.gate is not None:
            notes["gate"] = self.gate.to_json()
        save_updated(self.model, self.model.estimator, out, notes)

    def nothing(self) -> Any:
        """The line for a row that is wrong, so that lines of output keep corresponding to rows."""
        names = [*self.wanted.keep, *output_names(self.model, self.wanted)]
        return arrow().table({name: arrow().array([None], arrow().string()) for name in names})
