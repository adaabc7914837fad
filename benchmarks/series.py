"""How well recurrent networks model series, compared with reservoirs, polynomials and trees on earlier rows.

usage: ./run bench series [--data DIR] [--seeds N] [--out results/series] [--extra] [--ours] [--only TEXT] [--page PAGE]

Tasks: Mackey–Glass six steps ahead from one input and from four lags, NARMA-10, a simulated plant, the Santa Fe laser
and the debutanizer column (DIR/series/santafe_laser_series.csv, DIR/regression/debutanizer.csv), and free runs of
Mackey–Glass and Lorenz. Our network is called in the same way for all of them. reservoirpy's ESN of as many nodes is
tuned over 72 settings and 16 penalties, its NVAR over length, strides and order, and HistGradientBoosting on lags over
their number, each on the last 30 % of the training rows. Results are kept in OUT/results.jsonl, and the same command
goes on where it was. For every model of ours, the time of one prediction is measured, and by how much two initial
states differ 500 rows later; for some, what a stream makes of targets that come five rows late, and what intervals
contain.

--extra adds series that no rule of the search was chosen with: Lorenz from one coordinate ten steps ahead, Hénon with
        noise, an autoregression with inputs and noise, and drifting tanks.
--ours  measures our network only, --only tasks whose names contain TEXT.
--page  writes the tables into a page (docs/evidence_series.md), between marks, and the results next to it; results
        that are there already and were not measured again are kept. With --seeds 0, the page is only written again.
"""

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np
from series_parts import free
from series_parts.late import late_labels, nrmse
from series_parts.learners import OTHERS, recurrent
from series_parts.page import OURS, RESULTS, read_results, tables, write_page
from series_parts.tasks import Task, extra_tasks, free_tasks, one_step_tasks


def main(arguments=None) -> int:
    options = parse_arguments(arguments)
    store = options.out / "results.jsonl"
    options.out.mkdir(parents=True, exist_ok=True)
    done = by_key(read(store))
    for seed in range(options.seeds):
        for task in tasks_of(seed, options):
            for method in [OURS] if options.ours else methods_for(task):
                if (task.name, method, seed) not in done:
                    line = {"task": task.name, "method": method, "seed": seed, **measure(task, method, seed)}
                    done[task.name, method, seed] = line
                    with store.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(line) + "\n")
                    print(line, flush=True)
    if options.page:
        done = by_key(read_results(options.page.parent / RESULTS)) | done
        write_page(list(done.values()), options.page)
    print(tables(list(done.values())))
    return 0


def tasks_of(seed: int, options) -> list[Task]:
    tasks = [*one_step_tasks(seed, options.data), *free_tasks(seed), *(extra_tasks(seed) if options.extra else [])]
    return [task for task in tasks if options.only in task.name]


def parse_arguments(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path("results/series"))
    parser.add_argument("--extra", action="store_true")
    parser.add_argument("--ours", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--page", type=Path)
    return parser.parse_args(arguments)


def read(store: Path) -> list[dict]:
    return [json.loads(line) for line in store.read_text(encoding="utf-8").splitlines()] if store.exists() else []


def by_key(lines: list[dict]) -> dict[tuple, dict]:
    return {(line["task"], line["method"], line["seed"]): line for line in lines}


def methods_for(task: Task) -> list[str]:
    return [OURS, *OTHERS] if task.X is not None else [OURS, "ESN"]


def measure(task: Task, method: str, seed: int) -> dict:
    start = perf_counter()
    if task.X is None:
        return {**measured_free(task, method, seed), "seconds": perf_counter() - start}
    truth = task.y[task.training :]
    if method != OURS:
        return {"value": nrmse(OTHERS[method](task, seed), truth), "seconds": perf_counter() - start}
    predictions, model = recurrent(task, seed)
    seconds = perf_counter() - start
    late = {} if task.delay is None else late_labels(task, model)
    return {"value": nrmse(predictions, truth), "seconds": seconds, **properties(model, task), **late}


def measured_free(task: Task, method: str, seed: int) -> dict:
    if method != OURS:
        return {"value": free.echo_state(task, seed)}
    value, bounded, model = free.recurrent(task, seed)
    return {"value": value, "bounded": bounded, **properties(model, task)}


def properties(model, task: Task) -> dict:
    reservoir, rng = model.reservoir_, np.random.default_rng(0)
    rows = np.empty((500, 0)) if task.X is None else task.X[:500]
    known = None if task.X is not None else (task.y[:500] - reservoir.outputs.offset) / reservoir.outputs.scale
    start = replace(
        reservoir.cold_state(),
        nodes=rng.uniform(-1, 1, reservoir.n_nodes),
        line=rng.normal(size=(reservoir.length, reservoir.n_driving)),
    )
    one, other = (reservoir.columns(rows, known, state)[0][-1] for state in (None, start))
    return {
        "nodes": model.n_nodes_,
        "length": reservoir.length,
        "echo": float(np.abs(one - other).max()),
        "microseconds": microseconds(model, rows),
    }


def microseconds(model, rows: np.ndarray) -> float:
    """The median time of one prediction of a stream, the smallest of three, as other programs may disturb some."""
    return min(median(times(model.stream(None), rows)) for _ in range(3)) * 1e6


def times(stream, rows: np.ndarray) -> list[float]:
    measured = []
    for row in rows:
        start = perf_counter()
        stream.predict_one(row if row.size else None)
        measured.append(perf_counter() - start)
    return measured


if __name__ == "__main__":
    sys.exit(main())
