"""``skscn report``: a page about a model and how well it does on a table."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from skscn.cli._arguments import open_data
from skscn.cli._arriving import targets_of
from skscn.cli._batches import Batch, FollowingBatch
from skscn.cli._groups import labels_of, named
from skscn.cli._models import Model, NumericColumns, encoded_batches, open_model
from skscn.cli._outputs import check_output
from skscn.cli._seen import RowSketch, seen_sentence
from skscn.cli._voice import Voice, write_text
from skscn.following import Begin, is_recurrent
from skscn.tables import TableEncoder, TableFile, Target
from skscn.words import quoted

# The most rows that a page is about.
_MOST_ROWS = 50_000


def run_report(
    model_path: Path,
    data: Path,
    out: Path,
    target_name: str | None,
    title: str | None,
    series: str | None,
    voice: Voice,
) -> None:
    """Write the page."""
    check_output(out, [model_path, data], [".html", ".htm"])
    from skscn.report import write_report

    model, file = open_model(model_path), open_data(data)
    target = model.find_target(target_name, file)
    encoder = model.columns(file, without=(target.name,))
    timed = _timed(encoder, file)
    extra = {target.name: target.read_type, **(timed.time_types if timed else {})}
    _check_series(model, series)
    rows = _ReportedRows(model, target, timed, series)
    for batch in encoded_batches(model, file, encoder, extra):
        rows.add(batch)
        if rows.sketch.rows > _MOST_ROWS:
            voice.note(f"- The report covers the first {rows.sketch.rows:,} rows of {file.label}.")
            break
    if not rows.sketch.rows:
        raise ValueError(f"{file.label} has no row with a value of {quoted(target.name)} to compare with.")
    seen = rows.sketch.share_in(model.notes.get("sketch"))
    voice.notes(model.remarks)
    voice.notes(filter(None, [seen_sentence(seen, file.label)]))
    write_report(
        model.estimator,
        np.concatenate(rows.inputs),
        np.concatenate(rows.targets),
        out,
        feature_names=_feature_names(model, encoder),
        groups=encoder.groups_,
        encoder=encoder if isinstance(encoder, TableEncoder) else None,
        lags=model.lags,
        target_name=target.name,
        title=title or f"{target.name}{'' if series is None else f' of {series}'} from {file.label}",
        model_path=str(model_path),
        data_name=file.label,
        times=np.concatenate(rows.moments) if rows.moments else None,
        seen=seen,
        row_numbers=np.concatenate(rows.numbers),
        state=rows.state,
    )
    write_text(f"{out}\n")


def _check_series(model: Model, series: str | None) -> None:
    """Raise ValueError if the series that a page is about was not in training, or has to be named."""
    if model.group is None:
        if series is not None:
            raise ValueError(f"{model.path.name} is a model of one series; leave --series out.")
        return
    if series is None:
        raise ValueError(
            f"{model.path.name} is a model of several series (--group {model.group}), and a report is about one; name "
            f"it: --series LABEL, which is one of {named(model.labels)}."
        )
    if series not in model.labels:
        raise ValueError(f"There is no series {quoted(series)} in {model.path.name}; it has {named(model.labels)}.")


class _ReportedRows:
    """The rows that a page is about: those with a target; for a recurrent network all, and the state before them.

    Of several series, it may be about one.
    """

    def __init__(self, model: Model, target: Target, timed: TableEncoder | None, series: str | None):
        self._target, self._timed, self._group, self._series = target, timed, model.group, series
        self._whole = is_recurrent(model.estimator)
        self.inputs: list[np.ndarray] = []
        self.targets: list[np.ndarray] = []
        self.moments: list[np.ndarray] = []
        self.numbers: list[np.ndarray] = []
        self.sketch, self._start = RowSketch(), 1
        self.state: Begin = None

    def add(self, batch: Batch) -> None:
        """Take in some rows more."""
        places = self._places(batch)
        X, table = batch.X[places], batch.table.take(places)
        y, present = self._target.values(table.column(self._target.name))
        self.sketch.add(X[present], y)
        if isinstance(batch, FollowingBatch) and not self.inputs:
            self.state = next((part.state for part in batch.parts if part.label == self._series), None)
        if self._whole:
            present, y = np.ones(len(table), dtype=bool), targets_of(self._target, table)
        self.inputs.append(X[present])
        self.targets.append(y)
        self.numbers.append(self._start + places[np.asarray(present)])
        self.moments += [self._timed.row_times(table)[present]] if self._timed else []
        self._start += len(batch.table)

    def _places(self, batch: Batch) -> np.ndarray:
        """The rows of the series that the page is about."""
        if self._group is None or self._series is None:
            return np.arange(len(batch.table))
        return np.flatnonzero(labels_of(self._group, batch.table) == self._series)


def _feature_names(model: Model, encoder: TableEncoder | NumericColumns) -> list[str]:
    names = encoder.get_feature_names_out()
    return list(names if model.lags is None else model.lags.get_feature_names_out(names))


def _timed(encoder: TableEncoder | NumericColumns, file: TableFile) -> TableEncoder | None:
    """The encoder, if it knows which column is the time of the rows and the file has that column."""
    return encoder if isinstance(encoder, TableEncoder) and encoder.time_ in file.names else None
