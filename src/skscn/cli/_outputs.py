"""Where a command may write: checked before any work, so that neither files nor time are lost."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from skscn.files import check_writable

# How the names of tables that commands write may end.
TABLE_ENDINGS = (".csv", ".tsv", ".parquet")


def check_output(out: Path, inputs: Iterable[Path], endings: Sequence[str] = ()) -> None:
    """Raise ValueError or OSError if a file cannot be written here, or if writing would destroy one of the inputs.

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
    check_writable(out)
    for path in inputs:
        if out.exists() and any(out.samefile(file) for file in _files(path)):
            raise ValueError(f"{out} is one of the input files; writing to it would destroy it. Choose another name.")


def _files(path: Path) -> list[Path]:
    """The file, or those of a folder."""
    return [file for file in (path.iterdir() if path.is_dir() else [path]) if file.exists()]
