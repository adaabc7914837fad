"""``skscn follow``: rows come one by one on standard input, and each is answered at once."""

from __future__ import annotations

import sys
from pathlib import Path
from time import monotonic
from typing import Any

from skscn.cli.arguments import STANDARD_INPUT
from skscn.cli.commands import Wanted
from skscn.cli.console import Console, check_output
from skscn.cli.interrupts import end_at_signals, ignore_signals
from skscn.readers.arrow import arrow
from skscn.readers.lines import LinesOfText
from skscn.readers.writing import Write, table_writer
from skscn.table_model import LiveModel, TableModel, open_model
from skscn.table_model.updating import check_updatable
from skscn.threads import single_threaded
from skscn.words import count, listed, quoted


def run_follow(
    path: Path, wanted: Wanted, learn: bool, save_every: float, journal: Path | None, console: Console
) -> None:
    """Answer each row of standard input, and learn from those that have a target, if asked to.

    What was learnt is saved every ``save_every`` minutes, and in the end, whatever ends the rows.
    """
    out = wanted.out
    if out is not None:
        check_output(out, [])
    model = open_model(path)
    wanted.check(model)
    if learn:
        check_updatable(model)
    rows = LinesOfText(sys.stdin.buffer, STANDARD_INPUT)
    follower, saved = RowByRow(model, rows, wanted, learn, journal), monotonic()
    live = follower.live
    with ignore_signals():
        try:
            # Rows that come one by one do not gain by threads, and lose by them where other processes need the cores.
            with table_writer(None) as write, single_threaded(), end_at_signals():
                for number, line in enumerate(rows, start=1):
                    _answer(follower, rows, number, line, write, console)
                    if out is not None and monotonic() - saved >= 60.0 * save_every:
                        live.save(out, STANDARD_INPUT)
                        saved = monotonic()
        finally:
            # Before anything is said, as the terminal may be gone.
            if out is not None:
                live.save(out, STANDARD_INPUT)
            live.close()
        aside = f"; set aside {live.n_set_aside:,}" if live.n_set_aside else ""
        console.note(f"Answered {count(live.n_answered, 'row')}; learnt from {live.n_learnt:,}{aside}.")
        console.notes(live.outside_rows.missing_sentences())
        if live.n_learnt and out is None and journal is None:
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


class RowByRow:
    """Answers rows of text one by one with a live model, and learns from each that has a target."""

    def __init__(self, model: TableModel, rows: LinesOfText, wanted: Wanted, learn: bool, journal: Path | None):
        names, self._decimal, self._wanted = rows.names, rows.decimal, wanted
        self.target = model.target_ if learn else None
        if learn and (model.target_ is None or model.target_.name not in names):
            needed = "the target" if model.target_ is None else quoted(model.target_.name)
            raise ValueError(f"--learn needs a column {needed}; the columns are {listed(names)}.")
        unknown = [name for name in wanted.keep if name not in names]
        if unknown:
            raise ValueError(f"There is no column {quoted(unknown[0])} to keep; the columns are {listed(names)}.")
        self.live = LiveModel(model, wanted.coverage or 0.9, learn=learn, journal=journal)
        missing = [name for name in self.live.columns if name not in names]
        if missing:
            raise ValueError(
                f"{STANDARD_INPUT} lacks {listed(map(quoted, missing))}, which {model.label} needs; its columns are "
                f"{listed(names)}."
            )
        types = {
            **model.encoder_.read_types,
            **({} if self.target is None else {self.target.name: self.target.read_type}),
        }
        # Numbers are read with a decimal point, unless the column has its own decimal sign.
        self._numbers = {name for name, kind in types.items() if kind == "double"}
        self._row: dict[str, Any] = {}

    def answer(self, cells: dict[str, str]) -> Any:
        """A table with the prediction of one row, and the columns to keep as they are written."""
        self._row = {
            name: _number(cell.replace(self._decimal, ".")) if name in self._numbers else cell
            for name, cell in cells.items()
        }
        live, wanted = self.live, self._wanted
        values = [live.predict_one(self._row)]
        values += live.interval() if wanted.coverage is not None else ()
        values += live.probabilities().tolist() if wanted.proba else []
        columns = zip([*wanted.keep, *wanted.names(live.model)], [*map(cells.get, wanted.keep), *values], strict=True)
        return arrow().table({name: [value] for name, value in columns})

    def learn(self) -> None:
        """Learn from the row that was answered last, if that is wanted; ValueError if its target is not learnt."""
        if self.target is None:
            return
        events = len(self.live.events)
        self.live.learn_one(self._row, self._row[self.target.name])
        if len(self.live.events) > events:
            raise ValueError(self.live.events[-1])

    def nothing(self) -> Any:
        """The line for a row that is wrong, so that lines of output keep corresponding to rows."""
        names = [*self._wanted.keep, *self._wanted.names(self.live.model)]
        return arrow().table({name: arrow().array([None], arrow().string()) for name in names})


def _number(text: str) -> float | str:
    """The number in a text, or the text, which may have a unit or stand for a missing value."""
    try:
        return text if "_" in text else float(text)
    except ValueError:
        return text
