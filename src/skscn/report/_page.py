"""Puts the page together: numbers, pictures and words in, one HTML file out."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from skscn.extras import optional
from skscn.files import replace_file
from skscn.following import Begin
from skscn.losses import OUTLIER
from skscn.plot.effects import LINES, Effect
from skscn.readers import as_file
from skscn.report import _errors, _influence, _model, _pictures, _summary
from skscn.report._data import PICTURED_COVERAGE, SAMPLE, ReportData, open_data, table_data
from skscn.table_model import TableModel
from skscn.tables import TableEncoder
from skscn.words import alike, count, fixed, listed, number, percent, share

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from sklearn.base import BaseEstimator

    from skscn.series import Lags

_IMPORTANCES_SHOWN = 30
_OUTPUTS_PICTURED = 6
_CLASSES_IN_TABLE = 25


def write_report(
    estimator: TableModel | BaseEstimator,
    X: Any,
    y: Any = None,
    path: str | os.PathLike[str] | None = None,
    *,
    feature_names: Sequence[str] | None = None,
    groups: Mapping[str, Sequence[int]] | None = None,
    encoder: TableEncoder | None = None,
    lags: Lags | None = None,
    target_name: str | None = None,
    title: str | None = None,
    model_path: str | os.PathLike[str] | None = None,
    data_name: str | None = None,
    times: ArrayLike | None = None,
    seen: float | None = None,
    row_numbers: ArrayLike | None = None,
    state: Begin = None,
    series: str | None = None,
) -> None:
    """Write one HTML file about a fitted model and how well it does on rows with their targets.

    The page is self-contained, follows the reader's choice of light or dark, and can be printed. Judge a model on rows
    that it was not trained on.

    Parameters
    ----------
    estimator : TableModel, or a fitted estimator
        Any of scikit-scn's. Of the parameters below, a table model needs only a table and ``path``, as in
        ``write_report(model, table, path)``, and takes ``target_name``, ``series``, ``title``, ``model_path`` and
        ``data_name``.
    X : array-like, DataFrame or sparse matrix of shape (n_samples, n_features)
        For a table model, a table that contains the target: a file or a data frame, as in ``TableModel.fit``.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        The true targets or classes; names of a Series or DataFrame are used. Left out with a table model.
    path : path
        The file to write; one that is there is replaced.
    feature_names : sequence of str, default=None
        Names of the columns; those of X, or of the rows in training, if not given.
    groups : mapping of str to sequences of int, default=None
        Name of an input -> the numbers of its columns, for inputs that more than one column encodes.
    encoder : TableEncoder, default=None
        What made X of a table, if the model is kept in a pipeline after it: the page then speaks of the table's
        columns, and of inputs outside the training range. It replaces ``feature_names`` and ``groups``.
    lags : Lags, default=None
        What added earlier values to the encoded rows, if there is such a step after the encoder.
    target_name : str, default=None
        What a single output is called; the name of y, if not given. For a table model that does not name its target,
        the target column.
    title : str, default=None
        Heading of the page.
    model_path : path, default=None
        Where the model is kept, for the commands on the page.
    data_name : str, default=None
        What the rows are called.
    times : array of datetime64 of shape (n_samples,), default=None
        When each row was taken: the page then shows targets and predictions over time, with prediction intervals as a
        band. For regression only.
    seen : float, default=None
        The share of the rows that the model was trained on, if it is known.
    row_numbers : array-like of int of shape (n_samples,), default=None
        The numbers of the rows in their file, for the table of outliers; 1, 2, … if not given.
    state : ReservoirState, "end" or None, default=None
        For a recurrent network, whose rows must be in order of time, and may lack a target (NaN): the state before the
        first row; "end" if the rows follow the training rows. The page shows forecasts of models that have feedback.
    series : str, default=None
        For a table model of several series: which of them the report is about.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn.datasets import load_diabetes
    >>> from skscn import SCNRegressor
    >>> from skscn.report import write_report
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = SCNRegressor(max_nodes=5, random_state=0).fit(X[:300], y[:300])
    >>> with TemporaryDirectory() as folder:
    ...     page = Path(folder) / "report.html"
    ...     write_report(model, X[300:], y[300:], page, data_name="diabetes")
    ...     "On 142 rows of diabetes, predictions" in page.read_text(encoding="utf-8")
    True
    """
    about_rows: dict[str, Any] = {
        "feature_names": feature_names,
        "groups": groups,
        "encoder": encoder,
        "lags": lags,
        "times": times,
        "seen": seen,
        "row_numbers": row_numbers,
        "state": state,
    }
    if isinstance(estimator, TableModel):
        if path is None:
            y, path = None, y
        given = [name for name, value in {"y": y, **about_rows}.items() if value is not None]
        if given:
            raise ValueError(f"A table model finds everything that it needs in the table; leave {listed(given)} out.")
        file = as_file(X, data_name or "the table")
        data_name = data_name or (file.label if isinstance(X, str | os.PathLike) else None)
        model_path = estimator.path_ if model_path is None else model_path
        data = table_data(estimator, file, target_name, series)
        of_series = "" if series is None else f" of {series}"
        title = title or f"{data.outputs[0]}{of_series}{f' from {data_name}' if data_name else ''}"
    else:
        if series is not None:
            raise ValueError("series is for table models of several series; leave it out.")
        data = open_data(estimator, X, y, target_name=target_name, **about_rows)
        title = title or f"{type(estimator).__name__}{f' on {data_name}' if data_name else ''}"
    if path is None:
        raise TypeError("write_report needs the path of the file to write: write_report(model, table, path).")
    write_page(data, path, title, model_path, data_name)


def write_page(
    data: ReportData,
    path: str | os.PathLike[str],
    title: str,
    model_path: str | os.PathLike[str] | None,
    data_name: str | None,
) -> None:
    """Write the page about these data."""
    optional("matplotlib", "A report")
    content = {
        **_quality(data, data_name),
        "facts": _model.facts(data),
        "growth": _pictures.growth_pictures(data),
        "title": title,
        "data": data,
        "data_name": data_name,
        "usage": _model.usage(data, os.fspath(model_path or "model.scn"), data_name or "data.csv"),
        "parameters": _model.parameters(data),
        "versions": _model.versions(),
        "written": datetime.now().astimezone(),
        "statistics": _summary.STATISTICS,
        "columns": _summary.input_columns(data),
        "targets": _summary.target_columns(data),
        "sampled": SAMPLE if data.n_rows > SAMPLE else None,
    }
    replace_file(Path(path), _render(content).encode())


def _quality(data: ReportData, data_name: str | None) -> dict[str, Any]:
    """Errors, their pictures, importance and dependence, and the sentences that sum them up."""
    importances, measures = _influence.importances(data), _errors.measures(data)
    coverages = _errors.interval_coverages(data) if data.has_intervals else []
    coverage = PICTURED_COVERAGE if coverages else None
    shown = {} if data.classifies else dict(enumerate(data.outputs[:_OUTPUTS_PICTURED]))
    constant = "mean" if data.quantile is None else f"{data.quantile:g} quantile"
    return {
        **(_classes(data) if data.classifies else {}),
        "pictures": {name: _pictures.error_pictures(data, k, coverage) for k, name in shown.items()},
        "series": {name: _pictures.series_picture(data, k, coverage) for k, name in shown.items()},
        "sentences": _summary.sentences(data, measures, importances, coverages, data_name),
        "forecasts": _pictures.forecasts(data.followed),
        "cards": _summary.cards(data, measures),
        "honesty": _summary.expectation(data),
        "doubts": _summary.doubts(data, measures),
        "measures": measures,
        "baseline": "knows only how frequent each class is" if data.classifies else f"always predicts the {constant}",
        "outliers": _summary.outlier_rows(data),
        "outlier_outputs": data.outputs[: _summary.outlier_outputs(data)],
        "outlier_limit": OUTLIER,
        "coverages": dict(zip(data.outputs, coverages, strict=False)),
        "importances": importances[:_IMPORTANCES_SHOWN],
        "score": "accuracy" if data.classifies else "R²",
        **_dependences(data, importances),
    }


def _classes(data: ReportData) -> dict[str, Any]:
    table = _errors.confusions(data)
    labels = list(map(str, _errors.all_labels(data)))
    mistakes = table - np.diag(np.diag(table))
    worst = [np.unravel_index(place, table.shape) for place in np.argsort(-mistakes, axis=None, kind="stable")[:6]]
    return {
        "classes": _errors.class_qualities(data),
        "labels": labels if len(labels) <= _CLASSES_IN_TABLE else [],
        "confusions": table,
        "shares": table / np.maximum(table.sum(axis=1, keepdims=True), 1),
        "mistakes": [(labels[i], labels[j], int(table[i, j])) for i, j in worst if mistakes[i, j]],
        "reliability": _pictures.reliability_picture(data),
    }


def _dependences(data: ReportData, importances: list[_influence.Importance]) -> dict[str, Any]:
    """Curves for numbers and tables for categories, with the outputs or classes that are shown."""
    found = _influence.dependences(data, importances)
    if data.classifies:
        classes = data.estimator.classes_
        frequent = [int(k) for k in np.argsort([-np.sum(data.y == c) for c in classes], kind="stable")]
        shown = [1] if len(classes) == 2 else frequent[: len(LINES)]
        names, unit = [str(classes[k]) for k in shown], "mean probability"
    else:
        shown = list(range(min(len(data.outputs), len(LINES))))
        names, unit = [data.outputs[k] for k in shown], "mean prediction"
        if len(shown) > 1:
            found = [_standardised(item, data.y) for item in found]
            unit = "mean prediction in standard deviations from the mean"
    limits = _pictures.dependence_limits(found, shown) if found else (0.0, 1.0)
    named = dict(zip(shown, names, strict=True))
    pictures = [
        None if item.kind == "category" else _pictures.dependence_picture(item, unit, named, limits) for item in found
    ]
    both = _influence.together(data, importances) if len(shown) == 1 else None
    return {
        "pair": None if both is None else _pictures.pair_picture(both, unit),
        "dependences": list(zip(found, pictures, strict=True)),
        "dependence_unit": unit,
        "dependence_band": PICTURED_COVERAGE if any(item.limits is not None for item in found) else None,
        "lines": [(k, name, *line) for k, name, line in zip(shown, names, LINES, strict=False)],
    }


def _standardised(dependence: Effect, y: np.ndarray) -> Effect:
    """Several outputs in one picture, each in units of its own deviation."""
    deviations = y.std(axis=0)
    responses = (dependence.responses - y.mean(axis=0)) / np.where(deviations > 0.0, deviations, 1.0)
    return replace(dependence, responses=responses)


def _render(content: dict[str, Any]) -> str:
    jinja2 = optional("jinja2", "A report")
    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    environment.filters.update(
        number=number, percent=percent, share=share, alike=alike, count=count, fixed=fixed, themed=_pictures.themed
    )
    folder = files("skscn.report")
    source, style = (folder.joinpath(name).read_text(encoding="utf-8") for name in ("page.html", "page.css"))
    return str(environment.from_string(source).render(style=style, **content))
