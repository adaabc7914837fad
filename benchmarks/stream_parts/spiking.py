"""Streams of sensors that fail: spikes, values that stand for missing ones, outages, frozen and shifted stretches."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed

from skscn import OnlineSCNRegressor
from stream_parts import results
from stream_parts.drifting import DriftingStream, drifting_streams
from stream_parts.following import learnt

COLUMNS = ("stream", "rows", "faulty_rows", "rmse", "rmse_without_spikes", "ratio")
# The shares of rows with a target between ±1e3 and ±1e300, with a target of −9999, with one that is missing or
# infinite, and with an input that is missing, 1e300 or −9999.
SPIKES, SENTINELS, MISSING, INPUTS = 0.005, 0.002, 0.002, 0.004
SENTINEL = -9999.0
STREAMS = ("abrupt", "plant")
# How many outages there are, in which all targets are −9999, and stretches in which targets are frozen or shifted by
# this number of standard deviations; and how many rows each has.
STRETCHES, OUTAGE, FROZEN, SHIFTED, SHIFT = 5, 40, 200, 300, 3.0


@dataclass(frozen=True)
class FaultyStream:
    """Rows with spikes, the same rows without them, and which rows have them; stretches are in both."""

    X: np.ndarray
    y: np.ndarray
    X_without: np.ndarray
    y_without: np.ndarray
    spiking: np.ndarray


def spike(n_rows: int, seed: int, jobs: int, path: Path) -> None:
    results.start(path, COLUMNS)
    streams = [stream for stream in drifting_streams(n_rows, seed) if stream.name in STREAMS]
    parallel = Parallel(n_jobs=jobs, return_as="generator", max_nbytes=None)
    for values in parallel(delayed(compared)(stream, seed) for stream in streams):
        results.add(path, values)


def compared(stream: DriftingStream, seed: int) -> tuple:
    """The line of a stream."""
    faulty = with_faults(stream, np.random.default_rng((seed, 99)))
    errors = errors_of(faulty.X, faulty.y, seed)
    without = errors_of(faulty.X_without, faulty.y_without, seed)
    rmse, reference = (rms(some[~faulty.spiking]) for some in (errors, without))
    return stream.name, len(stream.y), int(faulty.spiking.sum()), rmse, reference, rmse / reference


def errors_of(X: np.ndarray, y: np.ndarray, seed: int) -> np.ndarray:
    model = OnlineSCNRegressor(random_state=seed)
    return np.array([learnt(model, X[row : row + 1], y[row : row + 1])[0] for row in range(len(y))])


def rms(errors: np.ndarray) -> float:
    return float(np.sqrt(np.mean(errors**2)))


def with_faults(stream: DriftingStream, rng: np.random.Generator) -> FaultyStream:
    X_without, y_without, n_rows = stream.X.copy(), stream.y.copy(), len(stream.y)
    spiking = np.zeros(n_rows, dtype=bool)
    deviation = stream.y.std()
    for length, change in ((FROZEN, lambda y: y[:1]), (SHIFTED, lambda y: y + SHIFT * deviation)):
        for rows in runs(n_rows, length, rng):
            y_without[rows] = change(stream.y[rows])
    X, y = X_without.copy(), y_without.copy()

    def fail(values: np.ndarray, share: float, faults: np.ndarray) -> None:
        rows = rng.uniform(size=n_rows) < share
        values[rows], spiking[rows] = rng.choice(faults, size=rows.sum()), True

    fail(y, SPIKES, rng.choice([-1.0, 1.0], size=1000) * 10.0 ** rng.uniform(3.0, 300.0, size=1000))
    fail(y, SENTINELS, np.array([SENTINEL]))
    fail(y, MISSING, np.array([np.nan, np.inf, -np.inf]))
    fail(X[:, 0], INPUTS, np.array([np.nan, 1e300, SENTINEL]))
    for rows in runs(n_rows, OUTAGE, rng):
        y[rows], spiking[rows] = SENTINEL, True
    return FaultyStream(X, y, X_without, y_without, spiking)


def runs(n_rows: int, length: int, rng: np.random.Generator) -> list[slice]:
    """Stretches of rows, one in each part of the stream."""
    length = min(length, n_rows // (10 * STRETCHES))
    starts = (np.arange(STRETCHES) + rng.uniform(0.2, 0.8, size=STRETCHES)) * n_rows / STRETCHES
    return [slice(int(start), int(start) + length) for start in starts]
