"""Records in a file, one JSON line each, that survive a kill at any moment."""

import json
import os
from collections.abc import Iterator
from pathlib import Path


def read_lines(path: Path) -> Iterator[dict]:
    """The records of a file, none if there is no file; a last line that was cut off by a kill is removed."""
    if not path.exists():
        return
    content = path.read_bytes()
    whole = content.rfind(b"\n") + 1
    if whole < len(content):
        with path.open("r+b") as file:
            file.truncate(whole)
    yield from map(json.loads, content[:whole].splitlines())


def append_line(path: Path, record: dict) -> None:
    """Add a record; it is on disk when this returns."""
    with path.open("ab") as file:
        file.write(json.dumps(record, separators=(",", ":")).encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())
