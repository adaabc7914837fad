"""``skscn report``: a page about a model and how well it does on a table."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from skscn.cli._models import Model, encoded_batches, open_data, open_model
from skscn.cli._outputs import check_output
from skscn.cli._seen import RowSketch, seen_sentence
from skscn.cli._voice import Voice, write_text
from skscn.tables import TableEncoder, TableFile
from skscn.tables._columns import read_times
from skscn.tables._text import arrow
from skscn.words import quoted

# The most rows that a page is about.
_MOST_ROWS = 50_000


def run_report(
    model_path: Path, data: Path, out: Path, target_name: str | None, title: str | None, voice: Voice
) -> None:
    """Write the page."""
    check_output(out, [model_path, data], [".html", ".htm"])
    from skscn.report import write_report

    model, file = open_model(model_path), open_data(data)
    target = model.find_target(target_name, file)
    encoder = model.columns(file, without=(target.name,))
    time = _time_column(model, file)
    extra = {target.name: target.read_type, **({time: arrow().string()} if time else {})}
    inputs, truths, moments, sketch = [], [], [], RowSketch()
    for X, table in encoded_batches(model, file, encoder, extra):
        y, present = target.values(table.column(target.name))
        inputs.append(X[present])
        truths.append(y)
        moments += [table.column(time).filter(present)] if time else []
        sketch.add(X[present], y)
        if sketch.rows > _MOST_ROWS:
            voice.note(f"- The report covers the first {sketch.rows:,} rows of {file.label}.")
            break
    if not sketch.rows:
        raise ValueError(f"{file.label} has no row with a value of {quoted(target.name)} to compare with.")
    seen = sketch.share_in(model.notes.get("sketch"))
    voice.notes(filter(None, [seen_sentence(seen, file.label)]))
    write_report(
        model.estimator,
        np.concatenate(inputs),
        np.concatenate(truths),
        out,
        feature_names=list(encoder.get_feature_names_out()),
        groups=encoder.groups_,
        encoder=encoder if isinstance(encoder, TableEncoder) else None,
        target_name=target.name,
        title=title or f"{target.name} from {file.label}",
        model_path=str(model_path),
        data_name=file.label,
        times=_times(moments),
        seen=seen,
    )
    write_text(f"{out}\n")


def _time_column(model: Model, file: TableFile) -> str | None:
    """The column with the time of the rows, if the model is one of a time series and the file has it."""
    name = model.notes.get("time")
    return name if isinstance(name, str) and name in file.names else None


def _times(parts: list) -> np.ndarray | None:
    """The moments of all rows; None where there are none, or where they cannot be read."""
    if not parts:
        return None
    whole = arrow().chunked_array([chunk for part in parts for chunk in part.chunks], parts[0].type)
    return read_times(whole)
