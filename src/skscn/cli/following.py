"""``skscn follow``: rows come one by one on standard input, and each is answered at once."""

from __future__ import annotations

import sys
from pathlib import Path
from time import monotonic

from skscn.cli.console import Console
from skscn.cli.interrupts import end_at_signals, ignore_signals
from skscn.cli.options import STANDARD_INPUT
from skscn.readers.lines import LinesOfText
from skscn.readers.writing import Write, table_writer
from skscn.table_model import open_model
from skscn.table_model.answering import LineFollower, Wanted
from skscn.table_model.updating import ONLY_INPUTS, why_not_updatable
from skscn.tables import outside_sentences
from skscn.threads import single_threaded
from skscn.words import count, listed


def follow_lines(
    path: Path,
    wanted: Wanted,
    learn: bool,
    out: Path | None,
    save_every: float,
    journal: Path | None,
    console: Console,
) -> None:
    """Answer each row of standard input, and learn from those that have a target, if asked to.

    What was learnt is saved every ``save_every`` minutes, and at the end, whatever ends the rows.
    """
    model = open_model(path)
    wanted.check(model)
    refusal = why_not_updatable(model) if learn else None
    if refusal is not None and not model.uses_targets:
        raise ValueError(refusal)
    rows, saved = LinesOfText(sys.stdin.buffer, STANDARD_INPUT), monotonic()
    follower = LineFollower(model, rows, STANDARD_INPUT, wanted, learn, journal)
    live, outside = follower.live, set[str]()
    if refusal is not None:
        console.note(f"{ONLY_INPUTS}: {refusal}")
    with ignore_signals():
        try:
            # Rows that come one by one do not gain by threads, and lose by them where other processes need the cores.
            with table_writer(None) as write, single_threaded(), end_at_signals():
                # The header, before there is a row.
                write(follower.nothing()[:0])
                for number, line in enumerate(rows, start=1):
                    _answer(follower, number, line, write, console)
                    if new := [name for name in live.outside if name not in outside]:
                        outside.update(new)
                        console.note(f"Row {number} is outside the training range: {listed(new)}.")
                    if out is not None and monotonic() - saved >= 60.0 * save_every:
                        live.save(out, STANDARD_INPUT)
                        saved = monotonic()
        finally:
            # Before anything is said, as the terminal may be gone.
            if out is not None:
                live.save(out, STANDARD_INPUT)
            live.close()
        more = f"; set aside {live.n_set_aside:,}" if live.n_set_aside else ""
        more += "" if journal is None else ", including those in the journal"
        console.note(f"Answered {count(live.n_answered, 'row')}; learnt from {live.n_learnt:,}{more}.")
        console.notes([*live.outside_rows.missing_sentences(), *outside_sentences(live.outside_rows.found())])
        if live.n_learnt and out is None and journal is None:
            console.note("What was learnt is forgotten now; -o MODEL would have written it to a file.")
        if out is not None:
            console.note(f"Wrote the model to {out}.")


def _answer(follower: LineFollower, number: int, line: bytes, write: Write, console: Console) -> None:
    """Answer a row and learn from it; a row that is wrong has an empty answer."""
    try:
        write(follower.answer(line))
    except ValueError as error:
        console.note(f"Row {number} was neither predicted nor learnt: {error}")
        write(follower.nothing())
        return
    try:
        follower.learn()
    except ValueError as error:
        console.note(f"Row {number} was predicted, but not learnt: {error}")
