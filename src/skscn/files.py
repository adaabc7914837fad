"""Files that are replaced at once: a reader sees the old one or the new one, never a part."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A file beside to write to, put in place at the end; one that a crash left behind is written over."""
    partial = path.with_name(f".{path.name}.partial")
    try:
        with partial.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def replace_file(path: Path, content: bytes) -> None:
    """Write a file beside, then put it in place."""
    with replacing(path) as file:
        file.write(content)
