"""Files of tables: CSV in its many dialects, KEEL, Parquet and Arrow, read as a whole or batch by batch."""

from __future__ import annotations

import difflib
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import mkdtemp
from typing import IO, Any
from weakref import finalize

from skscn.datasets import DataFileError
from skscn.rows.sources import ROW_LABELS, read_parquet
from skscn.tables._csv import TextFile
from skscn.tables._table_file import Readable, TableFile
from skscn.tables.text import arrow
from skscn.words import listed

_TEXT_FILES = (".csv", ".tsv", ".txt", ".dat", ".data")
_OTHER_FILES = (".parquet", ".arrow", ".feather")
# The endings that belong to what files without one begin with; else they are text.
_BEGINNINGS = {b"PAR1": ".parquet", b"ARROW1": ".arrow", b"\xff\xff\xff\xff": ".arrow", b"\x1f\x8b": ".csv.gz"}
_BATCH_ROWS = 16384
# Rows from which the columns of a file that does not fit in memory are learnt.
_HEAD_ROWS = 2**17
# From this ratio of common letters on, one name may have been meant for the other.
_ALIKE = 0.75


def open_table(path: str | Path) -> TableFile:
    """Open a table: CSV, TSV or KEEL text, possibly compressed (.gz), Parquet, Arrow, or a folder of such files.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    TableFile

    Raises
    ------
    DataFileError
        Says what is wrong with the file and what to do.
    """
    path = Path(path).expanduser()
    if not path.exists():
        raise DataFileError(f"There is no file {path}{near_file(path)}")
    if path.is_dir():
        return _Folder(path)
    if not path.is_file():
        with path.open("rb") as stream:
            return open_stream(stream, str(path))
    return _open_file(path, str(path))


def open_stream(stream: IO[bytes], place: str) -> TableFile:
    """Open a table that can be read only once, such as standard input or a pipe: a copy is kept in a temporary file.

    Parameters
    ----------
    stream : binary file
    place : str
        What it is called in messages.
    """
    with ExitStack() as cleaning:
        folder = mkdtemp(prefix="skscn-")
        cleaning.callback(shutil.rmtree, folder, ignore_errors=True)
        path = Path(folder) / "table"
        with path.open("wb") as copy:
            shutil.copyfileobj(stream, copy)
        file = _open_file(path, place)
        # The copy goes when the table does, or when the program ends.
        finalize(file, cleaning.pop_all().close)
        return file


def _open_file(path: Path, place: str) -> TableFile:
    if path.stat().st_size == 0:
        raise DataFileError(f"{place} is empty; give a file with a line of column names and rows.")
    ending = "".join(path.suffixes[-2:]).lower() or _sniffed(path)
    if ending.endswith(".parquet"):
        return _ParquetFile(path, place)
    if ending.endswith((".arrow", ".feather")):
        return _ArrowFile(path, place)
    compressed = ending.endswith(".gz")
    ending = Path(f"table{ending.removesuffix('.gz')}").suffix
    if ending not in _TEXT_FILES:
        raise DataFileError(
            f"{path.name} cannot be read; save the table as CSV, or as another of "
            f"{', '.join((*_TEXT_FILES, *_OTHER_FILES))} (text files also as .gz)."
        )
    return TextFile(path, ending, place, compressed)


def _sniffed(path: Path) -> str:
    """The ending that a file without one should have."""
    with path.open("rb") as file:
        beginning = file.read(max(map(len, _BEGINNINGS)))
    return next((ending for sign, ending in _BEGINNINGS.items() if beginning.startswith(sign)), ".csv")


def near_file(path: Path) -> str:
    """The end of a sentence about a file that is not there: one nearby that may have been meant."""
    folder = path.parent
    names = [file.name for file in folder.iterdir() if _is_near(file, path)] if folder.is_dir() else []
    near = difflib.get_close_matches(path.name, names, n=1, cutoff=0.0)
    return f"; did you mean {folder / near[0]}?" if near else "."


def _is_near(file: Path, path: Path) -> bool:
    """Whether both the name and the ending, if there is one, are nearly the same."""
    parts = [(file.stem, path.stem), *([(file.suffix, path.suffix)] if path.suffix else [])]
    return all(difflib.SequenceMatcher(None, a.casefold(), b.casefold()).ratio() >= _ALIKE for a, b in parts)


# ---- Parquet and Arrow


class _BinaryFile(TableFile):
    """A file that says itself what its columns hold."""

    def head(self, columns: list[str], exact: Sequence[str] = ()):
        parts, rows = [], 0
        for table in self.batches(dict.fromkeys(columns)):
            parts.append(table)
            rows += len(table)
            if rows >= _HEAD_ROWS:
                break
        return arrow().concat_tables(parts)


class _ParquetFile(_BinaryFile):
    def __init__(self, path: Path, place: str):
        with Readable(place, []), arrow("pyarrow.parquet").ParquetFile(path) as file:
            names, metadata = file.schema_arrow.names, file.metadata
            self._size = sum(metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups))
        super().__init__(path, _without_labels(names), place)

    @property
    def size(self) -> int:
        return self._size

    def read(self, columns: list[str] | None = None, exact: Sequence[str] = ()):
        with Readable(self.place, self.names), arrow("pyarrow.parquet").ParquetFile(self.path) as file:
            return file.read(columns=columns or self.names)

    def batches(self, types: Mapping[str, Any]) -> Iterator:
        pa = arrow()
        with Readable(self.place, self.names):
            for batch in read_parquet([self.path], list(types), _BATCH_ROWS):
                yield pa.Table.from_batches([batch])


class _ArrowFile(_BinaryFile):
    """Arrow's IPC format, as a file (Feather) or as a stream."""

    def __init__(self, path: Path, place: str):
        with Readable(place, []), self._open(path) as reader:
            names = reader.schema.names
        super().__init__(path, _without_labels(names), place)

    @staticmethod
    def _open(path: Path):
        pa = arrow()
        try:
            return pa.ipc.open_file(pa.memory_map(str(path)))
        except pa.ArrowInvalid:
            return pa.ipc.open_stream(pa.memory_map(str(path)))

    @property
    def size(self) -> int:
        return self.path.stat().st_size

    def read(self, columns: list[str] | None = None, exact: Sequence[str] = ()):
        with Readable(self.place, self.names), self._open(self.path) as reader:
            return reader.read_all().select(columns or self.names)

    def batches(self, types: Mapping[str, Any]) -> Iterator:
        pa = arrow()
        with Readable(self.place, self.names), self._open(self.path) as reader:
            random_access = hasattr(reader, "num_record_batches")
            whole = map(reader.get_batch, range(reader.num_record_batches)) if random_access else iter(reader)
            for batch in whole:
                table = pa.Table.from_batches([batch]).select(list(types))
                for start in range(0, len(table), _BATCH_ROWS):
                    yield table.slice(start, _BATCH_ROWS)


class _Folder(TableFile):
    """Files of one kind with the same columns, in the order of their names."""

    def __init__(self, path: Path):
        files = sorted(file for file in path.iterdir() if file.is_file() and not file.name.startswith((".", "_")))
        if not files:
            raise DataFileError(f"The folder {path} holds no files; name one that holds a table.")
        self._files = [open_table(file) for file in files]
        first = self._files[0]
        super().__init__(path, first.names, str(path))
        for file in self._files[1:]:
            if set(file.names) != set(first.names):
                raise DataFileError(
                    f"{file.label} has the columns {listed(file.names)} and {first.label} "
                    f"{listed(first.names)}; give all files the same."
                )
        self.notes = first.notes

    @property
    def size(self) -> int:
        return sum(file.size for file in self._files)

    def read(self, columns: list[str] | None = None, exact: Sequence[str] = ()):
        pa = arrow()
        tables = [file.read(columns or self.names, exact).select(columns or self.names) for file in self._files]
        tables = _as_text_where_one_is(tables, exact)
        try:
            return pa.concat_tables(tables, promote_options="permissive")
        except (pa.ArrowInvalid, pa.ArrowTypeError) as different:
            raise DataFileError(
                f"The files in {self.path} hold different types in one column ({different}); give all files the same."
            ) from None

    def head(self, columns: list[str], exact: Sequence[str] = ()):
        return self._files[0].head(columns, exact)

    def batches(self, types: Mapping[str, Any]) -> Iterator:
        for file in self._files:
            yield from file.batches(types)


def _without_labels(names: list[str]) -> list[str]:
    return [name for name in names if not ROW_LABELS.fullmatch(name)]


def _as_text_where_one_is(tables: list, names: Sequence[str]) -> list:
    """Whole numbers as text in those columns that are text in one of the tables."""
    pa = arrow()
    for name in names:
        types = [table.schema.field(name).type for table in tables]
        if pa.string() in types and all(pa.types.is_integer(type) or type == pa.string() for type in types):
            place = tables[0].column_names.index(name)
            tables = [table.set_column(place, name, table.column(name).cast(pa.string())) for table in tables]
    return tables
