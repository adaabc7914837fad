"""Free runs: how long a model that hears its own outputs stays close to the truth, from several starts."""

from itertools import product

import numpy as np

from series_parts.learners import LEAKS, NODES, PENALTIES, RADII, SCALES, SHARE, WASHOUT, reservoir, ridge, with_ones
from series_parts.tasks import Task
from skscn import RecurrentSCNRegressor

# A run is valid until its error exceeds this share of the standard deviation; it starts from several rows.
LIMIT, STARTS, STEPS, LONG = 0.4, 5, 1200, 10_000


def valid_time(task: Task, forecast) -> float:
    """The median of the valid times, from the end of training and from later rows, in units of the task."""
    spread = task.y[: task.training].std(axis=0)
    times = []
    for start in np.linspace(task.training, len(task.y) - STEPS, STARTS).astype(int):
        error = np.sqrt((((forecast(start, STEPS) - task.y[start : start + STEPS]) / spread) ** 2).mean(axis=1))
        times.append(int(np.argmax(error > LIMIT)) if (error > LIMIT).any() else STEPS)
    return float(np.median(times)) * task.unit


def recurrent(task: Task, seed: int) -> tuple[float, bool, RecurrentSCNRegressor]:
    """The valid time, whether a long run stays within 1.5 times the range of the data, and the model."""
    model = RecurrentSCNRegressor(feedback=True, random_state=seed).fit(None, task.y[: task.training])

    def forecast(start: int, steps: int) -> np.ndarray:
        known = (task.y[:start] - model.reservoir_.outputs.offset) / model.reservoir_.outputs.scale
        _, state = model.reservoir_.columns(np.empty((start, 0)), known)
        return model.forecast(steps, state=state)

    far = forecast(task.training, LONG)
    middle, half = task.y.mean(axis=0), 0.75 * np.ptp(task.y, axis=0)
    return valid_time(task, forecast), bool((np.abs(far - middle) < half).all()), model


def echo_state(task: Task, seed: int) -> float:
    """An ESN whose setting and penalty have the smallest errors in free runs on the last 30 % of training."""
    training = task.y[: task.training]
    t = (task.y - training.mean(axis=0)) / training.std(axis=0)
    best, chosen = np.inf, None
    for setting in product(RADII, LEAKS, SCALES):
        network = Echo(t.shape[1], *setting, seed)
        for penalty, error in network.judged(t[: task.training]):
            if error < best:
                best, chosen = error, (network, penalty)
    network, penalty = chosen
    network.learn(t[: task.training], penalty)

    def forecast(start: int, steps: int) -> np.ndarray:
        states = network.states(t[:start])
        course = network.free(states[[-1]], t[start - 1 : start], network.weights[np.newaxis], steps)[:, 0]
        return course * training.std(axis=0) + training.mean(axis=0)

    return valid_time(task, forecast)


class Echo:
    """reservoirpy's reservoir, stepped for several runs at once."""

    def __init__(self, width: int, radius: float, leak: float, scale: float, seed: int):
        node = reservoir(width, radius, leak, scale, seed)
        node.run(np.zeros((1, width)))
        node.reset()
        self.node, self.leak = node, leak
        self.recurrent, self.inputs = (np.asarray(matrix.todense()) for matrix in (node.W, node.Win))
        self.bias = np.asarray(node.bias.todense()).ravel() if hasattr(node.bias, "todense") else node.bias

    def states(self, t: np.ndarray) -> np.ndarray:
        states, x = np.empty((len(t), NODES)), np.zeros((1, NODES))
        for n, row in enumerate(t):
            x = states[n] = self.step(x, row[np.newaxis])[0]
            x = x[np.newaxis]
        return states

    def step(self, x: np.ndarray, u: np.ndarray) -> np.ndarray:
        return (1 - self.leak) * x + self.leak * np.tanh(x @ self.recurrent.T + u @ self.inputs.T + self.bias)

    def free(self, x: np.ndarray, u: np.ndarray, weights: np.ndarray, steps: int) -> np.ndarray:
        """``x`` are the states after the row before ``u``'s successor; outputs come back, within wide limits."""
        course = np.empty((steps, *u.shape))
        output = (with_ones(u, x)[:, np.newaxis] @ weights)[:, 0].clip(-10, 10)
        for n in range(steps):
            course[n] = output
            x = self.step(x, output)
            output = (with_ones(output, x)[:, np.newaxis] @ weights)[:, 0].clip(-10, 10)
        return course

    def columns(self, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return with_ones(t, self.states(t))[WASHOUT:-1], t[WASHOUT + 1 :]

    def judged(self, t: np.ndarray):
        """Each penalty with its error in free runs, as for our models: the mean logarithm over all horizons."""
        H, T = self.columns(t)
        first = round(SHARE * len(H))
        tried = np.array(ridge(H[:first], T[:first], PENALTIES[::2]))
        steps = min(400, (len(H) - first) // 2)
        origins = np.linspace(first, len(H) - steps, 10).astype(int)
        x, u = (np.repeat(values, len(tried), axis=0) for values in (H[origins][:, -NODES:], H[origins][:, 1:-NODES]))
        course = self.free(x, u, np.tile(tried, (len(origins), 1, 1)), steps)
        truth = np.array([T[origin : origin + steps] for origin in origins]).transpose(1, 0, 2)[:, :, np.newaxis]
        squares = (course.reshape(steps, len(origins), len(tried), -1) - truth) ** 2
        errors = np.exp(0.5 * np.log(squares.mean(axis=(1, 3)) + 1e-24).mean(axis=0))
        return zip(PENALTIES[::2], errors, strict=True)

    def learn(self, t: np.ndarray, penalty: float) -> None:
        self.weights = ridge(*self.columns(t), [penalty])[0]
