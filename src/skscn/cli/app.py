"""The commands; each imports what it needs when it runs, so that help comes at once."""

import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from skscn import __version__
from skscn.cli.arguments import (
    CoverageOption,
    DataArgument,
    Json,
    KeepOption,
    ModelArgument,
    OutTable,
    Quiet,
    TargetName,
    existing_data,
    open_data,
)
from skscn.cli.console import Console, as_options, check_output
from skscn.cli.fitting import fit
from skscn.readers.writing import TABLE_ENDINGS
from skscn.words import printable


class _Commands(TyperGroup):
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
_TARGETS = "One or more of table1 … table5, figure1 … figure4, all, sensitivity, activations, deep."


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


app.command()(fit)


@app.command()
def predict(
    model: ModelArgument,
    data: Annotated[
        Path | None, typer.Argument(metavar="DATA", help="A table, as for fit, or - for standard input.")
    ] = None,
    out: OutTable = None,
    interval: CoverageOption = None,
    proba: Annotated[bool, typer.Option("--proba", help="Add the probability of each class.")] = False,
    keep: KeepOption = None,
    spreadsheet: Annotated[
        bool,
        typer.Option(
            "--spreadsheet",
            help="In CSV and TSV output, put an apostrophe before text that a spreadsheet program would execute as a "
            "formula: text that begins with =, +, - or @ and is not a number.",
        ),
    ] = False,
    follow: Annotated[bool, typer.Option("--follow", hidden=True)] = False,
    learn: Annotated[bool, typer.Option("--learn", hidden=True)] = False,
    save_every: Annotated[float, typer.Option("--save-every", hidden=True)] = 5.0,
    as_json: Annotated[
        bool, typer.Option("--json", help="With --out: print what was done, and inputs outside the range, as JSON.")
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Predict the target of every row of a table. The table is read in batches and does not have to fit in memory.

    If a column copied with --keep has the name of a column of predictions, " (kept)" is added to its name.

    Example: skscn predict houses.scn new.csv -o predicted.csv --interval 0.9
    """
    _check_json(as_json, out)
    if learn and not follow:
        raise typer.BadParameter("needs --follow; to learn from a table use skscn update.", param_hint="--learn")
    if follow:
        # The name of skscn follow in version 0.2.
        _run_follow(model, data, out, learn, save_every, None, interval, proba, keep, quiet)
        return
    if data is None:
        raise typer.BadParameter("a table is needed.", param_hint="DATA")
    if out is not None:
        check_output(out, [model, data], TABLE_ENDINGS)
    file = open_data(data)
    kept = tuple(map(file.find, keep or ()))
    # Columns are checked before what takes a second to import.
    from skscn.cli.commands import Wanted, run_predict

    run_predict(model, file, Wanted(out, interval, proba, kept, spreadsheet), Console(quiet, as_json))


@app.command()
def follow(
    model: ModelArgument,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="With --learn: the model file to write, every few minutes and in the end."),
    ] = None,
    learn: Annotated[
        bool, typer.Option("--learn", help="Learn from each row that has a value of the target, after predicting it.")
    ] = False,
    save_every: Annotated[
        float, typer.Option(min=0.0, metavar="MINUTES", help="With --learn -o: how often the model is written.")
    ] = 5.0,
    journal: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A file to which each row is written before it is answered: the same command goes on from there after "
            "a restart, with the same answers.",
        ),
    ] = None,
    interval: CoverageOption = None,
    proba: Annotated[bool, typer.Option("--proba", help="Add the probability of each class.")] = False,
    keep: KeepOption = None,
    quiet: Quiet = False,
) -> None:
    """Read rows from standard input as they come, one line each after a line of column names, and answer each at once.

    Models of any kind: with lags and recurrent ones go on from the rows of training. With --learn, a target may come
    later: a line with a time that was answered before is the same row, now with its target.

    Example: skscn follow houses.scn --interval 0.9 < rows.csv
    """
    _run_follow(model, None, out, learn, save_every, journal, interval, proba, keep, quiet)


def _run_follow(
    model: Path,
    data: Path | None,
    out: Path | None,
    learn: bool,
    save_every: float,
    journal: Path | None,
    interval: float | None,
    proba: bool,
    keep: list[str] | None,
    quiet: bool,
) -> None:
    if data is not None and str(data) != "-":
        raise typer.BadParameter("reads standard input; leave DATA out.", param_hint="--follow")
    if out is not None and not learn:
        raise typer.BadParameter("is the model that --learn has changed; add --learn.", param_hint="--out")
    from skscn.cli.commands import Wanted
    from skscn.cli.following import run_follow

    run_follow(model, Wanted(out, interval, proba, tuple(keep or ())), learn, save_every, journal, Console(quiet))


def _check_json(as_json: bool, out: Path | None) -> None:
    if as_json and out is None:
        raise typer.BadParameter("needs --out: predictions themselves go to standard output.", param_hint="--json")


@app.command()
def update(
    model: ModelArgument,
    data: DataArgument,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The model file to write. By default MODEL is replaced.")
    ] = None,
    target: TargetName = None,
    weight: Annotated[str | None, typer.Option(help="The column with the sample weights, in the unit of fit.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace MODEL even if the updated model is worse.")] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Let a model learn from new rows, without the rows that it was trained on.

    The output weights become those of all rows; nodes are not added. The error on the new rows is shown before and
    after they were learnt. They are learnt in up to ten parts, and if the error on later parts, before learning them,
    is clearly larger than that of the unchanged model, the updated model is worse: it does not replace MODEL unless
    --force is given.

    Example: skscn update houses.scn sold.csv -o houses2.scn
    """
    from skscn.cli.commands import run_update

    run_update(model, data, out, target, weight, force, Console(quiet, as_json))


@app.command()
def forecast(
    model: ModelArgument,
    steps: Annotated[
        int | None,
        typer.Option("--steps", "-n", min=1, help="How many rows to forecast. By default, those of --inputs."),
    ] = None,
    inputs: Annotated[
        Path | None,
        typer.Option(
            "--inputs",
            "-i",
            metavar="TABLE",
            help="The table with the inputs of the rows to forecast and their times, for models that have inputs.",
            callback=existing_data,
        ),
    ] = None,
    out: OutTable = None,
    interval: CoverageOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="With --out: print what was done as JSON.")] = False,
    quiet: Quiet = False,
) -> None:
    """Forecast the rows that follow the training rows, with a model fitted with --estimator recurrent --feedback.

    Each prediction takes the place of the unknown target in the next row. Times go on in the steps of the training
    rows.

    Example: skscn forecast load.scn --steps 96 -o forecast.csv --interval 0.9
    """
    _check_json(as_json, out)
    from skscn.cli.commands import run_forecast

    run_forecast(model, steps, inputs, out, interval, Console(quiet, as_json))


@app.command()
def evaluate(
    model: ModelArgument,
    data: DataArgument,
    target: TargetName = None,
    outliers: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write the rows that look like outliers to a .csv, .tsv or .parquet file, with their numbers, "
            "predictions and weights; for models fitted with --loss huber, welsch, bisquare or kde.",
        ),
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Measure how accurate a model is on a table that contains the target, compared with simple baselines.

    The baseline predicts the mean or, in classification, the most frequent class. Confidence intervals of the scores
    come from resampling rows, or blocks of rows if they are in order of time or belong to groups.

    Example: skscn evaluate houses.scn sold.csv
    """
    from skscn.cli.commands import run_evaluate

    run_evaluate(model, data, target, outliers, Console(quiet, as_json))


@app.command(hidden=True)
def outliers(
    model: ModelArgument,
    data: DataArgument,
    out: OutTable = None,
    most: Annotated[int | None, typer.Option(min=1, metavar="N", help="List at most N rows.")] = None,
    target: TargetName = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """List the rows of a table that look like outliers; the name of skscn evaluate --outliers in version 0.2.

    Example: skscn outliers houses.scn houses.csv -o outliers.csv
    """
    from skscn.cli.commands import run_outliers

    run_outliers(model, data, out, most, target, Console(quiet, as_json))


@app.command()
def inspect(model: ModelArgument, as_json: Json = False) -> None:
    """Show what is in a model file: nodes, scopes, columns, training data, parameters and versions.

    Example: skscn inspect houses.scn
    """
    from skscn.cli.commands import run_inspect

    run_inspect(model, Console(as_json=as_json))


@app.command()
def report(
    model: ModelArgument,
    data: DataArgument,
    out: Annotated[Path, typer.Option("--out", "-o", help="The HTML file to write.")] = Path("report.html"),
    target: TargetName = None,
    title: Annotated[str | None, typer.Option(help="The title of the page.")] = None,
    series: Annotated[
        str | None,
        typer.Option(metavar="LABEL", help="Which of several series the page is about, if the model has --group."),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Write an HTML report about a model and its predictions for a table: a single file that can be read offline.

    Example: skscn report houses.scn sold.csv -o report.html
    """
    from skscn.cli.commands import run_report

    run_report(model, data, out, target, title, series, Console(quiet))


@app.command()
def export(
    model: ModelArgument,
    file: Annotated[Path | None, typer.Argument(metavar="FILE", help="The .onnx or .c file to write.")] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="The same.")] = None,
    quiet: Quiet = False,
) -> None:
    """Export a model for use in other programs and languages: to ONNX, or to one C file if the name ends in .c.

    Each column of the table becomes an input.

    Example: skscn export houses.scn houses.onnx
    """
    if (file is None) == (out is None):
        raise typer.BadParameter("name one file to write, which ends in .onnx or .c.", param_hint="FILE")
    from skscn.cli.commands import run_export

    run_export(model, file or out or Path(), Console(quiet))


@app.command()
def example(
    name: Annotated[
        str, typer.Argument(help="flats: a table with columns of all kinds. plant: rows in order of time.")
    ],
    folder: Annotated[Path, typer.Option(help="Where to write the files.")] = Path(),
    seed: Annotated[int, typer.Option(help="Random seed of the table.")] = 0,
    as_json: Json = False,
) -> None:
    """Write a simulated table to try the other commands with, and another one with further rows.

    Example: skscn example flats
    """
    from skscn.cli.commands import run_example
    from skscn.datasets import EXAMPLES

    if name not in EXAMPLES:
        raise typer.BadParameter(f"{name} is not one of {', '.join(EXAMPLES)}.", param_hint="NAME")
    run_example(name, folder, seed, Console(as_json=as_json))


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="The image file to write.")] = Path("demo.png"),
    seed: Annotated[int, typer.Option(help="Random seed of the data and the networks.")] = 0,
) -> None:
    """Fit six networks to the paper's first data set, print their errors and plot their curves.

    Example: skscn demo --out curves.png
    """
    from skscn.cli.paper import run_demo

    run_demo(out, seed)


@app.command()
def reproduce(
    targets: Annotated[list[str], typer.Argument(help=_TARGETS, metavar="TARGET...")],
    trials: Annotated[int, typer.Option(min=1, help="Number of networks per table cell.")] = 100,
    jobs: Annotated[int, typer.Option(help="Number of processes; -1 means one per processor.")] = 2,
    out: Annotated[Path, typer.Option(help="Folder for the trials and the results.")] = Path("results"),
    seed: Annotated[int, typer.Option(help="Random seed of the data and their split.")] = 0,
    method: Annotated[
        str | None,
        typer.Option(
            help="Run only this method (MQ, IRVFL, SC-I, SC-II or SC-III) and write its table cells to a CSV file."
        ),
    ] = None,
    search: Annotated[
        str,
        typer.Option(
            help="How the paper's search is read: ladder, as in its authors' program, or renewal, as in its pseudo "
            "code. The page shows both if both have been run."
        ),
    ] = "ladder",
) -> None:
    """Reproduce the experiments of the paper and compare each number with the paper's.

    Each trial is saved when it is done. If a run is interrupted, the same command continues where it stopped.

    Example: skscn reproduce table1 figure3 --trials 10 --out results
    """
    from skscn.cli.paper import run_reproduce
    from skscn.paper.reported import METHODS
    from skscn.paper.reproduce import NAMES
    from skscn.paper.trials import SEARCHES

    unknown = [target for target in targets if target not in NAMES]
    if unknown:
        raise typer.BadParameter(f"{', '.join(unknown)} is not one of {', '.join(NAMES)}.", param_hint="TARGET")
    if method is not None and method not in METHODS:
        raise typer.BadParameter(f"{method} is not one of {', '.join(METHODS)}.", param_hint="--method")
    if search not in SEARCHES:
        raise typer.BadParameter(f"{search} is not one of {', '.join(SEARCHES)}.", param_hint="--search")
    run_reproduce(targets, trials, jobs, out, seed, method, search)
