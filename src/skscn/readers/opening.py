"""Files of tables opened by their path, whatever their format."""

from __future__ import annotations

import difflib
import shutil
from contextlib import ExitStack
from pathlib import Path
from tempfile import mkdtemp
from typing import IO
from weakref import finalize

from skscn.readers.arrow_files import ArrowFile, ParquetFile
from skscn.readers.errors import DataFileError
from skscn.readers.folders import Folder
from skscn.readers.table_file import TableFile
from skscn.readers.text_files import TextFile

_TEXT_FILES = (".csv", ".tsv", ".txt", ".dat", ".data")
_OTHER_FILES = (".parquet", ".arrow", ".feather")
# The endings that belong to what files without one begin with; else they are text.
_BEGINNINGS = {b"PAR1": ".parquet", b"ARROW1": ".arrow", b"\xff\xff\xff\xff": ".arrow", b"\x1f\x8b": ".csv.gz"}
# From this ratio of common letters on, one name may have been meant for the other.
_ALIKE = 0.75


def open_table(path: str | Path) -> TableFile:
    """Open a table: CSV, TSV or KEEL text, possibly compressed (.gz), Parquet, Arrow, or a folder of such files.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    TableFile

    Raises
    ------
    DataFileError
        Says what is wrong with the file and what to do.
    """
    path = existing_table(path)
    if path.is_dir():
        return _open_folder(path)
    if not path.is_file():
        with path.open("rb") as stream:
            return open_stream(stream, str(path))
    return _open_file(path, str(path))


def existing_table(path: str | Path) -> Path:
    """The path of a table that is there; DataFileError or OSError if there is none, or if it may not be read."""
    path = Path(path).expanduser()
    if not path.exists():
        raise DataFileError(f"There is no file {path}{near_file(path)}")
    if path.is_file():
        path.open("rb").close()
    return path


def open_stream(stream: IO[bytes], place: str) -> TableFile:
    """Open a table that can be read only once, such as standard input or a pipe: a copy is kept in a temporary file.

    Parameters
    ----------
    stream : binary file
    place : str
        What it is called in messages.
    """
    with ExitStack() as cleaning:
        folder = mkdtemp(prefix="skscn-")
        cleaning.callback(shutil.rmtree, folder, ignore_errors=True)
        path = Path(folder) / "table"
        with path.open("wb") as copy:
            shutil.copyfileobj(stream, copy)
        file = _open_file(path, place)
        # The copy goes when the table does, or when the program ends.
        finalize(file, cleaning.pop_all().close)
        return file


def _open_folder(path: Path) -> TableFile:
    files = sorted(file for file in path.iterdir() if file.is_file() and not file.name.startswith((".", "_")))
    if not files:
        raise DataFileError(
            f"The folder {path} contains no files; name one with {', '.join((*_TEXT_FILES, *_OTHER_FILES))} files."
        )
    try:
        return Folder(path, [open_table(file) for file in files])
    except DataFileError as wrong:
        raise DataFileError(f"{wrong} All files in a folder are one table; to read one of them, name it.") from None


def _open_file(path: Path, place: str) -> TableFile:
    if path.stat().st_size == 0:
        raise DataFileError(f"{place} is empty; give a file with a line of column names and rows.")
    ending = "".join(path.suffixes[-2:]).lower() or _sniffed(path)
    if ending.endswith(".parquet"):
        return ParquetFile(path, place)
    if ending.endswith((".arrow", ".feather")):
        return ArrowFile(path, place)
    compressed = ending.endswith(".gz")
    ending = Path(f"table{ending.removesuffix('.gz')}").suffix
    if ending not in _TEXT_FILES:
        raise DataFileError(
            f"{path.name} cannot be read; save the table as CSV, or as another of "
            f"{', '.join((*_TEXT_FILES, *_OTHER_FILES))} (text files also as .gz)."
        )
    return TextFile(path, ending, place, compressed)


def _sniffed(path: Path) -> str:
    """The ending that a file without one should have."""
    with path.open("rb") as file:
        beginning = file.read(max(map(len, _BEGINNINGS)))
    return next((ending for sign, ending in _BEGINNINGS.items() if beginning.startswith(sign)), ".csv")


def near_file(path: Path) -> str:
    """The end of a sentence about a file that is not there: one nearby that may have been meant."""
    folder = path.parent
    names = [file.name for file in folder.iterdir() if _is_near(file, path)] if folder.is_dir() else []
    near = difflib.get_close_matches(path.name, names, n=1, cutoff=0.0)
    return f"; did you mean {folder / near[0]}?" if near else "."


def _is_near(file: Path, path: Path) -> bool:
    """Whether both the name and the ending, if there is one, are nearly the same."""
    parts = [(file.stem, path.stem), *([(file.suffix, path.suffix)] if path.suffix else [])]
    return all(difflib.SequenceMatcher(None, a.casefold(), b.casefold()).ratio() >= _ALIKE for a, b in parts)
