"""Records in a file, one JSON line each, that survive a kill at any moment."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

Record: TypeAlias = dict[str, Any]


class KeyedLines:
    """Results in a file of JSON lines, each under a key of several names.

    Parameters
    ----------
    path : Path
        Its folder is made if it is missing.
    names : tuple of str
        Names of the parts of a key in the file.
    """

    def __init__(self, path: Path, names: tuple[str, ...]):
        self.path, self.names = path, names
        path.parent.mkdir(parents=True, exist_ok=True)
        self.results: dict[tuple[Any, ...], Record] = {}
        for record in read_lines(path):
            self.results[tuple(record.pop(name) for name in names)] = record

    def add(self, key: tuple[Any, ...], result: Record) -> None:
        """Keep a result; it is on disk when this returns."""
        append_line(self.path, dict(zip(self.names, key, strict=True)) | result)
        self.results[key] = result


def read_lines(path: Path) -> Iterator[Record]:
    """The records of a file, none if there is no file; a last line that was cut off by a kill is removed."""
    if not path.exists():
        return
    content = path.read_bytes()
    whole = content.rfind(b"\n") + 1
    if whole < len(content):
        with path.open("r+b") as file:
            file.truncate(whole)
    yield from map(json.loads, content[:whole].splitlines())


def append_line(path: Path, record: Record) -> None:
    """Add a record; it is on disk when this returns."""
    with path.open("ab") as file:
        file.write(json.dumps(record, separators=(",", ":")).encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())
