"""The parameters of a table model, declared once: for :class:`~skscn.TableModel` and for the options of the program.

This module imports nothing that takes time, so that the program can show its help at once.
"""

from __future__ import annotations

from typing import Any, NamedTuple

KINDS = ("auto", "network", "ensemble", "deep", "recurrent", "recurrent-ensemble")


class Declaration(NamedTuple):
    """A parameter: its default, its type in words, and its text.

    ``python`` is a text for Python only, ``choices`` are the names that the parameter may be, ``least`` is the smallest
    number, and ``value`` stands for the value of the option in the help of the program.
    """

    default: Any
    kind: str
    text: str
    python: str = ""
    choices: tuple[str, ...] = ()
    least: int | None = None
    value: str | None = None


DECLARATIONS = {
    "target": Declaration(None, "str or None", "The column to predict.", "None is the last column.", value="COLUMN"),
    "time": Declaration(
        None,
        "str, None or False",
        "The column with the time of each row. Rows are sorted by it, and the model is tested on later rows than "
        "those it was trained on. By default, a column of dates that increase with the rows, if there is one.",
        "False ignores the order of the rows, and uses dates as inputs like other columns.",
        value="COLUMN",
    ),
    "every": Declaration(
        None,
        "str or None",
        'Resample rows at irregular times: "5min" turns the rows of each five minutes into one, with the means of '
        'numbers; "5min:last" uses their last values, and "5min:interpolated" interpolates at the end of each step. '
        "Steps without rows are not added. Needs ``time``.",
        value="5min",
    ),
    "group": Declaration(
        None,
        "str or None",
        "The column that says which rows belong together, such as those of a patient or a machine; it is not an "
        "input. Tests and early stopping hold out whole groups. With ``lags`` or recurrent networks, each group is a "
        "series of its own, and the model is tested on later rows.",
        value="COLUMN",
    ),
    "lags": Declaration(
        None,
        '{"auto"}, list of int or None',
        'Use earlier values of the inputs as further inputs: ``lags="auto"`` searches for a few useful lags, '
        '``lags=[1, 2, 5]`` uses these. Lags count rows; ``parameters={"max_lag": 60}`` searches 60 rows back instead '
        "of 30.",
        value="auto|1,2,5",
    ),
    "estimator": Declaration(
        "auto",
        '{"auto", "network", "ensemble", "deep", "recurrent", "recurrent-ensemble"} or estimator',
        'The kind of model. "ensemble" is more accurate and provides prediction intervals, "network" is faster, '
        '"deep" has several layers where held-out rows confirm that they help; "recurrent" is for rows in order of '
        'time, with a memory of earlier rows, and "recurrent-ensemble" several of them; "auto" is an ensemble or a '
        "network, chosen by the size of the table.",
        "An estimator of this package is cloned.",
        choices=KINDS,
    ),
    "loss": Declaration(
        None,
        "str, Loss or None",
        'What is minimised. For numbers: "squared", the default, estimates the mean; "huber", "welsch", '
        '"bisquare" and "kde" give outliers little weight; "absolute" estimates the median, "quantile:0.9" that '
        'quantile, and "poisson" the mean of counts. For classes: "log_loss", the default, or "squared".',
        value="LOSS",
    ),
    "task": Declaration(
        "auto",
        '{"auto", "regression", "classification"}',
        'Whether the target is a number or a class. "auto": text, booleans, and whole numbers with up to 10 '
        "different values are classes.",
        choices=("auto", "regression", "classification"),
    ),
    "class_weight": Declaration(
        None,
        '{"balanced"}, dict or None',
        '"balanced" gives all classes the same total weight, so that more rows of rare classes are found; other '
        "classes are then mistaken for them more often.",
        choices=("balanced",),
    ),
    "delay": Declaration(
        None,
        "int or None",
        "With ``lags``: the number of rows after which the target of a row is known; targets that are at least as "
        "old are then used as inputs, too.",
        least=1,
        value="ROWS",
    ),
    "feedback": Declaration(
        False,
        "bool",
        "With recurrent networks: the target of the previous row is an input; ``forecast`` uses the previous "
        "prediction instead.",
    ),
    "drop": Declaration((), "str or sequence of str", "Columns to ignore.", value="COLUMN"),
    "weight": Declaration(None, "str or None", "The column with the sample weights.", value="COLUMN"),
    "bounds": Declaration(
        None,
        "tuple of two floats or None",
        "The physical limits of the target: with ``bounds=(0, 100)``, no prediction lies outside them.",
        value="LOW,HIGH",
    ),
    "monotone": Declaration(
        None,
        "dict of str to int, or None",
        "Numeric columns with which predictions may only increase or only decrease, whatever the other columns are; "
        "with ``lags``, this includes their earlier values and moving means.",
        'By name, such as ``monotone={"steam": 1, "price": -1}``; 0 leaves a column free.',
        value="COLUMN=+|-",
    ),
    "folds": Declaration(
        None,
        "int or None",
        "Number of cross-validation folds; 0 skips the tests. By default 5; for large tables, only one of the 5 "
        "folds is tested.",
        least=0,
        value="N",
    ),
    "dates": Declaration(
        "auto",
        '{"auto", "day-first", "month-first"}',
        "How to read dates such as 03/04/2024 if the other dates of the column do not show which order is meant.",
        choices=("auto", "day-first", "month-first"),
    ),
    "parameters": Declaration(
        None,
        "dict or None",
        'Parameters of the estimator, its members, the encoder or the lags, such as ``parameters={"max_nodes": 200}``.',
        value="NAME=VALUE",
    ),
    "random_state": Declaration(0, "int, RandomState or None", "Random seed.", least=0, value="N"),
    "n_jobs": Declaration(
        None,
        "int or None",
        "Number of processors to use; -1 means all, or one for a small table. The model is the same for any number.",
        value="N",
    ),
    "memory_limit": Declaration(
        None,
        "int or None",
        "Memory that training may use; tables that are too large for it are read from disk in chunks. By default a "
        "quarter of all memory.",
        "In bytes.",
        least=1,
        value="MB",
    ),
    "verbose": Declaration(False, "bool", "Whether to print what is decided while the model is fitted."),
}
