"""``skscn report``: a page about a model and how well it does on a table."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from skscn.cli._models import Model, NumericColumns, encoded_batches, open_data, open_model
from skscn.cli._outputs import check_output
from skscn.cli._seen import RowSketch, seen_sentence
from skscn.cli._voice import Voice, write_text
from skscn.tables import TableEncoder, TableFile
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
    timed = _timed(encoder, file)
    extra = {target.name: target.read_type, **(timed.time_types if timed else {})}
    inputs, truths, moments, numbers, sketch = [], [], [], [], RowSketch()
    start = 1
    for X, table in encoded_batches(model, file, encoder, extra):
        y, present = target.values(table.column(target.name))
        inputs.append(X[present])
        truths.append(y)
        numbers.append(start + np.flatnonzero(present))
        start += len(table)
        moments += [timed.row_times(table)[present]] if timed else []
        sketch.add(X[present], y)
        if sketch.rows > _MOST_ROWS:
            voice.note(f"- The report covers the first {sketch.rows:,} rows of {file.label}.")
            break
    if not sketch.rows:
        raise ValueError(f"{file.label} has no row with a value of {quoted(target.name)} to compare with.")
    seen = sketch.share_in(model.notes.get("sketch"))
    voice.notes(model.remarks)
    voice.notes(filter(None, [seen_sentence(seen, file.label)]))
    write_report(
        model.estimator,
        np.concatenate(inputs),
        np.concatenate(truths),
        out,
        feature_names=_feature_names(model, encoder),
        groups=encoder.groups_,
        encoder=encoder if isinstance(encoder, TableEncoder) else None,
        lags=model.lags,
        target_name=target.name,
        title=title or f"{target.name} from {file.label}",
        model_path=str(model_path),
        data_name=file.label,
        times=np.concatenate(moments) if moments else None,
        seen=seen,
        row_numbers=np.concatenate(numbers),
    )
    write_text(f"{out}\n")


def _feature_names(model: Model, encoder: TableEncoder | NumericColumns) -> list[str]:
    names = encoder.get_feature_names_out()
    return list(names if model.lags is None else model.lags.get_feature_names_out(names))


def _timed(encoder: TableEncoder | NumericColumns, file: TableFile) -> TableEncoder | None:
    """The encoder, if it knows which column is the time of the rows and the file has that column."""
    return encoder if isinstance(encoder, TableEncoder) and encoder.time_ in file.names else None
