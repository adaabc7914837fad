"""Part a: scoring candidates against the bare matrix product and tanh."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np

from skscn.activations import ACTIVATIONS
from skscn.nodes import Dense, blocks
from skscn.rows import open_rows
from skscn.scaling import scale_inputs
from speed_parts.fits import make_data, timed
from speed_parts.results import Cell, Part, ResultStore
from speed_parts.sizes import Sizes
from speed_parts.writing import Table, seconds_text, times_text


def scoring_case(sizes: Sizes) -> str:
    rows, inputs, candidates = sizes.scoring
    return f"{rows} rows, {inputs} inputs, {candidates} candidates"


def scoring_cells(sizes: Sizes) -> Iterator[Cell]:
    methods: dict[str, Callable[[], dict]] = {
        "limit": partial(measure_limit, sizes.scoring, blocked=True),
        "limit, unblocked": partial(measure_limit, sizes.scoring, blocked=False),
        "limit, 2 threads": partial(measure_limit, sizes.scoring, blocked=True, threads=2),
    }
    for activation in ("tanh", "sigmoid"):
        for threads, label in ((1, activation), (2, f"{activation}, 2 threads")):
            methods[label] = partial(measure_sums, sizes.scoring, activation, threads)
    for turn in range(sizes.turns):
        for method, measure in methods.items():
            yield Cell(("a", scoring_case(sizes), method, turn), measure)


def candidates_for(inputs: int, candidates: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    return rng.uniform(-5.0, 5.0, (inputs, candidates)), rng.uniform(-5.0, 5.0, candidates)


def measure_limit(scoring: tuple[int, int, int], *, blocked: bool, threads: int = 1) -> dict:
    """The least that scoring must do: the product of rows and weights, and tanh in place."""
    rows, inputs, candidates = scoring
    X, weights = make_data(rows, inputs)[0], candidates_for(inputs, candidates)[0]
    if threads == 1:
        return timed(lambda: bare_hidden(X, weights, blocked))
    halves = np.array_split(X, threads)
    with ThreadPoolExecutor(threads) as executor:
        return timed(lambda: list(executor.map(lambda half: bare_hidden(half, weights, blocked), halves)))


def bare_hidden(X: np.ndarray, weights: np.ndarray, blocked: bool) -> None:
    for rows in blocks(len(X), weights.shape[1]) if blocked else [slice(None)]:
        z = X[rows] @ weights
        np.tanh(z, out=z)


def measure_sums(scoring: tuple[int, int, int], activation: str, threads: int) -> dict:
    size, inputs, candidates = scoring
    X, y = make_data(size, inputs)
    weights, biases = candidates_for(inputs, candidates)
    scaling = scale_inputs("minmax", X, None)
    with open_rows(X, y[:, np.newaxis], layer=Dense(ACTIVATIONS[activation]), scaling=scaling, n_jobs=threads) as rows:
        return timed(lambda: rows.sums(rows.nodes(weights, biases)))


def scoring_tables(store: ResultStore, sizes: Sizes) -> list[Table]:
    case = scoring_case(sizes)
    rows = []
    for method in ("limit", "limit, unblocked", "tanh", "sigmoid"):
        two = f"{method}, 2 threads"
        gain = times_text(store.ratio("a", case, method, two, "seconds")) if store.turns("a", case, two) else ""
        median = seconds_text(store.median("a", case, method))
        rows.append([method, median, times_text(store.ratio("a", case, method, "limit")), gain])
    return [
        Table(
            f"Scoring: {case}, float64",
            ["one thread", "median", "times the limit", "two threads: times as fast"],
            rows,
            "The limit is the matrix product of rows and weights followed by tanh in place, in blocks of rows that fit "
            "in the cache; its own gain from a second thread shows how much of a second core was available.",
        )
    ]


PART = Part("Scoring candidates", scoring_cells, scoring_tables)
