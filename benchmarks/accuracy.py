"""Accuracy and time of our estimators, at their defaults, compared with other learners.

usage: ./run bench accuracy [--data DIR] [--out results/accuracy] [--splits 5] [--jobs 1] [--report]
                            [--task regression|classification|friedman|smooth|both|all ...] [--sets NAME ...]
                            [--methods NAME ... | ours | others] [--page docs/accuracy.md]

DIR/paper/*.csv and DIR/regression/*.csv are regression sets, DIR/classification/*.csv classification sets: a header
line, numeric inputs, the target in the last column. Without DIR only the sets that come with scikit-learn are used.
The tasks friedman and smooth draw rows from functions (benchmarks/accuracy_parts/functions.py) and need no DIR.

Every fit runs on one thread, and its processor time is recorded; so is that of predicting 1,000 rows. Tables say first
where we are worse: sets are in the order of our ensemble's error over that of the best of the others. Picking the best
for each set, on the test rows, is in favour of the others.

Results are kept in OUT/results.jsonl as they come, failures and warnings too, and the same command goes on where it
was. --methods says what is measured; tables have all methods with results for every split. --report measures nothing.
To measure something again after a change, take another OUT or delete its lines.

./run installs CatBoost, LightGBM, XGBoost and swimnetworks for this; RealMLP (pip install pytabkit) is measured where
it is installed, and left out otherwise.

--page writes the tables and pictures of a page of the documentation from everything in OUT, with accuracy_results.csv
in its folder; RealMLP comes from accuracy_realmlp.csv there. Then python docs/make_figures.py fills in the figures of
its sentences.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from accuracy_parts.comparing import summaries_of, table_of
from accuracy_parts.means import Means, failures, means_of, write_means
from accuracy_parts.measuring import KEY, run_missing
from accuracy_parts.methods import METHODS, OURS
from accuracy_parts.page import write_page
from accuracy_parts.peers import how_to_install, missing_packages
from accuracy_parts.pictures import save_pictures
from accuracy_parts.sets import DATA_VARIABLE, load_sets
from accuracy_parts.tables import Table, write_csv, write_markdown

from skscn.paper.trials import KeyedLines

TASKS = {"both": ["regression", "classification"], "all": list(METHODS), **{task: [task] for task in METHODS}}
GROUPS = ("ours", "others")


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help=f"folder of data sets (default: the environment's {DATA_VARIABLE})")
    parser.add_argument("--out", type=Path, default=Path("results/accuracy"))
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=1, help="processes; times are comparable with 1 only")
    parser.add_argument("--sets", nargs="+", metavar="NAME", help="only these sets")
    parser.add_argument("--methods", nargs="+", metavar="NAME", help="measure only these methods: names, ours, others")
    parser.add_argument("--task", nargs="+", choices=list(TASKS), default=["both"])
    parser.add_argument("--report", action="store_true", help="measure nothing, write the tables of what there is")
    parser.add_argument("--page", type=Path, help="write this page of the documentation")
    options = parser.parse_args(arguments)
    if options.splits < 1:
        parser.error("--splits must be 1 or more.")
    if options.data is None and os.environ.get(DATA_VARIABLE):
        options.data = Path(os.environ[DATA_VARIABLE])
    if options.data is not None and not options.data.is_dir():
        parser.error(f"There is no folder {options.data}.")
    return options


def chosen(wanted: list[str] | None, known: list[str], what: str) -> list[str]:
    """The names that are wanted, all if none are named."""
    if unknown := sorted(set(wanted or ()) - set(known)):
        sys.exit(f"There is no {what} {', '.join(unknown)}; choose from: {', '.join(dict.fromkeys(known))}")
    return known if wanted is None else [name for name in known if name in wanted]


def chosen_methods(wanted: list[str] | None, tasks: list[str]) -> dict[str, list[str]]:
    """The methods to be measured, by task."""
    chosen(wanted, [*(name for task in tasks for name in METHODS[task]), *GROUPS], "method")
    return {
        task: [
            name
            for name in METHODS[task]
            if wanted is None or name in wanted or ("ours" if name in OURS else "others") in wanted
        ]
        for task in tasks
    }


def print_notes(methods: dict[str, list[str]], folder: Path | None) -> None:
    """Say what is left out."""
    if folder is None and {"regression", "classification"} & methods.keys():
        print(f"Only the sets of scikit-learn: neither --data nor {DATA_VARIABLE} is given.", file=sys.stderr)
    if missing := missing_packages([name for names in methods.values() for name in names]):
        print(how_to_install(missing), file=sys.stderr)


def write_task(task: str, means: Means, out: Path) -> tuple[list[Table], list[Path]]:
    """Print the tables of a task, and write them and their pictures."""
    summaries = summaries_of(means, task)
    tables = [table_of(summary) for summary in summaries]
    for table in tables:
        print(table.text())
    write_csv(tables, out / f"{task}.csv")
    return tables, [out / f"{task}.csv", *save_pictures(task, summaries, out)]


def write_tables(store: KeyedLines, means: Means, splits: int, out: Path) -> list[Path]:
    """Print and write all tables, and what failed."""
    tables, written = [], [out / "means.csv", out / "index.md"]
    for task in [task for task in METHODS if any(key[0] == task for key in means)]:
        found, files = write_task(task, means, out)
        tables, written = tables + found, written + files
    failed = failures(store, means, splits)
    for line in failed:
        print(f"failed: {line}")
    write_means(means, out / "means.csv")
    write_markdown("Accuracy", tables, failed, out / "index.md")
    return written


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse_arguments(arguments)
    tasks = [task for task in METHODS if any(task in TASKS[name] for name in options.task)]
    sets = [data for task in tasks for data in load_sets(task, options.data)]
    names = chosen(options.sets, [data.name for data in sets], "set")
    sets = [data for data in sets if data.name in names]
    methods = chosen_methods(options.methods, [task for task in tasks if any(data.task == task for data in sets)])
    print_notes(methods, options.data)
    store = KeyedLines(options.out / "results.jsonl", KEY)
    try:
        run_missing(store, [] if options.report else sets, methods, options.splits, options.jobs)
    except KeyboardInterrupt:
        print(f"Interrupted. The results so far are in {store.path}; the same command goes on.", file=sys.stderr)
        return 130
    every, there = means_of(store, options.splits), {(data.task, data.name) for data in sets}
    means = {key: mean for key, mean in every.items() if key[:2] in there}
    written = write_tables(store, means, options.splits, options.out)
    if options.page is not None:
        written += write_page(every, options.page)
    print()
    for path in written:
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
