"""Tables in memory, of any library, read like files."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import narwhals as nw

from skscn.readers.arrow import arrow
from skscn.readers.opening import open_table
from skscn.readers.table_file import ROW_LABELS, TableFile

if TYPE_CHECKING:
    import pyarrow as pa

_LABEL = "the table"
# Rows of a batch, unless the caller asks for fewer.
_ROWS = 2**16


class FrameTable(TableFile):
    """A table in memory: a frame of any library that narwhals knows, an Arrow table, or a mapping of columns."""

    def __init__(self, table: Any, label: str = _LABEL):
        self._table = _as_arrow(table)
        super().__init__(Path(label), list(self._table.column_names), label)

    @property
    def size(self) -> int:
        return int(self._table.nbytes)

    def schema(self) -> pa.Schema:
        return self._table.schema

    def read(self, columns: list[str] | None = None, exact: Sequence[str] = ()) -> pa.Table:
        return self._table if columns is None else self._table.select(columns)

    def head(self, columns: list[str], exact: Sequence[str] = ()) -> pa.Table:
        return self.read(columns).slice(0, _ROWS)

    def batches(
        self, types: Mapping[str, pa.DataType | None], max_rows: int | None = None, missing: Collection[str] = ()
    ) -> Iterator[pa.Table]:
        table, rows = self.read(list(types)), max_rows or _ROWS
        return (table.slice(start, rows) for start in range(0, len(table), rows))


def _as_arrow(table: Any) -> pa.Table:
    """A table of Arrow; TypeError for what is no table."""
    pa = arrow()
    if isinstance(table, pa.Table):
        return table
    if isinstance(table, pa.RecordBatch):
        return pa.Table.from_batches([table])
    if isinstance(table, Mapping):
        return pa.table(dict(table))
    if nw.dependencies.is_polars_lazyframe(table):
        raise TypeError("The table is a LazyFrame of Polars, whose rows have not been computed; pass table.collect().")
    frame = nw.from_native(table, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        raise TypeError(
            f"A table must be a path, a data frame, an Arrow table or a mapping of columns, not {type(table).__name__}."
        )
    if len(set(map(str, frame.columns))) < len(frame.columns):
        # The list of names is refused later, with the name that repeats.
        return pa.table([[]] * len(frame.columns), names=list(map(str, frame.columns)))
    converted = frame.rename({name: str(name) for name in frame.columns}).to_arrow()
    return converted.select([name for name in converted.column_names if not ROW_LABELS.fullmatch(name)])


def as_file(table: Any, label: str = _LABEL) -> TableFile:
    """A table as a file: one that is open already, a path, or a frame, to which messages refer as ``label``."""
    if isinstance(table, TableFile):
        return table
    return open_table(Path(table)) if isinstance(table, str | os.PathLike) else FrameTable(table, label)
