"""What a model goes by: which inputs matter, and how predictions change with them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skscn.plot._importance import permutation_importance
from skscn.report._subject import SEED, Subject

_REPEATS = 5
# Shuffles in all; with very many inputs each is shuffled once.
_SHUFFLES = 500
_INPUTS_SHOWN = 6
_GRID = 30
_FEW_VALUES = 12
_DEPENDENCE_ROWS = 300


@dataclass(frozen=True)
class Importance:
    """How far the score falls when an input is shuffled: mean, smallest and largest over repetitions."""

    name: str
    mean: float
    low: float
    high: float


def importances(subject: Subject) -> list[Importance]:
    """All inputs, the most important first."""
    falls = permutation_importance(
        subject.estimator,
        subject.sample_rows,
        subject.y[subject.sample],
        subject.inputs.values(),
        n_repeats=max(1, min(_REPEATS, _SHUFFLES // len(subject.inputs))),
        random_state=SEED,
    )
    found = [
        Importance(name, float(fall.mean()), float(fall.min()), float(fall.max()))
        for name, fall in zip(subject.inputs, falls, strict=True)
    ]
    return sorted(found, key=lambda importance: -importance.mean)


@dataclass(frozen=True)
class Dependence:
    """Mean prediction when an input is set to a value in all rows (partial dependence).

    Attributes
    ----------
    name : str
        The input, or one of its columns.
    values : list
        Numbers, or names of categories.
    responses : ndarray of shape (values, outputs)
    categorical : bool
    """

    name: str
    values: list
    responses: np.ndarray
    categorical: bool


def dependences(subject: Subject, order: list[Importance]) -> list[Dependence]:
    """For the most important inputs."""
    found: list[Dependence] = []
    for importance in order[:_INPUTS_SHOWN]:
        columns = subject.inputs[importance.name]
        if len(columns) > 1 and _is_one_hot(subject.sample_rows[:, columns]):
            found.append(_on_category(subject, importance.name, columns))
        else:
            found += [_on_number(subject, column) for column in columns]
    return found[:_INPUTS_SHOWN]


def _is_one_hot(values: np.ndarray) -> bool:
    return bool(np.isin(values, (0.0, 1.0)).all() and (values.sum(axis=1) <= 1.0).all())


def _on_category(subject: Subject, name: str, columns: list[int]) -> Dependence:
    responses = [_mean_response(subject, columns, indicators) for indicators in np.eye(len(columns))]
    return Dependence(name, [subject.columns[column] for column in columns], np.array(responses), True)


def _on_number(subject: Subject, column: int) -> Dependence:
    grid = _grid(subject.sample_rows[:, column])
    responses = [_mean_response(subject, [column], value) for value in grid]
    return Dependence(subject.columns[column], grid.tolist(), np.array(responses), False)


def _grid(values: np.ndarray) -> np.ndarray:
    """The values themselves, if they are few; else evenly spread ones, without the outermost hundredths."""
    distinct = np.unique(values)
    if len(distinct) <= _FEW_VALUES:
        return distinct
    low, high = np.quantile(values, (0.01, 0.99))
    return np.linspace(low, high, _GRID) if low < high else distinct[[0, -1]]


def _mean_response(subject: Subject, columns: list[int], values) -> np.ndarray:
    """The mean response when these columns have these values in all rows.

    scikit-learn's partial_dependence sets one column at a time, and cannot set a category in all of its indicators.
    """
    rows = subject.sample_rows[:_DEPENDENCE_ROWS].copy()
    rows[:, columns] = values
    return subject.responses(rows).mean(axis=0)
