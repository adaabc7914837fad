"""Accuracy and fit time of our estimators, at their defaults, compared with other learners on tables of data.

usage: ./run bench accuracy [--data DIR] [--out results/accuracy] [--splits 5] [--jobs 1]
                            [--task regression|classification|both] [--sets NAME ...] [--methods NAME ...]

DIR/paper/*.csv and DIR/regression/*.csv are regression sets, DIR/classification/*.csv classification sets: a header
line, numeric inputs, the target in the last column. Without DIR only the sets that come with scikit-learn are used.

Results are kept in OUT/results.jsonl as they come, failures too, and the same command goes on where it was. To measure
something again after a change, take another OUT or delete its lines.
"""

import argparse
import os
import sys
from pathlib import Path

from accuracy_parts.diagram import draw_ranks
from accuracy_parts.measuring import KEY, METRICS, run_missing
from accuracy_parts.methods import METHODS, OURS
from accuracy_parts.sets import DATA_VARIABLE, load_sets
from accuracy_parts.summary import Summary, failures, summarise
from accuracy_parts.writing import print_table, write_csv, write_markdown

from skscn.experiments.figures import save
from skscn.experiments.jsonlines import KeyedLines


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help=f"folder of data sets (default: the environment's {DATA_VARIABLE})")
    parser.add_argument("--out", type=Path, default=Path("results/accuracy"))
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=1, help="processes; fit times are comparable with 1 only")
    parser.add_argument("--sets", nargs="+", metavar="NAME", help="only these sets")
    parser.add_argument("--methods", nargs="+", metavar="NAME", help="only these methods")
    parser.add_argument("--task", choices=["regression", "classification", "both"], default="both")
    arguments = parser.parse_args()
    if arguments.splits < 1:
        parser.error("--splits must be 1 or more.")
    if arguments.data is None and os.environ.get(DATA_VARIABLE):
        arguments.data = Path(os.environ[DATA_VARIABLE])
    if arguments.data is not None and not arguments.data.is_dir():
        parser.error(f"There is no folder {arguments.data}.")
    return arguments


def chosen(wanted: list[str] | None, known: list[str], what: str) -> list[str]:
    """The names that are wanted, all if none are named."""
    if unknown := sorted(set(wanted or ()) - set(known)):
        sys.exit(f"There is no {what} {', '.join(unknown)}; choose from: {', '.join(dict.fromkeys(known))}")
    return known if wanted is None else [name for name in known if name in wanted]


def print_notes(tasks: list[str], folder: Path | None) -> None:
    """Say what is left out."""
    if folder is None:
        print(f"Only the sets of scikit-learn: neither --data nor {DATA_VARIABLE} is given.", file=sys.stderr)
    for task in tasks:
        for name, attribute in OURS[task].items():
            if name not in METHODS[task]:
                print(f"Without {name} in {task}: this skscn has no {attribute}.", file=sys.stderr)


def write_task(task: str, summaries: list[Summary], out: Path) -> list[Path]:
    """Print the tables of a task, and write them and their picture."""
    for summary in summaries:
        print_table(summary)
    write_csv(summaries, out / f"{task}.csv")
    written = [out / f"{task}.csv"]
    if summaries[0].has_ranks:
        save(draw_ranks(summaries), out / f"{task}_ranks")
        written += [out / f"{task}_ranks{suffix}" for suffix in (".svg", ".png")]
    return written


def main():
    arguments = parse_arguments()
    tasks = list(METHODS) if arguments.task == "both" else [arguments.task]
    print_notes(tasks, arguments.data)
    sets = [data for task in tasks for data in load_sets(task, arguments.data)]
    names = chosen(arguments.sets, [data.name for data in sets], "set")
    sets = [data for data in sets if data.name in names]
    tasks = [task for task in tasks if any(data.task == task for data in sets)]
    wanted = chosen(arguments.methods, [name for task in tasks for name in METHODS[task]], "method")
    methods = {task: [name for name in METHODS[task] if name in wanted] for task in tasks}
    store = KeyedLines(arguments.out / "results.jsonl", KEY)
    try:
        run_missing(store, sets, methods, arguments.splits, arguments.jobs)
    except KeyboardInterrupt:
        print(f"Interrupted. The results so far are in {store.path}; the same command goes on.", file=sys.stderr)
        return 130
    written, everything = [], []
    for task in tasks:
        own = [data for data in sets if data.task == task]
        summaries = [summarise(store, task, metric, own, methods[task], arguments.splits) for metric in METRICS[task]]
        written += write_task(task, summaries, arguments.out)
        everything += summaries
    failed = failures(store, sets, methods, arguments.splits)
    for line in failed:
        print(f"failed: {line}")
    write_markdown(everything, failed, arguments.splits, arguments.out / "index.md")
    print()
    for path in [*written, arguments.out / "index.md"]:
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
