"""The commands; each imports what it needs when it runs, so that help comes at once."""

import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from typer.core import TyperGroup

from skscn import __version__
from skscn.words import printable


class _Commands(TyperGroup):
    """Commands whose errors are a sentence on standard error: 1 for what the user can mend, 130 for Ctrl-C.

    Where the reader of standard output has gone, they end without a word, with 141 as programs do that SIGPIPE ends.
    """

    def invoke(self, ctx):
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as interrupt:
            typer.echo(f"Interrupted{f': {interrupt}' if interrupt.args else ''}.", err=True)
            raise typer.Exit(130) from None
        except BrokenPipeError:
            # Whoever read our output has seen enough; what is still to be flushed goes nowhere.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(141) from None
        except (ValueError, OSError, ImportError) as error:
            if os.environ.get("SKSCN_TRACEBACK"):
                raise
            typer.secho(printable(f"Error: {error}"), fg="red", err=True)
            raise typer.Exit(1) from None


class Task(StrEnum):
    """What a target is."""

    AUTO = "auto"
    REGRESSION = "regression"
    CLASSIFICATION = "classification"


class Kind(StrEnum):
    """What is grown."""

    AUTO = "auto"
    NETWORK = "network"
    ENSEMBLE = "ensemble"


app = typer.Typer(
    name="skscn",
    cls=_Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
_TARGETS = "table1 … table5, figure1 … figure4, all, sensitivity, activations"

Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A model file that fit has written.")]
Data = Annotated[
    Path,
    typer.Argument(
        metavar="DATA",
        help="A table, .csv, .tsv, .txt (also .gz), .parquet, .arrow, .feather or .dat, or a folder of them.",
    ),
]
TargetName = Annotated[str | None, typer.Option("--target", "-t", help="The target's column, if the model lacks it.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as one JSON object.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No notes and no progress.")]


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"skscn {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Stochastic Configuration Networks: models that build themselves, from tables.

    Example: skscn fit houses.csv --target price --model houses.scn
    """


@app.command()
def fit(
    data: Data,
    target: Annotated[str, typer.Option("--target", "-t", help="The column to predict.")],
    model: Annotated[Path, typer.Option("--model", "-m", help="The model file to write, for example houses.scn.")],
    task: Annotated[
        Task, typer.Option(help="auto: text, booleans and few distinct whole numbers are classes.")
    ] = Task.AUTO,
    estimator: Annotated[
        Kind,
        typer.Option(help="ensemble: most accurate, with intervals; network: quick; auto: by the size of the data."),
    ] = Kind.AUTO,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A parameter, for example max_nodes=200; may be repeated."),
    ] = None,
    cv: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Parts of the cross-validation; 0 for none. By default 5; of many rows one in 5 is held out.",
        ),
    ] = None,
    drop: Annotated[list[str] | None, typer.Option(help="A column to leave out; may be repeated.")] = None,
    weight: Annotated[str | None, typer.Option(help="A column with the weights of the rows.")] = None,
    time: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="The column with the time of each row. The model is tested on later rows than it was trained on. "
            "By default a column of dates that rises with the rows.",
        ),
    ] = None,
    shuffle: Annotated[
        bool,
        typer.Option(
            "--shuffle", help="The order of the rows does not matter, and dates are inputs like other columns."
        ),
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the random draws.")] = 0,
    jobs: Annotated[
        int, typer.Option("--jobs", "-j", help="Processors to use; -1 for all. The model does not depend on it.")
    ] = -1,
    memory_limit: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="MB",
            help="Memory to use; larger files stay on disk. By default a quarter of the machine's.",
        ),
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Learn to predict a column of a table from the others, and write the model to a file.

    Numbers, text, dates, booleans and missing values are handled; notes say how. Where a column of dates rises with
    the rows, they are a series: the model is tested on later rows than it was trained on.

    Ctrl-C keeps what has grown, next to MODEL if that exists already, says so, and exits with 130.

    Example: skscn fit houses.csv --target price --model houses.scn
    """
    if cv == 1:
        raise typer.BadParameter("must be 0 or at least 2.", param_hint="--cv")
    if shuffle and time is not None:
        raise typer.BadParameter("cannot be combined with --time; use one of them.", param_hint="--shuffle")
    from skscn.cli._fit import Request, run_fit
    from skscn.cli._voice import Voice

    request = Request(
        data=data,
        target=target,
        model=model,
        task=task.value,
        estimator=estimator.value,
        settings=settings or [],
        cv=cv,
        seed=seed,
        jobs=jobs,
        drop=drop or [],
        weight=weight,
        time=time,
        shuffle=shuffle,
        memory_limit=None if memory_limit is None else memory_limit * 2**20,
    )
    run_fit(request, Voice(quiet, as_json))


@app.command()
def predict(
    model: Model,
    data: Data,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="A .csv, .tsv or .parquet file; without it, CSV on standard output."),
    ] = None,
    interval: Annotated[
        float | None,
        typer.Option(metavar="COVERAGE", help="Add an interval that holds this share of the targets, for example 0.9."),
    ] = None,
    proba: Annotated[bool, typer.Option("--proba", help="Add the probability of each class.")] = False,
    keep: Annotated[list[str] | None, typer.Option(help="A column of DATA to copy; may be repeated.")] = None,
    quiet: Quiet = False,
) -> None:
    """Predict every row of a table, some rows at a time, so that it need not fit in memory.

    DATA may be - for CSV from standard input.

    Example: skscn predict houses.scn new.csv -o predicted.csv --interval 0.9
    """
    if interval is not None and not 0.0 < interval < 1.0:
        raise typer.BadParameter("must lie between 0 and 1, for example 0.9.", param_hint="--interval")
    from skscn.cli._predict import run_predict
    from skscn.cli._voice import Voice

    run_predict(model, data, out, interval, proba, keep or [], Voice(quiet))


@app.command()
def evaluate(model: Model, data: Data, target: TargetName = None, as_json: Json = False, quiet: Quiet = False) -> None:
    """Say how good a model is on a table with the target, compared with predicting the mean or the most frequent class.

    Example: skscn evaluate houses.scn sold.csv
    """
    from skscn.cli._evaluate import run_evaluate
    from skscn.cli._voice import Voice

    run_evaluate(model, data, target, Voice(quiet, as_json))


@app.command()
def inspect(model: Model, as_json: Json = False) -> None:
    """Say what is in a model file: nodes, scopes, columns, what it was trained on, parameters, versions.

    Example: skscn inspect houses.scn
    """
    from skscn.cli._inspect import run_inspect
    from skscn.cli._voice import Voice

    run_inspect(model, Voice(as_json=as_json))


@app.command()
def report(
    model: Model,
    data: Data,
    out: Annotated[Path, typer.Option("--out", "-o", help="The page to write.")] = Path("report.html"),
    target: TargetName = None,
    title: Annotated[str | None, typer.Option(help="What stands above the page.")] = None,
    quiet: Quiet = False,
) -> None:
    """Write one HTML page about a model and how it does on a table; it can be read offline.

    Example: skscn report houses.scn sold.csv -o report.html
    """
    from skscn.cli._report import run_report
    from skscn.cli._voice import Voice

    run_report(model, data, out, target, title, Voice(quiet))


@app.command()
def export(
    model: Model,
    out: Annotated[Path, typer.Argument(metavar="FILE.onnx", help="The ONNX file to write.")],
    quiet: Quiet = False,
) -> None:
    """Write a model as an ONNX file, for other programs and languages; each column of the table is an input.

    Example: skscn export houses.scn houses.onnx
    """
    from skscn.cli._export import run_export
    from skscn.cli._voice import Voice

    run_export(model, out, Voice(quiet))


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Where to write the picture.")] = Path("demo.png"),
    seed: Annotated[int, typer.Option(help="Seed of the data and the nodes.")] = 0,
) -> None:
    """Approximate the paper's first data set with six networks, print their errors and draw their curves.

    Example: skscn demo --out curves.png
    """
    from skscn.cli._demo import run_demo

    run_demo(out, seed)


@app.command()
def reproduce(
    targets: Annotated[list[str], typer.Argument(help=_TARGETS, metavar="TARGET...")],
    trials: Annotated[int, typer.Option(min=1, help="Networks for each cell.")] = 100,
    jobs: Annotated[int, typer.Option(help="Processes; -1 for all processors.")] = 2,
    out: Annotated[Path, typer.Option(help="Folder for trials and results.")] = Path("results"),
    seed: Annotated[int, typer.Option(help="Seed of data and split.")] = 0,
    method: Annotated[
        str | None, typer.Option(help="Only the cells of MQ, IRVFL, SC-I, SC-II or SC-III, as a CSV file.")
    ] = None,
) -> None:
    """Repeat experiments of the paper and show each number beside the paper's.

    Trials are kept as they come: an interrupted run goes on where it was.

    Example: skscn reproduce table1 figure3 --trials 10 --out results
    """
    from skscn.experiments.paper import METHODS
    from skscn.experiments.reproduce import NAMES

    unknown = [target for target in targets if target not in NAMES]
    if unknown:
        raise typer.BadParameter(f"{', '.join(unknown)} is none of {', '.join(NAMES)}.", param_hint="TARGET")
    if method is not None and method not in METHODS:
        raise typer.BadParameter(f"{method} is none of {', '.join(METHODS)}.", param_hint="--method")
    from skscn.cli._reproduce import run_reproduce

    run_reproduce(targets, trials, jobs, out, seed, method)
