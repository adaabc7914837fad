"""The commands; each imports what it needs when it runs, so that help comes at once."""

import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from skscn import __version__
from skscn.cli._interrupts import later
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
            typer.secho(printable(f"Error: {error}"), fg="red", err=True)
            raise typer.Exit(1) from None


class Dates(StrEnum):
    """What comes first in dates that can be read in two ways."""

    AUTO = "auto"
    DAY_FIRST = "day-first"
    MONTH_FIRST = "month-first"


class Task(StrEnum):
    """What a target is."""

    AUTO = "auto"
    REGRESSION = "regression"
    CLASSIFICATION = "classification"


class EstimatorKind(StrEnum):
    """What is grown."""

    AUTO = "auto"
    NETWORK = "network"
    ENSEMBLE = "ensemble"


class LossName(StrEnum):
    """What a fit minimises; the names of skscn.losses.LOSSES, which are not imported for the sake of a quick start."""

    SQUARED = "squared"
    HUBER = "huber"
    WELSCH = "welsch"
    BISQUARE = "bisquare"
    KDE = "kde"
    ABSOLUTE = "absolute"
    QUANTILE = "quantile"
    POISSON = "poisson"
    LOG_LOSS = "log_loss"


app = typer.Typer(
    name="skscn",
    cls=_Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
# As in skscn.series, which is not imported for the sake of a quick start.
_LONGEST_LAG = 100_000
_TARGETS = "One or more of table1 … table5, figure1 … figure4, all, sensitivity, activations, deep."

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


@app.command()
def fit(
    data: DataArgument,
    target: Annotated[str, typer.Option("--target", "-t", help="The column to predict.")],
    model: Annotated[Path, typer.Option("--model", "-m", help="The model file to write, for example houses.scn.")],
    task: Annotated[
        Task,
        typer.Option(
            help="Whether the target is a number or a class. auto: text, booleans, and whole numbers with up to 10 "
            "different values are classes."
        ),
    ] = Task.AUTO,
    estimator: Annotated[
        EstimatorKind,
        typer.Option(
            help="The kind of model. ensemble: more accurate, and provides prediction intervals; network: faster; "
            "auto: chosen by the size of the data."
        ),
    ] = EstimatorKind.AUTO,
    loss: Annotated[
        LossName | None,
        typer.Option(
            help="What is minimised. For numbers: squared, the default, estimates the mean; huber, welsch, bisquare "
            "and kde give outliers little weight; absolute estimates the median, quantile a quantile (--quantile), and "
            "poisson the mean of counts. For classes: log_loss, the default, or squared.",
        ),
    ] = None,
    quantile: Annotated[
        float | None,
        typer.Option(metavar="Q", help="The quantile that --loss quantile estimates, for example 0.9; 0.5 by default."),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="Set a parameter of the model, for example max_nodes=200; can be repeated.",
        ),
    ] = None,
    cv: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Number of cross-validation folds; 0 skips the tests. By default 5; for large tables, only one of the "
            "5 folds is tested.",
        ),
    ] = None,
    drop: Annotated[list[str] | None, typer.Option(help="A column to ignore; can be repeated.")] = None,
    weight: Annotated[str | None, typer.Option(help="The column with the sample weights.")] = None,
    time: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="The column with the time of each row. Rows are sorted by it, and the model is tested on later rows "
            "than those it was trained on. By default, a column of dates that increase with the rows, if there is one.",
        ),
    ] = None,
    lags: Annotated[
        str | None,
        typer.Option(
            metavar="auto|1,2,5",
            help="Use values of the inputs some rows ago as inputs: auto searches for a few that help, 1,2,5 uses "
            "those. Lags count rows; --set max_lag=60 searches further back than 30 rows.",
        ),
    ] = None,
    delay: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="ROWS",
            help="With --lags: the target of a row is known this number of rows later, so targets that are at least as "
            "old are inputs too.",
        ),
    ] = None,
    shuffle: Annotated[
        bool,
        typer.Option("--shuffle", help="Ignore the order of the rows, and use dates as inputs like other columns."),
    ] = False,
    dates: Annotated[
        Dates,
        typer.Option(help="How to read dates such as 03/04/2024 if the other dates of the column do not settle it."),
    ] = Dates.AUTO,
    seed: Annotated[int, typer.Option(min=0, help="Random seed.")] = 0,
    jobs: Annotated[
        int,
        typer.Option(
            "--jobs", "-j", help="Number of processors to use; -1 means all. The model does not depend on it."
        ),
    ] = -1,
    memory_limit: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="MB",
            help="Memory that training may use; files that are too large for it are read from disk in chunks. By "
            "default, a quarter of all memory.",
        ),
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train a model that predicts one column of a table from the others, and write it to a file.

    Columns can contain numbers, text, dates, booleans and missing values; the notes say how they are encoded.

    If the dates in a column increase with the rows, the rows are treated as a time series (see --time).

    Ctrl-C saves what has been trained so far (next to MODEL if that file already exists) and exits with code 130.

    Example: skscn fit houses.csv --target price --model houses.scn
    """
    if cv == 1:
        raise typer.BadParameter("must be 0 or at least 2.", param_hint="--cv")
    if shuffle and time is not None:
        raise typer.BadParameter("cannot be combined with --time; use one of them.", param_hint="--shuffle")
    if shuffle and lags is not None:
        raise typer.BadParameter("cannot be combined with --lags; use one of them.", param_hint="--shuffle")
    if delay is not None and lags is None:
        raise typer.BadParameter("needs --lags.", param_hint="--delay")
    if quantile is not None and loss is not LossName.QUANTILE:
        raise typer.BadParameter("needs --loss quantile.", param_hint="--quantile")
    if quantile is not None and not 0.0 < quantile < 1.0:
        raise typer.BadParameter("must lie between 0 and 1, for example 0.9.", param_hint="--quantile")
    with later():
        from skscn.cli._fit import run_fit
        from skscn.cli._fit_options import FitOptions
        from skscn.cli._voice import Voice

    options = FitOptions(
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
        dates=dates.value,
        loss=None if loss is None else loss.value,
        quantile=quantile,
        lags=_read_lags(lags),
        delay=delay,
    )
    run_fit(options, Voice(quiet, as_json))


def _read_lags(text: str | None) -> str | tuple[int, ...] | None:
    """The lags in an option: auto, or numbers of rows separated by commas."""
    if text is None or text == "auto":
        return text
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() and 1 <= int(part) <= _LONGEST_LAG for part in parts):
        raise typer.BadParameter(
            f"must be auto, or numbers of rows from 1 to {_LONGEST_LAG:,} such as 1,2,5; got {text!r}.",
            param_hint="--lags",
        )
    return tuple(sorted({int(part) for part in parts}))


@app.command()
def predict(
    model: ModelArgument,
    data: DataArgument,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="The .csv, .tsv or .parquet file to write. By default CSV is written to standard output.",
        ),
    ] = None,
    interval: Annotated[
        float | None,
        typer.Option(
            metavar="COVERAGE", help="Add a prediction interval that covers this share of the targets, for example 0.9."
        ),
    ] = None,
    proba: Annotated[bool, typer.Option("--proba", help="Add the probability of each class.")] = False,
    keep: Annotated[
        list[str] | None, typer.Option(help="A column of DATA to copy to the output; can be repeated.")
    ] = None,
    spreadsheet: Annotated[
        bool,
        typer.Option(
            "--spreadsheet",
            help="In CSV and TSV output, put an apostrophe before text that a spreadsheet program would execute as a "
            "formula: text that begins with =, +, - or @ and is not a number.",
        ),
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="With --out: print what was done, and inputs outside the range, as JSON.")
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Predict the target of every row of a table. The table is read in batches and does not have to fit in memory.

    If a column copied with --keep has the name of a column of predictions, " (kept)" is added to its name.

    Example: skscn predict houses.scn new.csv -o predicted.csv --interval 0.9
    """
    if interval is not None and not 0.0 < interval < 1.0:
        raise typer.BadParameter("must lie between 0 and 1, for example 0.9.", param_hint="--interval")
    if as_json and out is None:
        raise typer.BadParameter("needs --out: predictions themselves go to standard output.", param_hint="--json")
    from skscn.cli._predict import Wanted, run_predict
    from skscn.cli._voice import Voice

    run_predict(model, data, Wanted(out, interval, proba, tuple(keep or ()), spreadsheet), Voice(quiet, as_json))


@app.command()
def evaluate(
    model: ModelArgument, data: DataArgument, target: TargetName = None, as_json: Json = False, quiet: Quiet = False
) -> None:
    """Measure how accurate a model is on a table that contains the target, compared with a simple baseline.

    The baseline predicts the mean or, in classification, the most frequent class.

    Example: skscn evaluate houses.scn sold.csv
    """
    from skscn.cli._evaluate import run_evaluate
    from skscn.cli._voice import Voice

    run_evaluate(model, data, target, Voice(quiet, as_json))


@app.command()
def outliers(
    model: ModelArgument,
    data: DataArgument,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="The .csv, .tsv or .parquet file to write the list to."),
    ] = None,
    most: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="List at most N rows. By default all; on the screen, the first 20."),
    ] = None,
    target: TargetName = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """List the rows of a table that look like outliers to a model fitted with --loss huber, welsch, bisquare or kde.

    These are rows with a weight below 0.2 (1 for an ordinary row), those of the smallest weight first. A row is listed
    with its number in the file, not counting the header, its target, prediction, residual and weight. Whether the
    target is wrong or the model, only you can tell.

    Example: skscn outliers houses.scn houses.csv -o outliers.csv
    """
    from skscn.cli._outliers import run_outliers
    from skscn.cli._voice import Voice

    run_outliers(model, data, out, most, target, Voice(quiet, as_json))


@app.command()
def inspect(model: ModelArgument, as_json: Json = False) -> None:
    """Show what is in a model file: nodes, scopes, columns, training data, parameters and versions.

    Example: skscn inspect houses.scn
    """
    from skscn.cli._inspect import run_inspect
    from skscn.cli._voice import Voice

    run_inspect(model, Voice(as_json=as_json))


@app.command()
def report(
    model: ModelArgument,
    data: DataArgument,
    out: Annotated[Path, typer.Option("--out", "-o", help="The HTML file to write.")] = Path("report.html"),
    target: TargetName = None,
    title: Annotated[str | None, typer.Option(help="The title of the page.")] = None,
    quiet: Quiet = False,
) -> None:
    """Write an HTML report about a model and its predictions for a table: a single file that can be read offline.

    Example: skscn report houses.scn sold.csv -o report.html
    """
    from skscn.cli._report import run_report
    from skscn.cli._voice import Voice

    run_report(model, data, out, target, title, Voice(quiet))


@app.command()
def export(
    model: ModelArgument,
    out: Annotated[Path, typer.Argument(metavar="FILE.onnx", help="The ONNX file to write.")],
    quiet: Quiet = False,
) -> None:
    """Export a model to ONNX, for use in other programs and languages. Each column of the table becomes an input.

    Example: skscn export houses.scn houses.onnx
    """
    from skscn.cli._export import run_export
    from skscn.cli._voice import Voice

    run_export(model, out, Voice(quiet))


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="The image file to write.")] = Path("demo.png"),
    seed: Annotated[int, typer.Option(help="Random seed of the data and the networks.")] = 0,
) -> None:
    """Fit six networks to the paper's first data set, print their errors and plot their curves.

    Example: skscn demo --out curves.png
    """
    from skscn.cli._demo import run_demo

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
) -> None:
    """Reproduce the experiments of the paper and compare each number with the paper's.

    Each trial is saved when it is done. If a run is interrupted, the same command continues where it stopped.

    Example: skscn reproduce table1 figure3 --trials 10 --out results
    """
    from skscn.experiments.paper import METHODS
    from skscn.experiments.reproduce import NAMES

    unknown = [target for target in targets if target not in NAMES]
    if unknown:
        raise typer.BadParameter(f"{', '.join(unknown)} is not one of {', '.join(NAMES)}.", param_hint="TARGET")
    if method is not None and method not in METHODS:
        raise typer.BadParameter(f"{method} is not one of {', '.join(METHODS)}.", param_hint="--method")
    from skscn.cli._reproduce import run_reproduce

    run_reproduce(targets, trials, jobs, out, seed, method)
