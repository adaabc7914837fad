"""Files of tables: CSV in its many dialects, KEEL, Parquet and Arrow, read as a whole or batch by batch."""

from __future__ import annotations

import csv
import difflib
import gzip
import io
import re
from abc import ABC, abstractmethod
from codecs import BOM_UTF16_BE, BOM_UTF16_LE, getincrementaldecoder
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from skscn.datasets import DataFileError
from skscn.datasets._keel import read_keel_header
from skscn.rows.sources import ROW_LABELS, read_parquet
from skscn.tables._text import MISSING, arrow
from skscn.words import listed, not_found, refuse_twins

_TEXT_FILES = (".csv", ".tsv", ".txt", ".dat", ".data")
_OTHER_FILES = (".parquet", ".arrow", ".feather")
_BATCH_ROWS = 16384
# Bytes of a text file that are looked at to find out how it is written, and that are parsed at a time.
_SAMPLE = 2**18
_BLOCK = 2**21
# Bytes, or rows, from which the columns of a file that does not fit in memory are learnt.
_HEAD = 2**25
_HEAD_ROWS = 2**17
_SAMPLE_ROWS = 200
_DELIMITERS = (",", ";", "\t", "|")
_DELIMITER_NAMES = {";": "semicolons", "\t": "tabs", "|": "bars"}
# What a value of a type of Arrow is, in words.
_VALUES = {"double": "number", "bool": "truth value", "timestamp": "date", "time64": "time of the day"}
# How much larger a compressed text file is when it is read.
_COMPRESSION = 6
# From this ratio of common letters on, one name may have been meant for the other.
_ALIKE = 0.75
_FRACTION = {sign: re.compile(rf"\s*[-+]?\d+[{sign}]\d+\s*") for sign in ".,"}


class TableFile(ABC):
    """A file that holds a table.

    Attributes
    ----------
    path : Path
    names : list of str
        Its columns.
    notes : list of str
        What is unusual about it, in words.
    """

    def __init__(self, path: Path, names: list[str]):
        refuse_twins(names)
        self.path, self.names = path, names
        self.notes: list[str] = []

    def find(self, name: str) -> str:
        """The name, if there is such a column; else ValueError with what may have been meant."""
        if name not in self.names:
            hint = ""
            if all(re.fullmatch(r"[-+\d.,eE ]+", known) for known in self.names):
                hint = f" The first line of {self.path.name} seems to hold values; put a line of names above it."
            raise ValueError(not_found("column", name, self.names) + hint)
        return name

    @property
    @abstractmethod
    def size(self) -> int:
        """Bytes that the table takes in memory, roughly."""

    @abstractmethod
    def read(self, columns: list[str] | None = None):
        """The table; the types of its columns are found out from all rows."""

    @abstractmethod
    def head(self, columns: list[str]):
        """The first rows, some megabytes of them."""

    @abstractmethod
    def batches(self, types: Mapping[str, Any]) -> Iterator:
        """Tables of some consecutive rows each, with these columns; those of a text file read as the types given."""


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
    if path.stat().st_size == 0:
        raise DataFileError(f"{path} is empty; give a file with a line of column names and rows.")
    endings = [ending.lower() for ending in path.suffixes[-2:]]
    ending = endings[-1] if endings else ""
    if ending == ".parquet":
        return _ParquetFile(path)
    if ending in (".arrow", ".feather"):
        return _ArrowFile(path)
    if ending == ".gz":
        ending = endings[0] if len(endings) == 2 else ""
    if ending not in _TEXT_FILES:
        raise DataFileError(
            f"{path.name} cannot be read; save the table as CSV, or as another of "
            f"{', '.join((*_TEXT_FILES, *_OTHER_FILES))} (text files also as .gz)."
        )
    return _TextFile(path, ending)


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


# ---- text


@dataclass(frozen=True)
class _Dialect:
    """How a text file is written."""

    encoding: str
    delimiter: str
    decimal: str
    skip_lines: int
    names: list[str]
    multiline: bool = False
    types: dict[str, Any] = field(default_factory=dict)


class _TextFile(TableFile):
    """CSV and its relatives."""

    def __init__(self, path: Path, ending: str):
        self._compressed = path.suffix.lower() == ".gz"
        self._dialect = _find_dialect(path, ending, self._sample(path))
        super().__init__(path, self._dialect.names)
        if ending not in (".tsv", ".dat") and self._dialect.delimiter in _DELIMITER_NAMES:
            commas = ", with decimal commas" if self._dialect.decimal == "," else ""
            self.notes.append(f"{path.name} is separated by {_DELIMITER_NAMES[self._dialect.delimiter]}{commas}.")
        if self._dialect.encoding not in ("utf-8", "utf-16"):
            self.notes.append(f"{path.name} is not UTF-8; it was read as {self._dialect.encoding}.")

    def _sample(self, path: Path) -> bytes:
        try:
            with gzip.open(path) if self._compressed else path.open("rb") as file:
                return file.read(_SAMPLE)
        except (gzip.BadGzipFile, EOFError) as broken:
            raise DataFileError(f"{path} cannot be decompressed ({broken}).") from None

    @property
    def size(self) -> int:
        return self.path.stat().st_size * (_COMPRESSION if self._compressed else 1)

    def read(self, columns: list[str] | None = None):
        with self._readable():
            table = arrow("pyarrow.csv").read_csv(self._stream(), **self._options(columns, self._dialect.types))
        binary = [item.name for item in table.schema if arrow().types.is_binary(item.type)]
        if binary:
            raise DataFileError(
                f"{self.path} is not UTF-8 throughout (column {binary[0]!r}); save it as UTF-8 and try again."
            )
        return table

    def batches(self, types: Mapping[str, Any]) -> Iterator:
        with self._readable():
            try:
                yield from self._batches(types)
            except arrow().ArrowInvalid:
                # Without threads rows are counted: the same error, met again, says in which one it is.
                for _ in self._batches(types, use_threads=False):
                    pass
                raise

    def _batches(self, types: Mapping[str, Any], use_threads: bool = True) -> Iterator:
        options = self._options(list(types), dict(types))
        options["read_options"].use_threads = use_threads
        with arrow("pyarrow.csv").open_csv(self._stream(), **options) as reader:
            for batch in reader:
                yield arrow().Table.from_batches([batch])

    def head(self, columns: list[str]):
        options = self._options(columns, self._dialect.types)
        options["read_options"].block_size = _HEAD
        with self._readable(), arrow("pyarrow.csv").open_csv(self._stream(), **options) as reader:
            return arrow().Table.from_batches([reader.read_next_batch()])

    def _stream(self):
        return arrow().input_stream(str(self.path), compression="gzip" if self._compressed else None)

    def _options(self, columns: list[str] | None, types: dict) -> dict:
        module, dialect = arrow("pyarrow.csv"), self._dialect
        return {
            "read_options": module.ReadOptions(
                column_names=dialect.names, skip_rows=dialect.skip_lines, encoding=dialect.encoding, block_size=_BLOCK
            ),
            "parse_options": module.ParseOptions(delimiter=dialect.delimiter, newlines_in_values=dialect.multiline),
            "convert_options": module.ConvertOptions(
                null_values=list(MISSING),
                strings_can_be_null=True,
                decimal_point=dialect.decimal,
                include_columns=columns,
                column_types=types,
            ),
        }

    def _readable(self) -> _Readable:
        return _Readable(self.path, self.names)


class _Readable:
    """Within, what Arrow finds wrong with a file becomes a sentence."""

    def __init__(self, path: Path, names: list[str]):
        self._path, self._names = path, names

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind, error, trace) -> None:
        if isinstance(error, arrow().ArrowInvalid | OSError):
            raise DataFileError(f"{self._path} cannot be read: {self._in_words(str(error))}") from None

    def _in_words(self, message: str) -> str:
        message = message.strip().splitlines()[0][:200]
        message = message.removeprefix("CSV parse error: ")
        message = re.sub(r"In CSV column #(\d+): ", self._column, message)
        message = re.sub(r"Row #(\d+): ", r"row \1 of the file: ", message)
        message = re.sub(r"CSV conversion error to (\w+).*?: invalid value (.*)", _no_value, message)
        return message.rstrip(".") + "."

    def _column(self, match: re.Match) -> str:
        place = int(match.group(1))
        return f"column {self._names[place]!r}, " if place < len(self._names) else ""


def _no_value(match: re.Match) -> str:
    return f"{match.group(2)} is no {_VALUES.get(match.group(1), match.group(1))}"


def _find_dialect(path: Path, ending: str, sample: bytes) -> _Dialect:
    encoding, text = _decoded(sample)
    if not text.strip():
        raise DataFileError(f"{path} is empty; give a file with a line of column names and rows.")
    if ending == ".dat" and text.lstrip().startswith(("@", "%")):
        return _keel_dialect(path, encoding, text)
    lines = text.splitlines(keepends=True)
    first = 0
    # Excel writes its delimiter above the names.
    chosen = re.fullmatch(r"sep=(.)\s*", lines[0])
    while not lines[first].strip() or (first == 0 and chosen):
        first += 1
    body = "".join(lines[first:])
    delimiter = chosen.group(1) if chosen else _find_delimiter(body, ending)
    rows, header_lines = _parse(body, delimiter)
    names = [name.strip() or f"column {place}" for place, name in enumerate(rows[0], start=1)]
    return _Dialect(
        encoding,
        delimiter,
        _find_decimal(rows[1:], delimiter),
        first + header_lines,
        names,
        any("\n" in value or "\r" in value for row in rows for value in row),
    )


def _decoded(sample: bytes) -> tuple[str, str]:
    """The encoding of a file and the text that it begins with."""
    encodings = ["utf-16"] if sample.startswith((BOM_UTF16_LE, BOM_UTF16_BE)) else ["utf-8", "cp1252"]
    for encoding in encodings:
        try:
            return encoding, getincrementaldecoder(encoding)().decode(sample).removeprefix("\ufeff")
        except UnicodeDecodeError:
            continue
    return "latin-1", sample.decode("latin-1")


def _keel_dialect(path: Path, encoding: str, text: str) -> _Dialect:
    header = read_keel_header(path, text.splitlines())
    string = arrow().string()
    types = {name: string for name, kind in header.attributes.items() if kind == "nominal"}
    return _Dialect(encoding, ",", ".", header.n_lines, list(header.attributes), types=types)


def _parse(text: str, delimiter: str) -> tuple[list[list[str]], int]:
    """The first rows of a text, and the lines that its header takes."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    header = next(reader)
    header_lines = reader.line_num
    rows = [header]
    for row in reader:
        if len(rows) == _SAMPLE_ROWS:
            return rows, header_lines
        if row:
            rows.append(row)
    # The sample may end within the last row.
    return (rows[:-1] if len(rows) > 2 else rows), header_lines


def _find_delimiter(text: str, ending: str) -> str:
    """The delimiter with which rows have the most columns among those with which they all have as many."""
    best, most = "\t" if ending == ".tsv" else ",", 1
    for delimiter in _DELIMITERS:
        rows, _ = _parse(text, delimiter)
        width = len(rows[0])
        if width > most and sum(len(row) == width for row in rows) >= 0.9 * len(rows):
            best, most = delimiter, width
    return best


def _find_decimal(rows: list[list[str]], delimiter: str) -> str:
    """A comma where another sign separates columns and fractions are written with it."""
    if delimiter == ",":
        return "."
    fractions = {sign: sum(bool(_FRACTION[sign].fullmatch(value)) for row in rows for value in row) for sign in ".,"}
    return "," if fractions[","] > fractions["."] else "."


# ---- Parquet and Arrow


class _BinaryFile(TableFile):
    """A file that says itself what its columns hold."""

    def head(self, columns: list[str]):
        parts, rows = [], 0
        for table in self.batches(dict.fromkeys(columns)):
            parts.append(table)
            rows += len(table)
            if rows >= _HEAD_ROWS:
                break
        return arrow().concat_tables(parts)


class _ParquetFile(_BinaryFile):
    def __init__(self, path: Path):
        with _Readable(path, []), arrow("pyarrow.parquet").ParquetFile(path) as file:
            names, metadata = file.schema_arrow.names, file.metadata
            self._size = sum(metadata.row_group(i).total_byte_size for i in range(metadata.num_row_groups))
        super().__init__(path, _without_labels(names))

    @property
    def size(self) -> int:
        return self._size

    def read(self, columns: list[str] | None = None):
        with _Readable(self.path, self.names), arrow("pyarrow.parquet").ParquetFile(self.path) as file:
            return file.read(columns=columns or self.names)

    def batches(self, types: Mapping[str, Any]) -> Iterator:
        pa = arrow()
        with _Readable(self.path, self.names):
            for batch in read_parquet([self.path], list(types), _BATCH_ROWS):
                yield pa.Table.from_batches([batch])


class _ArrowFile(_BinaryFile):
    """Arrow's IPC format, as a file (Feather) or as a stream."""

    def __init__(self, path: Path):
        with _Readable(path, []), self._open(path) as reader:
            names = reader.schema.names
        super().__init__(path, _without_labels(names))

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

    def read(self, columns: list[str] | None = None):
        with _Readable(self.path, self.names), self._open(self.path) as reader:
            return reader.read_all().select(columns or self.names)

    def batches(self, types: Mapping[str, Any]) -> Iterator:
        pa = arrow()
        with _Readable(self.path, self.names), self._open(self.path) as reader:
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
        super().__init__(path, first.names)
        for file in self._files[1:]:
            if set(file.names) != set(first.names):
                raise DataFileError(
                    f"{file.path.name} has the columns {listed(file.names)} and {first.path.name} "
                    f"{listed(first.names)}; give all files the same."
                )
        self.notes = first.notes

    @property
    def size(self) -> int:
        return sum(file.size for file in self._files)

    def read(self, columns: list[str] | None = None):
        pa = arrow()
        tables = [file.read(columns or self.names).select(columns or self.names) for file in self._files]
        try:
            return pa.concat_tables(tables, promote_options="permissive")
        except (pa.ArrowInvalid, pa.ArrowTypeError) as different:
            raise DataFileError(
                f"The files in {self.path} hold different types in one column ({different}); give all files the same."
            ) from None

    def head(self, columns: list[str]):
        return self._files[0].head(columns)

    def batches(self, types: Mapping[str, Any]) -> Iterator:
        for file in self._files:
            yield from file.batches(types)


def _without_labels(names: list[str]) -> list[str]:
    return [name for name in names if not ROW_LABELS.fullmatch(name)]
