"""The commands that take a model file: each opens it, calls the library, and prints or writes what comes of it."""

from __future__ import annotations

import csv
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from skscn.cli.arguments import open_data
from skscn.cli.console import Console, check_output, write_text
from skscn.datasets import EXAMPLES
from skscn.files import make_folder, replacing_text
from skscn.judging import assess
from skscn.judging.scores import TITLES
from skscn.judging.sketch import seen_caution
from skscn.losses import OUTLIER
from skscn.readers.arrow import arrow
from skscn.readers.writing import TABLE_ENDINGS, table_writer
from skscn.table_model import TableModel, open_model
from skscn.table_model.arriving import Batch
from skscn.table_model.assessing import OutlierRow, find_outliers
from skscn.table_model.description import describe_file, estimates
from skscn.table_model.forecasting import forecast
from skscn.table_model.updating import learn
from skscn.tables import TableEncoder, TableFile, Target, outside_sentences
from skscn.tables.columns import Category
from skscn.words import count, listed, quoted, short, shortened

if TYPE_CHECKING:
    import pyarrow as pa

# The most outliers that are listed on the screen unless the user asks for more, and the most rows of a report.
_OUTLIERS_SHOWN, _MOST_ROWS = 20, 50_000
# Rows to train on, and further ones, of the tables that skscn example writes; and what to type next.
_EXAMPLE_ROWS = {"flats": (800, 200), "plant": (3000, 1000)}
_NEXT = {
    "flats": "skscn fit {0} --target rent --model flats.scn",
    "plant": "skscn fit {0} --target quality --time time --lags auto --model plant.scn",
}


# predict


@dataclass(frozen=True)
class Wanted:
    """What to write, and how.

    Attributes
    ----------
    out : Path or None
        Where to; None for CSV on standard output.
    coverage : float or None
        Of intervals, if there are to be any.
    proba : bool
        Whether to add probabilities.
    keep : tuple of str
        Columns of the table to copy.
    for_spreadsheet : bool
        Whether to put an apostrophe before text that a spreadsheet would take for a formula.
    """

    out: Path | None = None
    coverage: float | None = None
    proba: bool = False
    keep: tuple[str, ...] = ()
    for_spreadsheet: bool = False

    def check(self, model: TableModel) -> None:
        """Raise ValueError for what a model cannot provide."""
        if self.coverage is not None:
            model.check_intervals()
        if self.proba and not model.is_classifier:
            raise ValueError(f"{model.subject} predicts numbers, not class probabilities; see --interval.")

    def names(self, model: TableModel) -> list[str]:
        """The columns of predictions, intervals and probabilities."""
        ends = ["lower", "upper"] if self.coverage is not None else []
        labels = [
            str(label).lower() if isinstance(label, bool | np.bool_) else str(label) for label in _labels(self, model)
        ]
        return ["prediction", *ends, *(f"probability of {label}" for label in labels)]


def _labels(wanted: Wanted, model: TableModel) -> Any:
    return model.classes_ if wanted.proba else []


def run_predict(path: Path, file: TableFile, wanted: Wanted, console: Console) -> None:
    """Predict the target of every row."""
    model, out = open_model(path), wanted.out
    wanted.check(model)
    file = model.open(file)
    if model.every_ is not None:
        # Rows of the output are steps, which their times tell apart.
        wanted = replace(wanted, keep=tuple(dict.fromkeys([model.every_.time, *wanted.keep])))
        console.notes(file.notes[-1:])
    if model.runs_free(file) and wanted.coverage is not None:
        name = "the target" if model.target_ is None else quoted(model.target_.name)
        raise ValueError(
            f"{file.label} does not contain {name}, so predictions come back as inputs, and intervals widen; use skscn "
            "forecast, which gives such intervals."
        )
    names = _kept_names(model, wanted)
    rows, copies = model.read(file, without=wanted.keep), _Copies(file, names)
    with table_writer(out, wanted.for_spreadsheet) as write:
        for batch in rows:
            write(predictions(model, batch, copies.next(len(batch.X)), wanted))
            rows.outside.add(batch.X, batch.table)
        if not rows.n_rows:
            raise ValueError(f"{file.label} has no rows to predict.")
    found = rows.outside.found()
    renamed = [
        f"The column {quoted(name)} is written as {quoted(new)}, because the output has its own column of that name."
        for name, new in names.items()
        if new != name
    ]
    notes = [*renamed, *rows.remarks, *outside_sentences(found), *rows.outside.missing_sentences()]
    console.notes(notes)
    if out is not None:
        console.note(f"Wrote {count(rows.n_rows, 'prediction')} to {out}.")
    if console.as_json:
        about = {"model": str(path), "data": file.place, "out": str(out), "rows": rows.n_rows}
        console.result({**about, "outside": [column.to_json() for column in found], "notes": notes}, [])


class _Copies:
    """Columns of a file as they are written, some rows at a time; ``names`` says what they are called in the output."""

    def __init__(self, file: TableFile, names: dict[str, str]):
        self._names, self._tables = names, file.verbatim(list(names))
        self._rest: list[pa.Table] = []

    def next(self, n_rows: int) -> pa.Table:
        """The rows that come next."""
        pa = arrow()
        if not self._names:
            return pa.table({})
        while sum(len(table) for table in self._rest) < n_rows:
            self._rest.append(next(self._tables))
        rows = pa.concat_tables(self._rest)
        self._rest = [rows.slice(n_rows)]
        return rows.slice(0, n_rows).rename_columns(list(self._names.values()))


def _kept_names(model: TableModel, wanted: Wanted) -> dict[str, str]:
    """The columns to copy and what they are called in the output, where predictions have the first right to a name."""
    taken, names = set(wanted.names(model)), {}
    for name in dict.fromkeys(wanted.keep):
        new = name
        while new in taken:
            new += " (kept)"
        taken.add(new)
        names[name] = new
    return names


def predictions(model: TableModel, batch: Batch, kept: pa.Table, wanted: Wanted) -> pa.Table:
    """A table of predictions, next to the columns to keep."""
    columns = [batch.predict()]
    if wanted.coverage is not None:
        columns += batch.predict_interval(wanted.coverage)
    if wanted.proba:
        columns += list(batch.predict_proba().T)
    columns[0] = columns[0] if model.target_ is None else model.target_.written(columns[0])
    table = dict(zip(kept.column_names, kept.columns, strict=True))
    for name, values in zip(wanted.names(model), columns, strict=True):
        table[name] = arrow().array(values.tolist() if values.dtype.kind in "OU" else np.ascontiguousarray(values))
    return arrow().table(table)


# evaluate and outliers


def run_evaluate(path: Path, data: Path, target: str | None, outliers: Path | None, console: Console) -> None:
    """Assess a model on a table, and write the outliers to a file if asked to."""
    if outliers is not None:
        check_output(outliers, [path, data], TABLE_ENDINGS)
    model = open_model(path)
    file = model.open(open_data(data))
    assessment = assess(model, file, target)
    console.notes(assessment.notes)
    facts = {"model": str(path), "data": str(data), **assessment.to_json()}
    lines = [("Rows", f"{assessment.n_rows:,}"), *estimates(model.estimator_), *assessment.lines()]
    if outliers is not None:
        column = model.find_target(target, file)
        found = find_outliers(model, file, column).rows
        _write_outliers(outliers, found, column)
        facts |= {"outliers": len(found), "out": str(outliers)}
        lines.append(("Outliers", f"{count(len(found), 'row')} with a weight below {OUTLIER:g}, in {outliers}"))
    console.result(facts, lines)


def run_outliers(
    path: Path, data: Path, out: Path | None, most: int | None, target_name: str | None, console: Console
) -> None:
    """List the outliers, those of the smallest weight first."""
    if out is not None:
        check_output(out, [path, data], TABLE_ENDINGS)
    model = open_model(path)
    file = model.open(open_data(data))
    target = model.find_target(target_name, file)
    found = find_outliers(model, file, target)
    rows = found.rows[:most]
    if out is not None:
        _write_outliers(out, rows, target)
    console.notes(found.notes)
    facts = {
        **{"model": str(path), "data": str(data), "target": target.name, "loss": model.loss_},
        **{"rows": found.n_rows, "outliers": len(found.rows), "below": OUTLIER},
        "out": None if out is None else str(out),
        "listed": [{**vars(row), "residual": row.residual} for row in rows],
        "notes": found.notes,
    }
    lines = [
        ("Rows", f"{found.n_rows:,}"),
        ("Outliers", f"{len(found.rows):,}, with a weight below {OUTLIER:g} (loss {model.loss_})"),
    ]
    if out is not None:
        lines.append(("Written to", f"{out}, {count(len(rows), 'row')}"))
    else:
        shown = rows if most is not None else rows[:_OUTLIERS_SHOWN]
        lines += [(f"Row {row.row:,}", _describe_outlier(row, target)) for row in shown]
        more = len(found.rows) - len(shown)
        lines += [("", f"and {more:,} more; --most {len(found.rows)} lists all")] if more else []
    console.result(facts, lines)


def _describe_outlier(row: OutlierRow, target: Target) -> str:
    return (
        f"{shortened(target.name)} {short(row.target)}, predicted {short(row.prediction)}, weight {short(row.weight)}"
    )


def _write_outliers(out: Path, rows: list[OutlierRow], target: Target) -> None:
    """A file with the number of each row, its target, prediction, residual and weight."""
    pa = arrow()
    numbers = ("prediction", "residual", "weight")
    # A target may have the name of another column here.
    name = f"{target.name} (target)" if target.name in ("row", *numbers) else target.name
    columns = {"row": pa.array([row.row for row in rows], pa.int64())}
    columns[name] = pa.array([row.target for row in rows], pa.float64())
    columns |= {other: pa.array([getattr(row, other) for row in rows], pa.float64()) for other in numbers}
    with table_writer(out) as write:
        write(pa.table(columns))


# update and forecast


def run_update(
    path: Path, data: Path, out: Path | None, target: str | None, weight: str | None, force: bool, console: Console
) -> None:
    """Let a model learn from the rows of a table, and write it unless it is worse."""
    out = out or path
    check_output(out, [data])
    model = open_model(path)
    file = model.open(open_data(data))
    learnt, update = learn(model, file, target=target, weight=weight)
    written = not update.worse or force or out != path
    if written:
        learnt.save(out)
    console.notes(update.notes)
    before, after = update.before, update.after
    console.result(
        {
            **{"model": str(path), "data": str(data), "target": learnt.target_.name, "rows": update.n_rows},
            "set_aside": update.n_set_aside,
            **{"before": before, "after": after, "while_learning": update.learning},
            "rows_seen": learnt.estimator_.n_rows_seen_,
            **{"out": str(out) if written else None, "notes": update.notes},
        },
        [
            ("Rows", f"{update.n_rows:,}"),
            *(
                (
                    TITLES[name],
                    f"{short(before[name])} before learning these rows, {short(after[name])} on the same rows after",
                )
                for name in before
                if not np.isnan(before[name])
            ),
            ("Written to", str(out) if written else "nothing"),
        ],
    )
    if not written:
        raise ValueError(
            f"{path.name} was left as it is, because learning from these rows makes it worse; check them, or write the "
            "updated model to another file with -o, or replace this one with --force."
        )


def run_forecast(
    path: Path, steps: int | None, inputs: Path | None, out: Path | None, coverage: float | None, console: Console
) -> None:
    """Forecast the rows that follow the end of training, and write them."""
    if out is not None:
        check_output(out, [path, *([] if inputs is None else [inputs])], TABLE_ENDINGS)
    model = open_model(path)
    found = forecast(model, steps, None if inputs is None else model.open(open_data(inputs)), coverage)
    with table_writer(out) as write:
        write(found.table)
    console.notes(found.remarks)
    if out is not None:
        console.note(f"Wrote {count(len(found.table), 'forecast')} to {out}.")
    if console.as_json:
        times = found.table.column("row" if found.time is None else 0 if model.group_ is None else 1)
        facts = {
            "model": str(path),
            "steps": len(found.table),
            "out": str(out),
            "coverage": coverage,
            "time": found.time,
        }
        ends = {"first": str(times[0]), "last": str(times[-1])}
        groups = {} if model.group_ is None else {"groups": found.labels}
        console.result({**facts, **ends, **groups, "notes": found.remarks}, [])


# inspect


def run_inspect(path: Path, console: Console) -> None:
    """Describe a model file."""
    console.result(*describe_file(open_model(path), path))


# report


def run_report(
    path: Path, data: Path, out: Path, target_name: str | None, title: str | None, series: str | None, console: Console
) -> None:
    """Write a page about a model and its predictions for a table."""
    check_output(out, [path, data], [".html", ".htm"])
    from skscn.report import table_data, write_page

    file = open_data(data)
    found = table_data(open_model(path), file, target_name, series)
    console.notes([*found.notes, *map(str, filter(None, [seen_caution(found.seen, file.label)]))])
    of_series = "" if series is None else f" of {series}"
    write_page(found, out, title or f"{found.outputs[0]}{of_series} from {file.label}", path, file.label)
    write_text(f"{out}\n")


# export


def run_export(path: Path, out: Path, console: Console) -> None:
    """Write the model as a graph, or as a C file, that takes the columns of a table."""
    check_output(out, [path], [".onnx", ".c"])
    model = open_model(path)
    if out.suffix.lower() == ".c":
        from skscn.export import to_c

        to_c(model, out)
        console.notes([f"The comment at the beginning of {out.name} shows how to call it."])
    else:
        from skscn.onnx import to_onnx

        to_onnx(model, out)
        console.notes(_graph_inputs(model.encoder_) if isinstance(model.encoder_, TableEncoder) else [])
        step = "The graph is one step: it takes a row and the state, and returns the state for the next row."
        console.notes([step] if model.uses_past else [])
    write_text(f"{out}\n")


def _graph_inputs(encoder: TableEncoder) -> list[str]:
    """The inputs of a graph, in words."""
    words = {
        "number": "numbers",
        "boolean": "0 or 1",
        "date": "days since 1970-01-01",
        "time": "hours since midnight",
    }
    texts = [column.name for column in encoder.columns_ if isinstance(column, Category)]
    kinds = {kind: [column.name for column in encoder.columns_ if column.kind == kind] for kind in words}
    lines = [f"Inputs of type float64 ({words[kind]}): {listed(names)}." for kind, names in kinds.items() if names]
    lines += [f"Inputs of type string: {listed(texts)}."] if texts else []
    return [*lines, 'Each input has the shape (rows, 1); missing values are NaN, or "" for strings.']


# example


def run_example(name: str, folder: Path, seed: int, console: Console) -> None:
    """Write NAME.csv and NAME_new.csv; the rows of the second follow those of the first."""
    make_folder(folder)
    paths = [folder / f"{name}.csv", folder / f"{name}_new.csv"]
    for path in paths:
        check_output(path, [])
    training, further = _EXAMPLE_ROWS[name]
    columns = EXAMPLES[name](training + further, random_state=seed)
    for path, rows in zip(paths, (slice(training), slice(training, None)), strict=True):
        with replacing_text(path) as file:
            lines = csv.writer(file, lineterminator="\n")
            lines.writerow(columns)
            lines.writerows(zip(*(values[rows] for values in columns.values()), strict=True))
    command = _NEXT[name].format(paths[0])
    facts = {"files": list(map(str, paths)), "rows": [training, further], "next": command}
    written = [(str(path), f"{rows} rows") for path, rows in zip(paths, _EXAMPLE_ROWS[name], strict=True)]
    console.result(facts, [*written, ("next", command)])
