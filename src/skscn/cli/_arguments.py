"""What several commands take: a model, a table, a target, and how results are given."""

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


def _existing_model(path: Path) -> Path:
    """The path of a model file; ValueError if there is none, before anything is imported that reads model files."""
    if not path.exists():
        from skscn.readers import near_file

        raise ValueError(f"There is no model file {path}{near_file(path)}")
    return path


ModelArgument = Annotated[
    Path, typer.Argument(metavar="MODEL", help="A model file written by fit.", callback=_existing_model)
]
DataArgument = Annotated[
    Path,
    typer.Argument(
        metavar="DATA",
        help="A table: a .csv, .tsv, .txt (each also as .gz), .parquet, .arrow, .feather or .dat file, a folder of "
        "such files, or - for standard input.",
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
Interval = Annotated[
    float | None,
    typer.Option(
        metavar="COVERAGE", help="Add a prediction interval that covers this share of the targets, for example 0.9."
    ),
]
