"""Files of table models: a pipeline of the fitted steps, with notes about the target, the rows and the tests."""

from __future__ import annotations

import os
from collections.abc import Mapping
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline

from skscn import persistence
from skscn.estimators.networks import without_table
from skscn.persistence import describe_model
from skscn.plausibility import TargetGate
from skscn.recurrent import RecurrentStream
from skscn.series import Lags
from skscn.table_model.model import TableModel
from skscn.table_model.resampling import Resampling
from skscn.tables import TableEncoder, TableFile, Target, as_table
from skscn.tables.columns import Number
from skscn.tables.outside import Outside
from skscn.words import listed

if TYPE_CHECKING:
    import pyarrow as pa

# The key of these notes among those of a file; older files have no such key, and all of these.
_KEY, _WRITTEN_BEFORE = "skscn", {"target", "data", "rows", "fitted"}
# What is kept in attributes of a model, not in its record.
_OF_THE_MODEL = ("target", "sketch", "clock", "group", "gate", "rows", "bounds", "every", "errors")


class NumericColumns:
    """The columns of a model that was saved without an encoder: they hold numbers."""

    def __init__(self, names: list[str]):
        self.names = names
        self.time_ = None
        self.placeholders_: tuple[str, ...] = ()
        self._columns = [Number(name, np.nan, False) for name in names]
        self.groups_ = {name: [place] for place, name in enumerate(names)}

    @property
    def read_types(self) -> dict[str, Any]:
        """The columns that are needed, and their types."""
        return {column.name: column.read_type for column in self._columns}

    def looking_outside(self) -> Outside:
        """Counts inputs outside the training range, which is not known here."""
        return Outside(self._columns, self.groups_)

    def get_feature_names_out(self) -> np.ndarray:
        """Names of the columns."""
        return np.array(self.names, dtype=object)

    def transform(self, table: pa.Table) -> np.ndarray:
        """The columns side by side; models fill in missing values themselves, or say that they cannot."""
        columns = as_table(table)
        return np.column_stack([column.floats(columns.column(column.name)) for column in self._columns])

    def transform_one(self, row: Mapping[str, Any]) -> np.ndarray:
        """One row, a mapping of names to values, as :meth:`transform` gives it."""
        return np.array([[column.encode_one(row[column.name]) for column in self._columns]], dtype=float).reshape(1, -1)


def guess_columns(model: TableModel, file: TableFile, without: tuple[str, ...]) -> NumericColumns:
    """All columns of a table, for a model that knows only how many there are."""
    estimator = model.estimator_
    if isinstance(estimator, Pipeline) and isinstance(estimator[0], ColumnTransformer):
        raise ValueError(
            f"{model.subject} was saved from Python with a ColumnTransformer, which takes a data frame; use it in "
            "Python with skscn.load_model, or train a TableModel."
        )
    names = [name for name in file.names if name not in without]
    expected = (model.lags_ or estimator).n_features_in_
    if len(names) != expected:
        raise ValueError(
            f"{model.subject} needs {expected} columns but does not say which; {file.label} has {len(names)}: "
            f"{listed(names)}."
        )
    return NumericColumns(names)


def _save(model: TableModel, path: Path, updatable: bool) -> None:
    """Write a model; the file is replaced at once, or stays what it was."""
    record = {
        **model.record_,
        "target": None if model.target_ is None else model.target_.to_json(),
        "rows": model.n_rows_,
        "sketch": model.sketch_,
        "clock": model.clock_,
        "group": model.group_,
        **({} if model.bounds_ is None else {"bounds": list(model.bounds_)}),
        **({} if model.errors_ is None else {"errors": model.errors_.tolist()}),
        **({} if model.every_ is None else {"every": model.every_.to_json()}),
        **({} if model.gate_ is None else {"gate": model.gate_.to_json()}),
    }
    if model.target_ is None:
        del record["target"]
    saved = model
    if model.encoder_ is not None and not isinstance(model.encoder_, TableEncoder):
        # Columns are found by name here; the estimator itself gets arrays, and its names are put back.
        saved, names = copy(model), model.encoder_.get_feature_names_out()
        named = copy(model.lags_ or model.estimator_)
        named.feature_names_in_ = names
        if model.lags_ is None:
            saved.estimator_ = named
        else:
            saved.lags_ = named
    notes = {**model.user_notes_, _KEY: record}
    persistence.save_model(saved.pipeline(), path, notes, updatable=updatable)
    model.path_ = path


def save_model(
    model: Any, path: str | os.PathLike[str], notes: Mapping[str, Any] | None = None, *, updatable: bool = True
) -> None:
    """Write a fitted model to a file, without pickle: a table model, an estimator, a pipeline or a stream.

    Parameters
    ----------
    model : TableModel, or any estimator of this package, or a pipeline that ends with one
    path : path
        The file; one that is there is replaced at once, or stays as it is.
    notes : mapping, default=None
        Notes of your own, which JSON can hold.
    updatable : bool, default=True
        Whether the model can learn from further rows after it is loaded; without that, files are smaller.
    """
    if isinstance(model, TableModel):
        model.user_notes_ = model.user_notes_ if notes is None else dict(notes)
        _save(model, Path(path), updatable)
    else:
        persistence.save_model(model, path, notes, updatable=updatable)


def load_model(path: str | os.PathLike[str], activations: Mapping[str, Any] | None = None) -> Any:
    """Load a model from a file that :func:`~skscn.save_model`, ``TableModel.save`` or the program has written.

    Nothing in the file is executed, and memory use is limited by the size of the file, whoever wrote it.

    Parameters
    ----------
    path : path
    activations : mapping of str to callable or Activation, default=None
        Custom activations that the model was fitted with, by their names.

    Returns
    -------
    model : TableModel, or a fitted estimator
        A table model if that is what was saved, or if the program has written the file.
    """
    fitted, notes = persistence.load_model(path, activations), describe_model(path)["notes"]
    of_table = isinstance(notes.get(_KEY), dict) or notes.keys() >= _WRITTEN_BEFORE
    return wrap(fitted, notes, Path(path)) if of_table else fitted


def open_model(path: str | os.PathLike[str]) -> TableModel:
    """The table model in a file; a model that was saved by another class becomes one that knows no target."""
    fitted = persistence.load_model(path)
    return wrap(fitted, describe_model(path)["notes"], Path(path))


def wrap(fitted: Any, notes: dict[str, Any], path: Path | None = None) -> TableModel:
    """A table model of fitted steps; ValueError for steps that take something else than rows of a table."""
    user = dict(notes)
    record = user.pop(_KEY, None)
    if not isinstance(record, dict):
        record, user = (notes, {}) if notes.keys() >= _WRITTEN_BEFORE else ({}, notes)
    label = "The model" if path is None else path.name
    target = Target.from_json(record["target"]) if "target" in record else None
    encoder, lags, estimator = _steps(fitted, label)
    group, rows = record.get("group"), record.get("rows")
    model = TableModel(None if target is None else target.name)
    model.target_, model.encoder_, model.lags_, model.estimator_ = target, encoder, lags, estimator
    model.clock_ = record.get("clock")
    model.group_ = group if isinstance(group, str) else None
    model.sketch_ = record.get("sketch")
    model.bounds_ = _read_bounds(record.get("bounds"))
    model.errors_ = _read_errors(record.get("errors"))
    model.every_ = Resampling.from_json(record["every"]) if "every" in record else None
    model.gate_ = TargetGate.from_json(record["gate"]) if "gate" in record else None
    model.record_ = {name: value for name, value in record.items() if name not in _OF_THE_MODEL}
    model.user_notes_, model.path_, model.notes_, model.assessment_ = user, path, [], None
    model.n_rows_ = rows if isinstance(rows, int) else 0
    return model


def _read_bounds(bounds: Any) -> tuple[float, float] | None:
    """The limits of the target; None where a file gives none."""
    numbers = isinstance(bounds, list) and len(bounds) == 2 and all(isinstance(end, float | int) for end in bounds)
    return (float(bounds[0]), float(bounds[1])) if numbers else None


def _read_errors(errors: Any) -> np.ndarray | None:
    """Errors of the tests in increasing order; None where a file gives none."""
    if errors is None:
        return None
    if not isinstance(errors, list) or not errors or not all(type(error) is float for error in errors):
        raise ValueError("the errors of the tests are not a list of numbers")
    values = np.sort(np.array(errors))
    if not (np.isfinite(values) & (values >= 0.0)).all():
        raise ValueError("the errors of the tests are not finite, or negative")
    return values


def _steps(fitted: Any, label: str) -> tuple[TableEncoder | NumericColumns | None, Lags | None, Any]:
    """The encoder, the lags and the estimator of a fitted model, as far as there are any."""
    if isinstance(fitted, Pipeline) and isinstance(fitted[0], ColumnTransformer):
        return None, None, fitted
    steps = [step for _, step in fitted.steps] if isinstance(fitted, Pipeline) else [fitted]
    encoder: TableEncoder | NumericColumns | None = steps.pop(0) if isinstance(steps[0], TableEncoder) else None
    lags = steps.pop(0) if isinstance(steps[0], Lags) else None
    if encoder is None and len(steps) == 1:
        # An estimator that was fitted on a frame encodes it itself.
        encoder, steps[0] = without_table(steps[0])
    if isinstance(steps[-1], RecurrentStream):
        raise ValueError(
            f"{label} contains a stream, which takes one row at a time; use it in Python with skscn.load_model."
        )
    if any(isinstance(step, Lags) for step in steps):
        raise ValueError(
            f"{label} was saved from Python with Lags after another step; use it in Python with skscn.load_model."
        )
    estimator = steps[0] if len(steps) == 1 else fitted[-len(steps) :]
    if encoder is None:
        # Columns are found by name here; the estimator itself gets arrays.
        first = lags or steps[0]
        names = getattr(first, "feature_names_in_", None)
        vars(first).pop("feature_names_in_", None)
        encoder = None if names is None else NumericColumns(list(names))
    return encoder, lags, estimator
