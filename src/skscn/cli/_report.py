"""``skscn report``: a page about a model and how it does on a table."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from skscn.cli._models import encoded_batches, open_data, open_model
from skscn.cli._outputs import check_output
from skscn.cli._voice import Voice, write_text
from skscn.tables import TableEncoder
from skscn.words import quoted

# A page needs no more rows than that.
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
    inputs, truths, n_rows = [], [], 0
    for X, table in encoded_batches(model, file, encoder, {target.name: target.read_type}):
        y, present = target.values(table.column(target.name))
        inputs.append(X[present])
        truths.append(y)
        n_rows += len(y)
        if n_rows > _MOST_ROWS:
            voice.note(f"- The report is about the first {n_rows:,} rows of {file.label}.")
            break
    if not n_rows:
        raise ValueError(f"{file.label} has no row with a value of {quoted(target.name)} to compare with.")
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
    )
    write_text(f"{out}\n")
