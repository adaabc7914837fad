"""Arguments and options that several commands have."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from skscn.readers import TableFile

STANDARD_INPUT = "standard input"


def open_data(path: Path) -> TableFile:
    """Open a table; "-" is standard input."""
    from skscn.readers import open_stream, open_table

    return open_stream(sys.stdin.buffer, STANDARD_INPUT) if str(path) == "-" else open_table(path)


def data_name(path: Path) -> str:
    """How files and messages refer to a table."""
    return STANDARD_INPUT if str(path) == "-" else path.name


def _existing_model(path: Path) -> Path:
    """The path of a model file; ValueError if there is none, before anything is imported that reads model files."""
    if not path.exists():
        from skscn.readers import near_file

        raise ValueError(f"There is no model file {path}{near_file(path)}")
    return path


def existing_data(path: Path | None) -> Path | None:
    """The path of a table; ValueError or OSError if it is not there, before a model is read."""
    if path is not None and str(path) != "-":
        from skscn.readers import existing_table

        existing_table(path)
    return path


def _share(coverage: float | None) -> float | None:
    if coverage is not None and not 0.0 < coverage < 1.0:
        raise typer.BadParameter("must lie between 0 and 1, for example 0.9.")
    return coverage


ModelArgument = Annotated[
    Path, typer.Argument(metavar="MODEL", help="A model file written by fit.", callback=_existing_model)
]
DataArgument = Annotated[
    Path,
    typer.Argument(
        metavar="DATA",
        help="A table: a .csv, .tsv, .txt (each also as .gz), .parquet, .arrow, .feather or .dat file, a folder of "
        "such files, or - for standard input.",
        callback=existing_data,
    ),
]
TargetName = Annotated[
    str | None,
    typer.Option("--target", "-t", help="The target column, needed only if the model file does not name it."),
]
Json = Annotated[bool, typer.Option("--json", help="Print the result as a JSON object.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Hide notes and progress.")]
OutTable = Annotated[
    Path | None,
    typer.Option(
        "--out",
        "-o",
        help="The .csv, .tsv or .parquet file to write. By default CSV is written to standard output.",
    ),
]
CoverageOption = Annotated[
    float | None,
    typer.Option(
        "--interval",
        metavar="COVERAGE",
        callback=_share,
        help="Add a prediction interval that covers this share of the targets, for example 0.9.",
    ),
]
KeepOption = Annotated[
    list[str] | None, typer.Option("--keep", help="A column of DATA to copy to the output; can be repeated.")
]
