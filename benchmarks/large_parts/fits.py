"""One fit in a process of its own: error, times and memory."""

import json
import subprocess
import sys
from functools import partial
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np
from accuracy_parts.functions import LARGE, Function
from accuracy_parts.peers import lightgbm
from sklearn.ensemble import HistGradientBoostingRegressor
from speed_parts.processes import peak_bytes
from threadpoolctl import threadpool_limits

from skscn import SCNRegressor

_PROGRAM = Path(__file__).resolve().parent.parent / "large.py"
TREES = (100, 500)
TEST_ROWS = 100_000
# Rows are drawn in blocks, so that drawing takes little memory apart from theirs.
BLOCK = 1_000_000
SEED, TEST_SEED = 0, 1
# A fit on this many rows comes first, so that imports are not timed.
FIRST_ROWS = 500


def network() -> SCNRegressor:
    return SCNRegressor(n_jobs=1, random_state=SEED)


def boosting(trees: int) -> HistGradientBoostingRegressor:
    """Without early stopping, the default on large tables, so that it has all its trees."""
    return HistGradientBoostingRegressor(max_iter=trees, early_stopping=False, random_state=SEED)


# Name -> a function that makes the learner.
OURS = "SCN"
METHODS = {
    OURS: network,
    **{f"LightGBM-{trees}": partial(lightgbm, SEED, n_estimators=trees) for trees in TREES},
    **{f"boosting-{trees}": partial(boosting, trees) for trees in TREES},
}


def draw(function: Function, rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows in single precision, which halves the memory that they take, and their targets."""
    X, y = np.empty((rows, function.inputs), np.float32), np.empty(rows)
    for block, start in enumerate(range(0, rows, BLOCK)):
        some = slice(start, min(start + BLOCK, rows))
        X[some], y[some] = function.draw(some.stop - start, [seed, block])
    return X, y


def measure_in_process(order: dict) -> dict:
    """Fit in a process of its own; if it does not end well, why."""
    command = [sys.executable, str(_PROGRAM), "--fit", json.dumps(order)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode == 0:
        return json.loads(done.stdout)
    if done.returncode < 0:
        return {"failed": f"ended by signal {-done.returncode}, as a system does that is short of memory"}
    return {"failed": (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]}


def fit_ordered(order: dict) -> dict[str, Any]:
    """The fit of that process."""
    function, make = LARGE[order["function"]], METHODS[order["method"]]
    X_test, y_test = draw(function, TEST_ROWS, TEST_SEED)
    with threadpool_limits(1):
        make().fit(*draw(function, FIRST_ROWS, SEED)).predict(X_test[:FIRST_ROWS])
        X, y = draw(function, order["rows"], SEED)
        before = peak_bytes()
        model = make()
        started, spent = perf_counter(), process_time()
        model.fit(X, y)
        result: dict[str, Any] = {"seconds": perf_counter() - started, "cpu": process_time() - spent}
        result |= {"peak_bytes": peak_bytes(), "bytes_before": before}
        spent = process_time()
        predicted = model.predict(X_test)
        result["predict"] = (process_time() - spent) / TEST_ROWS
    result["nrmse"] = float(np.sqrt(np.mean((predicted - y_test) ** 2)) / np.std(y_test))
    result["noise"] = float(function.noise / np.std(y_test))
    if hasattr(model, "n_nodes_"):
        result |= {"nodes": int(model.n_nodes_), "stop_reason": model.stop_reason_}
    return result
