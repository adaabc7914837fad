"""Our estimators among others on suites of tables that others have chosen, with Elo ratings.

usage: ./run bench outsiders [ctr23] [pmlb] [--folds 3] [--most-rows 20000] [--sets NAME ...] [--methods NAME ...]
                             [--jobs 1] [--out results/outsiders] [--report]

    ctr23   the 35 regression tables of OpenML-CTR23 (suite 353), with the ten folds that OpenML has for each
    pmlb    the regression tables of the Penn Machine Learning Benchmarks, with ten folds that are drawn once

The first run fetches the tables. They stay in OUT/tables, one file each with the fold of every row, and later runs need
no internet. Each method is fitted, at its defaults and on one thread, on nine folds and tested on the tenth; --folds
says how many of the ten are tested. Larger tables than --most-rows are left out, which is said.

Ratings are those of TabArena: a Bradley-Terry model of who has the lower error, in which every table counts as much as
any other; the random forest has 1000, and intervals come from resampling tables. A fit that fails loses. Results are
kept in OUT/results.jsonl as they come, and the same command goes on where it was. OUT/results.csv is what
the package bencheval reads. --report measures nothing.

For TabArena itself, and for AutoGluon, see benchmarks/outsiders_parts/autogluon_model.py.
"""

import argparse
import json
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from accuracy_parts.measuring import fit_time
from accuracy_parts.methods import METHODS as NUMERIC
from accuracy_parts.methods import OURS
from accuracy_parts.peers import errors, how_to_install, is_installed, lightgbm, missing_packages, xgboost
from joblib import Parallel, delayed
from scipy.optimize import minimize
from scipy.special import expit, log_expit
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.metrics import root_mean_squared_error
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from tables_parts.comparing import Boosted
from threadpoolctl import threadpool_limits

from skscn.cli.console import progress_bar
from skscn.paper.trials import KeyedLines

FOLDS = 10
KEY = ("suite", "set", "method", "fold")
# Columns of a table in the cache that are no inputs.
TARGET, FOLD = "target of the table", "fold of the row"
# The method that has this rating; the points for a factor of ten in the odds; samples of tables for intervals.
ANCHOR, MEAN, POINTS, SAMPLES = "forest", 1000.0, 400.0, 200
# Keeps the rating of a method that always wins, or never, finite; the same as in bencheval.
RIDGE = 0.5 / (1e6 * np.log(10.0) ** 2)


class Suite(NamedTuple):
    """Where tables come from: the names of all, and inputs, target and the fold of each row of one of them."""

    names: Callable[[], list[str]]
    fetch: Callable[[str], tuple[pd.DataFrame, np.ndarray, np.ndarray]]


# ---- fetching


def openml_tasks() -> list[str]:
    import openml

    return [str(task) for task in openml.study.get_suite(353).tasks]


def openml_table(name: str) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    import openml

    task = openml.tasks.get_task(int(name), download_splits=True)
    X, y, *_ = task.get_dataset().get_data(target=task.target_name)
    folds = np.full(len(X), -1)
    for fold in range(FOLDS):
        folds[task.get_train_test_split_indices(fold=fold)[1]] = fold
    return X, np.asarray(y, dtype=float), folds


def pmlb_names() -> list[str]:
    import pmlb

    return list(pmlb.regression_dataset_names)


def pmlb_table(name: str) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    import pmlb

    table, folds = pmlb.fetch_data(name), KFold(FOLDS, shuffle=True, random_state=0)
    numbers = np.empty(len(table), dtype=int)
    for fold, (_, tested) in enumerate(folds.split(table)):
        numbers[tested] = fold
    return table.drop(columns="target"), table["target"].to_numpy(dtype=float), numbers


SUITES = {"ctr23": Suite(openml_tasks, openml_table), "pmlb": Suite(pmlb_names, pmlb_table)}


def cached(suite: str, folder: Path, wanted: list[str] | None) -> Iterator[tuple[str, Path]]:
    """The names of the tables of a suite and their files, which are fetched if they are not there yet."""
    folder.mkdir(parents=True, exist_ok=True)
    index = folder / "names.json"
    try:
        if not index.exists():
            index.write_text(json.dumps(SUITES[suite].names()))
        for name in json.loads(index.read_text()):
            path = folder / f"{name}.parquet"
            if wanted is not None and name not in wanted:
                continue
            if not path.exists():
                X, y, folds = SUITES[suite].fetch(name)
                # A file that is there is whole.
                X.assign(**{TARGET: y, FOLD: folds}).to_parquet(path.with_suffix(".part"), index=False)
                path.with_suffix(".part").replace(path)
            yield name, path
    except OSError as error:
        sys.exit(
            f"{suite} could not be fetched ({error}); connect to the internet once, or copy {folder} from elsewhere."
        )


# ---- measuring


def numeric(method: str, rows: int) -> Any:
    """A method that takes numbers only: after indicators of categories, and with medians for missing numbers."""
    is_number = make_column_selector(dtype_include="number")
    indicators = OneHotEncoder(handle_unknown="infrequent_if_exist", max_categories=30, sparse_output=False)
    medians = SimpleImputer(strategy="median", keep_empty_features=True)
    columns = make_column_transformer((medians, is_number), remainder=indicators)
    return make_pipeline(columns, NUMERIC["regression"][method](rows, 0))


# Name -> what makes it for a number of rows. The first six take categories and missing values as they are.
METHODS: dict[str, Callable[[int], Any]] = {
    **{name: lambda rows, name=name: NUMERIC["regression"][name](rows, 0) for name in (*OURS, "boosting")},
    "CatBoost": lambda rows: Boosted("regression", 0),
    "LightGBM": lambda rows: lightgbm(0),
    "XGBoost": lambda rows: xgboost(0, enable_categorical=True),
    **{name: lambda rows, name=name: numeric(name, rows) for name in ("forest", "MLP", "SVM", "RVFL")},
}


def as_categories(X: pd.DataFrame) -> pd.DataFrame:
    """Whatever is not a number as a category, which all methods know."""
    others = X.columns[[column.dtype.kind not in "iuf" for _, column in X.items()]]
    return X.astype(dict.fromkeys(others, "category"))


def measure(suite: str, name: str, path: Path, method: str, fold: int) -> tuple[tuple[str, str, str, int], dict]:
    """Fit a method on all folds but one: its error on that one, or why there is none."""
    table = pd.read_parquet(path)
    tested = table.pop(FOLD).to_numpy() == fold
    y, X = table.pop(TARGET).to_numpy(), as_categories(table)
    model, result = METHODS[method](int((~tested).sum())), {"rows": len(X)}
    with warnings.catch_warnings(record=True), threadpool_limits(1):
        warnings.simplefilter("always")
        try:
            result |= fit_time(model, X[~tested], y[~tested])
            started = process_time()
            predicted = np.ravel(model.predict(X[tested]))
            result |= {"predict": process_time() - started, "rmse": root_mean_squared_error(y[tested], predicted)}
        except errors() as error:
            result["failed"] = f"{type(error).__name__}: {error}"
    return (suite, name, method, fold), result


def run_missing(store: KeyedLines, cells: list[tuple[str, str, Path, str, int]], jobs: int) -> None:
    """Measure what is not in the store yet."""
    missing = [cell for cell in cells if (*cell[:2], *cell[3:]) not in store.results]
    with progress_bar() as progress:
        bar = progress.add_task("fits", total=len(cells), completed=len(cells) - len(missing))
        calls = Parallel(n_jobs=jobs, return_as="generator_unordered")
        for key, result in calls(delayed(measure)(*cell) for cell in missing):
            store.add(key, result)
            progress.update(bar, description=f"{key[1]} {key[2]}", advance=1)


# ---- rating


def wins(table: pd.DataFrame) -> np.ndarray:
    """Shape (tables, k, k): the share of a table's folds in which one method's error is lower; ties count half."""
    found = []
    for _, errors_of in table.groupby(level=[0, 1]):
        error = errors_of.to_numpy()[:, :, np.newaxis]
        other = np.swapaxes(error, 1, 2)
        found.append(((error < other) + 0.5 * (error == other)).mean(axis=0))
    return np.array(found)


def ratings(won: np.ndarray) -> np.ndarray:
    """The Elo ratings with the highest likelihood, for wins of shape (k, k); their mean is 0."""
    won = won * (1.0 - np.eye(len(won)))

    def loss(strengths: np.ndarray) -> tuple[float, np.ndarray]:
        ahead = strengths[:, np.newaxis] - strengths
        surprise = won * expit(-ahead)
        value = -(won * log_expit(ahead)).sum() + RIDGE * (strengths**2).sum()
        return value, surprise.sum(axis=0) - surprise.sum(axis=1) + 2.0 * RIDGE * strengths

    strengths = minimize(loss, np.zeros(len(won)), jac=True, options={"gtol": 1e-9}).x
    return POINTS / np.log(10.0) * (strengths - strengths.mean())


def leaderboard(results: pd.DataFrame) -> pd.DataFrame:
    """Ratings with intervals, mean ranks, and processor seconds for 1,000 rows; the best method first."""
    # Methods are compared on folds for which all of them have been tried.
    keys = ["suite", "set", "fold"]
    table = results.pivot(index=keys, columns="method", values="rmse").fillna(np.inf)
    tried = results.pivot(index=keys, columns="method", values="rows").notna().all(axis=1)
    table = table[tried]
    if table.empty:
        sys.exit("No fold has been tried with all methods yet; run the command again without --report.")
    won = wins(table)
    elo = pd.Series(ratings(won.sum(axis=0)), table.columns)
    shift = MEAN - elo.get(ANCHOR, 0.0)
    rng = np.random.default_rng(0)
    samples = [ratings(won[rng.integers(0, len(won), len(won))].sum(axis=0)) for _ in range(SAMPLES)]
    seconds = (1000.0 * results["cpu"] / results["rows"]).groupby(results["method"]).median()
    board = pd.DataFrame(
        {
            "Elo": elo + shift,
            "from": np.quantile(samples, 0.025, axis=0) + shift,
            "to": np.quantile(samples, 0.975, axis=0) + shift,
            "rank": table.rank(axis=1).groupby(level=[0, 1]).mean().mean(),
            "s/1000": seconds,
        },
        index=table.columns,
    )
    return board.sort_values("Elo", ascending=False)


def results_of(store: KeyedLines, methods: Iterable[str]) -> pd.DataFrame:
    """What is in the store about these methods, one line each."""
    records = [dict(zip(KEY, key, strict=True)) | result for key, result in store.results.items()]
    columns = [*KEY, "rows", "cpu", "predict", "rmse", "failed"]
    found = pd.DataFrame(records, columns=columns)
    return found[found["method"].isin(list(methods))].reset_index(drop=True)


def write_results(results: pd.DataFrame, path: Path) -> None:
    """All results, for ``bencheval.evaluator.BenchmarkEvaluator(seed_column="fold").leaderboard``."""
    names = {"rmse": "metric_error", "cpu": "time_train_s", "predict": "time_infer_s"}
    results.rename(columns=names).assign(task=results["suite"] + "/" + results["set"]).to_csv(path, index=False)


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suites", nargs="*", metavar="SUITE", help=f"of {', '.join(SUITES)}; by default all")
    parser.add_argument("--folds", type=int, default=3, choices=range(1, FOLDS + 1), metavar="1–10")
    parser.add_argument("--most-rows", type=int, default=20_000)
    parser.add_argument("--sets", nargs="+", metavar="NAME", help="only these: OpenML's numbers of tasks, PMLB's names")
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS), metavar="NAME")
    parser.add_argument("--jobs", type=int, default=1, help="processes; times are comparable with 1 only")
    parser.add_argument("--out", type=Path, default=Path("results/outsiders"))
    parser.add_argument("--report", action="store_true", help="measure nothing, print the table of what there is")
    options = parser.parse_args(arguments)
    if unknown := set(options.suites) - set(SUITES):
        parser.error(f"There is no suite {', '.join(sorted(unknown))}; choose from: {', '.join(SUITES)}")
    return options


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse_arguments(arguments)
    if missing := missing_packages(options.methods):
        print(how_to_install(missing), file=sys.stderr)
    methods, store = (
        [name for name in options.methods if is_installed(name)],
        KeyedLines(options.out / "results.jsonl", KEY),
    )
    cells = []
    for suite in [] if options.report else options.suites or SUITES:
        for name, path in cached(suite, options.out / "tables" / suite, options.sets):
            rows = len(pd.read_parquet(path, columns=[FOLD]))
            if rows > options.most_rows:
                print(f"left out: {suite} {name}, {rows} rows", file=sys.stderr)
                continue
            cells += [(suite, name, path, method, fold) for fold in range(options.folds) for method in methods]
    run_missing(store, cells, options.jobs)
    results = results_of(store, methods)
    write_results(results, options.out / "results.csv")
    for _, failed in results[results["failed"].notna()].iterrows():
        print(f"failed: {failed['suite']} {failed['set']} {failed['method']} fold {failed['fold']}: {failed['failed']}")
    print(leaderboard(results).round({"Elo": 0, "from": 0, "to": 0, "rank": 2, "s/1000": 2}).to_string())
    print(f"\n{options.out / 'results.csv'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
