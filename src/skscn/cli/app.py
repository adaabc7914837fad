"""The commands. Each imports what it needs when it runs, so that help, and what is wrong with options, come at once."""

from __future__ import annotations

import os
import re
import sys
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from typer.core import TyperCommand, TyperGroup

from skscn import __version__
from skscn.cli import options
from skscn.cli.console import Console, as_options, check_files, progress_bar, write_text
from skscn.cli.fitting import fit
from skscn.cli.options import open_data
from skscn.datasets import EXAMPLE_ROWS, write_example
from skscn.extras import optional
from skscn.files import make_folder, replacing
from skscn.readers.writing import TABLE_ENDINGS, table_writer
from skscn.words import count, printable

# What to type after skscn example, the most rows of a report, and what reproduce can make.
_NEXT = {
    "flats": "skscn fit {0} --target rent --model flats.scn",
    "plant": "skscn fit {0} --target quality --time time --lags auto --model plant.scn",
}
_TARGETS = "One or more of table1 … table5, figure1 … figure4, all, sensitivity, activations, deep."
_METHOD = "Run only this method (MQ, IRVFL, SC-I, SC-II or SC-III) and write its table cells to a CSV file."
_SEARCH = (
    "How the paper's search is read: ladder, as in its authors' program, or renewal, as in its pseudo code. The page "
    "shows both if both have been run."
)
_SPREADSHEET = (
    "In CSV and TSV output, put an apostrophe before text that a spreadsheet program would execute as a formula: text "
    "that begins with =, +, - or @ and is not a number."
)
_JOURNAL = (
    "A file to which each row is written before it is predicted: after a restart, the same command continues from "
    "there, with the same predictions."
)
_OUTLIERS = (
    "Write the rows that look like outliers to a .csv, .tsv or .parquet file, with their row numbers, predictions and "
    "weights; for models fitted with --loss huber, welsch, bisquare or kde."
)
_DTYPE = (
    "The type of numbers in a .c file: float64 (the default), float32, or int16 or int8 for fixed point, which is for "
    "small controllers. The file says how far its predictions are from those of the model."
)
_ROWS = (
    "A table of rows like those of training, optional with --dtype int16 and required with int8: output weights are "
    "fitted to one half of them, and the error is measured on the other half."
)


class _WithoutTypes:
    """A command whose help does not say <bool> after options that have no value."""

    def get_params(self, ctx: Any) -> Any:
        found = super().get_params(ctx)  # type: ignore[misc]
        for option in found:
            if getattr(option, "is_flag", False):
                option.metavar = ""
        return found


class _Command(_WithoutTypes, TyperCommand):
    """A command whose help breaks lines where the terminal ends, not where our source does."""

    def __init__(self, *args: Any, help: str | None = None, **settings: Any):
        super().__init__(*args, help=re.sub(r"(?<!\n)\n(?!\n)", " ", help or ""), **settings)


class _Commands(_WithoutTypes, TyperGroup):
    """Commands whose errors are a sentence on standard error: exit code 1 for user errors, 130 for Ctrl-C.

    When the reader of standard output has gone, they end silently with 141, like programs that SIGPIPE ends.
    """

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as interrupt:
            typer.echo(f"Interrupted: {interrupt if interrupt.args else 'no file was written'}.", err=True)
            raise typer.Exit(130) from None
        except BrokenPipeError:
            # Whoever read our output has seen enough; what is still to be flushed goes nowhere.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(141) from None
        except (ValueError, OSError, ImportError) as error:
            if os.environ.get("SKSCN_TRACEBACK"):
                raise
            typer.secho(printable(as_options(f"Error: {error}")), fg="red", err=True)
            raise typer.Exit(1) from None


app = typer.Typer(
    name="skscn",
    cls=_Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
command = partial(app.command, cls=_Command)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"skscn {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Stochastic Configuration Networks: train models on tables and predict with them.

    Example: skscn fit houses.csv --target price --model houses.scn
    """


command()(fit)


@command()
def predict(
    model: options.Model,
    data: Annotated[
        Path | None,
        typer.Argument(
            metavar="DATA",
            help="A table, as for fit, or - for standard input.",
        ),
    ] = None,
    out: options.OutTable = None,
    interval: options.Coverage = None,
    proba: options.Proba = False,
    keep: options.Keep = None,
    spreadsheet: Annotated[bool, typer.Option("--spreadsheet", help=_SPREADSHEET)] = False,
    follow: Annotated[bool, typer.Option("--follow", hidden=True)] = False,
    learn: Annotated[bool, typer.Option("--learn", hidden=True)] = False,
    save_every: Annotated[float, typer.Option("--save-every", hidden=True)] = 5.0,
    as_json: options.JsonOfOut = False,
    quiet: options.Quiet = False,
) -> None:
    """Predict the target of every row of a table. The table is read in batches and does not have to fit in memory.

    If a column copied with --keep has the name of a column of predictions, " (kept)" is added to its name.

    Example: skscn predict houses.scn new.csv -o predicted.csv --interval 0.9
    """
    if learn and not follow:
        raise typer.BadParameter("needs --follow; to learn from a table use skscn update.", param_hint="--learn")
    if follow:
        # The name of skscn follow in version 0.2.
        if data is not None and str(data) != "-":
            raise typer.BadParameter("reads standard input; leave DATA out.", param_hint="--follow")
        follow_rows(model, out, learn, save_every, None, interval, proba, keep, quiet)
        return
    options.check_json(as_json, out)
    if data is None:
        raise typer.BadParameter("a table is needed.", param_hint="DATA")
    check_files(out, [model, data], TABLE_ENDINGS)
    file = open_data(data)
    kept = tuple(map(file.find, keep or ()))
    # Columns are checked before what takes a second to import.
    from skscn.table_model import open_model
    from skscn.table_model.answering import Wanted, write_predictions

    console, opened = Console(quiet, as_json), open_model(model)
    file = opened.open(file)
    console.notes(file.notes[-1:] if opened.every_ is not None else [])
    written = write_predictions(opened, file, Wanted(interval, proba, kept), out, spreadsheet)
    console.notes(written.notes)
    if out is not None:
        console.note(f"Wrote {count(written.n_rows, 'prediction')} to {out}.")
    if as_json:
        about = {"model": str(model), "data": file.place, "out": str(out), "rows": written.n_rows}
        outside = [column.to_json() for column in written.outside]
        console.result({**about, "outside": outside, "notes": written.notes}, [])


@command("follow")
def follow_rows(
    model: options.Model,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="With --learn: the model file to write, every few minutes and when the rows end.",
        ),
    ] = None,
    learn: Annotated[
        bool, typer.Option("--learn", help="Learn from each row that has a value of the target, after predicting it.")
    ] = False,
    save_every: Annotated[
        float, typer.Option(min=0.0, metavar="MINUTES", help="With --learn and --out: how often the model is written.")
    ] = 5.0,
    journal: Annotated[Path | None, typer.Option(metavar="FILE", help=_JOURNAL)] = None,
    interval: options.Coverage = None,
    proba: options.Proba = False,
    keep: options.Keep = None,
    quiet: options.Quiet = False,
) -> None:
    """Read rows from standard input, and predict each as soon as it arrives.

    The first line has the names of the columns, and each further line is a row. Models with lags and recurrent models
    continue from the end of their training rows. With --learn, a target may arrive later, in a line that repeats the
    time of its row.

    Example: skscn follow houses.scn --interval 0.9 < rows.csv
    """
    if out is not None and not learn:
        raise typer.BadParameter("is the model that --learn has changed; add --learn.", param_hint="--out")
    check_files(out, [])
    from skscn.cli.following import follow_lines
    from skscn.table_model.answering import Wanted

    follow_lines(model, Wanted(interval, proba, tuple(keep or ())), learn, out, save_every, journal, Console(quiet))


@command()
def update(
    model: options.Model,
    data: options.Data,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="The model file to write. By default MODEL is replaced."),
    ] = None,
    target: options.TargetName = None,
    weight: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="The column with the sample weights, in the unit used in fit.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace MODEL even if the updated model is worse.")] = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Let a model learn from new rows, without the rows that it was trained on.

    The output weights become those that fit old and new rows together; no nodes are added. The error on the new rows
    is shown before and after learning them. The model learns them in up to ten parts, and predicts each part first: if
    these errors are clearly larger than those of the unchanged model, MODEL is not replaced unless --force is given.

    Example: skscn update houses.scn sold.csv -o houses2.scn
    """
    out = out or model
    check_files(out, [data])
    from skscn.table_model import open_model
    from skscn.table_model.updating import learn

    opened, console = open_model(model), Console(quiet, as_json)
    learnt, found = learn(opened, opened.open(open_data(data)), target=target, weight=weight)
    written = not found.worse or force or out != model
    if written:
        learnt.save(out)
    console.notes(found.notes)
    facts = {"model": str(model), "data": str(data), "target": learnt.target_.name, **found.to_json()}
    facts |= {"rows_seen": learnt.estimator_.n_rows_seen_, "out": str(out) if written else None}
    console.result(facts, [*found.lines(), ("Written to", str(out) if written else "nothing")])
    if not written:
        raise ValueError(
            f"{model.name} was left as it is, because learning from these rows makes it worse; check them, or write "
            "the updated model to another file with -o, or replace this one with --force."
        )


@command()
def forecast(
    model: options.Model,
    steps: Annotated[
        int | None,
        typer.Option(
            "--steps", "-n", min=1, metavar="ROWS", help="How many rows to forecast. By default, those of --inputs."
        ),
    ] = None,
    inputs: options.Inputs = None,
    out: options.OutTable = None,
    interval: options.Coverage = None,
    as_json: options.JsonOfOut = False,
    quiet: options.Quiet = False,
) -> None:
    """Forecast the rows that follow the training rows, with a model fitted with --estimator recurrent --feedback.

    Each prediction takes the place of the unknown target in the next row. Times continue with the step of the training
    rows.

    Example: skscn forecast load.scn --steps 96 -o forecast.csv --interval 0.9
    """
    options.check_json(as_json, out)
    check_files(out, [model, *filter(None, [inputs])], TABLE_ENDINGS)
    from skscn.table_model import open_model
    from skscn.table_model.forecasting import forecast as forecast_rows

    opened, console = open_model(model), Console(quiet, as_json)
    table = None if inputs is None else opened.open(open_data(inputs))
    found = forecast_rows(opened, steps, table, interval)
    with table_writer(out) as write:
        write(found.table)
    console.notes(found.remarks)
    if out is not None:
        console.note(f"Wrote {count(len(found.table), 'forecast')} to {out}.")
    if as_json:
        about = {"model": str(model), "steps": len(found.table), "out": str(out), "coverage": interval}
        times = found.table.column("row" if found.time is None else 0 if opened.group_ is None else 1)
        about |= {"time": found.time, "first": str(times[0]), "last": str(times[-1])}
        groups = {} if opened.group_ is None else {"groups": found.labels}
        console.result({**about, **groups, "notes": found.remarks}, [])


@command()
def evaluate(
    model: options.Model,
    data: options.Data,
    target: options.TargetName = None,
    outliers: Annotated[Path | None, typer.Option(metavar="FILE", help=_OUTLIERS)] = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Measure how accurate a model is on a table that contains the target, compared with simple baselines.

    The baseline predicts the mean or, in classification, the most frequent class. Confidence intervals of the scores
    come from resampling rows, or blocks of rows if they are in order of time or belong to groups.

    Example: skscn evaluate houses.scn sold.csv
    """
    check_files(outliers, [model, data], TABLE_ENDINGS)
    from skscn.losses import OUTLIER
    from skscn.table_model import open_model
    from skscn.table_model.assessing import find_outliers
    from skscn.table_model.description import estimates

    opened, console = open_model(model), Console(quiet, as_json)
    file = opened.open(open_data(data))
    assessment = opened.assess(file, target)
    console.notes(assessment.notes)
    facts = {"model": str(model), "data": str(data), **assessment.to_json()}
    lines = [("Rows", f"{assessment.n_rows:,}"), *estimates(opened.estimator_), *assessment.lines()]
    if outliers is not None:
        found = find_outliers(opened, file, opened.find_target(target, file))
        with table_writer(outliers) as write:
            write(found.table())
        facts |= {"outliers": len(found.rows), "out": str(outliers)}
        lines.append(("Outliers", f"{count(len(found.rows), 'row')} with a weight below {OUTLIER:g}, in {outliers}"))
    console.result(facts, lines)


@command(hidden=True)
def outliers(
    model: options.Model,
    data: options.Data,
    out: options.OutTable = None,
    most: Annotated[int | None, typer.Option(min=1, metavar="N", help="List at most N rows.")] = None,
    target: options.TargetName = None,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """List the rows of a table that look like outliers; the name of skscn evaluate --outliers in version 0.2.

    Example: skscn outliers houses.scn houses.csv -o outliers.csv
    """
    check_files(out, [model, data], TABLE_ENDINGS)
    from skscn.table_model import open_model
    from skscn.table_model.assessing import find_outliers

    opened, console = open_model(model), Console(quiet, as_json)
    file = opened.open(open_data(data))
    found = find_outliers(opened, file, opened.find_target(target, file))
    table = found.table(most)
    if out is not None or not as_json:
        with table_writer(out) as write:
            write(table)
    console.notes([*found.notes, f"{count(len(found.rows), 'row')} of {found.n_rows:,} look like outliers."])
    if as_json:
        facts = {"model": str(model), "data": str(data), "out": None if out is None else str(out)}
        console.result({**facts, "loss": opened.loss_, **found.to_json(most)}, [])


@command()
def inspect(model: options.Model, as_json: options.Json = False) -> None:
    """Show what is in a model file: nodes, scopes, columns, training data, parameters and versions.

    Example: skscn inspect houses.scn
    """
    from skscn.table_model import open_model
    from skscn.table_model.description import describe_file

    Console(as_json=as_json).result(*describe_file(open_model(model), model))


@command()
def report(
    model: options.Model,
    data: options.Data,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="The HTML file to write.")] = Path(
        "report.html"
    ),
    target: options.TargetName = None,
    title: Annotated[str | None, typer.Option(metavar="TEXT", help="The title of the page.")] = None,
    series: Annotated[
        str | None,
        typer.Option(metavar="LABEL", help="The series to report on, if the model was fitted with --group."),
    ] = None,
    quiet: options.Quiet = False,
) -> None:
    """Write an HTML report about a model and its predictions for a table: a single file that can be read offline.

    Example: skscn report houses.scn sold.csv -o report.html
    """
    check_files(out, [model, data], [".html", ".htm"])
    from skscn.judging.sketch import seen_caution
    from skscn.report import table_data, write_page
    from skscn.table_model import open_model

    file = open_data(data)
    found = table_data(open_model(model), file, target, series)
    Console(quiet).notes([*found.notes, *map(str, filter(None, [seen_caution(found.seen, file.label)]))])
    of_series = "" if series is None else f" of {series}"
    write_page(found, out, title or f"{found.outputs[0]}{of_series} from {file.label}", model, file.label)
    write_text(f"{out}\n")


@command()
def export(
    model: options.Model,
    file: Annotated[Path | None, typer.Argument(metavar="FILE", help="The .onnx or .c file to write.")] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="Another way to name the file.")
    ] = None,
    dtype: Annotated[
        Literal["float64", "float32", "int16", "int8"] | None, typer.Option(metavar="TYPE", help=_DTYPE)
    ] = None,
    rows: Annotated[Path | None, typer.Option(metavar="DATA", help=_ROWS)] = None,
    quiet: options.Quiet = False,
) -> None:
    """Export a model for use in other programs and languages: to ONNX, or to one C file if the name ends in .c.

    Each column of the table becomes an input.

    Example: skscn export houses.scn houses.onnx
    """
    path = file or out
    if path is None or (file is not None and out is not None):
        raise typer.BadParameter("name one file to write, which ends in .onnx or .c.", param_hint="FILE")
    check_files(path, [model, *([] if rows is None else [rows])], [".onnx", ".c"])
    in_c = path.suffix.lower() == ".c"
    if not in_c and (dtype, rows) != (None, None):
        raise typer.BadParameter("is for .c files.", param_hint="--rows" if dtype is None else "--dtype")
    from skscn.table_model import open_model
    from skscn.table_model.description import describe_inputs
    from skscn.tables import TableEncoder

    opened, notes = open_model(model), []
    if in_c:
        from skscn.export import to_c

        to_c(opened, path, dtype=dtype or "float64", rows=None if rows is None else open_data(rows))
        notes = [f"The comment at the beginning of {path.name} shows how to call it."]
    else:
        from skscn.onnx import to_onnx

        to_onnx(opened, path)
        notes = describe_inputs(opened.encoder_) if isinstance(opened.encoder_, TableEncoder) else []
        step = "The graph is one step: it takes a row and the state, and returns the state for the next row."
        notes += [step] if opened.uses_past else []
    Console(quiet).notes(notes)
    write_text(f"{path}\n")


@command()
def example(
    name: Annotated[
        str,
        typer.Argument(metavar="NAME", help="flats: a table with columns of all kinds. plant: rows in order of time."),
    ],
    folder: Annotated[Path, typer.Option(metavar="FOLDER", help="Where to write the files.")] = Path(),
    seed: options.Seed = 0,
    as_json: options.Json = False,
) -> None:
    """Write a simulated table to try the other commands with, and another one with further rows.

    Example: skscn example flats
    """
    _check_choice(name, EXAMPLE_ROWS, "NAME")
    make_folder(folder)
    paths = [folder / f"{name}.csv", folder / f"{name}_new.csv"]
    for path in paths:
        check_files(path, [])
    write_example(name, paths, seed)
    rows, following = EXAMPLE_ROWS[name], _NEXT[name].format(paths[0])
    written = [(str(path), f"{number} rows") for path, number in zip(paths, rows, strict=True)]
    facts = {"files": list(map(str, paths)), "rows": list(rows), "next": following}
    Console(as_json=as_json).result(facts, [*written, ("next", following)])


def _check_choice(value: str, choices: Any, hint: str) -> None:
    if value not in choices:
        raise typer.BadParameter(f"{value} is not one of {', '.join(choices)}.", param_hint=hint)


@command()
def demo(
    out: Annotated[Path, typer.Option(metavar="FILE", help="The image file to write.")] = Path("demo.png"),
    seed: options.Seed = 0,
) -> None:
    """Fit six networks to the paper's first data set, print their errors and plot their curves.

    Example: skscn demo --out curves.png
    """
    optional("matplotlib.figure", "The demo")
    make_folder(out.parent)
    check_files(out, [], [".png", ".svg", ".pdf", ".jpg", ".webp"])
    from skscn.paper import figures

    models = {}
    with progress_bar() as progress:
        task = progress.add_task("", total=len(figures.PANELS))
        for title in figures.PANELS:
            progress.update(task, description=title)
            models[title] = figures.grow_panel(title, seed, data_seed=seed)
            progress.advance(task)
    write_text("RMSE on DB 1, one network each; in brackets the paper's mean of 100 (Table 1)\n")
    Console().result({}, figures.errors_of_panels(models, seed))
    with replacing(out) as file:
        figures.draw_approximations(models).savefig(file, format=out.suffix[1:].lower(), dpi=110)
    write_text(f"Curves: {out.resolve()}\n")


@command()
def reproduce(
    targets: Annotated[list[str], typer.Argument(help=_TARGETS, metavar="TARGET...")],
    trials: Annotated[int, typer.Option(min=1, metavar="N", help="Number of networks per table cell.")] = 100,
    jobs: Annotated[int, typer.Option(metavar="N", help="Number of processes; -1 means one per processor.")] = 2,
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Folder for the trials and the results.")] = Path(
        "results"
    ),
    seed: options.Seed = 0,
    method: Annotated[str | None, typer.Option(metavar="METHOD", help=_METHOD)] = None,
    search: Annotated[str, typer.Option(metavar="SEARCH", help=_SEARCH)] = "ladder",
) -> None:
    """Reproduce the experiments of the paper and compare each number with the paper's.

    Each trial is saved when it is done. If a run is interrupted, the same command continues where it stopped.

    Example: skscn reproduce table1 figure3 --trials 10 --out results
    """
    from skscn.paper.reported import METHODS
    from skscn.paper.reproduce import NAMES, Reproduction
    from skscn.paper.trials import SEARCHES

    for target in targets:
        _check_choice(target, NAMES, "TARGET")
    _check_choice(method or METHODS[0], METHODS, "--method")
    _check_choice(search, SEARCHES, "--search")
    reproduction = Reproduction(targets, out, trials, seed, method, search)
    try:
        if missing := len(reproduction.missing()):
            units, total = reproduction.run(jobs), len(reproduction.units) * trials
            with progress_bar() as progress:
                bar = progress.add_task("trials", total=total, completed=total - missing)
                for unit in units:
                    progress.update(bar, description=f"{unit.data} {unit.method}", advance=1)
        written = reproduction.write()
    except KeyboardInterrupt:
        raise KeyboardInterrupt(
            f"the trials completed so far are in {out}; the same command continues from there"
        ) from None
    write_text("".join(f"{path}\n" for path in written))
