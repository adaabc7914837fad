"""What is said about a file that cannot be read."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterable
from itertools import islice
from types import TracebackType

from skscn.readers.arrow import arrow
from skscn.readers.text_rows import LONGEST_ROW, Row
from skscn.words import quoted

# What a value of a type of Arrow is, in words.
_VALUES = {
    "double": "a number",
    "int64": "a whole number",
    "bool": "true or false",
    "timestamp": "a date",
    "time64": "a time of day",
}


class DataFileError(ValueError):
    """Raised for a data file that is missing or does not have the expected contents."""


class Readable:
    """Within, what Arrow finds wrong with a file becomes a sentence.

    ``rows`` gives the rows of a text file with their lines, after ``skipped`` ones.
    """

    def __init__(self, place: str, names: list[str], rows: Callable[[], Iterable[Row]] = list, skipped: int = 0):
        self._place, self._names, self._rows, self._skipped = place, names, rows, skipped

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            return
        if isinstance(error, UnicodeDecodeError):
            raise DataFileError(
                f"{self._place} is not {error.encoding.upper()} throughout, or ends within a character; save it as "
                "UTF-8 and try again."
            ) from None
        if isinstance(error, arrow().ArrowInvalid | OSError | EOFError | zlib.error):
            raise DataFileError(f"{self._place} cannot be read: {self._in_words(str(error))}") from None

    def _in_words(self, message: str) -> str:
        if is_too_long(message):
            return (
                f"a row has more than {LONGEST_ROW // 2**20} MB, which is too long for a table; check its line breaks "
                "and quotes."
            )
        ragged = self._ragged() if "columns, got" in message else ""
        if ragged:
            return ragged
        message = (message.strip().splitlines() or ["it ends too early"])[0]
        message = message.removeprefix("CSV parse error: ")
        message = re.sub(r"In CSV column #(\d+): ", self._column, message)
        message = re.sub(r"Row #(\d+): ", self._line, message)
        message = re.sub(r"CSV conversion error to (\w+).*?: invalid value '(.*)'", _not_a, message)
        return message[:300].rstrip(".") + "."

    def _column(self, match: re.Match[str]) -> str:
        place = int(match.group(1))
        return f"column {quoted(self._names[place])}, " if place < len(self._names) else ""

    def _line(self, match: re.Match[str]) -> str:
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


def is_too_long(message: str) -> bool:
    """Whether Arrow says that a row, or the lines above the rows, did not fit into a block."""
    return "straddl" in message or "larger than block size" in message


def _not_a(match: re.Match[str]) -> str:
    return f"{quoted(match.group(2))} is not {_VALUES.get(match.group(1), match.group(1))}"
