"""Rows of text that arrive line by line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from skscn.readers.dialect import Dialect, find_dialect
from skscn.readers.text_rows import scan
from skscn.words import count, quoted


class LinesOfText:
    """Rows of a stream of text, each as soon as its line is there; the first line has the names of the columns.

    Delimiter and decimal sign follow from the first two lines. A row is one line.
    """

    def __init__(self, stream: BinaryIO, label: str):
        self._stream, self._label = stream, label
        header, self._first = stream.readline(), stream.readline()
        self._dialect: Dialect = find_dialect(label, ".csv", header + self._first)
        self.names, self.decimal = self._dialect.names, self._dialect.decimal

    def __iter__(self) -> Iterator[bytes]:
        line = self._first
        while line:
            if line.strip():
                yield line
            line = self._stream.readline()

    def cells(self, line: bytes) -> dict[str, str]:
        """What is written in each column."""
        text = line.decode(self._dialect.encoding).rstrip("\r\n")
        (row,) = scan([text], self._dialect.delimiter)
        if not row.closed:
            raise ValueError(f"a quote is opened and never closed: {quoted(text)}.")
        if len(row.values) != len(self.names):
            raise ValueError(
                f"A row of {self._label} has {count(len(row.values), 'value')} for "
                f"{count(len(self.names), 'column')}: {quoted(text)}."
            )
        return dict(zip(self.names, row.values, strict=True))
