"""How fast fits and predictions are: ratios to limits and to others, growth with the size, threads, latency.

usage: ./run bench speed [--out results/speed] [--parts a b c ...] [--quick | --full]

    a  scoring candidates against the bare matrix product and tanh
    b  fits of SC-III against a literal reading of the paper
    c  defaults against scikit-learn's neural network and boosting, at equal test error
    d  growth of time and memory with rows, nodes, inputs and candidates (--full: up to ten million rows)
    e  two threads against one
    f  rows in scratch files against rows in memory
    g  prediction, and the time of the import

Measurements are kept in OUT/results.jsonl as they come, and the same command goes on where it was. Methods that are
compared take turns, and a ratio is the median over the turns. What runs on one thread is compared by processor time,
which a busy machine disturbs least. To measure something again after a change, take another OUT or delete its lines.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import lru_cache, partial
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time

import numpy as np
from scipy.optimize import nnls
from threadpoolctl import threadpool_info, threadpool_limits

import skscn
from skscn import SCNRegressor
from skscn.activations import ACTIVATIONS
from skscn.experiments.jsonlines import KeyedLines
from skscn.kernels import blocks
from skscn.layers import Dense
from skscn.rows import Chunks, memory_rows
from skscn.scaling import scale_inputs

OPTIONAL = ("typer", "rich", "matplotlib", "pandas", "pyarrow", "dask")
BOOK_METHODS = {"skscn": "ladder", "skscn default": "polished"}
# What a fit in scratch files may use, in bytes.
CORE_LIMIT = 16 * 2**20
CORE_METHODS = {"memory": None, "scratch files": CORE_LIMIT}
AXES = {"N": "rows", "L": "nodes", "d": "inputs", "T": "candidates"}
_WAVES, _NOISE = 5, 0.1
_COLOURS = {"ladder": "#2563eb", "polished": "#c2410c", "SCN": "#c2410c", "MLP": "#2563eb", "boosting": "#059669"}


@dataclass(frozen=True)
class Sizes:
    """How large the measurements are.

    Attributes
    ----------
    scoring : rows, inputs and candidates of part a
    books : rows and turns of part b; ``book_nodes`` nodes
    book_seconds : what one run of the textbook may take before the rest is extrapolated
    table_rows : rows of the synthetic sets of part c
    base, sweeps : the middle of part d, and the values that each of its sizes takes
    thread_rows, thread_nodes : part e
    core_rows : rows of part f
    predicted_rows, predicting_nodes, calls : part g
    turns, fit_turns, imports : repeats of short measurements, of fits and of imports
    """

    scoring: tuple[int, int, int] = (100_000, 20, 200)
    books: tuple[tuple[int, int], ...] = ((20_000, 3), (200_000, 1))
    book_nodes: int = 100
    book_seconds: float = 600.0
    table_rows: int = 8000
    base: dict[str, int] = field(default_factory=lambda: {"N": 20_000, "L": 40, "d": 10, "T": 100})
    sweeps: dict[str, tuple[int, ...]] = field(
        default_factory=lambda: {
            "N": (1000, 10_000, 100_000, 1_000_000),
            "L": (10, 20, 40, 80, 160),
            "d": (2, 5, 10, 20, 50, 100),
            "T": (25, 50, 100, 200, 400, 800),
        }
    )
    thread_rows: tuple[int, ...] = (10_000, 100_000, 1_000_000)
    thread_nodes: int = 20
    core_rows: tuple[int, ...] = (100_000, 1_000_000)
    predicted_rows: int = 1_000_000
    predicting_nodes: int = 100
    calls: int = 500
    turns: int = 15
    fit_turns: int = 3
    imports: int = 7


def full() -> Sizes:
    default = Sizes()
    return Sizes(sweeps={**default.sweeps, "N": (*default.sweeps["N"], 10_000_000)})


QUICK = Sizes(
    scoring=(20_000, 20, 200),
    books=((2000, 2), (10_000, 1)),
    book_nodes=30,
    book_seconds=10.0,
    table_rows=1500,
    base={"N": 2000, "L": 20, "d": 10, "T": 50},
    sweeps={"N": (500, 2000, 8000, 32_000), "L": (10, 20, 40), "d": (5, 10, 20), "T": (25, 50, 100)},
    thread_rows=(10_000, 50_000),
    thread_nodes=10,
    core_rows=(20_000,),
    predicted_rows=100_000,
    predicting_nodes=50,
    calls=100,
    turns=7,
    fit_turns=2,
    imports=3,
)


# Part, case, method, turn.
Key = tuple[str, str, str, int]


@dataclass(frozen=True)
class Cell:
    """One measurement: what it is called, and a function that takes it."""

    key: Key
    measure: Callable[[], dict]


class ResultStore(KeyedLines):
    """Measurements in a file of JSON lines."""

    def __init__(self, path: Path):
        super().__init__(path, ("part", "case", "method", "turn"))

    def turns(self, part: str, case: str, method: str) -> list[dict]:
        """The measurements of a method, turn by turn."""
        found = {key[3]: result for key, result in self.results.items() if key[:3] == (part, case, method)}
        return [found[turn] for turn in sorted(found)]

    def median(self, part: str, case: str, method: str, name: str = "cpu") -> float:
        """The median over the turns."""
        return float(np.median([result[name] for result in self.turns(part, case, method)]))

    def ratio(self, part: str, case: str, method: str, other: str, name: str = "cpu") -> float:
        """The median over the turns of one method's number over the other's."""
        pairs = zip(self.turns(part, case, method), self.turns(part, case, other), strict=False)
        return float(np.median([one[name] / two[name] for one, two in pairs]))


@dataclass(frozen=True)
class Table:
    """A table, and what is to be said about it."""

    title: str
    header: list[str]
    rows: list[list[str]]
    note: str = ""

    def markdown(self) -> list[str]:
        """Its lines in Markdown, the first column to the left."""
        lines = [f"### {self.title}", ""]
        lines += [f"| {' | '.join(self.header)} |", f"|---|{'---:|' * (len(self.header) - 1)}"]
        lines += [f"| {' | '.join(row)} |" for row in self.rows]
        return [*lines, "", self.note] if self.note else lines

    def text(self) -> str:
        """The table for a terminal."""
        everything = [self.header, *self.rows]
        widths = [max(len(row[i]) for row in everything) for i in range(len(self.header))]
        lines = [
            "  ".join(f"{text:<{width}}" if i == 0 else f"{text:>{width}}" for i, (text, width) in enumerate(pairs))
            for pairs in (list(zip(row, widths, strict=True)) for row in everything)
        ]
        return "\n".join(["", self.title, *lines, *([self.note] if self.note else [])])


def seconds_text(seconds: float) -> str:
    """A time in a unit that suits it."""
    unit, scale = next(((u, s) for u, s in (("s", 1.0), ("ms", 1e-3)) if seconds >= s), ("µs", 1e-6))
    return f"{seconds / scale:.3g} {unit}" if seconds < 1000 else f"{seconds:.0f} s"


def times_text(ratio: float) -> str:
    return f"{ratio:.0f}" if ratio >= 20 else f"{ratio:.2f}"


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
    """A network of just so many nodes, whatever its error."""
    return SCNRegressor(tol=0.0, early_stopping=False, random_state=0, **parameters)


def fit_measured(model: SCNRegressor, X: np.ndarray, y: np.ndarray) -> dict:
    result = timed(lambda: model.fit(X, y))
    return result | {"nodes": model.n_nodes_, "candidates": int(model.history_["candidates"].sum())}


# Part a: scoring.


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
    with memory_rows(
        X, y[:, np.newaxis], layer=Dense(ACTIVATIONS[activation]), scaling=scaling, n_jobs=threads
    ) as rows:
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


# Part b: the textbook.


def book_case(rows: int, sizes: Sizes) -> str:
    return f"{rows} rows, {sizes.book_nodes} nodes"


def book_cells(sizes: Sizes) -> Iterator[Cell]:
    """Ours, the textbook, ours, the textbook, …, ours."""
    for rows, turns in sizes.books:
        case = book_case(rows, sizes)
        for turn in range(turns + 1):
            for method, configuration in BOOK_METHODS.items():
                yield Cell(("b", case, method, turn), partial(measure_ours, rows, sizes.book_nodes, configuration))
            if turn < turns:
                measure = partial(measure_textbook, rows, sizes.book_nodes, sizes.book_seconds)
                yield Cell(("b", case, "textbook", turn), measure)


def measure_ours(rows: int, nodes: int, configuration: str) -> dict:
    from textbook import SCOPES

    model = network(configuration=configuration, max_nodes=nodes, scopes=SCOPES, max_candidates=200)
    result = fit_measured(model, *make_data(rows, 20))
    moments = result["seconds"] - model.history_["seconds"].sum() + np.cumsum(model.history_["seconds"])
    return result | {
        "rmse": [float(f"{rmse:.6g}") for rmse in model.history_["train_rmse"]],
        "moments": [float(f"{moment:.4g}") for moment in moments],
    }


def time_to_error(result: dict, rmse: float) -> tuple[float, int]:
    """Seconds and nodes until the training error is at most ``rmse``; infinite if it never is."""
    reached = np.flatnonzero(np.array(result["rmse"]) <= rmse)
    return (result["moments"][reached[0]], int(reached[0]) + 1) if reached.size else (np.inf, len(result["rmse"]))


def measure_textbook(rows: int, nodes: int, limit: float) -> dict:
    """Grow until there are ``nodes`` nodes or the time is over; what is missing then is extrapolated."""
    from textbook import grow

    X, y = make_data(rows, 20)
    T = (y - y.min()) / np.ptp(y)
    started, moments, rmse = process_time(), [0.0], []
    for error in grow(X, T, 200, np.random.default_rng(0)):
        moments.append(process_time() - started)
        rmse.append(float(f"{error:.6g}"))
        if len(rmse) == nodes or moments[-1] > limit:
            break
    cpu = extrapolated(np.diff(moments), nodes) if moments[-1] > limit else moments[-1]
    return {"cpu": cpu, "measured_cpu": moments[-1], "nodes": len(rmse), "rmse": rmse}


def extrapolated(seconds: np.ndarray, nodes: int) -> float:
    """Time of all nodes, from that of the first ones: a + bL + cL² for node L, with no negative coefficient."""
    L = np.arange(1, nodes + 1.0)
    powers = np.column_stack([np.ones(nodes), L, L**2])
    coefficients, _ = nnls(powers[: len(seconds)], seconds)
    return float(seconds.sum() + (powers[len(seconds) :] @ coefficients).sum())


def book_tables(store: ResultStore, sizes: Sizes) -> list[Table]:
    rows = []
    for size, _ in sizes.books:
        case = book_case(size, sizes)
        ours, theirs = store.turns("b", case, "skscn")[0], store.turns("b", case, "textbook")[0]
        reached = min(len(ours["rmse"]), len(theirs["rmse"]))
        partly = theirs["cpu"] != theirs["measured_cpu"]
        seconds = seconds_text(store.median("b", case, "textbook"))
        if partly:
            seconds += f" (from {theirs['nodes']} nodes in {theirs['measured_cpu']:.0f} s)"
        rows.append(
            [
                case,
                seconds_text(store.median("b", case, "skscn")),
                seconds,
                times_text(store.ratio("b", case, "textbook", "skscn")),
                str(reached),
                f"{ours['rmse'][reached - 1]:.5f}",
                f"{theirs['rmse'][reached - 1]:.5f}",
            ]
        )
    header = ["20 inputs, pools of 200", "skscn", "textbook", "times as fast", "after nodes", "RMSE skscn"]
    return [
        default_table(store, sizes),
        Table(
            "SC-III against a literal reading of the paper",
            [*header, "RMSE textbook"],
            rows,
            "Processor time, one thread each; both use the paper's search with the same seed, pools and scopes; "
            "training errors are for targets in [0, 1]. Where the textbook implementation would take longer than "
            f"{sizes.book_seconds:.0f} s, only its first nodes were grown; the time of the others is extrapolated as "
            "a + bL + cL² for node L, and the errors are compared after the number of nodes that both have.",
        ),
    ]


def default_table(store: ResultStore, sizes: Sizes) -> Table:
    rows = []
    for size, _ in sizes.books:
        case = book_case(size, sizes)
        ours, theirs = store.turns("b", case, "skscn default"), store.turns("b", case, "textbook")[0]
        to_error = [time_to_error(turn, theirs["rmse"][-1]) for turn in ours]
        seconds, nodes = float(np.median([time for time, _ in to_error])), to_error[0][1]
        rows.append(
            [
                case,
                seconds_text(store.median("b", case, "skscn default")),
                f"{ours[0]['rmse'][-1]:.5f}",
                times_text(store.ratio("b", case, "textbook", "skscn default")),
                f"{nodes} nodes",
                seconds_text(seconds),
                times_text(theirs["cpu"] / seconds),
            ]
        )
    return Table(
        "The default search against the textbook",
        [
            "20 inputs, pools of 200",
            "all nodes",
            "RMSE",
            "times as fast",
            "to the textbook's error",
            "",
            "times as fast",
        ],
        rows,
        "The first three columns are for the same number of nodes as the textbook implementation, the last three for "
        "growth until the training error is at most that of the textbook implementation, in wall-clock time.",
    )


# Part c: other learners.

ITERATIONS = {"MLP": (10, 20, 50, 100, 200, 500), "boosting": (10, 20, 50, 100, 200, 500)}
DEFAULT_ITERATIONS = {"MLP": 200, "boosting": 100}
SYNTHETIC = ("sines", "friedman")


def table_names(sizes: Sizes) -> list[str]:
    return [*(f"{name}, {sizes.table_rows} rows" for name in SYNTHETIC), "diabetes"]


@lru_cache(maxsize=1)
def table_split(case: str, rows: int) -> list[np.ndarray]:
    """Training X, test X, training y, test y of one set."""
    from sklearn.datasets import load_diabetes, make_friedman1
    from sklearn.model_selection import train_test_split

    if case.startswith("sines"):
        X, y = make_data(rows, 10)
    elif case.startswith("friedman"):
        X, y = make_friedman1(rows, noise=1.0, random_state=0)
    else:
        X, y = load_diabetes(return_X_y=True)
    return train_test_split(X, y, random_state=0)


def learner(name: str, iterations: int | None):
    """A learner as it comes, but for its iterations; the neural network with inputs and targets standardised."""
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.ensemble import HistGradientBoostingRegressor
    from sklearn.neural_network import MLPRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if name == "SCN":
        return SCNRegressor(random_state=0)
    if name == "boosting":
        return HistGradientBoostingRegressor(max_iter=iterations, random_state=0)
    scaled = make_pipeline(StandardScaler(), MLPRegressor(max_iter=iterations, random_state=0))
    return TransformedTargetRegressor(scaled, transformer=StandardScaler())


def learner_cells(sizes: Sizes) -> Iterator[Cell]:
    for case in table_names(sizes):
        for turn in range(sizes.fit_turns):
            yield Cell(("c", case, "SCN", turn), partial(measure_learner, case, sizes.table_rows, "SCN", None))
            for name, counts in ITERATIONS.items():
                for count in counts:
                    measure = partial(measure_learner, case, sizes.table_rows, name, count)
                    yield Cell(("c", case, f"{name} {count}", turn), measure)


def measure_learner(case: str, rows: int, name: str, iterations: int | None) -> dict:
    from sklearn.exceptions import ConvergenceWarning

    X, X_test, y, y_test = table_split(case, rows)
    model = learner(name, iterations)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = timed(lambda: model.fit(X, y))
    # That few iterations were not enough is a part of the result.
    stopped = [issubclass(warning.category, ConvergenceWarning) for warning in caught]
    for warning, is_stop in zip(caught, stopped, strict=True):
        if not is_stop:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    rmse = float(np.sqrt(np.mean((model.predict(X_test) - y_test) ** 2)))
    return result | {"rmse": rmse, "converged": not any(stopped)}


def learner_tables(store: ResultStore, sizes: Sizes) -> list[Table]:
    rows = []
    for case in table_names(sizes):
        error = store.median("c", case, "SCN", "rmse")
        for name in ("SCN", *ITERATIONS):
            method = name if name == "SCN" else f"{name} {DEFAULT_ITERATIONS[name]}"
            reached = (
                seconds_text(store.median("c", case, method)) if name == "SCN" else reached_text(store, case, name)
            )
            rows.append(
                [
                    f"{case}: {name}",
                    seconds_text(store.median("c", case, method)),
                    times_text(store.ratio("c", case, method, "SCN")),
                    f"{store.median('c', case, method, 'rmse') / error:.3f}",
                    reached,
                ]
            )
    return [
        Table(
            "Defaults, processor time on one thread",
            ["set: learner", "fit", "times our time", "times our test RMSE", "time to our test RMSE"],
            rows,
            "The last column is the time of the shortest fit whose test error is not above ours, over these numbers of "
            "iterations: "
            + "; ".join(f"{name} {', '.join(map(str, counts))}" for name, counts in ITERATIONS.items())
            + ". For the neural network, inputs and targets are standardised.",
        )
    ]


def reached_text(store: ResultStore, case: str, name: str) -> str:
    """The shortest fit of a learner that is as good as ours."""
    error = store.median("c", case, "SCN", "rmse")
    good = [
        (store.median("c", case, f"{name} {count}"), count)
        for count in ITERATIONS[name]
        if store.median("c", case, f"{name} {count}", "rmse") <= error
    ]
    if not good:
        return "not reached"
    seconds, count = min(good)
    return f"{seconds_text(seconds)} ({count} iterations)"


def draw_learners(store: ResultStore, sizes: Sizes):
    """Test error against fit time, both in units of ours, one panel a set."""
    from matplotlib.figure import Figure

    cases = table_names(sizes)
    figure = Figure(figsize=(4 * len(cases), 3.8), layout="constrained")
    axes = figure.subplots(1, len(cases))
    for ax, case in zip(axes, cases, strict=True):
        ax.axhline(1.0, color=_COLOURS["SCN"], linewidth=1, linestyle=":")
        for name in ("SCN", *ITERATIONS):
            methods = ["SCN"] if name == "SCN" else [f"{name} {count}" for count in ITERATIONS[name]]
            times, errors = (
                [store.ratio("c", case, method, "SCN", what) for method in methods] for what in ("cpu", "rmse")
            )
            style = {"marker": "*", "markersize": 14, "linestyle": ""} if name == "SCN" else {"marker": "o"}
            ax.plot(times, errors, label=name, color=_COLOURS[name], **style)
        ax.set(title=case, xlabel="times our fit time", xscale="log")
        ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        ax.grid(alpha=0.25)
    axes[0].set_ylabel("times our test RMSE")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside right center", frameon=False)
    return figure


# Part d: growth.

CONFIGURATIONS = ("ladder", "polished")
_MANY = 1_000_000


def growth_case(point: dict[str, int]) -> str:
    return ", ".join(f"{axis} = {value}" for axis, value in point.items())


def growth_points(sizes: Sizes) -> list[dict[str, int]]:
    """Each point of the sweeps once, small ones first."""
    points = [{**sizes.base, axis: value} for axis, values in sizes.sweeps.items() for value in values]
    unique = {growth_case(point): point for point in points}
    return sorted(unique.values(), key=lambda point: np.prod(list(point.values()), dtype=float))


def growth_cells(sizes: Sizes) -> Iterator[Cell]:
    for point in growth_points(sizes):
        for turn in range(1 if point["N"] >= _MANY else sizes.fit_turns):
            for configuration in CONFIGURATIONS:
                key = ("d", growth_case(point), configuration, turn)
                yield Cell(key, partial(measure_in_process, {**point, "configuration": configuration}))


def measure_in_process(order: dict) -> dict:
    """A fit in a process of its own, for its memory."""
    command = [sys.executable, str(Path(__file__).resolve()), "--fit", json.dumps(order)]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


def fit_ordered(order: dict) -> dict:
    """The fit of that process, after a small one: its time, and by how much it raised the largest memory."""
    if "folder" in order:
        return fit_from_folder(order)
    network(configuration=order["configuration"], max_nodes=2, n_jobs=1).fit(*make_data(200, order["d"]))
    X, y = make_data(order["N"], order["d"])
    model = network(configuration=order["configuration"], max_nodes=order["L"], max_candidates=order["T"], n_jobs=1)
    before = peak_bytes()
    with threadpool_limits(1):
        result = fit_measured(model, X, y)
    peak = peak_bytes()
    return result | {"bytes": None if peak is None or before is None else peak - before, "peak_bytes": peak}


def peak_bytes() -> int | None:
    """The most memory that this process has held, where the system says so."""
    status = Path("/proc/self/status")
    if status.exists():
        # Not getrusage: on Linux it counts what the parent held before this program began.
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) * 1024
    if find_spec("resource") is None:
        # Windows has no such module; the columns of memory stay empty.
        return None
    import resource

    # In kilobytes, but on macOS in bytes.
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def growth_line(store: ResultStore, sizes: Sizes, axis: str, configuration: str, name: str) -> tuple[list, list]:
    """Values of one size, and the medians there; nothing where they were not measured."""
    values = [
        value
        for value in sizes.sweeps[axis]
        if all(r[name] is not None for r in store.turns("d", point_case(sizes, axis, value), configuration))
    ]
    return values, [store.median("d", point_case(sizes, axis, value), configuration, name) for value in values]


def point_case(sizes: Sizes, axis: str, value: int) -> str:
    return growth_case({**sizes.base, axis: value})


def slope(values: list, numbers: list) -> str:
    """The slope of a line through the points of a double logarithmic plot."""
    if len(values) < 2 or min(numbers) <= 0:
        return ""
    return f"{np.polyfit(np.log(values), np.log(numbers), 1)[0]:.2f}"


def growth_tables(store: ResultStore, sizes: Sizes) -> list[Table]:
    rows = []
    for axis, label in AXES.items():
        for configuration in CONFIGURATIONS:
            values, seconds = growth_line(store, sizes, axis, configuration, "cpu")
            places, memory = growth_line(store, sizes, axis, configuration, "bytes")
            rows.append(
                [
                    f"{label} {axis} = {values[0]} … {values[-1]}, {configuration}",
                    f"{seconds_text(seconds[0])} … {seconds_text(seconds[-1])}",
                    slope(values, seconds),
                    slope(values[-2:], seconds[-2:]),
                    f"{memory[0] / 2**20:.0f} … {memory[-1] / 2**20:.0f}" if memory else "",
                    slope(places[-2:], memory[-2:]),
                ]
            )
    header = ["size, search", "fit", "slope, all", "slope, last two", "memory of the fit, MiB", "slope, last two"]
    note = (
        f"Processor time, one thread; the sizes that do not vary are {growth_case(sizes.base)}. Slopes are on log-log "
        "axes: 1 means proportional growth. Memory is the amount by which the fit raised the peak resident memory of "
        "its process, not counting the rows themselves."
    )
    missing = "" if find_spec("resource") else " This system does not report the memory of a process."
    return [Table("Growth", header, rows, note + missing)]


def draw_growth(store: ResultStore, sizes: Sizes):
    """Time and memory against each size, one column a size."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import NullLocator

    figure = Figure(figsize=(13, 6), layout="constrained")
    axes = figure.subplots(2, len(AXES), sharex="col", sharey="row")
    for column, (axis, label) in zip(axes.T, AXES.items(), strict=True):
        for ax, name, unit in zip(column, ("cpu", "bytes"), (1.0, 2.0**20), strict=True):
            for configuration in CONFIGURATIONS:
                values, numbers = growth_line(store, sizes, axis, configuration, name)
                ax.plot(
                    values, np.array(numbers) / unit, marker="o", color=_COLOURS[configuration], label=configuration
                )
            ax.grid(alpha=0.25)
        column[0].set(xscale="log", yscale="log")
        column[1].set(xlabel=f"{label} {axis}", yscale="symlog")
        column[1].set_xticks(sizes.sweeps[axis], minor=False)
        column[1].xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        column[1].xaxis.set_minor_locator(NullLocator())
    axes[0, 0].set_ylabel("fit, processor seconds")
    axes[1, 0].set_ylabel("memory of the fit, MiB")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2, frameon=False)
    return figure


# Part e: threads.


def thread_case(rows: int, configuration: str, sizes: Sizes) -> str:
    return f"{rows} rows, {sizes.thread_nodes} nodes, {configuration}"


def thread_cells(sizes: Sizes) -> Iterator[Cell]:
    for rows in sizes.thread_rows:
        for configuration in CONFIGURATIONS:
            for turn in range(sizes.fit_turns):
                for threads in (1, 2):
                    key = ("e", thread_case(rows, configuration, sizes), f"{threads} threads", turn)
                    yield Cell(key, partial(measure_threads, rows, configuration, sizes.thread_nodes, threads))


def measure_threads(rows: int, configuration: str, nodes: int, threads: int) -> dict:
    return fit_measured(network(configuration=configuration, max_nodes=nodes, n_jobs=threads), *make_data(rows, 20)) | {
        "free_cores": free_cores()
    }


def free_cores() -> float:
    """How many times as fast two threads do what one does, without any of our code: 2 on two free cores."""
    X, weights = make_data(20_000, 20)[0], candidates_for(20, 200)[0]
    halves = np.array_split(X, 2)
    with ThreadPoolExecutor(2) as executor:
        one, two = (
            np.median([timed(job)["seconds"] for _ in range(5)])
            for job in (
                lambda: bare_hidden(X, weights, True),
                lambda: list(executor.map(lambda half: bare_hidden(half, weights, True), halves)),
            )
        )
    return float(one / two)


def thread_tables(store: ResultStore, sizes: Sizes) -> list[Table]:
    rows = []
    for size in sizes.thread_rows:
        for configuration in CONFIGURATIONS:
            case = thread_case(size, configuration, sizes)
            rows.append(
                [
                    case,
                    *(seconds_text(store.median("e", case, f"{threads} threads", "seconds")) for threads in (1, 2)),
                    f"{store.ratio('e', case, '1 threads', '2 threads', 'seconds'):.2f}",
                    f"{store.median('e', case, '2 threads', 'free_cores'):.2f}",
                ]
            )
    return [
        Table(
            "Whole fits on two threads",
            [
                "20 inputs, pools of 200",
                "one thread",
                "two threads",
                "times as fast",
                "the bare product: times as fast",
            ],
            rows,
            "The last column is the speed-up of the matrix product and tanh alone at that moment, which shows what the "
            "machine could offer.",
        )
    ]


# Part f: out of core against in memory.


def core_case(rows: int, sizes: Sizes) -> str:
    return f"{rows} rows, {sizes.thread_nodes} nodes"


def out_of_core_cells(sizes: Sizes) -> Iterator[Cell]:
    for rows in sizes.core_rows:
        for turn in range(sizes.fit_turns):
            for method, limit in CORE_METHODS.items():
                measure = partial(measure_core, rows, sizes.thread_nodes, limit)
                yield Cell(("f", core_case(rows, sizes), method, turn), measure)


def measure_core(rows: int, nodes: int, memory_limit: int | None) -> dict:
    """A fit in a process of its own, on rows in a file."""
    X, y = make_data(rows, 20)
    with TemporaryDirectory() as folder:
        np.save(Path(folder) / "X.npy", X)
        np.save(Path(folder) / "y.npy", y)
        return measure_in_process({"folder": folder, "L": nodes, "memory_limit": memory_limit})


def fit_from_folder(order: dict) -> dict:
    """The fit of that process: in memory, or in chunks with so little memory that all is in scratch files."""
    mode = "r" if order["memory_limit"] else None
    X, y = (np.load(Path(order["folder"]) / f"{name}.npy", mmap_mode=mode) for name in ("X", "y"))
    model = network(max_nodes=order["L"], n_jobs=1)
    with threadpool_limits(1):
        started, cpu = perf_counter(), process_time()
        model.fit(*((Chunks(X, y, memory_limit=order["memory_limit"]),) if order["memory_limit"] else (X, y)))
    return {
        "seconds": perf_counter() - started,
        "cpu": process_time() - cpu,
        "peak_bytes": peak_bytes(),
        "rmse": float(model.history_["train_rmse"][-1]),
    }


def out_of_core_tables(store: ResultStore, sizes: Sizes) -> list[Table]:
    rows = []
    for size in sizes.core_rows:
        case = core_case(size, sizes)
        peaks = [store.turns("f", case, method)[0]["peak_bytes"] for method in CORE_METHODS]
        errors = {store.turns("f", case, method)[0]["rmse"] for method in CORE_METHODS}
        rows.append(
            [
                case,
                *(seconds_text(store.median("f", case, method, "seconds")) for method in CORE_METHODS),
                f"{store.ratio('f', case, 'scratch files', 'memory', 'seconds'):.2f}",
                *("" if peak is None else f"{peak / 2**20:.0f} MB" for peak in peaks),
                "yes" if len(errors) == 1 else "no",
            ]
        )
    header = ["20 inputs", "memory", "scratch files", "times as long", "peak in memory", "peak with scratch files"]
    return [
        Table(
            "Rows in scratch files against rows in memory",
            [*header, "same network"],
            rows,
            "Wall-clock time, one thread. The peak is the resident memory of the whole process; with scratch files, a "
            f"fit was allowed {CORE_LIMIT // 2**20} MB in addition to the interpreter and 8 bytes per row and target.",
        )
    ]


# Part g: prediction and import.


def prediction_case(sizes: Sizes) -> str:
    return f"{sizes.predicted_rows} rows, 20 inputs, {sizes.predicting_nodes} nodes"


@lru_cache(maxsize=1)
def trained(nodes: int) -> SCNRegressor:
    return network(max_nodes=nodes).fit(*make_data(2000, 20))


def prediction_cells(sizes: Sizes) -> Iterator[Cell]:
    nodes, calls = sizes.predicting_nodes, sizes.calls
    many = {"limit": bare_prediction, "Network.predict": predict_network}
    one = {**many, "SCNRegressor.predict": predict_estimator}
    for turn in range(sizes.turns):
        for method, predict in many.items():
            measure = partial(measure_prediction, predict, nodes, sizes.predicted_rows, 1)
            yield Cell(("g", prediction_case(sizes), method, turn), measure)
    for turn in range(sizes.turns):
        for method, predict in one.items():
            yield Cell(
                ("g", f"one row, {nodes} nodes", method, turn), partial(measure_prediction, predict, nodes, 1, calls)
            )
    for turn in range(sizes.imports):
        for module in imported_modules():
            yield Cell(("g", "import", module, turn), partial(measure_import, module))


def imported_modules() -> list[str]:
    """What is imported; scikit-learn has callbacks since version 1.9."""
    return ["skscn", "sklearn.base", *(["sklearn.callback"] if find_spec("sklearn.callback") else [])]


def bare_prediction(model: SCNRegressor, X: np.ndarray) -> np.ndarray:
    """The product, tanh in place, and the product with the output weights."""
    outputs = np.empty((len(X), model.network_.n_outputs))
    for rows in blocks(len(X), max(model.network_.weights.shape)):
        z = X[rows] @ model.network_.weights
        outputs[rows] = np.tanh(z, out=z) @ model.network_.output_weights
    return outputs


def predict_network(model: SCNRegressor, X: np.ndarray) -> np.ndarray:
    return model.network_.predict(X)


def predict_estimator(model: SCNRegressor, X: np.ndarray) -> np.ndarray:
    return model.predict(X)


def measure_prediction(predict: Callable, nodes: int, rows: int, calls: int) -> dict:
    """The medians of so many calls."""
    model, X = trained(nodes), make_data(rows, 20)[0]
    times = [timed(lambda: predict(model, X)) for _ in range(calls)]
    return {name: float(np.median([time[name] for time in times])) for name in times[0]}


def measure_import(module: str) -> dict:
    """An import in a fresh process: its time, and what optional packages came with it."""
    program = (
        "import json, sys; from time import process_time; started = process_time(); "
        f"import {module}; cpu = process_time() - started; "
        f"print(json.dumps({{'cpu': cpu, 'optional': [name for name in {OPTIONAL} if name in sys.modules]}}))"
    )
    return json.loads(
        subprocess.run([sys.executable, "-c", program], check=True, stdout=subprocess.PIPE, text=True).stdout
    )


def prediction_tables(store: ResultStore, sizes: Sizes) -> list[Table]:
    many, one = prediction_case(sizes), f"one row, {sizes.predicting_nodes} nodes"
    rows = [
        [
            method,
            f"{sizes.predicted_rows / store.median('g', many, method) / 1e6:.2f} million rows/s",
            times_text(store.ratio("g", many, method, "limit")),
        ]
        for method in ("limit", "Network.predict")
    ]
    latency = [
        [method, seconds_text(store.median("g", one, method)), times_text(store.ratio("g", one, method, "limit"))]
        for method in ("limit", "Network.predict", "SCNRegressor.predict")
    ]
    imports = [
        [
            f"import {module}",
            seconds_text(store.median("g", "import", module)),
            times_text(store.ratio("g", "import", module, "sklearn.base")),
            ", ".join(sorted({name for r in store.turns("g", "import", module) for name in r["optional"]})) or "none",
        ]
        for module in imported_modules()
    ]
    return [
        Table(
            f"Prediction: {many}, one thread",
            ["", "speed", "times the limit"],
            rows,
            "The limit is the matrix product of rows and weights, tanh in place, and the product with the output "
            "weights, in blocks; it neither scales the inputs nor adds the linear part.",
        ),
        Table(f"Prediction: {one}", ["", "median", "times the limit"], latency),
        Table(
            "Import",
            ["", "processor time", "times sklearn.base", "optional packages that came with it"],
            imports,
            f"The optional packages looked for are {', '.join(OPTIONAL)}. Those imported by modules of scikit-learn, "
            "which skscn needs, are not imported by skscn itself.",
        ),
    ]


@dataclass(frozen=True)
class Part:
    """One part: its measurements, its tables and its picture."""

    title: str
    cells: Callable[[Sizes], Iterator[Cell]]
    tables: Callable[[ResultStore, Sizes], list[Table]]
    draw: Callable | None = None


PARTS = {
    "a": Part("Scoring candidates", scoring_cells, scoring_tables),
    "b": Part("The textbook", book_cells, book_tables),
    "c": Part("Other learners", learner_cells, learner_tables, draw_learners),
    "d": Part("Growth with the size", growth_cells, growth_tables, draw_growth),
    "e": Part("Threads", thread_cells, thread_tables),
    "f": Part("Out of core", out_of_core_cells, out_of_core_tables),
    "g": Part("Prediction and import", prediction_cells, prediction_tables),
}


def machine() -> list[str]:
    """What the numbers were measured on."""
    blas = [
        f"{library['internal_api']} {library['version']} ({library.get('architecture', 'unknown')})"
        for library in threadpool_info()
        if library["user_api"] == "blas"
    ]
    return [
        f"- processor: {processor()}, {os.cpu_count()} cores",
        f"- system: {platform.system()} {platform.machine()}, Python {platform.python_version()}",
        f"- NumPy {np.__version__}, BLAS {'; '.join(dict.fromkeys(blas)) or 'unknown'}; skscn {skscn.__version__}",
    ]


def processor() -> str:
    """The processor's name, as far as the system tells."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def run_missing(store: ResultStore, parts: list[str], sizes: Sizes) -> None:
    """Take the measurements that are not in the store yet; all libraries on one thread."""
    from skscn.cli._progress import progress_bar

    cells = [cell for part in parts for cell in PARTS[part].cells(sizes)]
    missing = [cell for cell in cells if cell.key not in store.results]
    with progress_bar() as progress, threadpool_limits(1):
        bar = progress.add_task("", total=len(cells), completed=len(cells) - len(missing))
        for cell in missing:
            progress.update(bar, description=f"{cell.key[0]} {cell.key[2]}")
            store.add(cell.key, cell.measure())
            progress.advance(bar)


def is_complete(store: ResultStore, part: str, sizes: Sizes) -> bool:
    """Whether a part was measured, to the end."""
    keys = [cell.key for cell in PARTS[part].cells(sizes)]
    return bool(keys) and all(key in store.results for key in keys)


def write_page(store: ResultStore, sizes: Sizes, out: Path) -> list[Path]:
    """Write the tables and pictures of all parts that were measured."""
    from skscn.experiments.figures import save

    lines, written = ["# Speed", "", *machine()], []
    for letter, part in PARTS.items():
        if not is_complete(store, letter, sizes):
            continue
        lines += ["", f"## ({letter}) {part.title}"]
        for table in part.tables(store, sizes):
            lines += ["", *table.markdown()]
        if part.draw is not None:
            name = part.title.lower().replace(" ", "_")
            save(part.draw(store, sizes), out / name)
            lines += ["", f"![{part.title}]({name}.svg)"]
            written += [out / f"{name}{suffix}" for suffix in (".svg", ".png")]
    page = out / "speed.md"
    page.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")
    return [page, *written]


def parse_arguments(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("results/speed"))
    parser.add_argument("--parts", nargs="+", choices=list(PARTS), default=list(PARTS), help="only these parts")
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="small sizes: a minute or two, to see that it works")
    size.add_argument("--full", action="store_true", help="up to ten million rows in part d")
    parser.add_argument("--fit", type=json.loads, help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    options = parse_arguments(arguments)
    if options.fit is not None:
        print(json.dumps(fit_ordered(options.fit)))
        return 0
    sizes = QUICK if options.quick else full() if options.full else Sizes()
    store = ResultStore(options.out / "results.jsonl")
    try:
        run_missing(store, options.parts, sizes)
    except KeyboardInterrupt:
        print(f"Interrupted. The results so far are in {store.path}; the same command goes on.", file=sys.stderr)
        return 130
    print("\n".join(machine()))
    for part in options.parts:
        for table in PARTS[part].tables(store, sizes):
            print(table.text())
    print()
    for path in write_page(store, sizes, options.out):
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
