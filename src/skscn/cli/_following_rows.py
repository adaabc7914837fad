"""``skscn predict --follow``: rows come one by one on standard input, and each is answered at once."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

from skscn.cli._batches import Batch
from skscn.cli._models import STANDARD_INPUT, Model, open_model
from skscn.cli._outputs import check_output
from skscn.cli._predict import Wanted, check_options, output_names, predicted
from skscn.cli._table_output import table_writer
from skscn.cli._update import check_updatable, save_updated
from skscn.cli._voice import Voice
from skscn.following import is_recurrent
from skscn.readers.arrow import arrow
from skscn.readers.dialect import Dialect, find_dialect
from skscn.readers.missing import MISSING
from skscn.tables import Target
from skscn.words import count, listed, quoted


def run_follow(model_path: Path, wanted: Wanted, learn: bool, voice: Voice) -> None:
    """Answer each row of standard input, and learn from those that have a target, if asked to."""
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
    follower = RowByRow(model, rows.names, wanted, learn)
    with table_writer(None) as write, _ending():
        for number, line in enumerate(rows, start=1):
            try:
                write(follower.answer(rows.cells(line)))
            except ValueError as error:
                voice.note(f"Row {number} was neither predicted nor learnt: {error}")
                write(follower.nothing())
                continue
            try:
                follower.learn()
            except ValueError as error:
                voice.note(f"Row {number} was predicted, but not learnt: {error}")
    voice.note(f"Answered {count(follower.answered, 'row')}; learnt from {follower.learnt:,}.")
    if follower.learnt and out is None:
        voice.note("What was learnt is forgotten now; -o MODEL would have written it to a file.")
    if out is not None:
        notes = {**model.notes, "updated": datetime.now(UTC).isoformat(timespec="seconds")}
        save_updated(model, model.estimator, out, notes)
        voice.note(f"Wrote the model to {out}.")


@contextmanager
def _ending() -> Iterator[None]:
    """Ctrl-C ends the rows; what was learnt is kept."""
    try:
        yield
    except KeyboardInterrupt:
        return


class LinesOfText:
    """Rows of a stream of text, each as soon as its line is there; the first line has the names of the columns.

    Delimiter and decimal sign follow from the first two lines. A row is one line.
    """

    def __init__(self, stream: BinaryIO):
        self._stream = stream
        header, self._first = stream.readline(), stream.readline()
        self._dialect: Dialect = find_dialect(STANDARD_INPUT, ".csv", header + self._first)
        self.names = self._dialect.names

    def __iter__(self) -> Iterator[bytes]:
        line = self._first
        while line:
            if line.strip():
                yield line
            line = self._stream.readline()

    def cells(self, line: bytes) -> dict[str, str | None]:
        """The value of each column; None where it is missing."""
        text = line.decode(self._dialect.encoding)
        (cells,) = csv.reader(io.StringIO(text.rstrip("\r\n")), delimiter=self._dialect.delimiter)
        if len(cells) != len(self.names):
            raise ValueError(
                f"A row of {STANDARD_INPUT} has {count(len(cells), 'value')} for {count(len(self.names), 'column')}: "
                f"{quoted(text.strip())}."
            )
        decimal = self._dialect.decimal
        return {name: _value(cell.strip(), decimal) for name, cell in zip(self.names, cells, strict=True)}


def _value(cell: str, decimal: str) -> str | None:
    if cell in MISSING:
        return None
    point = cell.replace(decimal, ".", 1)
    return point if decimal != "." and _is_number(point) else cell


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


class RowByRow:
    """Predicts rows one by one, and learns from each after its prediction."""

    def __init__(self, model: Model, names: list[str], wanted: Wanted, learn: bool):
        self.model, self.wanted, self.answered, self.learnt = model, wanted, 0, 0
        self.target: Target | None = None
        self._latest: tuple[Any, Any] = (None, None)
        if learn:
            if model.target is None or model.target.name not in names:
                needed = "the target" if model.target is None else quoted(model.target.name)
                raise ValueError(f"--learn needs a column {needed}; the columns are {listed(names)}.")
            self.target = model.target
        unknown = [name for name in wanted.keep if name not in names]
        if unknown:
            raise ValueError(f"There is no column {quoted(unknown[0])} to keep; the columns are {listed(names)}.")
        self._encoder = model.encoder
        if self._encoder is None:
            raise ValueError(f"{model.path.name} does not say which columns it needs; predict a table instead.")
        missing = [name for name in self._encoder.read_types if name not in names]
        if missing:
            raise ValueError(
                f"{STANDARD_INPUT} lacks {listed(map(quoted, missing))}, which {model.path.name} needs; its columns "
                f"are {listed(names)}."
            )

    def answer(self, cells: dict[str, str | None]) -> Any:
        """A table with the prediction of one row."""
        assert self._encoder is not None
        pa = arrow()
        table = pa.table({name: pa.array([cell], pa.string()) for name, cell in cells.items()})
        X = self._encoder.transform(table)
        answer = predicted(
            self.model, Batch(self.model.estimator, X, table), table.select(list(self.wanted.keep)), self.wanted
        )
        self._latest = X, table
        self.answered += 1
        return answer

    def learn(self) -> None:
        """Learn from the row that was answered last, if that is wanted and it has a target."""
        X, table = self._latest
        if self.target is None or not table.column(self.target.name).is_valid()[0].as_py():
            return
        y, _ = self.target.values(table.column(self.target.name))
        self.model.estimator.partial_fit(X, y)
        self.learnt += 1

    def nothing(self) -> Any:
        """The line for a row that is wrong, so that lines of output keep corresponding to rows."""
        names = [*self.wanted.keep, *output_names(self.model, self.wanted)]
        return arrow().table({name: arrow().array([None], arrow().string()) for name in names})
