"""The rows of a text file, with their lines: found in Python, to look at a few and to say where one is damaged."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache

# The most characters of a row; a quote that is still open then was never meant to be one.
LONGEST_ROW = 2**26


@dataclass(frozen=True)
class Row:
    """Values of a text file, the line on which they begin, and the one on which they end.

    ``closed`` is False where a quote is not closed in its row: the text ends before, or the quote that closes it in a
    later line is followed by more of the value, and so was meant to open another one.
    """

    values: list[str]
    line: int
    end: int
    closed: bool = True


def scan(lines: Iterable[str], delimiter: str, first: int = 1) -> Iterator[Row]:
    """The rows of a text as Arrow reads them; blank lines are skipped, and a quoted value may take several lines.

    ``first`` is the number of the first line.
    """
    numbered = enumerate(lines, start=first)
    for number, line in numbered:
        if '"' not in line:
            text = line.rstrip("\r\n")
            if text:
                yield Row(text.split(delimiter), number, number)
            continue
        end, values = number, _values(line, delimiter)
        while not values:
            more, end = _until_quote(numbered, end)
            line += more
            if values is not None or not more or len(line) > LONGEST_ROW:
                yield Row([], number, end, closed=False)
                return
            values = _values(line, delimiter)
        yield Row(values, number, end)


def _until_quote(numbered: Iterator[tuple[int, str]], end: int) -> tuple[str, int]:
    """The lines up to the next one with a quote, where an open one may be closed, and the number of the last."""
    lines, length = [], 0
    for number, line in numbered:
        lines.append(line)
        end, length = number, length + len(line)
        if '"' in line or length > LONGEST_ROW:
            break
    return "".join(lines), end


def _values(text: str, delimiter: str) -> list[str] | None:
    """The values of one row; None where a quote is still open, and none if it was closed in a later line by mistake."""
    pattern, values, place = _value(delimiter), [], 0
    while True:
        match = pattern.match(text, place)
        assert match is not None, "the pattern fits everything"
        quoted, closing, rest, plain, end = match.groups()
        if quoted is not None and not closing:
            return None
        if quoted is not None and rest.strip() and "\n" in quoted:
            return []
        values.append(plain if quoted is None else quoted.replace('""', '"') + rest)
        place = match.end()
        if end != delimiter:
            return values


@cache
def _value(delimiter: str) -> re.Pattern[str]:
    sign = re.escape(delimiter)
    rest = rf"([^{sign}\r\n]*)"
    return re.compile(rf'(?:"([^"]*(?:""[^"]*)*)("?){rest}|{rest})({sign}|\r\n|\r|\n|\Z)')
