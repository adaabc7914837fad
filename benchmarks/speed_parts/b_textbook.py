"""Part b: fits of SC-III against a literal reading of the paper."""

from collections.abc import Iterator
from functools import partial
from time import process_time

import numpy as np
from scipy.optimize import nnls
from textbook import SCOPES, grow

from speed_parts.fits import fit_measured, make_data, network
from speed_parts.results import Cell, Part, ResultStore
from speed_parts.sizes import Sizes
from speed_parts.writing import Table, seconds_text, times_text

BOOK_METHODS = {"skscn": "ladder", "skscn default": "polished"}


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
    model = network(configuration=configuration, max_nodes=nodes, scopes=SCOPES, max_candidates=200)
    result = fit_measured(model, *make_data(rows, 20))
    # The processor time until each step, in proportion to the seconds that have passed.
    left = np.cumsum(model.history_["seconds"][::-1])[::-1] - model.history_["seconds"]
    moments = result["cpu"] * (1.0 - left / result["seconds"])
    return result | {
        "steps": model.history_["nodes"].tolist(),
        "rmse": [float(f"{rmse:.6g}") for rmse in model.history_["train_rmse"] / model.network_.outputs.scale[0]],
        "moments": [float(f"{moment:.4g}") for moment in moments],
    }


def time_to_error(result: dict, rmse: float) -> tuple[float, int]:
    """Seconds and nodes until the training error is at most ``rmse``; infinite if it never is."""
    reached = np.flatnonzero(np.array(result["rmse"]) <= rmse)
    step = reached[0] if reached.size else -1
    return result["moments"][step] if reached.size else np.inf, result["steps"][step]


def measure_textbook(rows: int, nodes: int, limit: float) -> dict:
    """Grow until there are ``nodes`` nodes or the time is over; what is missing then is extrapolated."""
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
        "growth until the training error is at most that of the textbook implementation. Processor time, one thread.",
    )


PART = Part("The textbook", book_cells, book_tables)
