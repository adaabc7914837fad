"""Text files of tables: CSV in its many dialects, and KEEL's format, read as a whole or block by block."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

import numpy as np

from skscn.readers.arrow import arrow, with_decimal
from skscn.readers.dialect import NUMBER, find_dialect, open_quote
from skscn.readers.errors import DataFileError, Readable, is_too_long
from skscn.readers.missing import MISSING, means_no_number
from skscn.readers.table_file import TableFile
from skscn.readers.text_rows import LONGEST_ROW, Row, scan
from skscn.words import quoted

if TYPE_CHECKING:
    import pyarrow as pa

# Bytes of a file that are looked at to find out how it is written: more where lines are long.
_SAMPLE, _LARGEST_SAMPLE = 2**18, 2**26
_FEWEST_LINES = 3
# Bytes that are parsed at a time: some rows' worth, and more where a row does not fit. Arrow reads 32 blocks ahead, or
# one at a time without threads. A row may be in two blocks, but not in three.
_BLOCKS = (2**21, 2**23, 2**25, LONGEST_ROW)
_ROWS_OF_BLOCK, _LARGEST_OF_ROWS = 64, 2**25
# Bytes from which the columns of a file that does not fit in memory are learnt.
_HEAD = 2**25
# How much larger a compressed file is when it is read.
_COMPRESSION = 6
# From here on two whole numbers may be the same float.
_LARGEST_EXACT = 2.0**53


class TextFile(TableFile):
    """CSV and its relatives."""

    def __init__(self, path: Path, ending: str, place: str, compressed: bool):
        self._compressed = compressed
        with Readable(place, []):
            sample = self._sample(path)
            self._dialect = find_dialect(place, ending, sample)
        longest = max(map(len, sample.splitlines()))
        self._blocks = [block for block in _BLOCKS if block >= min(_ROWS_OF_BLOCK * longest, _LARGEST_OF_ROWS)]
        super().__init__(path, self._dialect.names, place)
        self.notes += [f"{self.label} {note}." for note in self._dialect.notes]
        self._quotes_checked = False

    def _sample(self, path: Path) -> bytes:
        """The first bytes, with at least two rows under the names."""
        with self._bytes(path) as file:
            sample = file.read(_SAMPLE)
            while _few_lines(sample) and len(sample) < _LARGEST_SAMPLE and (more := file.read(len(sample))):
                sample += more
        return sample

    def _bytes(self, path: Path) -> IO[bytes]:
        return cast(IO[bytes], gzip.open(path)) if self._compressed else path.open("rb")

    def _lines(self) -> Iterator[str]:
        """The lines of the file, as text; what is not in its encoding is replaced."""
        with (
            self._bytes(self.path) as file,
            io.TextIOWrapper(file, self._dialect.encoding, errors="replace", newline="") as text,
        ):
            yield from iter(partial(text.readline, LONGEST_ROW), "")

    def _rows(self) -> Iterator[Row]:
        """The rows under the names, with their lines in the file."""
        skipped = self._dialect.skip_lines
        return scan(islice(self._lines(), skipped, None), self._dialect.delimiter, first=skipped + 1)

    @contextmanager
    def _stream(self, limit: int | None = None) -> Iterator[pa.NativeFile]:
        """The file, or its first bytes, for Arrow; a quote that is never closed is refused once Arrow met the end."""
        pa = arrow()
        file = _QuoteCounter(pa.input_stream(str(self.path), compression="gzip" if self._compressed else None), limit)
        try:
            yield pa.PythonFile(file, mode="r")
        except pa.ArrowInvalid:
            with self._bytes(self.path) as again:
                self._refuse_open_quote(_QuoteCounter(again).count_all())
            raise
        finally:
            file.close()
        if file.ended:
            self._refuse_open_quote(file.has_open_line)

    def _refuse_open_quote(self, has_open_line: bool) -> None:
        """Raise DataFileError where a quote is not closed in its row, if there is a line that does not close one."""
        if not has_open_line or self._quotes_checked:
            return
        for row in self._rows():
            if not row.closed:
                raise DataFileError(open_quote(self.place, row.line))
        self._quotes_checked = True

    @property
    def size(self) -> int:
        return self.path.stat().st_size * (_COMPRESSION if self._compressed else 1)

    def schema(self) -> pa.Schema:
        return self._first_block(self.names, self._dialect.types, self._blocks).schema

    def read(self, columns: list[str] | None = None, exact: Sequence[str] = ()) -> pa.Table:
        table = self._read(columns, self._dialect.types)
        binary = [item.name for item in table.schema if arrow().types.is_binary(item.type)]
        if binary:
            raise DataFileError(
                f"{self.place} is not UTF-8 throughout (column {quoted(binary[0])}); save it as UTF-8 and try again."
            )
        table = with_decimal(table, self._dialect.decimal)
        return _with_exact(table, exact, lambda name: self._read([name], {name: arrow().string()}))

    def _read(self, columns: list[str] | None, types: Mapping[str, pa.DataType]) -> pa.Table:
        def read(block: int) -> pa.Table:
            with self._stream() as file:
                return arrow("pyarrow.csv").read_csv(file, **self._options(columns, types, block))

        return self._in_blocks(self._blocks, read)

    def head(self, columns: list[str], exact: Sequence[str] = ()) -> pa.Table:
        blocks = [block for block in self._blocks if block >= _HEAD]
        table = with_decimal(self._first_block(columns, self._dialect.types, blocks), self._dialect.decimal)
        return _with_exact(table, exact, lambda name: self._first_block([name], {name: arrow().string()}, blocks))

    def _first_block(self, columns: list[str], types: Mapping[str, pa.DataType], blocks: list[int]) -> pa.Table:
        def read(block: int) -> pa.Table:
            options = self._options(columns, types, block)
            # One more block, in which the last row of the first one may end.
            with self._stream(limit=2 * block) as file, arrow("pyarrow.csv").open_csv(file, **options) as reader:
                return arrow().Table.from_batches(list(islice(reader, 1)), reader.schema)

        return self._in_blocks(blocks, read)

    def _in_blocks(self, blocks: list[int], read: Callable[[int], pa.Table]) -> pa.Table:
        """Read with blocks of some bytes; with larger ones where a row does not fit."""
        *smaller, largest = blocks
        with self._readable():
            for block in smaller:
                try:
                    return read(block)
                except arrow().ArrowInvalid as error:
                    if not is_too_long(str(error)):
                        raise
            return read(largest)

    def batches(
        self, types: Mapping[str, pa.DataType | str | None], max_rows: int | None = None, missing: Collection[str] = ()
    ) -> Iterator[pa.Table]:
        named = {name: arrow().type_for_alias(type) if isinstance(type, str) else type for name, type in types.items()}
        for table in self._tables(named, MISSING, missing):
            yield from _parts(table, max_rows)

    def verbatim(self, names: list[str]) -> Iterator[pa.Table]:
        return self._tables(dict.fromkeys(names, arrow().string()), (), ())

    def _tables(
        self, types: Mapping[str, pa.DataType | None], null_values: Sequence[str], missing: Collection[str]
    ) -> Iterator[pa.Table]:
        """Batches, with larger blocks where a row does not fit, and numbers from text where words are among them."""
        done, blocks, numbers = 0, list(self._blocks), list[str]()
        with self._readable():
            while True:
                read = {**types, **dict.fromkeys(numbers, arrow().string())}
                try:
                    for table in self._batches(read, blocks[0], skip=done, null_values=null_values):
                        yield self._with_numbers(table, numbers, missing, done)
                        done += len(table)
                    return
                except arrow().ArrowInvalid as error:
                    if is_too_long(str(error)):
                        if len(blocks) == 1:
                            raise
                        del blocks[0]
                    elif "conversion error to double" in str(error) and not numbers:
                        # Words may stand for missing numbers, which Arrow does not know.
                        numbers = [name for name, type in types.items() if type == arrow().float64()]
                    else:
                        # Without threads rows are counted: the same error, met again, says in which one it is.
                        for _ in self._batches(read, blocks[0], use_threads=False):
                            pass
                        raise

    def _with_numbers(self, table: pa.Table, names: list[str], missing: Collection[str], done: int) -> pa.Table:
        """A table in which these columns of text are numbers; ``done`` rows are above it."""
        pa, pc = arrow(), arrow("pyarrow.compute")
        for name in names:
            texts = table.column(name)
            words = [text for text in pc.unique(texts).drop_null().to_pylist() if means_no_number(text, missing)]
            texts = pc.if_else(
                pc.is_in(texts, value_set=pa.array(words, pa.string())), pa.scalar(None, pa.string()), texts
            )
            texts = pc.replace_substring(pc.utf8_trim_whitespace(texts), self._dialect.decimal, ".")
            try:
                column = texts.cast(pa.float64())
            except pa.ArrowInvalid:
                raise self._not_a_number(name, texts.to_pylist(), done) from None
            table = table.set_column(table.column_names.index(name), name, column)
        return table

    def _not_a_number(self, name: str, texts: list[str | None], done: int) -> DataFileError:
        wrong = (text is not None and (not NUMBER.fullmatch(text) or "," in text) for text in texts)
        place = next(place for place, is_wrong in enumerate(wrong) if is_wrong)
        row = next(islice(self._rows(), done + place, None))
        return DataFileError(
            f"{self.place} cannot be read: column {quoted(name)}, line {row.line:,}: {quoted(str(texts[place]))} is "
            "not a number."
        )

    def _batches(
        self,
        types: Mapping[str, pa.DataType | None],
        block: int,
        use_threads: bool = True,
        skip: int = 0,
        null_values: Sequence[str] = MISSING,
    ) -> Iterator[pa.Table]:
        options = self._options(list(types), types, block, null_values)
        options["read_options"].use_threads &= use_threads
        # The last rows are kept back until it is known that no quote is open at the end.
        last: pa.Table | None = None
        with self._stream() as file, arrow("pyarrow.csv").open_csv(file, **options) as reader:
            for batch in reader:
                table = arrow().Table.from_batches([batch]).slice(skip)
                skip = max(0, skip - len(batch))
                if len(table) or not len(batch):
                    if last is not None:
                        yield last
                    last = table
        if last is not None:
            yield last

    def _options(
        self,
        columns: list[str] | None,
        types: Mapping[str, pa.DataType | None],
        block: int,
        null_values: Sequence[str] = MISSING,
    ) -> dict[str, Any]:
        module, dialect = arrow("pyarrow.csv"), self._dialect
        return {
            "read_options": module.ReadOptions(
                column_names=dialect.names,
                skip_rows=dialect.skip_lines,
                encoding=dialect.encoding,
                block_size=block,
                use_threads=block <= _LARGEST_OF_ROWS,
            ),
            "parse_options": module.ParseOptions(delimiter=dialect.delimiter, newlines_in_values=True),
            "convert_options": module.ConvertOptions(
                null_values=list(null_values),
                strings_can_be_null=True,
                decimal_point=dialect.decimal,
                include_columns=columns,
                column_types=dict(types),
            ),
        }

    def _readable(self) -> Readable:
        return Readable(self.place, self.names, self._rows, self._dialect.skip_lines)


class _QuoteCounter:
    """A file, or its first bytes, that counts the quotes in each line as it is read.

    Attributes
    ----------
    has_open_line : bool
        Whether a line that has been read does not close a quote.
    ended : bool
        Whether the end of the file has been read.
    """

    def __init__(self, file: IO[bytes], limit: int | None = None):
        self._file, self._left = file, limit
        self._quotes, self.has_open_line, self.ended, self.closed = 0, False, False, False

    def read(self, size: int) -> bytes:
        if self._left == 0:
            return b""
        data = self._file.read(size if self._left is None else min(size, self._left))
        self.ended = not data
        self._count(data)
        if self._left is not None:
            self._left -= len(data)
        return data

    def count_all(self) -> bool:
        """Read all of it; whether a line does not close a quote."""
        while self.read(_BLOCKS[0]):
            pass
        return self.has_open_line

    def _count(self, data: bytes) -> None:
        if b'"' not in data and self._quotes % 2 == 0:
            return
        quotes = np.flatnonzero(np.frombuffer(data, np.uint8) == ord('"'))
        # Quotes above and in each line that ends here, all even if each line closes its quotes.
        ends = np.flatnonzero(np.frombuffer(data, np.uint8) == ord("\n")) if data else np.zeros(1)
        self.has_open_line |= bool(np.any((self._quotes + np.searchsorted(quotes, ends)) % 2))
        self._quotes += len(quotes)

    def close(self) -> None:
        self.closed = True
        self._file.close()


def _parts(table: pa.Table, max_rows: int | None) -> Iterator[pa.Table]:
    if max_rows is None:
        yield table
        return
    for start in range(0, len(table), max_rows):
        yield table.slice(start, max_rows)


def _few_lines(sample: bytes) -> bool:
    return max(sample.count(b"\n"), sample.count(b"\r")) <= _FEWEST_LINES


def _with_exact(table: pa.Table, names: Sequence[str], read_text: Callable[[str], pa.Table]) -> pa.Table:
    """The table with columns of booleans, and of whole numbers that floats cannot tell apart, as text."""
    for name in names:
        if arrow().types.is_boolean(table.column(name).type) or _is_rounded(table.column(name)):
            table = table.set_column(table.column_names.index(name), name, read_text(name).column(name))
    return table


def _is_rounded(column: pa.ChunkedArray) -> bool:
    pa, pc = arrow(), arrow("pyarrow.compute")
    if not pa.types.is_floating(column.type):
        return False
    floats = column.drop_null()
    floats = floats.filter(pc.is_finite(floats))
    whole = pc.all(pc.equal(floats, pc.round(floats))).as_py()
    return bool(whole and pc.any(pc.greater_equal(pc.abs(floats), _LARGEST_EXACT)).as_py())
