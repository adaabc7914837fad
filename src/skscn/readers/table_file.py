"""What all files of tables have in common."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from skscn.words import not_found, quoted, refuse_twins

if TYPE_CHECKING:
    import pyarrow as pa

# The names that pandas gives to columns of row labels.
ROW_LABELS = re.compile(r"__index_level_\d+__")


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
            if not self.names:
                raise ValueError(f"There are no columns in {self.label}, so none is named {quoted(name)}.")
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
    def schema(self) -> pa.Schema:
        """The types of the columns: as the file says, or, for a text file, as its first rows show."""

    @abstractmethod
    def read(self, columns: list[str] | None = None, exact: Sequence[str] = ()) -> pa.Table:
        """The table; the types of its columns are inferred from all rows.

        Columns that must be ``exact`` stay text where they hold booleans, or whole numbers that are too large for a
        float.
        """

    @abstractmethod
    def head(self, columns: list[str], exact: Sequence[str] = ()) -> pa.Table:
        """The first rows, some megabytes of them; as :meth:`read`."""

    @abstractmethod
    def batches(
        self, types: Mapping[str, pa.DataType | str | None], max_rows: int | None = None, missing: Collection[str] = ()
    ) -> Iterator[pa.Table]:
        """Tables of some consecutive rows each, with these columns; those of a text file read as the types given.

        A type may be given by its name, such as "double", which does not need pyarrow.
        ``max_rows`` is the largest number of rows in a table; by default as many as suit the format. In columns of
        numbers, the words ``missing`` stand for missing values, in addition to those of ``readers/missing.py``.
        """

    def verbatim(self, names: list[str]) -> Iterator[pa.Table]:
        """Tables of some consecutive rows each, with these columns as they are; those of a text file as text."""
        return self.batches(dict.fromkeys(names))
