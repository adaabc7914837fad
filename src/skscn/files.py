"""Files that are replaced at once: a reader sees the old one or the new one, never a part."""

import os
from pathlib import Path


def replace_file(path: Path, content: bytes) -> None:
    """Write a file beside, then put it in place; one that a crash left behind is written over."""
    partial = path.with_name(f".{path.name}.partial")
    with partial.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(partial, path)
