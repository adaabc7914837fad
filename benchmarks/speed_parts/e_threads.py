"""Part e: two threads against one."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np

from speed_parts.a_scoring import bare_hidden, candidates_for
from speed_parts.fits import fit_measured, make_data, network, timed
from speed_parts.results import Cell, Part, ResultStore
from speed_parts.sizes import Sizes
from speed_parts.writing import Table, seconds_text


def thread_case(rows: int, configuration: str, sizes: Sizes) -> str:
    return f"{rows} rows, {sizes.thread_nodes} nodes, {configuration}"


def thread_cells(sizes: Sizes) -> Iterator[Cell]:
    for rows in sizes.thread_rows:
        for configuration in sizes.configurations:
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
        for configuration in sizes.configurations:
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


PART = Part("Threads", thread_cells, thread_tables)
