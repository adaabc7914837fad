"""Fits of the methods on splits of the sets, and their scores; each fit on one thread."""

import warnings
from functools import partial
from time import perf_counter, process_time

import numpy as np
from joblib import Parallel, delayed
from sklearn.metrics import log_loss, root_mean_squared_error
from threadpoolctl import threadpool_limits

from accuracy_parts.functions import FUNCTIONS
from accuracy_parts.methods import METHODS
from accuracy_parts.peers import errors, is_installed, package_version
from accuracy_parts.sets import DataSet, DrawnSet
from skscn.cli.console import progress_bar
from skscn.paper.trials import KeyedLines

_NRMSE = {"nrmse": "NRMSE"}
METRICS = {
    "regression": _NRMSE,
    "classification": {"error_rate": "error rate", "log_loss": "log loss"},
    **dict.fromkeys(FUNCTIONS, _NRMSE),
}
# What a result is kept under.
KEY = ("task", "set", "method", "split")
Key = tuple[str, str, str, int]
# Prediction is timed on this many rows, the best of a few times.
TIMED_ROWS, TIMED_TURNS = 1000, 3
# Characters of a warning that are kept.
WARNING_LENGTH = 200


def measure(data: DataSet | DrawnSet, method: str, split: int) -> tuple[Key, dict]:
    """Fit a method on one split: its metrics, or why there are none; with the warnings."""
    X, X_test, y, y_test = data.split(split)
    model = METHODS[data.task][method](len(X), split)
    result: dict = {"train_rows": len(X), "test_rows": len(X_test), "version": package_version(method)}
    with warnings.catch_warnings(record=True) as caught, threadpool_limits(1):
        warnings.simplefilter("always")
        try:
            result |= fit_time(model, X, y) | scores(model, X_test, y_test, classes=classes_of(data))
        except errors() as error:
            result["failed"] = f"{type(error).__name__}: {error}"
    if hasattr(model, "n_nodes_"):
        # Of an ensemble: the nodes of all its members.
        result["nodes"] = float(np.sum(model.n_nodes_))
    if caught:
        said = [f"{warning.category.__name__}: {warning.message}"[:WARNING_LENGTH] for warning in caught]
        result["warnings"] = list(dict.fromkeys(said))
    return (data.task, data.name, method, split), result


def classes_of(data: DataSet | DrawnSet) -> np.ndarray | None:
    """All classes of a set; None for regression."""
    return np.unique(data.y) if data.task == "classification" else None


def fit_time(model, X: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """Fit a model: seconds that passed, and seconds of the processor."""
    started, spent = perf_counter(), process_time()
    model.fit(X, y)
    return {"seconds": perf_counter() - started, "cpu": process_time() - spent}


def scores(model, X: np.ndarray, y: np.ndarray, classes: np.ndarray | None) -> dict[str, float]:
    """The metrics of a fitted model on test rows, and the time of its predictions."""
    if classes is None:
        error = float(root_mean_squared_error(y, np.ravel(model.predict(X))) / np.std(y))
        return {"nrmse": error, "predict": prediction_time(model.predict, X)}
    probabilities = model.predict_proba(X)
    return {
        # CatBoost predicts a column.
        "error_rate": float(np.mean(np.ravel(model.predict(X)) != y)),
        "log_loss": float(log_loss(y, probabilities, labels=classes)),
        "predict": prediction_time(model.predict_proba, X),
    }


def prediction_time(predict, X: np.ndarray) -> float:
    """Processor seconds for TIMED_ROWS rows, repeated if there are fewer."""
    rows = X[np.arange(TIMED_ROWS) % len(X)]
    return min(map(partial(_spent, predict), [rows] * TIMED_TURNS))


def _spent(function, argument) -> float:
    started = process_time()
    function(argument)
    return process_time() - started


def run_missing(store: KeyedLines, sets: list, methods: dict[str, list[str]], splits: int, jobs: int) -> None:
    """Measure what is not in the store yet, split by split through all sets; of packages that are there."""
    cells = [
        (data, method, split)
        for split in range(splits)
        for data in sets
        for method in methods[data.task]
        if is_installed(method) and METHODS[data.task][method](data.train_rows, split) is not None
    ]
    missing = [
        (data, method, split)
        for data, method, split in cells
        if (data.task, data.name, method, split) not in store.results
    ]
    with progress_bar() as progress:
        bar = progress.add_task("fits", total=len(cells), completed=len(cells) - len(missing))
        for key, result in Parallel(n_jobs=jobs, return_as="generator_unordered")(
            delayed(measure)(*cell) for cell in missing
        ):
            store.add(key, result)
            progress.update(bar, description=f"{key[1]} {key[2]}", advance=1)
