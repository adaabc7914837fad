"""Fits of the methods on splits of the sets, and their scores."""

from time import perf_counter

import numpy as np
from joblib import Parallel, delayed
from sklearn.metrics import log_loss, root_mean_squared_error

from accuracy_parts.methods import METHODS
from accuracy_parts.sets import DataSet
from skscn.cli._progress import progress_bar
from skscn.experiments.jsonlines import KeyedLines

METRICS = {"regression": {"nrmse": "NRMSE"}, "classification": {"error_rate": "error rate", "log_loss": "log loss"}}
# What a result is kept under.
KEY = ("task", "set", "method", "split")
Key = tuple[str, str, str, int]


def measure(data: DataSet, method: str, split: int) -> tuple[Key, dict]:
    """Fit a method on one split: its metrics, or why there are none."""
    X, X_test, y, y_test = data.split(split)
    model = METHODS[data.task][method](len(X), split)
    result: dict = {"train_rows": len(X), "test_rows": len(X_test)}
    try:
        started = perf_counter()
        model.fit(X, y)
        result["seconds"] = perf_counter() - started
        result |= scores(data, model, X_test, y_test)
    except (ValueError, np.linalg.LinAlgError, MemoryError) as error:
        result["failed"] = f"{type(error).__name__}: {error}"
    else:
        if hasattr(model, "n_nodes_"):
            # Of an ensemble: the nodes of all its members.
            result["nodes"] = float(np.sum(model.n_nodes_))
    return (data.task, data.name, method, split), result


def scores(data: DataSet, model, X: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """The metrics of a fitted model on test rows."""
    if data.task == "regression":
        return {"nrmse": float(root_mean_squared_error(y, model.predict(X)) / np.std(y))}
    return {
        "error_rate": float(np.mean(model.predict(X) != y)),
        "log_loss": float(log_loss(y, model.predict_proba(X), labels=np.unique(data.y))),
    }


def run_missing(store: KeyedLines, sets: list[DataSet], methods: dict[str, list[str]], splits: int, jobs: int) -> None:
    """Measure what is not in the store yet, split by split through all sets."""
    cells = [
        (data, method, split)
        for split in range(splits)
        for data in sets
        for method in methods[data.task]
        if METHODS[data.task][method](data.train_rows, split) is not None
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
