"""Where a command may write: looked at before any work, so that nothing is lost, neither files nor time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path


def check_output(out: Path, inputs: Iterable[Path], endings: Sequence[str] = ()) -> None:
    """Raise ValueError if a file cannot be written here, or if writing it would destroy one of the inputs.

    Parameters
    ----------
    out : Path
        The file to write.
    inputs : iterable of Path
        Files that the command reads, or folders of them.
    endings : sequence of str
        How its name may end; empty for anything.
    """
    if endings and out.suffix.lower() not in endings:
        one = f"one of {', '.join(endings)}" if len(endings) > 1 else endings[0]
        raise ValueError(f"{out.name} must end in {one}.")
    if out.is_dir():
        raise ValueError(f"{out} is a folder; give the name of the file to write.")
    if not out.parent.is_dir():
        raise ValueError(f"There is no folder {out.parent}; make it first.")
    for path in inputs:
        if out.exists() and any(out.samefile(file) for file in _files(path)):
            raise ValueError(f"{out} is what is read; writing to it would destroy it. Give another name.")


def _files(path: Path) -> list[Path]:
    """The file, or those of a folder."""
    return [file for file in (path.iterdir() if path.is_dir() else [path]) if file.exists()]
