"""``skscn predict``: a table in, predictions out, some rows at a time."""

from __future__ import annotations

import csv
import io
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from skscn.cli._models import Model, encoded_batches, open_model
from skscn.cli._outputs import check_output
from skscn.cli._voice import Voice, count, write_bytes
from skscn.files import replacing
from skscn.tables import TableFile, open_table, outside_sentences
from skscn.tables._text import arrow

_DELIMITERS = {".csv": ",", ".tsv": "\t"}
_ENDINGS = (*_DELIMITERS, ".parquet")
Write = Callable[[Any], None]


def run_predict(
    model_path: Path, data: Path, out: Path | None, coverage: float | None, proba: bool, keep: list[str], voice: Voice
) -> None:
    """Predict the target of every row."""
    if out is not None:
        check_output(out, [model_path, data], _ENDINGS)
    model = open_model(model_path)
    _check_options(model, coverage, proba)
    n_rows = 0
    with _opened(data) as file, _writer(out) as write:
        encoder = model.columns(file, without=tuple(keep))
        outside = encoder.looking_outside()
        kept = {file.find(name): arrow().string() for name in keep}
        for X, table in encoded_batches(model, file, encoder, kept):
            write(_predicted(model, X, table.select(keep), coverage, proba))
            outside.add(X, table)
            n_rows += len(X)
        if not n_rows:
            raise ValueError(f"{file.path.name} has no rows to predict.")
    voice.notes(outside_sentences(outside.found()))
    if out is not None:
        voice.note(f"{count(n_rows, 'prediction')} in {out}.")


@contextmanager
def _opened(data: Path) -> Iterator[TableFile]:
    """The table; what comes from standard input is kept in a file meanwhile, since its beginning is read twice."""
    if str(data) != "-":
        yield open_table(data)
        return
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        path = Path(folder) / "standard input.csv"
        with path.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        yield open_table(path)


def _check_options(model: Model, coverage: float | None, proba: bool) -> None:
    if coverage is not None and not hasattr(model.estimator, "predict_interval"):
        raise ValueError(
            f"{model.path.name} has no intervals; a regression fitted with --estimator ensemble has, and classes have "
            "probabilities (--proba)."
        )
    if proba and not model.is_classifier:
        raise ValueError(f"{model.path.name} predicts numbers, which have no probabilities; see --interval.")


def _predicted(model: Model, X: np.ndarray, kept, coverage: float | None, proba: bool):
    """A table of predictions, beside the columns to keep."""
    estimator = model.estimator
    columns: dict[str, Any] = {"prediction": estimator.predict(X)}
    if coverage is not None:
        columns["lower"], columns["upper"] = estimator.predict_interval(X, coverage=coverage)
    if proba:
        columns |= {
            f"probability of {name}": p for name, p in zip(_labels(model), estimator.predict_proba(X).T, strict=True)
        }
    for name, values in columns.items():
        kept = kept.append_column(name, arrow().array(_plain(values)))
    return kept


def _labels(model: Model) -> list[str]:
    return [
        str(label).lower() if isinstance(label, bool | np.bool_) else str(label) for label in model.estimator.classes_
    ]


def _plain(values: np.ndarray):
    return values.tolist() if values.dtype.kind in "OU" else np.ascontiguousarray(values)


@contextmanager
def _writer(out: Path | None) -> Iterator[Write]:
    """What writes one table after another: to standard output, or to a file that appears when all are there."""
    if out is None:
        yield _CsvWriter(write_bytes, ",")
        return
    with replacing(out) as stream:
        if out.suffix.lower() == ".parquet":
            with _ParquetWriter(stream) as writer:
                yield writer
        else:
            yield _CsvWriter(stream.write, _DELIMITERS[out.suffix.lower()])


class _CsvWriter:
    def __init__(self, write: Callable[[bytes], Any], delimiter: str):
        self._write, self._delimiter, self._begun = write, delimiter, False

    def __call__(self, table) -> None:
        if not self._begun:
            header = io.StringIO()
            csv.writer(header, delimiter=self._delimiter, lineterminator="\n").writerow(table.column_names)
            self._write(header.getvalue().encode())
            self._begun = True
        try:
            self._write(self._rows(table, "none"))
        except arrow().ArrowInvalid:
            # Texts with delimiters, quotes or line ends in them.
            self._write(self._rows(table, "needed"))

    def _rows(self, table, quoting: str) -> bytes:
        module, rows = arrow("pyarrow.csv"), io.BytesIO()
        options = module.WriteOptions(include_header=False, delimiter=self._delimiter, quoting_style=quoting)
        module.write_csv(table, rows, options)
        return rows.getvalue()


class _ParquetWriter:
    def __init__(self, stream):
        self._stream, self._writer = stream, None

    def __enter__(self) -> _ParquetWriter:
        return self

    def __call__(self, table) -> None:
        if self._writer is None:
            self._writer = arrow("pyarrow.parquet").ParquetWriter(self._stream, table.schema)
        self._writer.write_table(table)

    def __exit__(self, *exception) -> None:
        if self._writer is not None:
            self._writer.close()
