"""What several commands take: a model, a table, a target, and how results are given."""

from pathlib import Path
from typing import Annotated

import typer

ModelArgument = Annotated[Path, typer.Argument(metavar="MODEL", help="A model file written by fit.")]
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
