"""Tables written to files, or to standard output, some rows at a time."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias

from skscn.files import replacing
from skscn.readers.arrow import arrow, is_text

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

# How the names of tables may end.
TABLE_ENDINGS = (".csv", ".tsv", ".parquet")
_DELIMITERS = {".csv": ",", ".tsv": "\t"}
# Cells that a spreadsheet takes for a formula; numbers with a sign are none.
_FORMULA = r"^[=+\-@\t\r]"
_SIGNED_NUMBER = r"^[-+](?:[0-9]+[.,]?[0-9]*|[.,][0-9]+)(?:[eE][-+]?[0-9]+)?$"
Write: TypeAlias = "Callable[[pa.Table], None]"


def write_bytes(content: bytes) -> None:
    """Write to standard output."""
    sys.stdout.flush()
    sys.stdout.buffer.write(content)
    sys.stdout.buffer.flush()


@contextmanager
def table_writer(out: Path | None, for_spreadsheet: bool = False) -> Iterator[Write]:
    """A function that writes one table after another: CSV to standard output, or a file that appears at the end."""
    if out is None:
        yield _CsvWriter(write_bytes, ",", for_spreadsheet)
        return
    with replacing(out) as stream:
        if out.suffix.lower() == ".parquet":
            with _ParquetWriter(stream) as writer:
                yield writer
        else:
            yield _CsvWriter(stream.write, _DELIMITERS[out.suffix.lower()], for_spreadsheet)


class _CsvWriter:
    def __init__(self, write: Callable[[bytes], Any], delimiter: str, for_spreadsheet: bool):
        self._write, self._delimiter, self._begun = write, delimiter, False
        self._for_spreadsheet = for_spreadsheet

    def __call__(self, table: pa.Table) -> None:
        if self._for_spreadsheet:
            table = _without_formulas(table)
        if not self._begun:
            header = io.StringIO()
            csv.writer(header, delimiter=self._delimiter, lineterminator="\n").writerow(table.column_names)
            self._write(header.getvalue().encode())
            self._begun = True
        try:
            self._write(self._rows(table, "none"))
        except arrow().ArrowInvalid:
            # Text with delimiters, quotes or line ends in it.
            self._write(self._rows(table, "needed"))

    def _rows(self, table: pa.Table, quoting: str) -> bytes:
        module, rows = arrow("pyarrow.csv"), io.BytesIO()
        options = module.WriteOptions(include_header=False, delimiter=self._delimiter, quoting_style=quoting)
        module.write_csv(table, rows, options)
        return rows.getvalue()


def _without_formulas(table: pa.Table) -> pa.Table:
    """The table with an apostrophe before each text, name or value, that a spreadsheet would take for a formula."""
    names = _as_text(arrow().array(table.column_names, arrow().string())).to_pylist()
    columns = [_as_text(column) if is_text(column.type) else column for column in table.columns]
    return arrow().table(columns, names=names)


def _as_text(texts: pa.Array) -> pa.Array:
    pc = arrow("pyarrow.compute")
    formula = pc.and_not(pc.match_substring_regex(texts, _FORMULA), pc.match_substring_regex(texts, _SIGNED_NUMBER))
    return pc.if_else(formula, pc.binary_join_element_wise("'", texts, ""), texts)


class _ParquetWriter:
    def __init__(self, stream: BinaryIO):
        self._stream = stream
        self._writer: pq.ParquetWriter | None = None

    def __enter__(self) -> _ParquetWriter:
        return self

    def __call__(self, table: pa.Table) -> None:
        if self._writer is None:
            self._writer = arrow("pyarrow.parquet").ParquetWriter(self._stream, table.schema)
        self._writer.write_table(table)

    def __exit__(self, *exception: object) -> None:
        if self._writer is not None:
            self._writer.close()
