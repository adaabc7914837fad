"""``skscn fit`` as a command: its options, and those that cannot be combined."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from skscn.cli._arguments import DataArgument, Json, Quiet, open_data
from skscn.cli._interrupts import later
from skscn.cli._outputs import check_output

# As in skscn.series, which is not imported for the sake of a quick start.
_LONGEST_LAG = 100_000


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
    RECURRENT = "recurrent"


class ClassWeight(StrEnum):
    """How classes are weighted."""

    BALANCED = "balanced"


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
            "recurrent: for rows in order of time, with a memory of earlier rows; auto: ensemble or network, chosen by "
            "the size of the data."
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
    class_weight: Annotated[
        ClassWeight | None,
        typer.Option(
            help="balanced: all classes have the same total weight, so that more rows of rare classes are found; other "
            "classes are then mistaken for them more often."
        ),
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
    group: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="The column that says which rows belong together, such as those of a patient or a machine; it is not "
            "an input. Tests and early stopping hold out whole groups. With --lags or --estimator recurrent, each of "
            "them is a series with its own earlier rows, and the model is tested on later rows.",
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
    feedback: Annotated[
        bool,
        typer.Option(
            "--feedback",
            help="With --estimator recurrent: the target of the row before is an input, and skscn forecast lets "
            "predictions take its place.",
        ),
    ] = False,
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
    if delay is not None and lags is None:
        raise typer.BadParameter("needs --lags.", param_hint="--delay")
    _check_order(shuffle, time, lags, estimator)
    _check_recurrent(estimator is EstimatorKind.RECURRENT, lags, feedback, loss, weight)
    _check_quantile(quantile, loss)
    from skscn.cli._fit_options import FitOptions, input_names

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
        group=group,
        shuffle=shuffle,
        memory_limit=None if memory_limit is None else memory_limit * 2**20,
        dates=dates.value,
        loss=None if loss is None else loss.value,
        class_weight=None if class_weight is None else class_weight.value,
        quantile=quantile,
        lags=_read_lags(lags),
        delay=delay,
        feedback=feedback,
    )
    check_output(model, [data])
    file = open_data(data)
    inputs = input_names(file, options)
    # Columns are checked before what takes a second to import.
    with later():
        from skscn.cli._fit import run_fit
        from skscn.cli._voice import Voice

    run_fit(file, inputs, options, Voice(quiet, as_json))


def _check_order(shuffle: bool, time: str | None, lags: str | None, estimator: EstimatorKind) -> None:
    """Reject --shuffle where the order of the rows matters."""
    recurrent = estimator is EstimatorKind.RECURRENT
    for name, given in (("--time", time), ("--lags", lags), ("--estimator recurrent", recurrent or None)):
        if shuffle and given is not None:
            raise typer.BadParameter(f"cannot be combined with {name}; use one of them.", param_hint="--shuffle")


def _check_recurrent(
    recurrent: bool, lags: str | None, feedback: bool, loss: LossName | None, weight: str | None
) -> None:
    """Reject what recurrent networks do not have, and what only they have."""
    if feedback and not recurrent:
        raise typer.BadParameter("needs --estimator recurrent.", param_hint="--feedback")
    if not recurrent:
        return
    if lags is not None:
        raise typer.BadParameter(
            "cannot be combined with --estimator recurrent, which remembers earlier rows by itself; use one of them.",
            param_hint="--lags",
        )
    if loss not in (None, LossName.SQUARED):
        raise typer.BadParameter(
            "cannot be combined with --estimator recurrent, which minimises the squared error; with another loss, use "
            "--lags auto.",
            param_hint="--loss",
        )
    if weight is not None:
        raise typer.BadParameter(
            "cannot be combined with --estimator recurrent, which has no weights; with weights, use --lags auto.",
            param_hint="--weight",
        )


def _check_quantile(quantile: float | None, loss: LossName | None) -> None:
    if quantile is not None and loss is not LossName.QUANTILE:
        raise typer.BadParameter("needs --loss quantile.", param_hint="--quantile")
    if quantile is not None and not 0.0 < quantile < 1.0:
        raise typer.BadParameter("must lie between 0 and 1, for example 0.9.", param_hint="--quantile")


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
