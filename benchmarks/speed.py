"""How fast fits and predictions are: ratios to limits and to others, growth with the size, threads, latency.

usage: ./run bench speed [--out results/speed] [--parts a b c ...] [--quick | --full] [--page docs/performance.md]

    a  scoring candidates against the bare matrix product and tanh
    b  fits of SC-III against a literal reading of the paper
    c  defaults against scikit-learn's neural network and boosting, at equal test error
    d  growth of time and memory with rows, nodes, inputs and candidates (--full: up to ten million rows)
    e  two threads against one
    f  rows in scratch files against rows in memory
    g  prediction, and the time of the import

Measurements are kept in OUT/results.jsonl as they come, and the same command goes on where it was. Methods that are
compared take turns, and a ratio is the median over the turns. What runs on one thread is compared by processor time,
which a busy machine disturbs least. To measure something again after a change, take another OUT or delete its lines.

--page writes the results that the page of the documentation has, with the pictures, in its folder: speed_results.jsonl.
"""

import argparse
import json
import shutil
import sys
from pathlib import Path

from speed_parts import a_scoring, b_textbook, c_learners, d_growth, e_threads, f_out_of_core, g_prediction
from speed_parts.machine import machine
from speed_parts.processes import fit_ordered
from speed_parts.results import Part, ResultStore
from speed_parts.sizes import QUICK, Sizes, full
from threadpoolctl import threadpool_limits

PARTS = {
    "a": a_scoring.PART,
    "b": b_textbook.PART,
    "c": c_learners.PART,
    "d": d_growth.PART,
    "e": e_threads.PART,
    "f": f_out_of_core.PART,
    "g": g_prediction.PART,
}
RESULTS, MARK = "speed_results.jsonl", "<!-- tables: ./run bench speed --page docs/performance.md -->"


def run_missing(store: ResultStore, parts: list[str], sizes: Sizes) -> None:
    """Take the measurements that are not in the store yet; all libraries on one thread."""
    from skscn.cli.console import progress_bar

    cells = [cell for part in parts for cell in PARTS[part].cells(sizes)]
    missing = [cell for cell in cells if cell.key not in store.results]
    with progress_bar() as progress, threadpool_limits(1):
        bar = progress.add_task("", total=len(cells), completed=len(cells) - len(missing))
        for cell in missing:
            progress.update(bar, description=f"{cell.key[0]} {cell.key[2]}")
            store.add(cell.key, cell.measure())
            progress.advance(bar)


def is_complete(store: ResultStore, part: str, sizes: Sizes) -> bool:
    """Whether a part was measured, to the end."""
    keys = [cell.key for cell in PARTS[part].cells(sizes)]
    return bool(keys) and all(key in store.results for key in keys)


def part_lines(store: ResultStore, sizes: Sizes) -> list[str]:
    """The tables of all parts that were measured, and the places of their pictures."""
    lines = []
    for letter, part in PARTS.items():
        if is_complete(store, letter, sizes):
            lines += ["", f"## ({letter}) {part.title}"]
            for table in part.tables(store, sizes):
                lines += ["", *table.markdown()]
            if part.draw is not None:
                lines += ["", f"![{part.title}]({picture_name(part)}.svg)"]
    return lines


def picture_name(part: Part) -> str:
    return part.title.lower().replace(" ", "_")


def write_tables(store: ResultStore, sizes: Sizes, out: Path) -> list[Path]:
    """Write the tables and pictures of all parts that were measured."""
    from skscn.paper.figures import save

    written = [out / "speed.md"]
    lines = ["# Speed", "", *machine(), *part_lines(store, sizes)]
    written[0].write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")
    for letter, part in PARTS.items():
        if part.draw is not None and is_complete(store, letter, sizes):
            save(part.draw(store, sizes), out / picture_name(part))
            written += [out / f"{picture_name(part)}{suffix}" for suffix in (".svg", ".png")]
    return written


def page_text(page: str, store: ResultStore) -> str:
    """The page of the documentation with the tables of these results, folded below its last mark."""
    complete = [part for letter, part in PARTS.items() if is_complete(store, letter, Sizes())]
    tables = [table.markdown() for part in complete for table in part.tables(store, Sizes())]
    lines = [line for heading, *rest in tables for line in (f"**{heading.lstrip('# ')}**", *rest, "")]
    summary = "<details><summary>Tables of the parts that were run</summary>"
    return page.partition(MARK)[0] + "\n".join([MARK, summary, "", *lines, "</details>", ""])


def write_page(store: ResultStore, path: Path, pictures: list[Path]) -> list[Path]:
    """Write the page of the documentation, its results and its pictures."""
    results = path.parent / RESULTS
    shutil.copyfile(store.path, results)
    path.write_text(page_text(path.read_text(encoding="utf-8"), store), encoding="utf-8", newline="\n")
    copies = [shutil.copy(file, path.parent / "images" / file.name) for file in pictures if file.suffix == ".svg"]
    return [path, results, *copies]


def parse_arguments(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("results/speed"))
    parser.add_argument("--parts", nargs="+", choices=list(PARTS), default=list(PARTS), help="only these parts")
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="small sizes: a minute or two, to see that it works")
    size.add_argument("--full", action="store_true", help="up to ten million rows in part d")
    parser.add_argument("--page", type=Path, help="write this page of the documentation, with what was measured")
    parser.add_argument("--fit", type=json.loads, help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None, quick: Sizes = QUICK) -> int:
    options = parse_arguments(arguments)
    if options.fit is not None:
        print(json.dumps(fit_ordered(options.fit)))
        return 0
    sizes = quick if options.quick else full() if options.full else Sizes()
    store = ResultStore(options.out / "results.jsonl")
    try:
        run_missing(store, options.parts, sizes)
    except KeyboardInterrupt:
        print(f"Interrupted. The results so far are in {store.path}; the same command goes on.", file=sys.stderr)
        return 130
    print("\n".join(machine()))
    for part in options.parts:
        for table in PARTS[part].tables(store, sizes):
            print(table.text())
    print()
    written = write_tables(store, sizes, options.out)
    if options.page is not None:
        written += write_page(store, options.page, written)
    for path in written:
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
