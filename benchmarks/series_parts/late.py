"""Targets that become known some rows late: what a stream makes of them, and what intervals contain."""

import numpy as np

from series_parts.tasks import Task
from skscn import RecurrentSCNRegressor

COVERAGE = 0.9


def late_labels(task: Task, model: RecurrentSCNRegressor) -> dict[str, float]:
    """NRMSE of a stream that learns and of the last known target; shares of targets within intervals of 90 %."""
    X, truth = task.X[task.training :], task.y[task.training :]
    predictions, low, high = streamed(task, model)
    known = np.append(task.y[task.training - 1 - task.delay : task.training], truth)[: len(truth)]
    return {
        "learning": nrmse(predictions, truth),
        "last known": nrmse(known, truth),
        "fixed": covered(truth, *model.predict_interval(X, state="end", coverage=COVERAGE)),
        "steered": covered(
            truth, *model.predict_interval(X, y=truth, delay=task.delay, state="end", coverage=COVERAGE)
        ),
        "stream": covered(truth, low, high),
    }


def streamed(task: Task, model: RecurrentSCNRegressor) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Each row is predicted, with its interval, before the target of ``delay`` rows ago is learnt."""
    stream, said = model.stream(coverage=COVERAGE), []
    for n in range(task.training, len(task.y)):
        said.append((stream.predict_one(task.X[n]), *stream.interval()))
        if n - task.delay >= task.training:
            stream.learn_one(task.X[n], task.y[n - task.delay], delay=task.delay)
    predictions, low, high = np.array(said).T
    return predictions, low, high


def nrmse(predictions: np.ndarray, truth: np.ndarray) -> float:
    return float(np.sqrt(((predictions - truth) ** 2).mean() / truth.var()))


def covered(truth: np.ndarray, low: np.ndarray, high: np.ndarray) -> float:
    return float(((low <= truth) & (truth <= high)).mean())
