"""Data, networks, and the time that a fit takes."""

from collections.abc import Callable
from functools import lru_cache
from time import perf_counter, process_time

import numpy as np

from skscn import SCNRegressor

_WAVES, _NOISE = 5, 0.1


def timed(function: Callable[[], object]) -> dict:
    """Seconds that passed, and seconds of the processor on all threads of this process."""
    started, spent = perf_counter(), process_time()
    function()
    return {"seconds": perf_counter() - started, "cpu": process_time() - spent}


@lru_cache(maxsize=2)
def make_data(rows: int, inputs: int) -> tuple[np.ndarray, np.ndarray]:
    """Inputs in [0, 1], and a sum of sines of random projections with noise; no large temporaries."""
    rng = np.random.default_rng(0)
    X = rng.random((rows, inputs))
    y = _NOISE * rng.standard_normal(rows)
    for _ in range(_WAVES):
        y += np.sin(X @ rng.normal(0.0, 3.0 / np.sqrt(inputs), inputs) + rng.uniform(0.0, 2.0 * np.pi))
    return X, y


def network(**parameters) -> SCNRegressor:
    """A network that grows to ``max_nodes`` whatever its error."""
    return SCNRegressor(tol=0.0, early_stopping=False, random_state=0, **parameters)


def fit_measured(model: SCNRegressor, X: np.ndarray, y: np.ndarray) -> dict:
    result = timed(lambda: model.fit(X, y))
    return result | {"nodes": model.n_nodes_, "candidates": int(model.history_["candidates"].sum())}
