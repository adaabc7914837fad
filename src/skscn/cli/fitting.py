"""``skscn fit``: options that follow from the parameters of TableModel, the model file, and the summary."""

from __future__ import annotations

import ast
import inspect
import shlex
import time as clock
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from skscn.cli.arguments import DataArgument, Json, Quiet, data_name, open_data
from skscn.cli.console import OPTION_NAMES, Console, as_options, check_output
from skscn.cli.interrupts import later
from skscn.table_model.parameters import DECLARATIONS, KINDS
from skscn.words import count, size

if TYPE_CHECKING:
    from skscn.readers import TableFile
    from skscn.table_model import TableModel

_LONGEST_LAG = 100_000
_MEGABYTE = 2**20
_SETTING_WORDS = {"true": "True", "false": "False", "none": "None"}


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


def _read_bounds(text: str | None) -> tuple[float, float] | None:
    """The limits in an option, such as 0,100."""
    if text is None:
        return None
    try:
        low, high = map(float, text.split(","))
    except ValueError:
        low, high = 1.0, 0.0
    if not low < high:
        raise typer.BadParameter(
            f"must be two numbers in increasing order, such as 0,100; got {text!r}.", param_hint="--bounds"
        )
    return low, high


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


def _option(name: str, kind: Any, *flags: str, **details: Any) -> inspect.Parameter:
    """An option of the name, the text and the default of a parameter of TableModel."""
    declared = DECLARATIONS[name]
    flag = f"--{OPTION_NAMES.get(name, name).replace('_', '-')}"
    details.setdefault("help", as_options(declared.text.replace("``", "")).replace('"', ""))
    default = details.pop("default", declared.default)
    option = typer.Option(flag, *flags, **details)
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=Annotated[kind, option], default=default)


def _own(name: str, kind: Any, flag: str, default: Any = None, **details: Any) -> inspect.Parameter:
    """An option that is no parameter of TableModel, or has the name that it had in an earlier version."""
    option = typer.Option(flag, **details)
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=Annotated[kind, option], default=default)


def _choice(name: str, *values: str) -> Any:
    """The type of an option that has one of some values."""
    return StrEnum(name, [(value.upper(), value) for value in values])


_OPTIONS = [
    _option("target", str, "-t", default=inspect.Parameter.empty, help="The column to predict."),
    _option("task", _choice("Task", "auto", "regression", "classification")),
    _option("estimator", _choice("Kind", *KINDS)),
    _option("loss", str | None),
    _option("class_weight", _choice("ClassWeight", "balanced") | None),
    _option("time", str | None, metavar="COLUMN"),
    _own(
        "no_time",
        bool,
        "--no-time",
        False,
        help="Ignore the order of the rows, and use dates as inputs like other columns.",
    ),
    _option("every", str | None, metavar="5min"),
    _option("group", str | None, metavar="COLUMN"),
    _option("lags", str | None, metavar="auto|1,2,5"),
    _option("delay", int | None, min=1, metavar="ROWS"),
    _option("feedback", bool),
    _option("bounds", str | None, metavar="LOW,HIGH"),
    _option("drop", list[str] | None, default=None, help="A column to ignore; can be repeated."),
    _option("weight", str | None),
    _option("folds", int | None, min=0),
    _option("dates", _choice("Dates", "auto", "day-first", "month-first")),
    _own(
        "settings",
        list[str] | None,
        "--set",
        metavar="NAME=VALUE",
        help="Set a parameter of the model, for example max_nodes=200; can be repeated.",
    ),
    _option("random_state", int, min=0),
    _option("n_jobs", int, "-j", default=-1),
    _option(
        "memory_limit",
        int | None,
        min=1,
        metavar="MB",
        help="Megabytes that training may use; tables that are too large for it are read from disk in chunks. By "
        "default, a quarter of all memory.",
    ),
    # Names of version 0.2.
    _own("cv", int | None, "--cv", min=0, hidden=True),
    _own("quantile", float | None, "--quantile", hidden=True),
    _own("shuffle", bool, "--shuffle", False, hidden=True),
]


def fit(
    data: DataArgument,
    model: Annotated[
        Path, typer.Option("--model", "-m", "-o", help="The model file to write, for example houses.scn.")
    ],
    as_json: Json = False,
    quiet: Quiet = False,
    **options: Any,
) -> None:
    """Train a model that predicts one column of a table from the others, and write it to a file.

    Columns can contain numbers, text, dates, booleans and missing values; the notes say how they are encoded.

    If the dates in a column increase with the rows, the rows are treated as a time series (see --time).

    Ctrl-C saves what has been trained so far (next to MODEL if that file already exists) and exits with code 130.

    Example: skscn fit houses.csv --target price --model houses.scn
    """
    parameters = _parameters(options)
    check_output(model, [data])
    file = open_data(data)
    for name in [
        parameters["target"],
        parameters["weight"],
        parameters["group"],
        parameters["time"],
        *parameters["drop"],
    ]:
        if isinstance(name, str):
            file.find(name)
    # Columns are checked before what takes a second to import.
    with later():
        from skscn.table_model import TableModel
        from skscn.table_model.settings import FitSettings, check_combination

    table_model = TableModel(**parameters)
    try:
        check_combination(table_model)
        FitSettings.of(table_model)
    except ValueError as error:
        raise typer.BadParameter(as_options(str(error))) from None
    _run(table_model, file, data, model, Console(quiet, as_json))


_data, _model, *_others = list(inspect.signature(fit, eval_str=True).parameters.values())[:-1]
vars(fit)["__signature__"] = inspect.Signature(
    [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in (_data, _model, *_OPTIONS, *_others)]
)
fit.__annotations__ |= {option.name: option.annotation for option in _OPTIONS}


def _parameters(options: dict[str, Any]) -> dict[str, Any]:
    """The parameters of TableModel that options stand for; those of earlier versions too."""
    cv, quantile, shuffle = (options.pop(name) for name in ("cv", "quantile", "shuffle"))
    no_time, settings = options.pop("no_time") or shuffle, options.pop("settings") or []
    if no_time and options["time"] is not None:
        raise typer.BadParameter("cannot be combined with --time; use one of them.", param_hint="--no-time")
    if quantile is not None:
        if options["loss"] != "quantile":
            raise typer.BadParameter("needs --loss quantile.", param_hint="--quantile")
        options["loss"] = f"quantile:{quantile}"
    limit = options["memory_limit"]
    options = {name: str(value) if isinstance(value, StrEnum) else value for name, value in options.items()}
    return {
        **options,
        "time": False if no_time else options["time"],
        "folds": options["folds"] if cv is None else cv,
        "lags": _read_lags(options["lags"]),
        "bounds": _read_bounds(options["bounds"]),
        "drop": options["drop"] or [],
        "parameters": read_settings(settings) or None,
        "memory_limit": None if limit is None else limit * _MEGABYTE,
    }


def _run(model: TableModel, file: TableFile, data: Path, path: Path, console: Console) -> None:
    """Fit a model, save it before and after its tests, and print a summary."""
    with later():
        from skscn.cli.growth import Growth
    started, written = clock.perf_counter(), list[Path]()

    def save(trained: TableModel) -> None:
        out = path_to_write(path, trained.record_["interrupted"])
        trained.record_["data"] = data_name(data)
        trained.save(out)
        written.append(out)

    with Growth(console, save) as growth:
        try:
            model.fit(file, observer=growth)
        except KeyboardInterrupt:
            raise KeyboardInterrupt("nothing had finished, so no model was written") from None
    out = written[0]
    try:
        model.save(out)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"{out} contains the model, without the results of its tests") from None
    console.result(*_summary(model, out, clock.perf_counter() - started, data))
    if growth.interrupted:
        cut_short = model.record_["interrupted"]
        holds = "what had been trained" if cut_short else "the whole model; only its tests were cut short"
        kept = f"; {path} is unchanged" if out != path else ""
        console.note(f"Interrupted: {out} contains {holds}{kept}.")
        raise typer.Exit(130)


def path_to_write(path: Path, cut_short: bool) -> Path:
    """The file to write: a model that was cut short does not replace another, it goes next to it."""
    return path.with_name(f"{path.stem}.partial{path.suffix}") if cut_short and path.exists() else path


def _summary(model: TableModel, path: Path, seconds: float, data: Path) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """The facts, and the lines of a heading and a text, about a fit."""
    from skscn.estimators.networks import grown_networks
    from skscn.losses import OUTLIER
    from skscn.table_model.description import describe_columns, describe_networks, estimates
    from skscn.table_model.rows import added_columns, lag_lines

    encoder, record, assessment = model.encoder_, model.record_, model.assessment_
    tests, outliers = assessment.tests, record["outliers"]
    facts = {
        "model": str(path),
        "target": model.target_.name,
        "task": model.target_.task,
        "rows": model.n_rows_,
        "columns": [column.name for column in encoder.columns_],
        "estimator": type(model.estimator_).__name__,
        "loss": model.loss_,
        "counts": record.get("counts"),
        "outliers": outliers,
        "nodes": [network.n_nodes_ for network in grown_networks(model.estimator_)],
        "interrupted": record["interrupted"],
        "tested": record["tested"],
        "time": encoder.time_,
        "lags": None if model.lags_ is None else added_columns(model.lags_, encoder),
        "warnings": list(map(str, assessment.cautions)),
        "cautions": [{"code": caution.code, "text": str(caution)} for caution in assessment.cautions],
        "notes": encoder.notes_,
        "seconds": round(seconds, 3),
    }
    time_taken = f"in {seconds:.1f} s{' including tests' if tests else ''}"
    lines = [
        ("Model", f"{path} ({size(path.stat().st_size)}), {describe_networks(model.estimator_)}"),
        ("Trained on", f"{count(model.n_rows_, 'row')}, {describe_columns(encoder)}, {time_taken}"),
        *lag_lines(model.lags_, encoder),
        *estimates(model.estimator_),
        *(tests.lines() if tests else []),
        *([("Counts", record["counts"])] if record.get("counts") else []),
    ]
    if outliers is not None:
        look = "looks like an outlier" if outliers == 1 else "look like outliers"
        found = f"{outliers:,} of {count(model.n_rows_, 'training row')} {look} (weight below {OUTLIER:g})"
        listing = f"skscn evaluate {shlex.quote(str(path))} {shlex.quote(str(data))} --outliers outliers.csv"
        lines.append(("Outliers", f"{found}; to list them: {listing}" if outliers else found))
    return facts, [*lines, *(("Caution", str(caution)) for caution in assessment.cautions)]
