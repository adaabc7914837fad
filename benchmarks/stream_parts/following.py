"""How drift is followed: errors compared with an oracle's, alarms, and the coverage of intervals."""

from pathlib import Path

import numpy as np
from joblib import Parallel, delayed

from skscn import OnlineSCNRegressor
from stream_parts import results
from stream_parts.drifting import GRADUAL, DriftingStream, drifting_streams, oracle, stationary, steady_plant

COLUMNS = (
    "stream", "rows", "rmse", "oracle_rmse", "ratio", "alarms", "unfounded_alarms",
    "lowest_coverage", "highest_coverage", "lowest_fixed", "highest_fixed",
)  # fmt: skip
NODES, WINDOW, COVERAGE = 60, 2000, 0.9
# An alarm belongs to a change up to this share of a regime after it.
LATE = 0.25


def follow(n_rows: int, seed: int, jobs: int, path: Path) -> None:
    results.start(path, COLUMNS)
    streams = [*drifting_streams(n_rows, seed), stationary(n_rows, seed), steady_plant(n_rows, seed)]
    # Memory maps would be validated row by row, which plain arrays are not.
    parallel = Parallel(n_jobs=jobs, return_as="generator", max_nbytes=None)
    for values in parallel(delayed(followed)(stream, seed) for stream in streams):
        results.add(path, values)


def followed(stream: DriftingStream, seed: int) -> tuple:
    """The line of a stream."""
    n_rows = len(stream.y)
    model = OnlineSCNRegressor(coverage=COVERAGE, random_state=seed)
    errors, hits = np.empty(n_rows), np.empty(n_rows, dtype=bool)
    for row in range(n_rows):
        errors[row], hits[row] = learnt(model, stream.X[row : row + 1], stream.y[row : row + 1])
    later = slice(5 * NODES, None)
    reference = oracle(stream, NODES, seed) - stream.y
    rmse, best = (float(np.sqrt((e[later] ** 2).mean())) for e in (errors, reference))
    # The width that would have been right in the first regime.
    fixed = np.abs(errors) <= np.quantile(np.abs(errors[later][: WINDOW - 5 * NODES]), COVERAGE)
    alarms = model.events_["row"][model.events_["event"] == "alarm"]
    false = unfounded(alarms, stream.starts, n_rows)
    return (stream.name, n_rows, rmse, best, rmse / best, len(alarms), false, *extremes(hits), *extremes(fixed))


def learnt(model: OnlineSCNRegressor, X: np.ndarray, y: np.ndarray) -> tuple[float, bool]:
    """Predict a row and learn it; return the error and whether the interval contained the target."""
    if not hasattr(model, "learner_"):
        model.partial_fit(X, y)
        return 0.0, True
    lower, upper = model.predict_interval(X)
    error = float(model.predict(X)[0] - y[0])
    model.partial_fit(X, y)
    return error, bool(lower[0] <= y[0] <= upper[0])


def unfounded(alarms: np.ndarray, starts: tuple[int, ...], n_rows: int) -> int:
    """Alarms that do not follow a change; a gradual one begins before the new regime has half of the rows."""
    late, early = LATE * n_rows / 5, GRADUAL / 2 * n_rows
    return sum(not any(-early <= alarm - start <= late for start in starts[1:]) for alarm in alarms)


def extremes(hits: np.ndarray) -> tuple[float, float]:
    """The lowest and the highest share of hits in any WINDOW rows."""
    sums = np.concatenate([[0], np.cumsum(hits)])
    shares = (sums[WINDOW:] - sums[:-WINDOW]) / WINDOW
    return float(shares.min()), float(shares.max())
