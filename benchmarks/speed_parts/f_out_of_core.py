"""Part f: rows in scratch files against rows in memory."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from speed_parts.fits import make_data
from speed_parts.processes import measure_in_process
from speed_parts.results import Cell, Part, ResultStore
from speed_parts.sizes import Sizes
from speed_parts.writing import Table, seconds_text

# What a fit in scratch files may use, in bytes.
CORE_LIMIT = 16 * 2**20
CORE_METHODS = {"memory": None, "scratch files": CORE_LIMIT}


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


def out_of_core_tables(store: ResultStore, sizes: Sizes) -> list[Table]:
    rows = []
    for size in sizes.core_rows:
        case = core_case(size, sizes)
        peaks = [store.turns("f", case, method)[0]["peak_bytes"] for method in CORE_METHODS]
        errors = {store.turns("f", case, method)[0]["rmse"] for method in CORE_METHODS}
        rows.append(
            [
                case,
                *(seconds_text(store.median("f", case, method)) for method in CORE_METHODS),
                f"{store.ratio('f', case, 'scratch files', 'memory'):.2f}",
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
            "Processor time, one thread, without the time spent waiting for the disk. The peak is the resident memory "
            "of the whole process; with scratch files, a fit was allowed "
            f"{CORE_LIMIT // 2**20} MB in addition to the interpreter and 8 bytes per row and target.",
        )
    ]


PART = Part("Out of core", out_of_core_cells, out_of_core_tables)
