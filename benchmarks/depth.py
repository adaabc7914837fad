"""What further layers gain and cost: deep networks compared with those of one layer, on the same rows and seeds.

usage: ./run bench depth --data DIR [--seeds 5] [--rows 2000] [--task regression classification] [--only TEXT]
                         [--out results/depth]

DIR/paper/*.csv, DIR/regression/*.csv and DIR/classification/*.csv are as for ./run bench accuracy. Three quarters of
the rows of a set, at most ROWS, are for training, drawn with each seed, and all others for testing. Parameters are the
defaults. Tables have the errors of the deep network relative to those of one layer, the worst first: geometric means of
the RMSE and of the log loss over the seeds, and the ratio of the numbers of wrong classes; with how many seeds further
layers were kept; and how many times the processor time of one layer the fit took.

Results are kept in OUT/results.jsonl, and the same command goes on where it was.
--only measures sets whose names contain TEXT.
"""

import argparse
import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from time import process_time

import numpy as np
from accuracy_parts.sets import FOLDERS, DataSet, read_csv
from accuracy_parts.tables import Row, Table
from scipy.stats import gmean
from sklearn.metrics import log_loss, root_mean_squared_error
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits

from skscn import DeepSCNClassifier, DeepSCNRegressor, SCNClassifier, SCNRegressor
from skscn.paper.trials import KeyedLines

KEY = ("task", "set", "seed")
PAIRS = {"regression": (SCNRegressor, DeepSCNRegressor), "classification": (SCNClassifier, DeepSCNClassifier)}
MEASURES = {"regression": ("rmse",), "classification": ("log_loss", "wrong")}
# How errors of several seeds are averaged; others are added up.
MEANS = {"rmse": gmean, "log_loss": gmean}
# An error that is lower by this share is counted as a gain.
GAIN = 0.03


def main(arguments=None) -> int:
    options = parse_arguments(arguments)
    store = KeyedLines(options.out / "results.jsonl", KEY)
    sets = [data for task in options.task for data in sets_of(task, options.data) if options.only in data.name]
    for seed in range(options.seeds):
        for data in sets:
            key = (data.task, data.name, seed)
            if key not in store.results:
                store.add(key, measured(data, seed, options.rows))
                print(*key, store.results[key], flush=True)
    for task in options.task:
        print(summary(task, store.results).text())
    return 0


def parse_arguments(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--task", nargs="+", choices=list(PAIRS), default=list(PAIRS))
    parser.add_argument("--only", default="")
    parser.add_argument("--out", type=Path, default=Path("results/depth"))
    return parser.parse_args(arguments)


def sets_of(task: str, folder: Path) -> Iterator[DataSet]:
    paths = [path for sub in FOLDERS[task] for path in sorted((folder / sub).glob("*.csv"))]
    return (read_csv(path, task) for path in paths)


def measured(data: DataSet, seed: int, rows: int) -> dict[str, dict]:
    """Errors, layers and processor time of one layer and of the deep network."""
    classes = data.y if data.task == "classification" else None
    size = min(rows, data.train_rows)
    split = train_test_split(data.X, data.y, train_size=size, random_state=seed, stratify=classes)
    with threadpool_limits(1):
        return {estimator.__name__: fitted(estimator(random_state=seed), *split) for estimator in PAIRS[data.task]}


def fitted(model, X, X_test, y, y_test) -> dict[str, float]:
    start = process_time()
    model.fit(X, y)
    seconds = process_time() - start
    return errors(model, X_test, y_test) | {"layers": 1 + len(model.network_.deep), "seconds": seconds}


def errors(model, X, y) -> dict[str, float]:
    if not hasattr(model, "classes_"):
        return {"rmse": root_mean_squared_error(y, model.predict(X))}
    probabilities = model.predict_proba(X)
    wrong = int(np.sum(model.predict(X) != y))
    return {"log_loss": log_loss(y, probabilities, labels=model.classes_), "wrong": wrong}


def summary(task: str, results: dict[tuple, dict]) -> Table:
    """One line for each set, the worst first, and one for all."""
    keys = sorted(key for key in results if key[0] == task)
    lines = {name: relative(task, [results[key] for key in some]) for name, some in groupby(keys, lambda key: key[1])}
    ordered = sorted(lines.items(), key=lambda line: -line[1][0])
    columns = [*MEASURES[task], "deep", "seeds", "time"]
    return Table(task, columns, [Row(name, values, 3) for name, values in ordered], [*notes(columns[0], ordered)])


def notes(measure: str, lines: list[tuple[str, np.ndarray]]) -> Iterator[str]:
    """On all sets, if there are any."""
    if lines:
        ratios, times = (np.array([values[place] for _, values in lines]) for place in (0, -1))
        gains = np.sum(ratios <= 1 - GAIN)
        yield f"{measure}: geometric mean {gmean(ratios):.3f}, lower by {GAIN:.0%} on {gains} of {len(ratios)} sets"
        yield f"time: {np.median(times):.1f} times that of one layer, in the median"


def relative(task: str, results: list[dict]) -> np.ndarray:
    """The deep network over that of one layer: errors, number of seeds with several layers, of seeds, and time."""
    one, deep = ([result[estimator.__name__] for result in results] for estimator in PAIRS[task])

    def ratio(name: str) -> float:
        mean = MEANS.get(name, np.sum)
        return mean([line[name] for line in deep]) / mean([line[name] for line in one])

    several = sum(line["layers"] > 1 for line in deep)
    return np.array([*map(ratio, MEASURES[task]), several, len(results), ratio("seconds")])


if __name__ == "__main__":
    sys.exit(main())
