"""``skscn fit``: the model file is written before and after the tests, and what has grown is kept at Ctrl-C."""

from __future__ import annotations

import inspect
import shlex
import time as clock
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from skscn.cli.console import Console, as_options, check_files
from skscn.cli.interrupts import later
from skscn.cli.options import FIT_OPTIONS, Data, Json, Quiet, data_name, open_data, read_parameters

if TYPE_CHECKING:
    from skscn.readers import TableFile
    from skscn.table_model import TableModel


def fit(
    data: Data,
    model: Annotated[
        Path, typer.Option("--model", "-m", "-o", metavar="FILE", help="The model file to write, such as houses.scn.")
    ],
    as_json: Json = False,
    quiet: Quiet = False,
    **options: Any,
) -> None:
    """Train a model that predicts one column of a table from the others, and write it to a file.

    Columns can contain numbers, text, dates, booleans and missing values; the notes say how they are encoded.

    If the dates in a column increase with the rows, the rows are treated as a time series (see --time).

    Ctrl-C saves what has been trained so far (next to the model file if it already exists) and exits with code 130.

    Example: skscn fit houses.csv --target price --model houses.scn
    """
    parameters = read_parameters(options)
    check_files(model, [data])
    file = open_data(data)
    for name in (
        *(parameters[name] for name in ("target", "weight", "group", "time")),
        *parameters["drop"],
        *(parameters["monotone"] or ()),
    ):
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
    [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in (_data, _model, *FIT_OPTIONS, *_others)]
)
fit.__annotations__ |= {option.name: option.annotation for option in FIT_OPTIONS}


def _run(model: TableModel, file: TableFile, data: Path, path: Path, console: Console) -> None:
    """Fit a model, save it before and after its tests, and print a summary."""
    with later():
        from skscn.cli.growth import Growth
        from skscn.table_model.description import describe_fit
    started, written = clock.perf_counter(), list[Path]()

    def save(trained: TableModel) -> None:
        # Only a model that is whole and tested replaces another.
        out = path_to_write(path)
        trained.record_["data"] = data_name(data)
        trained.save(out)
        written.append(out)

    with Growth(console, save) as growth:
        try:
            model.fit(file, observer=growth)
        except KeyboardInterrupt:
            raise KeyboardInterrupt("nothing had finished, so no model was written") from None
    before = written[0]
    out = before if growth.interrupted else path
    try:
        model.save(out)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"{before} contains the model, without the results of its tests") from None
    if out != before:
        before.unlink()
    listing = f"skscn evaluate {shlex.quote(str(out))} {shlex.quote(str(data))} --outliers outliers.csv"
    console.result(*describe_fit(model, out, clock.perf_counter() - started, listing))
    if growth.interrupted:
        cut_short = model.record_["interrupted"]
        holds = "what had been trained" if cut_short else "the whole model; only its tests were cut short"
        kept = f"; {path} is unchanged" if out != path else ""
        console.note(f"Interrupted: {out} contains {holds}{kept}.")
        raise typer.Exit(130)


def path_to_write(path: Path) -> Path:
    """The file for a model that is not tested yet, or was cut short: next to a model that is there."""
    return path.with_name(f"{path.stem}.partial{path.suffix}") if path.exists() else path
