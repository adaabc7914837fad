"""Tables in memory, of any library, read like files."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
from narwhals.dependencies import is_into_series

from skscn.readers.arrow import arrow, without_views
from skscn.readers.opening import open_table
from skscn.readers.table_file import ROW_LABELS, TableFile
from skscn.words import refuse_twins

if TYPE_CHECKING:
    import pyarrow as pa

_LABEL = "the table"
# Rows of a batch, unless the caller asks for fewer.
_ROWS = 2**16


class FrameRows:
    """Rows of a frame that is not of Arrow, with those methods of a ``pyarrow.Table`` that readers of tables need."""

    def __init__(self, frame: nw.DataFrame[Any]):
        self.frame = frame

    def __len__(self) -> int:
        return len(self.frame)

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of rows and columns."""
        return self.frame.shape

    @property
    def column_names(self) -> list[str]:
        """The names of the columns, in their order."""
        return list(self.frame.columns)

    @property
    def nbytes(self) -> int:
        """Bytes in memory, roughly."""
        return int(self.frame.estimated_size())

    @property
    def schema(self) -> pa.Schema:
        """The types of the columns, as Arrow has them."""
        return self.to_arrow().schema

    def to_arrow(self) -> pa.Table:
        """The rows as a table of Arrow."""
        return self.frame.to_arrow()

    def column(self, name: str) -> nw.Series[Any]:
        """The values of a column."""
        return self.frame.get_column(name)

    def select(self, names: Sequence[str]) -> FrameRows:
        """Some columns."""
        return FrameRows(self.frame.select(list(names)))

    def slice(self, start: int, rows: int) -> FrameRows:
        """Some consecutive rows."""
        return FrameRows(self.frame[start : start + rows])

    def take(self, rows: np.ndarray) -> FrameRows:
        """These rows."""
        return FrameRows(self.frame[rows])

    def filter(self, which: np.ndarray) -> FrameRows:
        """The rows for which it is true."""
        return self.take(np.flatnonzero(which))


class FrameTable(TableFile):
    """A table in memory: a frame of any library that narwhals knows, an Arrow table, or a mapping of columns."""

    def __init__(self, table: Any, label: str = _LABEL):
        self._table = _rows_of(table)
        super().__init__(Path(label), list(self._table.column_names), label)

    @property
    def size(self) -> int:
        return int(self._table.nbytes)

    def schema(self) -> pa.Schema:
        return self._table.schema

    def read(self, columns: list[str] | None = None, exact: Sequence[str] = ()) -> Any:
        return self._table if columns is None else self._table.select(columns)

    def head(self, columns: list[str], exact: Sequence[str] = ()) -> Any:
        return self.read(columns).slice(0, _ROWS)

    def batches(
        self, types: Mapping[str, pa.DataType | str | None], max_rows: int | None = None, missing: Collection[str] = ()
    ) -> Iterator[Any]:
        table, rows = self.read(list(types)), max_rows or _ROWS
        return (table.slice(start, rows) for start in range(0, len(table), rows))


def _rows_of(table: Any) -> pa.Table | FrameRows:
    """A table of Arrow, or the rows of another frame; TypeError for what is no table."""
    if isinstance(table, Mapping):
        return arrow().table(dict(table))
    if nw.dependencies.is_polars_lazyframe(table):
        raise TypeError("The table is a LazyFrame of Polars, whose rows have not been computed; pass table.collect().")
    frame = nw.from_native(table, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame) and hasattr(table, "__arrow_c_stream__") and not is_into_series(table):
        return without_views(arrow().table(table))
    if not isinstance(frame, nw.DataFrame):
        raise TypeError(
            f"A table must be a path, a data frame, an Arrow table or a mapping of columns, not {type(table).__name__}."
        )
    refuse_twins(list(map(str, frame.columns)))
    named = frame.rename({name: str(name) for name in frame.columns})
    named = named.select([name for name in named.columns if not ROW_LABELS.fullmatch(name)])
    return without_views(named.to_native()) if named.implementation.is_pyarrow() else FrameRows(named)


def as_file(table: Any, label: str = _LABEL) -> TableFile:
    """A table as a file: one that is open already, a path, or a frame, to which messages refer as ``label``."""
    if isinstance(table, TableFile):
        return table
    return open_table(Path(table)) if isinstance(table, str | os.PathLike) else FrameTable(table, label)
