"""``skscn predict``: a table in, predictions out, some rows at a time."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from skscn.cli._batches import Batch
from skscn.cli._models import Model, encoded_batches, open_model
from skscn.cli._table_output import table_writer
from skscn.cli._voice import Voice
from skscn.readers.arrow import arrow
from skscn.tables import TableFile, outside_sentences
from skscn.words import count, quoted

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Wanted:
    """What to write, and how.

    Attributes
    ----------
    out : Path or None
        Where to; None for CSV on standard output.
    coverage : float or None
        Of intervals, if there are to be any.
    proba : bool
        Whether to add probabilities.
    keep : list of str
        Columns of the table to copy.
    for_spreadsheet : bool
        Whether to put an apostrophe before text that a spreadsheet would take for a formula.
    """

    out: Path | None = None
    coverage: float | None = None
    proba: bool = False
    keep: tuple[str, ...] = ()
    for_spreadsheet: bool = False


def run_predict(model_path: Path, file: TableFile, wanted: Wanted, voice: Voice) -> None:
    """Predict the target of every row."""
    out = wanted.out
    model = open_model(model_path)
    check_options(model, wanted)
    _check_free_run(model, file, wanted)
    encoder = model.columns(file, without=wanted.keep)
    names = _kept_names(model, wanted)
    copies = _Copies(file, names)
    outside, n_rows = encoder.looking_outside(), 0
    with table_writer(out, wanted.for_spreadsheet) as write:
        for batch in encoded_batches(model, file, encoder, {}):
            write(predicted(model, batch, copies.next(len(batch.X)), wanted))
            outside.add(batch.X, batch.table)
            n_rows += len(batch.X)
        if not n_rows:
            raise ValueError(f"{file.label} has no rows to predict.")
    found = outside.found()
    notes = [*_renamed(names), *model.remarks, *outside_sentences(found), *outside.missing_sentences()]
    voice.notes(notes)
    if out is not None:
        voice.note(f"Wrote {count(n_rows, 'prediction')} to {out}.")
    if voice.as_json:
        about = {"model": str(model_path), "data": file.place, "out": str(out), "rows": n_rows}
        voice.result({**about, "outside": [column.to_json() for column in found], "notes": notes}, [])


class _Copies:
    """Columns of a file as they are written, some rows at a time; ``names`` says what they are called in the output."""

    def __init__(self, file: TableFile, names: dict[str, str]):
        self._names, self._tables = names, file.verbatim(list(names))
        self._rest: list[pa.Table] = []

    def next(self, n_rows: int) -> pa.Table:
        """The rows that come next."""
        pa = arrow()
        if not self._names:
            return pa.table({})
        while sum(len(table) for table in self._rest) < n_rows:
            self._rest.append(next(self._tables))
        rows = pa.concat_tables(self._rest)
        self._rest = [rows.slice(n_rows)]
        return rows.slice(0, n_rows).rename_columns(list(self._names.values()))


def _kept_names(model: Model, wanted: Wanted) -> dict[str, str]:
    """The columns to copy and what they are called in the output, where predictions have the first right to a name."""
    taken = set(output_names(model, wanted))
    names = {}
    for name in dict.fromkeys(wanted.keep):
        new = name
        while new in taken:
            new += " (kept)"
        taken.add(new)
        names[name] = new
    return names


def _renamed(names: dict[str, str]) -> list[str]:
    return [
        f"The column {quoted(name)} is written as {quoted(new)}, because the output has its own column of that name."
        for name, new in names.items()
        if new != name
    ]


def check_options(model: Model, wanted: Wanted) -> None:
    """Reject what a model cannot provide."""
    if wanted.coverage is not None and not hasattr(model.estimator, "predict_interval"):
        raise ValueError(
            f"{model.path.name} provides no intervals; regression models fitted with --estimator ensemble or recurrent "
            "do, and classifiers provide probabilities (--proba)."
        )
    if wanted.proba and not model.is_classifier:
        raise ValueError(f"{model.path.name} predicts numbers, not class probabilities; see --interval.")


def _check_free_run(model: Model, file: TableFile, wanted: Wanted) -> None:
    """Raise ValueError for intervals of a free run, which predictions one step ahead say nothing about."""
    free = getattr(model.estimator, "feedback", False) and (model.target is None or model.target.name not in file.names)
    if free and wanted.coverage is not None:
        name = "the target" if model.target is None else quoted(model.target.name)
        raise ValueError(
            f"{file.label} does not contain {name}, so predictions come back as inputs, and intervals widen; use skscn "
            "forecast, which gives such intervals."
        )


def output_names(model: Model, wanted: Wanted) -> list[str]:
    """The columns of predictions, intervals and probabilities."""
    ends = ["lower", "upper"] if wanted.coverage is not None else []
    return ["prediction", *ends, *(f"probability of {name}" for name in (_labels(model) if wanted.proba else []))]


def predicted(model: Model, batch: Batch, kept: pa.Table, wanted: Wanted) -> pa.Table:
    """A table of predictions, next to the columns to keep."""
    columns = [batch.predict()]
    if wanted.coverage is not None:
        columns += batch.predict_interval(wanted.coverage)
    if wanted.proba:
        columns += list(batch.predict_proba().T)
    columns[0] = columns[0] if model.target is None else model.target.written(columns[0])
    table = dict(zip(kept.column_names, kept.columns, strict=True))
    for name, values in zip(output_names(model, wanted), columns, strict=True):
        table[name] = arrow().array(_plain(values))
    return arrow().table(table)


def _labels(model: Model) -> list[str]:
    labels = model.estimator.classes_ if model.target is None else model.target.written(model.estimator.classes_)
    return [str(label).lower() if isinstance(label, bool | np.bool_) else str(label) for label in labels]


def _plain(values: np.ndarray) -> np.ndarray | list[Any]:
    return values.tolist() if values.dtype.kind in "OU" else np.ascontiguousarray(values)
