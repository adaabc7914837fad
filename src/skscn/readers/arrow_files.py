"""Parquet and Arrow files, which say themselves what their columns hold."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skscn.readers.arrow import arrow, without_views
from skscn.readers.errors import Readable
from skscn.readers.table_file import ROW_LABELS, TableFile

if TYPE_CHECKING:
    import pyarrow as pa

_BATCH_ROWS = 16384
# Rows from which the columns of a file that does not fit in memory are learnt.
_HEAD_ROWS = 2**17
# Bytes of a column read from a Parquet file at a time.
_PARQUET_BUFFER = 65536


class _TypedFile(TableFile):
    """A file whose columns have types; those that hold row labels of pandas are ignored."""

    def __init__(self, path: Path, place: str, schema: pa.Schema):
        names = [name for name in schema.names if not ROW_LABELS.fullmatch(name)]
        super().__init__(path, names, place)
        self._schema = arrow().schema([schema.field(name) for name in names])

    def schema(self) -> pa.Schema:
        return self._schema

    def head(self, columns: list[str], exact: Sequence[str] = ()) -> pa.Table:
        parts, rows = [], 0
        for table in self.batches(dict.fromkeys(columns)):
            parts.append(table)
            rows += len(table)
            if rows >= _HEAD_ROWS:
                break
        return arrow().concat_tables(parts)


class ParquetFile(_TypedFile):
    """A Parquet file."""

    def __init__(self, path: Path, place: str):
        with Readable(place, []), arrow("pyarrow.parquet").ParquetFile(path) as file:
            schema, metadata = file.schema_arrow, file.metadata
            self._size = sum(int(metadata.row_group(i).total_byte_size) for i in range(metadata.num_row_groups))
        super().__init__(path, place, schema)

    @property
    def size(self) -> int:
        return self._size

    def read(self, columns: list[str] | None = None, exact: Sequence[str] = ()) -> pa.Table:
        with Readable(self.place, self.names), arrow("pyarrow.parquet").ParquetFile(self.path) as file:
            return file.read(columns=columns or self.names)

    def batches(
        self, types: Mapping[str, pa.DataType | str | None], max_rows: int | None = None, missing: Collection[str] = ()
    ) -> Iterator[pa.Table]:
        # A dataset would decode whole row groups, commonly a million rows, at once.
        options = {"buffer_size": _PARQUET_BUFFER, "pre_buffer": False}
        with (
            Readable(self.place, self.names),
            arrow("pyarrow.parquet").ParquetFile(self.path, **options) as file,
        ):
            for batch in file.iter_batches(max_rows or _BATCH_ROWS, columns=list(types), use_threads=False):
                yield arrow().Table.from_batches([batch])


class ArrowFile(_TypedFile):
    """Arrow's IPC format, as a file (Feather) or as a stream."""

    def __init__(self, path: Path, place: str):
        with Readable(place, []), _open_ipc(path) as reader:
            schema = reader.schema
        super().__init__(path, place, schema)

    @property
    def size(self) -> int:
        return self.path.stat().st_size

    def read(self, columns: list[str] | None = None, exact: Sequence[str] = ()) -> pa.Table:
        with Readable(self.place, self.names), _open_ipc(self.path) as reader:
            return without_views(reader.read_all().select(columns or self.names))

    def batches(
        self, types: Mapping[str, pa.DataType | str | None], max_rows: int | None = None, missing: Collection[str] = ()
    ) -> Iterator[pa.Table]:
        max_rows = max_rows or _BATCH_ROWS
        with Readable(self.place, self.names), _open_ipc(self.path) as reader:
            random_access = hasattr(reader, "num_record_batches")
            whole = map(reader.get_batch, range(reader.num_record_batches)) if random_access else iter(reader)
            for batch in whole:
                table = without_views(arrow().Table.from_batches([batch]).select(list(types)))
                for start in range(0, len(table), max_rows):
                    yield table.slice(start, max_rows)


def _open_ipc(path: Path) -> Any:
    pa = arrow()
    try:
        return pa.ipc.open_file(pa.memory_map(str(path)))
    except pa.ArrowInvalid:
        return pa.ipc.open_stream(pa.memory_map(str(path)))
