"""What all files of tables have in common, and what is said about those that cannot be read."""

from __future__ import annotations

import re
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from skscn.datasets import DataFileError
from skscn.tables._dialect import Row
from skscn.tables.text import arrow
from skscn.words import not_found, quoted, refuse_twins

# What a value of a type of Arrow is, in words.
_VALUES = {
    "double": "a number",
    "int64": "a whole number",
    "bool": "true or false",
    "timestamp": "a date",
    "time64": "a time of day",
}


class TableFile(ABC):
    """A file that holds a table.

    Attributes
    ----------
    path : Path
    place : str
        Where it is, in messages: the path, or what a stream is called.
    label : str
        What it is called in messages, without its folder.
    names : list of str
        Its columns.
    notes : list of str
        What is unusual about it, in words.
    """

    def __init__(self, path: Path, names: list[str], place: str):
        refuse_twins(names)
        self.path, self.names, self.place = path, names, place
        self.label = path.name if place == str(path) else place
        self.notes: list[str] = []

    def find(self, name: str) -> str:
        """The name, if there is such a column; else ValueError with what may have been meant."""
        if name not in self.names:
            hint = ""
            if all(re.fullmatch(r"[-+\d.,eE ]+", known) for known in self.names):
                hint = f" The first line of {self.label} seems to hold values; put a line of names above it."
            raise ValueError(not_found("column", name, self.names) + hint)
        return name

    @property
    @abstractmethod
    def size(self) -> int:
        """Bytes that the table takes in memory, roughly."""

    @abstractmethod
    def read(self, columns: list[str] | None = None, exact: Sequence[str] = ()):
        """The table; the types of its columns are inferred from all rows.

        Columns that must be ``exact`` stay text where they hold whole numbers that are too large for a float.
        """

    @abstractmethod
    def head(self, columns: list[str], exact: Sequence[str] = ()):
        """The first rows, some megabytes of them; as :meth:`read`."""

    @abstractmethod
    def batches(self, types: Mapping[str, Any]) -> Iterator:
        """Tables of some consecutive rows each, with these columns; those of a text file read as the types given."""


class Readable:
    """Within, what Arrow finds wrong with a file becomes a sentence.

    ``rows`` gives the rows of a text file with their lines, after ``skipped`` ones.
    """

    def __init__(self, place: str, names: list[str], rows: Callable[[], Iterable[Row]] = list, skipped: int = 0):
        self._place, self._names, self._rows, self._skipped = place, names, rows, skipped

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind, error, trace) -> None:
        if isinstance(error, UnicodeDecodeError):
            raise DataFileError(
                f"{self._place} is not {error.encoding.upper()} throughout, or ends within a character; save it as "
                "UTF-8 and try again."
            ) from None
        if isinstance(error, arrow().ArrowInvalid | OSError | EOFError | zlib.error):
            raise DataFileError(f"{self._place} cannot be read: {self._in_words(str(error))}") from None

    def _in_words(self, message: str) -> str:
        ragged = self._ragged() if "columns, got" in message else ""
        if ragged:
            return ragged
        message = (message.strip().splitlines() or ["it ends too early"])[0]
        message = message.removeprefix("CSV parse error: ")
        message = re.sub(r"In CSV column #(\d+): ", self._column, message)
        message = re.sub(r"Row #(\d+): ", self._line, message)
        message = re.sub(r"CSV conversion error to (\w+).*?: invalid value '(.*)'", _not_a, message)
        return message[:300].rstrip(".") + "."

    def _column(self, match: re.Match) -> str:
        place = int(match.group(1))
        return f"column {quoted(self._names[place])}, " if place < len(self._names) else ""

    def _line(self, match: re.Match) -> str:
        """Arrow counts the lines above the rows and then the rows, of which some may take several lines."""
        place = int(match.group(1)) - self._skipped - 1
        row = next(islice(self._rows(), place, None), None)
        return f"row {match.group(1)}: " if row is None else f"line {row.line:,}: "

    def _ragged(self) -> str:
        expected = len(self._names)
        row = next((row for row in self._rows() if len(row.values) != expected), None)
        if row is None:
            return ""
        return (
            f"line {row.line:,} has {len(row.values):,} value{'' if len(row.values) == 1 else 's'}, where there are "
            f"{expected:,} columns; give each line as many, and put values that hold a delimiter in quotes."
        )


def _not_a(match: re.Match) -> str:
    return f"{quoted(match.group(2))} is not {_VALUES.get(match.group(1), match.group(1))}"
