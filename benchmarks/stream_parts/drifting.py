"""Streams that drift, and an oracle that knows when."""

from dataclasses import dataclass

import numpy as np

from skscn import SCNRegressor
from skscn.online import RecursiveWeights

NOISE = 1.0
# The share of all rows over which a gradual change extends.
GRADUAL = 0.04


@dataclass(frozen=True)
class DriftingStream:
    """Rows in order, and where each regime begins."""

    name: str
    X: np.ndarray
    y: np.ndarray
    starts: tuple[int, ...]


def drifting_streams(n_rows: int, seed: int = 0) -> list[DriftingStream]:
    makers = (abrupt, gradual, recurring, plant)
    return [make(n_rows, np.random.default_rng((seed, number))) for number, make in enumerate(makers)]


def abrupt(n_rows: int, rng: np.random.Generator) -> DriftingStream:
    """Five regimes, each with another function of the same inputs."""
    X, starts = rng.uniform(size=(n_rows, 6)), five(n_rows)
    concepts = [concept(rng) for _ in starts]
    y = pieces(concepts, X, starts) + NOISE * rng.normal(size=n_rows)
    return DriftingStream("abrupt", X, y, starts)


def gradual(n_rows: int, rng: np.random.Generator) -> DriftingStream:
    """The same, but around each change rows of the old and the new regime alternate at random, over 4 % of all rows."""
    X, starts = rng.uniform(size=(n_rows, 6)), five(n_rows)
    concepts, width = [concept(rng) for _ in starts], GRADUAL * n_rows
    y = pieces(concepts, X, starts)
    for start, old, new in zip(starts[1:], concepts, concepts[1:], strict=False):
        near = np.arange(int(start - width / 2), int(start + width / 2))
        is_new = rng.uniform(size=len(near)) < (near - near[0]) / width
        y[near] = np.where(is_new, new(X[near]), old(X[near]))
    return DriftingStream("gradual", X, y + NOISE * rng.normal(size=n_rows), starts)


def recurring(n_rows: int, rng: np.random.Generator) -> DriftingStream:
    """Two functions in turn."""
    X, starts = rng.uniform(size=(n_rows, 6)), five(n_rows)
    one, other = concept(rng), concept(rng)
    y = pieces([one, other, one, other, one], X, starts) + NOISE * rng.normal(size=n_rows)
    return DriftingStream("recurring", X, y, starts)


def plant(n_rows: int, rng: np.random.Generator) -> DriftingStream:
    """A heat exchanger in five campaigns: fouling, operating point and sensor offset differ; inputs are correlated."""
    starts = five(n_rows)
    campaigns = [
        campaign(stop - start, rng, lambda n: rng.normal(size=n))
        for start, stop in zip(starts, (*starts[1:], n_rows), strict=True)
    ]
    return DriftingStream("plant", *map(np.concatenate, zip(*campaigns, strict=True)), starts)


def campaign(n_rows: int, rng: np.random.Generator, noise) -> tuple[np.ndarray, np.ndarray]:
    flow, hot, cold, valve = (walk(n_rows, rng) for _ in range(4))
    flow, hot = rng.uniform(2, 4) + flow, rng.uniform(70, 90) + 5 * hot
    cold, valve = rng.uniform(10, 20) + 2 * cold, 1 / (1 + np.exp(-valve))
    conductance = rng.uniform(1.5, 4.0)
    effectiveness = 1 - np.exp(-conductance * np.sqrt(valve) / np.maximum(flow, 0.5))
    outlet = hot - effectiveness * (hot - cold) + rng.uniform(-3, 3)
    return np.column_stack([flow, hot, cold, valve]), outlet + 0.5 * noise(n_rows)


def stationary(n_rows: int, seed: int) -> DriftingStream:
    rng = np.random.default_rng((seed, 4))
    X = rng.uniform(size=(n_rows, 6))
    return DriftingStream("stationary", X, concept(rng)(X) + NOISE * rng.normal(size=n_rows), (0,))


def steady_plant(n_rows: int, seed: int) -> DriftingStream:
    """One campaign only, and noise with a memory of 50 rows."""
    rng = np.random.default_rng((seed, 5))
    return DriftingStream("steady plant", *campaign(n_rows, rng, lambda n: walk(n, rng)), (0,))


def five(n_rows: int) -> tuple[int, ...]:
    return tuple(n_rows * part // 5 for part in range(5))


def concept(rng: np.random.Generator):
    """Friedman's first function of five of six inputs in random order, some of them reversed."""
    order, reverse = rng.permutation(6), rng.uniform(size=6) < 0.5

    def function(X: np.ndarray) -> np.ndarray:
        x = np.where(reverse, 1 - X, X)[:, order]
        return 10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3] + 5 * x[:, 4]

    return function


def pieces(concepts, X: np.ndarray, starts: tuple[int, ...]) -> np.ndarray:
    parts = np.split(X, starts[1:])
    return np.concatenate([function(part) for function, part in zip(concepts, parts, strict=True)])


def walk(n_rows: int, rng: np.random.Generator) -> np.ndarray:
    """A process with unit variance and a memory of 50 rows."""
    from scipy.signal import lfilter

    keep = 1 - 1 / 50
    return lfilter([np.sqrt(1 - keep**2)], [1, -keep], rng.normal(size=n_rows))


def oracle(stream: DriftingStream, nodes: int, seed: int = 0) -> np.ndarray:
    """Predictions of a network that is refitted five rows for each node after every change, which it knows.

    Until then the old one predicts; afterwards its output weights are those of all rows of the regime so far.
    """
    predictions, network, weights = np.zeros(len(stream.y)), None, None
    for start, stop in zip(stream.starts, (*stream.starts[1:], len(stream.y)), strict=True):
        begin = start + 5 * nodes
        # The old network goes on learning.
        if network is not None:
            predictions[start:begin] = followed(network, weights, stream.X[start:begin], stream.y[start:begin])
        rows = slice(start, begin)
        network = SCNRegressor(max_nodes=nodes, random_state=seed).fit(stream.X[rows], stream.y[rows]).network_
        weights = RecursiveWeights.of_rows(columns(network, stream.X[rows]), stream.y[rows, np.newaxis], 1.0)
        predictions[begin:stop] = followed(network, weights, stream.X[begin:stop], stream.y[begin:stop])
    return predictions


def columns(network, X: np.ndarray) -> np.ndarray:
    return np.hstack([np.ones((len(X), 1)), network.inputs.transform(X), network.hidden(X)])


def followed(network, weights: RecursiveWeights, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    predictions = np.empty(len(y))
    for row, (h, t) in enumerate(zip(columns(network, X), y, strict=True)):
        predictions[row] = h @ weights.weights[:, 0]
        weights.learn(h, np.array([t]))
    return predictions
