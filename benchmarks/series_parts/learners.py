"""What is compared: our default, and others tuned on the last 30 % of the training rows."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from math import comb

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor

from series_parts.tasks import Task
from skscn import RecurrentSCNRegressor

NODES, WASHOUT, SHARE = 100, 100, 0.7
MOST_COLUMNS = 700
PENALTIES = np.append(0.0, np.geomspace(1e-14, 1.0, 15))
# 72 settings, and 16 penalties for each.
RADII, LEAKS, SCALES = (0.3, 0.6, 0.8, 0.95, 1.1, 1.3), (0.3, 0.6, 1.0), (0.1, 0.3, 1.0, 2.0)


def recurrent(task: Task, seed: int) -> tuple[np.ndarray, RecurrentSCNRegressor]:
    """The same call for every task."""
    model = RecurrentSCNRegressor(random_state=seed).fit(task.X[: task.training], task.y[: task.training])
    return model.predict(task.X[task.training :], state="end"), model


@dataclass(frozen=True)
class Readout:
    """Ridge regression on columns, the penalty chosen by later rows."""

    weights: np.ndarray
    error: float


def readout(columns: np.ndarray, targets: np.ndarray) -> Readout:
    """Standardised columns; the penalty with the smallest error on the last 30 % of the rows, then all of them."""
    columns, targets = columns[WASHOUT:], targets[WASHOUT:].reshape(len(targets) - WASHOUT, -1)
    first = round(SHARE * len(columns))
    tried = ridge(columns[:first], targets[:first], PENALTIES)
    errors = [((columns[first:] @ weights - targets[first:]) ** 2).mean() for weights in tried]
    best = int(np.argmin(errors))
    return Readout(ridge(columns, targets, PENALTIES[best : best + 1])[0], float(np.sqrt(errors[best])))


def ridge(columns: np.ndarray, targets: np.ndarray, penalties: np.ndarray) -> list[np.ndarray]:
    """Weights for each penalty per row; the first column, of ones, is not penalised."""
    means, units = columns[:, 1:].mean(axis=0), columns[:, 1:].std(axis=0)
    units = np.where(units > 0, units, 1.0)
    left, singular, right = np.linalg.svd((columns[:, 1:] - means) / units, full_matrices=False)
    turned = left.T @ (targets - targets.mean(axis=0))
    solved = []
    for penalty in penalties:
        kept = np.divide(
            singular, singular**2 + penalty * len(columns), where=singular > 1e-13 * singular[0], out=0 * singular
        )
        weights = (right.T @ (kept[:, np.newaxis] * turned)) / units[:, np.newaxis]
        solved.append(np.vstack([targets.mean(axis=0) - means @ weights, weights]))
    return solved


def with_ones(*parts: np.ndarray) -> np.ndarray:
    return np.hstack([np.ones((len(parts[0]), 1)), *parts])


def standardised(task: Task) -> np.ndarray:
    training = task.X[: task.training]
    return (task.X - training.mean(axis=0)) / training.std(axis=0)


def best_of(choices: Iterator[np.ndarray], task: Task) -> np.ndarray:
    """The test predictions of the columns with the smallest error on later training rows."""
    best, predictions = np.inf, None
    for columns in choices:
        found = readout(columns[: task.training], task.y[: task.training])
        if found.error < best:
            best, predictions = found.error, (columns[task.training :] @ found.weights)[:, 0]
    return predictions


def echo_state(task: Task, seed: int) -> np.ndarray:
    """reservoirpy's reservoir of as many nodes; inputs are linked to the output as well."""
    return best_of(_reservoirs(standardised(task), seed), task)


def _reservoirs(u: np.ndarray, seed: int) -> Iterator[np.ndarray]:
    for radius, leak, scale in product(RADII, LEAKS, SCALES):
        yield with_ones(u, reservoir(u.shape[1], radius, leak, scale, seed).run(u))


def reservoir(width: int, radius: float, leak: float, scale: float, seed: int):
    from reservoirpy.nodes import Reservoir

    return Reservoir(NODES, sr=radius, lr=leak, input_scaling=scale, bias=scale, seed=seed, input_dim=width)


def nvar(task: Task, seed: int) -> np.ndarray:
    """reservoirpy's nonlinear vector autoregression: its length, strides and order (2 or 3) by validation."""
    return best_of(_polynomials(standardised(task)), task)


def _polynomials(u: np.ndarray) -> Iterator[np.ndarray]:
    from reservoirpy.nodes import NVAR

    for delay, stride, order in product((1, 2, 4, 7, 10, 14, 20, 26), (1, 2, 4), (2, 3)):
        linear = delay * u.shape[1]
        if linear + comb(linear + order - 1, order) <= MOST_COLUMNS and (delay > 1 or stride == 1):
            yield with_ones(NVAR(delay=delay, order=order, strides=stride).run(u))


def boosted_trees(task: Task, seed: int) -> np.ndarray:
    """HistGradientBoosting on earlier rows, their number chosen by validation."""
    best, predictions = np.inf, None
    for lags in (5, 10, 20, 30):
        X = np.hstack([np.roll(task.X, lag, axis=0) for lag in range(lags + 1)])
        first, end = round(SHARE * task.training), task.training
        model = HistGradientBoostingRegressor(random_state=seed)
        error = ((model.fit(X[lags:first], task.y[lags:first]).predict(X[first:end]) - task.y[first:end]) ** 2).mean()
        if error < best:
            best, predictions = error, model.fit(X[lags:end], task.y[lags:end]).predict(X[end:])
    return predictions


OTHERS: dict[str, Callable[[Task, int], np.ndarray]] = {
    "ESN": echo_state,
    "NVAR": nvar,
    "lagged HGB": boosted_trees,
}
