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
from skscn.report import _doubts, _errors, _forecasts, _influence, _model, _pictures, _summary
from skscn.report._subject import SAMPLE, Subject, has_intervals, open_subject
from skscn.report._words import alike, fixed, number, percent, share
from skscn.tables import TableEncoder
from skscn.words import count

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from sklearn.base import BaseEstimator

    from skscn.series import Lags

_IMPORTANCES_SHOWN = 30
_OUTPUTS_PICTURED = 6
_CLASSES_IN_TABLE = 25


def write_report(
    estimator: BaseEstimator,
    X: ArrayLike,
    y: ArrayLike,
    path: str | os.PathLike[str],
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
) -> None:
    """Write one HTML file about a fitted model and how well it does on the rows X with targets y.

    The page is self-contained, follows the reader's choice of light or dark, and can be printed. Judge a model on rows
    that it was not trained on.

    Parameters
    ----------
    estimator : fitted estimator
        Any of scikit-scn's.
    X : array-like, DataFrame or sparse matrix of shape (n_samples, n_features)
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        The true targets or classes; names of a Series or DataFrame are used.
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
        What a single output is called; the name of y, if not given.
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
    optional("matplotlib", "A report")
    subject = open_subject(
        estimator, X, y, feature_names, groups, target_name, encoder, times, seen, row_numbers, lags, state
    )
    content = {
        **_quality(subject, data_name),
        **_growth(subject),
        "title": title or f"{type(estimator).__name__}{f' on {data_name}' if data_name else ''}",
        "subject": subject,
        "data_name": data_name,
        "usage": _model.usage(subject, os.fspath(model_path or "model.scn"), data_name or "data.csv"),
        "parameters": _model.parameters(subject),
        "versions": _model.versions(),
        "written": datetime.now().astimezone(),
        "statistics": _summary.STATISTICS,
        "columns": _summary.input_columns(subject),
        "targets": _summary.target_columns(subject),
        "sampled": SAMPLE if subject.n_rows > SAMPLE else None,
    }
    replace_file(Path(path), _render(content).encode())


def _quality(subject: Subject, data_name: str | None) -> dict[str, Any]:
    """Errors, their pictures, importance and dependence, and the sentences that sum them up."""
    importances = _influence.importances(subject)
    coverages = _coverages(subject)
    if subject.classifies:
        measures = {subject.outputs[0]: _errors.classification_measures(subject)}
        pictured = _classes(subject)
    else:
        columns = zip(subject.outputs, subject.y.T, subject.predictions.T, strict=True)
        measures = {name: _measures(subject, y, predicted) for name, y, predicted in columns}
        coverage = _errors.PICTURED_COVERAGE if coverages else None
        shown = range(min(len(subject.outputs), _OUTPUTS_PICTURED))
        pictured = {
            "pictures": {subject.outputs[k]: _pictures.error_pictures(subject, k, coverage) for k in shown},
            "series": {subject.outputs[k]: _series(subject, k, coverage) for k in shown},
        }
    return {
        **pictured,
        "sentences": _summary.sentences(subject, measures, importances, coverages, data_name),
        "forecasts": _forecasts.forecasts(subject.followed),
        "cards": _summary.cards(subject, measures),
        "honesty": _doubts.expectation(subject),
        "doubts": _doubts.doubts(subject, measures),
        "measures": measures,
        "baseline": _baseline(subject),
        "outliers": _summary.outlier_rows(subject),
        "outlier_outputs": subject.outputs[: _summary.outlier_outputs(subject)],
        "outlier_limit": OUTLIER,
        "coverages": dict(zip(subject.outputs, coverages, strict=False)),
        "importances": importances[:_IMPORTANCES_SHOWN],
        "score": "accuracy" if subject.classifies else "R²",
        **_dependences(subject, importances),
    }


def _measures(subject: Subject, y: np.ndarray, predictions: np.ndarray) -> list[_errors.Measure]:
    if subject.quantile is not None:
        return _errors.quantile_measures(y, predictions, subject.quantile)
    return _errors.regression_measures(y, predictions)


def _baseline(subject: Subject) -> str:
    if subject.classifies:
        return "knows only how frequent each class is"
    return f"always predicts the {'mean' if subject.quantile is None else f'{subject.quantile:g} quantile'}"


def _series(subject: Subject, output: int, coverage: float | None) -> _pictures.Picture | None:
    return None if subject.times is None else _pictures.series_picture(subject, subject.times, output, coverage)


def _coverages(subject: Subject) -> list[list[_errors.Coverage]]:
    """How prediction intervals do, for ensembles that have any."""
    return _errors.interval_coverages(subject) if has_intervals(subject.estimator) else []


def _classes(subject: Subject) -> dict[str, Any]:
    table = _errors.confusions(subject)
    labels = list(map(str, _errors.all_labels(subject)))
    mistakes = table - np.diag(np.diag(table))
    worst = [np.unravel_index(place, table.shape) for place in np.argsort(-mistakes, axis=None, kind="stable")[:6]]
    return {
        "classes": _errors.class_qualities(subject),
        "labels": labels if len(labels) <= _CLASSES_IN_TABLE else [],
        "confusions": table,
        "shares": table / np.maximum(table.sum(axis=1, keepdims=True), 1),
        "mistakes": [(labels[i], labels[j], int(table[i, j])) for i, j in worst if mistakes[i, j]],
        "reliability": _pictures.reliability_picture(subject),
    }


def _dependences(subject: Subject, importances: list[_influence.Importance]) -> dict[str, Any]:
    """Curves for numbers and tables for categories, with the outputs or classes that are shown."""
    found = _influence.dependences(subject, importances)
    if subject.classifies:
        classes = subject.estimator.classes_
        frequent = [int(k) for k in np.argsort([-np.sum(subject.y == c) for c in classes], kind="stable")]
        shown = [1] if len(classes) == 2 else frequent[: len(_pictures.LINES)]
        names, unit = [str(classes[k]) for k in shown], "mean probability"
    else:
        shown = list(range(min(len(subject.outputs), len(_pictures.LINES))))
        names, unit = [subject.outputs[k] for k in shown], "mean prediction"
        if len(shown) > 1:
            found = [_standardised(item, subject.y) for item in found]
            unit = "mean prediction in standard deviations from the mean"
    limits = _pictures.dependence_limits(found, shown) if found else (0.0, 1.0)
    named = dict(zip(shown, names, strict=True))
    pictures = [
        None if item.kind == "category" else _pictures.dependence_picture(item, unit, named, limits) for item in found
    ]
    return {
        "dependences": list(zip(found, pictures, strict=True)),
        "dependence_unit": unit,
        "lines": [(k, name, *line) for k, name, line in zip(shown, names, _pictures.LINES, strict=False)],
    }


def _standardised(dependence: _influence.Dependence, y: np.ndarray) -> _influence.Dependence:
    """Several outputs in one picture, each in units of its own deviation."""
    deviations = y.std(axis=0)
    responses = (dependence.responses - y.mean(axis=0)) / np.where(deviations > 0.0, deviations, 1.0)
    return replace(dependence, responses=responses)


def _growth(subject: Subject) -> dict[str, Any]:
    return {"facts": _model.facts(subject), "growth": _pictures.growth_pictures(subject)}


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
