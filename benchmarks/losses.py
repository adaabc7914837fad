"""How well our losses do what they are for: outliers, quantiles, probabilities of classes, and counts.

usage: ./run bench losses [robust] [quantile] [classes] [counts] [costs] [--data DIR] [--out results/losses]
                          [--splits N] [--sets NAME ...] [--methods NAME ... | ours | others]

    robust    outliers among the training targets, errors on clean test targets
    quantile  pinball loss of three quantiles, coverage of the band between them, crossings
    classes   error rate and log loss of classifiers
    counts    Poisson deviance on simulated counts with known rates
    costs     processor time of a fit relative to squared error

DIR/regression/*.csv and DIR/classification/*.csv are as for ./run bench accuracy; without DIR only the sets that come
with scikit-learn are used. Of larger sets 3000 rows are drawn; three quarters of the rows are for training. Unless told
otherwise there are 5 splits in classes, 1 in costs and 3 elsewhere.

Every fit runs on one thread, and its processor time is recorded. Tables say first where we are worse: sets are in the
order of our first method's number over that of the best of the others on the set. Picking the best for each set, on the
test rows, is in favour of the others.

Results are kept in OUT/results.jsonl as they come, failures too, and the same command goes on where it was. --methods
says what is measured; tables have all methods with results for every split. To measure something again after a change,
take another OUT or delete its lines.

./run installs CatBoost, LightGBM and XGBoost, which are not dependencies of the project; run without it, those that are
missing are left out.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from accuracy import chosen
from accuracy_parts.peers import NEEDS, how_to_install
from accuracy_parts.sets import DATA_VARIABLE
from accuracy_parts.tables import write_csv, write_markdown
from losses_parts import classes, costs, counts, quantile, robust
from losses_parts.experiments import Case, Experiment
from losses_parts.measuring import Cell, cells_of, run_missing
from losses_parts.results import KEY, Results

from skscn.paper.trials import KeyedLines

PARTS = {
    "robust": robust.EXPERIMENTS,
    "quantile": quantile.EXPERIMENTS,
    "classes": classes.EXPERIMENTS,
    "counts": counts.EXPERIMENTS,
    "costs": costs.EXPERIMENTS,
}
GROUPS = ("ours", "others")


@dataclass(frozen=True)
class Run:
    """An experiment with the cases, the methods to measure, and the number of splits that were asked for."""

    experiment: Experiment
    cases: list[Case]
    methods: list[str]
    splits: int

    def cells(self) -> list[Cell]:
        """What is to be measured: methods whose packages are missing are left out."""
        there = [name for name in self.methods if self.experiment.methods[name].is_installed]
        return list(cells_of(self.experiment, self.cases, there, self.splits))

    def results(self, store: KeyedLines) -> Results:
        """What was measured, now or earlier."""
        methods = self.experiment.methods
        ours = frozenset(name for name, method in methods.items() if method.ours)
        cases = [case.name for case in self.cases]
        every = Results(store, self.experiment.part, cases, list(methods), ours, self.splits)
        known = [case for case in cases if any(every.of(case, name) for name in methods)]
        found = [name for name in methods if any(every.of(case, name) for case in known)]
        return replace(every, cases=known, methods=found)


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help="only these parts")
    parser.add_argument("--data", type=Path, help=f"folder of data sets (default: the environment's {DATA_VARIABLE})")
    parser.add_argument("--out", type=Path, default=Path("results/losses"))
    parser.add_argument("--splits", type=int)
    parser.add_argument("--sets", nargs="+", metavar="NAME", help="only these sets")
    parser.add_argument("--methods", nargs="+", metavar="NAME", help="measure only these methods: names, ours, others")
    options = parser.parse_args(arguments)
    if options.splits is not None and options.splits < 1:
        parser.error("--splits must be 1 or more.")
    if options.data is None and os.environ.get(DATA_VARIABLE):
        options.data = Path(os.environ[DATA_VARIABLE])
    if options.data is not None and not options.data.is_dir():
        parser.error(f"There is no folder {options.data}.")
    return options


def planned(options: argparse.Namespace) -> list[Run]:
    """The experiments of the parts, with the sets and methods that are wanted; those without any are left out."""
    parts = chosen(options.parts or None, list(PARTS), "part")
    experiments = [experiment for part in parts for experiment in PARTS[part]]
    cases = [experiment.cases(options.data) for experiment in experiments]
    sets = chosen(options.sets, [case.name for some in cases for case in some], "set")
    known = [name for experiment in experiments for name in experiment.methods]
    chosen(options.methods, [*known, *GROUPS], "method")
    runs = [
        Run(
            experiment,
            [case for case in some if case.name in sets],
            [name for name in experiment.methods if is_wanted(experiment, name, options.methods)],
            options.splits or experiment.splits,
        )
        for experiment, some in zip(experiments, cases, strict=True)
    ]
    return [run for run in runs if run.cases]


def is_wanted(experiment: Experiment, name: str, wanted: list[str] | None) -> bool:
    """Whether a method is to be measured."""
    group = "ours" if experiment.methods[name].ours else "others"
    return wanted is None or name in wanted or group in wanted


def print_notes(runs: list[Run], folder: Path | None) -> None:
    """Say what is left out."""
    if folder is None:
        print(f"Only the sets of scikit-learn: neither --data nor {DATA_VARIABLE} is given.", file=sys.stderr)
    wanted = [run.experiment.methods[name] for run in runs for name in run.methods]
    left_out = {method.package for method in wanted if not method.is_installed}
    if missing := [package for package in NEEDS.values() if package in left_out]:
        print(how_to_install(missing), file=sys.stderr)


def write_part(part: str, found: list[Results], tables: list, out: Path) -> list[Path]:
    """Print the tables of a part and what failed, and write them."""
    failed = [line for results in found for line in results.failures()]
    for table in tables:
        print(table.text())
    for line in failed:
        print(f"failed: {line}")
    write_csv(tables, out / f"{part}.csv")
    write_markdown(f"Losses: {part}", tables, failed, out / f"{part}.md")
    return [out / f"{part}.csv", out / f"{part}.md"]


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse_arguments(arguments)
    runs = planned(options)
    print_notes(runs, options.data)
    store = KeyedLines(options.out / "results.jsonl", KEY)
    try:
        run_missing(store, [cell for run in runs for cell in run.cells()])
    except KeyboardInterrupt:
        print(f"Interrupted. The results so far are in {store.path}; the same command goes on.", file=sys.stderr)
        return 130
    written = []
    for part in dict.fromkeys(run.experiment.part for run in runs):
        own = [(run.experiment, run.results(store)) for run in runs if run.experiment.part == part]
        own = [(experiment, results) for experiment, results in own if results.methods]
        tables = [table for experiment, results in own for table in experiment.tables(results)]
        written += write_part(part, [results for _, results in own], tables, options.out)
    print()
    for path in written:
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
