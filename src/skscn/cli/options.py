"""Arguments and options of commands; those of ``fit`` follow from the parameters of TableModel."""

from __future__ import annotations

import ast
import inspect
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from skscn.cli.console import OPTION_NAMES, as_options
from skscn.table_model.parameters import DECLARATIONS

if TYPE_CHECKING:
    from skscn.readers import TableFile

STANDARD_INPUT = "standard input"
_LONGEST_LAG = 100_000
_MEGABYTE = 2**20
# As `skscn inspect` shows them, or as in Python.
_SIGNS = {"+": 1, "-": -1, "1": 1, "-1": -1}
_SETTING_WORDS = {"true": "True", "false": "False", "none": "None"}


def open_data(path: Path) -> TableFile:
    """Open a table; "-" is standard input."""
    from skscn.readers import open_stream, open_table

    return open_stream(sys.stdin.buffer, STANDARD_INPUT) if str(path) == "-" else open_table(path)


def data_name(path: Path) -> str:
    """How files and messages refer to a table."""
    return STANDARD_INPUT if str(path) == "-" else path.name


# Options of several commands.


def _existing_model(path: Path) -> Path:
    """The path of a model file; ValueError if there is none, before anything is imported that reads model files."""
    if not path.exists():
        from skscn.readers import near_file

        raise ValueError(f"There is no model file {path}{near_file(path)}")
    return path


def _share(coverage: float | None) -> float | None:
    if coverage is not None and not 0.0 < coverage < 1.0:
        raise typer.BadParameter("must lie between 0 and 1, for example 0.9.")
    return coverage


_TABLE = (
    "A table: a .csv, .tsv, .txt (each also as .gz), .parquet, .arrow, .feather or .dat file, a folder of such files,"
)
_OUT = "The .csv, .tsv or .parquet file to write. By default CSV is written to standard output."
_COVERAGE = "Add a prediction interval that covers this share of the targets, for example 0.9."
_INPUTS = "A table with the inputs of the rows to forecast and their times, for models that have inputs."
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A model file written by fit.", callback=_existing_model)]
Data = Annotated[Path, typer.Argument(metavar="DATA", help=f"{_TABLE} or - for standard input.")]
Inputs = Annotated[Path | None, typer.Option("--inputs", "-i", metavar="TABLE", help=_INPUTS)]
TargetName = Annotated[
    str | None,
    typer.Option(
        "--target", "-t", metavar="COLUMN", help="The target column, needed only if the model file does not name it."
    ),
]
OutTable = Annotated[Path | None, typer.Option("--out", "-o", metavar="FILE", help=_OUT)]
Coverage = Annotated[float | None, typer.Option("--interval", metavar="COVERAGE", callback=_share, help=_COVERAGE)]
Proba = Annotated[bool, typer.Option("--proba", help="Add the probability of each class.")]
Keep = Annotated[
    list[str] | None,
    typer.Option("--keep", metavar="COLUMN", help="A column of the rows to copy to the output; can be repeated."),
]
Json = Annotated[bool, typer.Option("--json", help="Print the result as a JSON object.")]
JsonOfOut = Annotated[
    bool, typer.Option("--json", help="With --out: print what was done, and notes, as a JSON object.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Hide notes and progress.")]
Seed = Annotated[int, typer.Option(metavar="N", help="Random seed.")]


def check_json(as_json: bool, out: Path | None) -> None:
    """Raise BadParameter if a JSON object and a table would both go to standard output."""
    if as_json and out is None:
        raise typer.BadParameter("needs --out: the table itself goes to standard output.", param_hint="--json")


# Options of fit.


def _option(name: str) -> inspect.Parameter:
    """The option for a parameter of TableModel."""
    declared, flags = DECLARATIONS[name], [f"--{OPTION_NAMES.get(name, name).replace('_', '-')}", *_SHORT.get(name, [])]
    kind: Any = _KINDS.get(name, int if declared.least is not None else str)
    if declared.choices:
        kind = Literal[declared.choices]
    default = _DEFAULTS.get(name, declared.default)
    optional = kind | None if default is None else kind
    text = re.sub(rf"``({'|'.join(DECLARATIONS)})``", r"--\1", declared.text)
    text = as_options(text.replace("``", "")).replace('"', "") + (" Can be repeated." if kind == list[str] else "")
    option = typer.Option(*flags, metavar=declared.value, min=declared.least, help=text)
    return _keyword(name, Annotated[optional, option], default)


def _keyword(name: str, kind: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=kind, default=default)


_SHORT = {"target": ["-t"], "n_jobs": ["-j"]}
_KINDS = {"feedback": bool, "n_jobs": int, "drop": list[str], "monotone": list[str], "parameters": list[str]}
_DEFAULTS = {"target": inspect.Parameter.empty, "n_jobs": -1, "drop": None}
_NO_TIME = "Ignore the order of the rows, and use dates as inputs like other columns."
FIT_OPTIONS = [
    *(_option(name) for name in DECLARATIONS if name != "verbose"),
    _keyword("no_time", Annotated[bool, typer.Option("--no-time", help=_NO_TIME)], False),
    # Names of version 0.2.
    _keyword("cv", Annotated[int | None, typer.Option("--cv", min=0, hidden=True)], None),
    _keyword("quantile", Annotated[float | None, typer.Option("--quantile", hidden=True)], None),
    _keyword("shuffle", Annotated[bool, typer.Option("--shuffle", hidden=True)], False),
]


def read_parameters(options: dict[str, Any]) -> dict[str, Any]:
    """The parameters of TableModel that the options of fit stand for; those of version 0.2 too."""
    cv, quantile, shuffle = (options.pop(name) for name in ("cv", "quantile", "shuffle"))
    no_time = options.pop("no_time") or shuffle
    if no_time and options["time"] is not None:
        raise typer.BadParameter("cannot be combined with --time; use one of them.", param_hint="--no-time")
    if quantile is not None:
        if options["loss"] != "quantile":
            raise typer.BadParameter("needs --loss quantile.", param_hint="--quantile")
        options["loss"] = f"quantile:{quantile}"
    limit = options["memory_limit"]
    return {
        **options,
        "time": False if no_time else options["time"],
        "folds": options["folds"] if cv is None else cv,
        "lags": _read_lags(options["lags"]),
        "bounds": _read_bounds(options["bounds"]),
        "monotone": _read_signs(options["monotone"] or []),
        "drop": options["drop"] or [],
        "parameters": read_settings(options["parameters"] or []) or None,
        "memory_limit": None if limit is None else limit * _MEGABYTE,
    }


def _read_lags(text: str | None) -> str | list[int] | None:
    """The lags in an option: auto, or numbers of rows separated by commas."""
    if text is None or text == "auto":
        return text
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() and 1 <= int(part) <= _LONGEST_LAG for part in parts):
        raise typer.BadParameter(
            f"must be auto, or numbers of rows from 1 to {_LONGEST_LAG:,} such as 1,2,5; got {text!r}.",
            param_hint="--lags",
        )
    return sorted({int(part) for part in parts})


def _read_bounds(text: str | None) -> tuple[float, ...] | None:
    """The limits in an option, such as 0,100."""
    try:
        return None if text is None else tuple(map(float, text.split(",")))
    except ValueError:
        raise typer.BadParameter(f"must be two numbers, such as 0,100; got {text!r}.", param_hint="--bounds") from None


def _read_signs(texts: list[str]) -> dict[str, int] | None:
    """The signs of columns in options such as steam=+."""
    signs = {}
    for text in texts:
        name, _, sign = text.rpartition("=")
        if not name or sign not in _SIGNS:
            raise typer.BadParameter(f"must be COLUMN=+ or COLUMN=-; got {text!r}.", param_hint="--monotone")
        signs[name] = _SIGNS[sign]
    return signs or None


def read_settings(texts: list[str]) -> dict[str, Any]:
    """The values of "name=value" arguments, by name."""
    settings = {}
    for text in texts:
        name, sign, value = (part.strip() for part in text.partition("="))
        if not sign:
            raise typer.BadParameter(f"needs name=value, for example max_nodes=200; got {text!r}.", param_hint="--set")
        try:
            settings[name] = ast.literal_eval(_SETTING_WORDS.get(value.lower(), value))
        except (ValueError, SyntaxError):
            settings[name] = value
    return settings
