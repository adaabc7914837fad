"""Model files of the program: a network or ensemble with the table it takes and the target it predicts."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline

from skscn.cli._arguments import STANDARD_INPUT
from skscn.cli._batches import Batch, Following
from skscn.cli._continuing import Continuing
from skscn.estimators.networks import without_table
from skscn.following import is_recurrent
from skscn.persistence import describe_model, load_model
from skscn.recurrent import RecurrentStream
from skscn.series import Lags
from skscn.tables import TableEncoder, TableFile, Target, as_table
from skscn.tables.columns import Number
from skscn.tables.outside import Outside
from skscn.words import listed, nearest, quoted

if TYPE_CHECKING:
    import pyarrow as pa

# The key of the program's notes among those of a file; older files have no such key, and all of these.
_PROGRAM, _WRITTEN_BEFORE = "skscn", {"target", "data", "rows", "fitted"}
# Numbers that are encoded at a time.
_ENCODED_AT_A_TIME = 2**22


class NumericColumns:
    """Stands in for an encoder where a model was saved from Python without one: its columns hold numbers."""

    def __init__(self, names: list[str]):
        self.names = names
        self.placeholders_: tuple[str, ...] = ()
        self._columns = [Number(name, np.nan, False) for name in names]
        self.groups_ = {name: [place] for place, name in enumerate(names)}

    @property
    def read_types(self) -> dict[str, Any]:
        """The columns that are needed, and their types."""
        return {column.name: column.read_type for column in self._columns}

    def looking_outside(self) -> Outside:
        """What would find inputs outside of the training range, which is not known here."""
        return Outside(self._columns, self.groups_)

    def get_feature_names_out(self) -> np.ndarray:
        """Names of the columns."""
        return np.array(self.names, dtype=object)

    def transform(self, table: pa.Table) -> np.ndarray:
        """The columns side by side; models fill in missing values themselves, or say that they cannot."""
        columns = as_table(table)
        return np.column_stack([column.floats(columns.column(column.name)) for column in self._columns])


@dataclass(frozen=True)
class Model:
    """A model file, opened.

    Attributes
    ----------
    path : Path
    encoder : TableEncoder or NumericColumns or None
        None where the file says nothing about columns.
    estimator
        What takes the encoded rows.
    target : Target or None
        None where the file says nothing about it.
    notes : dict
        What ``fit`` wrote down; empty for a model that was saved from Python.
    lags : Lags or None
        What adds earlier values to the encoded rows.
    remarks : list of str
        What there is to say about the rows that have been read.
    user_notes : dict
        Notes that were saved from Python.
    """

    path: Path
    encoder: TableEncoder | NumericColumns | None
    estimator: Any
    target: Target | None
    notes: dict[str, Any]
    lags: Lags | None = None
    remarks: list[str] = field(default_factory=list)
    user_notes: dict[str, Any] = field(default_factory=dict)

    @property
    def labels(self) -> Collection[Any]:
        """The series that were in training, if there were several."""
        if is_recurrent(self.estimator):
            return list(self.estimator.states_)
        return [] if self.lags is None else self.lags.groups_ or []

    @property
    def group(self) -> str | None:
        """The column that tells several series apart, if there are several."""
        name = self.notes.get("group")
        return name if isinstance(name, str) else None

    @property
    def is_classifier(self) -> bool:
        """Whether it predicts classes."""
        return hasattr(self.estimator, "predict_proba")

    def columns(self, file: TableFile, without: tuple[str, ...] = ()) -> TableEncoder | NumericColumns:
        """What encodes a file for this model; ValueError if columns are missing."""
        if isinstance(self.estimator, Pipeline) and isinstance(self.estimator[0], ColumnTransformer):
            raise ValueError(
                f"{self.path.name} was saved from Python with a ColumnTransformer, which takes a data frame; use it in "
                "Python with skscn.load_model, or train a model for tables with skscn fit."
            )
        encoder = self.encoder or self._guess(file, without)
        there = set(file.names)
        missing = [name for name in encoder.read_types if name not in there]
        if missing:
            near = nearest(missing[0], file.names) if len(missing) == 1 else None
            meant = f" ({quoted(near)} is there: rename it if that is the one)" if near else ""
            raise ValueError(
                f"{file.label} lacks the column{'s' if len(missing) > 1 else ''} {listed(map(quoted, missing))}, "
                f"which {self.path.name} needs{meant}; its columns are {listed(file.names)}."
            )
        return encoder

    def _guess(self, file: TableFile, without: tuple[str, ...]) -> NumericColumns:
        """All columns, where a model knows only how many there are."""
        names = [name for name in file.names if name not in without]
        expected = (self.lags or self.estimator).n_features_in_
        if len(names) != expected:
            raise ValueError(
                f"{self.path.name} needs {expected} columns but does not say which; "
                f"{file.label} has {len(names)}: {listed(names)}."
            )
        return NumericColumns(names)

    def find_target(self, name: str | None, file: TableFile) -> Target:
        """The target, of this name if the user gave one."""
        if self.target is not None and name in (None, self.target.name):
            target = self.target
        elif name is None:
            raise ValueError(f"{self.path.name} does not say what it predicts; name the target column with --target.")
        elif self.target is not None:
            raise ValueError(
                f"{self.path.name} predicts {quoted(self.target.name)}, not {quoted(name)}; leave --target out."
            )
        else:
            target = Target(name, self._kind())
        file.find(target.name)
        return target

    def _kind(self) -> str:
        if not self.is_classifier:
            return "number"
        return {"b": "boolean", "i": "whole", "u": "whole"}.get(self.estimator.classes_.dtype.kind, "text")


def open_model(path: Path) -> Model:
    """Open a model file."""
    (notes, user_notes), model = _split_notes(describe_model(path)["notes"]), load_model(path)
    target = Target.from_json(notes["target"]) if "target" in notes else None
    if isinstance(model, Pipeline) and isinstance(model[0], ColumnTransformer):
        return Model(path, None, model, target, notes, user_notes=user_notes)
    steps = [step for _, step in model.steps] if isinstance(model, Pipeline) else [model]
    encoder = steps.pop(0) if isinstance(steps[0], TableEncoder) else None
    lags = steps.pop(0) if isinstance(steps[0], Lags) else None
    if encoder is None and len(steps) == 1:
        # A model that was fitted in Python on a table encodes it itself.
        encoder, steps[0] = without_table(steps[0])
    _check_steps(path, steps)
    estimator = steps[0] if len(steps) == 1 else model[-len(steps) :]
    if encoder is None:
        # Columns are found by name here; the model itself gets arrays.
        first = lags or steps[0]
        names = getattr(first, "feature_names_in_", None)
        vars(first).pop("feature_names_in_", None)
        encoder = None if names is None else NumericColumns(list(names))
    return Model(path, encoder, estimator, target, notes, lags, user_notes=user_notes)


def notes_to_save(program: dict[str, Any], user: dict[str, Any] | None = None) -> dict[str, Any]:
    """Notes for a model file: those of the program, and those of a user."""
    return {**(user or {}), _PROGRAM: program}


def _split_notes(notes: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The notes of a file: those of the program, and those that a user wrote from Python."""
    user = dict(notes)
    program = user.pop(_PROGRAM, None)
    if isinstance(program, dict):
        return program, user
    return (notes, {}) if notes.keys() >= _WRITTEN_BEFORE else ({}, notes)


def _check_steps(path: Path, steps: list[Any]) -> None:
    """Raise ValueError for models that are for Python only: lags come before the steps that see one row at a time."""
    if isinstance(steps[-1], RecurrentStream):
        raise ValueError(
            f"{path.name} contains a stream, which takes one row at a time; use it in Python with skscn.load_model."
        )
    if any(isinstance(step, Lags) for step in steps):
        raise ValueError(
            f"{path.name} was saved from Python with Lags after another step; use it in Python with skscn.load_model."
        )


def data_name(path: Path) -> str:
    """What to call a table."""
    return STANDARD_INPUT if str(path) == "-" else path.name


def encoded_batches(
    model: Model, file: TableFile, encoder: TableEncoder | NumericColumns, extra: dict[str, Any]
) -> Iterator[Batch]:
    """Encoded rows, some at a time, with the table that they come from; extra columns are read too."""
    about = encoder, model.notes.get("clock"), model.target, file, model.remarks, model.group
    continuing = None if model.lags is None else Continuing(model.lags, *about)
    following = Following(model.estimator, *about) if is_recurrent(model.estimator) else None
    extra = {**extra, **(continuing.types if continuing else {}), **(following.types if following else {})}
    rows = max(1, _ENCODED_AT_A_TIME // max(1, _width(model.estimator)))
    for table in file.batches({**extra, **encoder.read_types}, missing=encoder.placeholders_):
        for start in range(0, len(table), rows):
            part = table.slice(start, rows)
            X = encoder.transform(part)
            X = X if continuing is None else continuing.extended(X, part)
            yield Batch(model.estimator, X, part) if following is None else following.batch(X, part)


def _width(estimator: Any) -> int:
    """How many numbers a row becomes: its inputs, or the columns of a reservoir."""
    if is_recurrent(estimator):
        return len(estimator.reservoir_.output_weights)
    return int(estimator.n_features_in_)
