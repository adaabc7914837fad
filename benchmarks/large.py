"""Error, time and memory on large tables: one of our networks against LightGBM and histogram gradient boosting.

usage: ./run bench large [--rows 1e5 1e6 1e7] [--functions friedman jumps] [--methods NAME ...] [--out results/large]

    friedman  Friedman's function #1, smooth, 10 inputs of which 5 matter, noise of standard deviation 1
    jumps     a function with five hard thresholds, 10 inputs of which 6 matter, noise of standard deviation 1

SCN is SCNRegressor with its defaults. LightGBM-100, LightGBM-500, boosting-100 and boosting-500 have that many trees.
Every fit has a process of its own and one thread; inputs are in single precision for all methods. Ten million rows need
a machine with 24 GB and hours for all methods; --rows 1e5 1e6 takes minutes.

Results are kept in OUT/results.jsonl as they come, failures too, and the same command goes on where it was. To measure
something again after a change, take another OUT or delete its lines.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from accuracy import chosen
from accuracy_parts.functions import LARGE
from accuracy_parts.peers import how_to_install, is_installed
from accuracy_parts.tables import write_csv
from large_parts.fits import METHODS, fit_ordered, measure_in_process
from large_parts.report import counted, failures, page, table_of

from skscn.paper.trials import KeyedLines

KEY = ("function", "rows", "method")
ROWS = (10**5, 10**6, 10**7)


def row_count(text: str) -> int:
    """A number of rows, also as 1e6."""
    count = int(float(text))
    if count < 1:
        raise argparse.ArgumentTypeError("must be 1 or more")
    return count


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", nargs="+", type=row_count, default=list(ROWS), metavar="N")
    parser.add_argument("--functions", nargs="+", metavar="NAME", help=f"only these: {', '.join(LARGE)}")
    parser.add_argument("--methods", nargs="+", metavar="NAME", help=f"measure only these: {', '.join(METHODS)}")
    parser.add_argument("--out", type=Path, default=Path("results/large"))
    parser.add_argument("--fit", type=json.loads, help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def run_missing(store: KeyedLines, keys: list[tuple[str, int, str]]) -> None:
    """Measure what is not in the store yet, small tables first."""
    from skscn.cli.console import progress_bar

    missing = [key for key in sorted(keys, key=lambda key: key[1]) if key not in store.results]
    with progress_bar() as progress:
        bar = progress.add_task("fits", total=len(keys), completed=len(keys) - len(missing))
        for key in missing:
            function, rows, method = key
            progress.update(bar, description=f"{function} {counted(rows)} {method}")
            store.add(key, measure_in_process(dict(zip(KEY, key, strict=True))))
            progress.advance(bar)


def installed(methods: list[str]) -> list[str]:
    """The methods that can be run here; what is missing is said."""
    there = [method for method in methods if is_installed(method.split("-")[0])]
    if there != methods:
        print(how_to_install(["lightgbm"]), file=sys.stderr)
    return there


def write_tables(store: KeyedLines, functions: list[str], out: Path) -> list[Path]:
    """Print and write what was measured, now or earlier."""
    tables = []
    for function in functions:
        known = [key for key in store.results if key[0] == function]
        rows = sorted({count for _, count, _ in known})
        methods = [method for method in METHODS if any(key[2] == method for key in known)]
        if known:
            tables.append(table_of(store, function, rows, methods))
            print(tables[-1].text())
    failed = failures(store)
    for line in failed:
        print(f"failed: {line}")
    write_csv(tables, out / "large.csv")
    (out / "index.md").write_text(page(tables, failed), encoding="utf-8", newline="\n")
    return [out / "large.csv", out / "index.md"]


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse_arguments(arguments)
    if options.fit is not None:
        print(json.dumps(fit_ordered(options.fit)))
        return 0
    functions = chosen(options.functions, list(LARGE), "function")
    methods = installed(chosen(options.methods, list(METHODS), "method"))
    store = KeyedLines(options.out / "results.jsonl", KEY)
    try:
        run_missing(store, [(name, rows, method) for name in functions for rows in options.rows for method in methods])
    except KeyboardInterrupt:
        print(f"Interrupted. The results so far are in {store.path}; the same command goes on.", file=sys.stderr)
        return 130
    written = write_tables(store, functions, options.out)
    print()
    for path in written:
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
