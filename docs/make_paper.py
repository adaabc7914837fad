"""Fill in the results on the page docs/paper.md.

    skscn reproduce all --trials 100 --out results
    skscn reproduce all --trials 100 --out results --search renewal
    skscn reproduce sensitivity activations --trials 20 --out studies
    python docs/make_paper.py results studies

copies tables and figures into docs/reproduced and docs/images, and writes the parts of the page that stand between the
comments ``<!-- NAME -->`` and ``<!-- end NAME -->``; what is said of one search is said of the one that
comes closest to the paper. Without folders, the page is written from what is in docs/reproduced.
"""

import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

from skscn.paper.page import Reading, Report
from skscn.paper.reported import METHODS, Reported
from skscn.paper.reproduce import TABLES, file_name
from skscn.paper.studies import findings, read_study
from skscn.paper.tables import AGREES, BETTER, WORSE, Cell, Claim, read_csv
from skscn.paper.trials import SEARCHES

HERE = Path(__file__).parent
RESULTS, IMAGES, PAGE = HERE / "reproduced", HERE / "images", HERE / "paper.md"


def copy_results(folder: Path) -> None:
    """Keep the numbers of a run, and those of its pictures that the page shows."""
    for source in [*folder.glob("*.csv"), *folder.glob("times*.json")]:
        shutil.copyfile(source, RESULTS / source.name)
    page = PAGE.read_text(encoding="utf-8")
    for source in folder.glob("*.svg"):
        if f"(images/{source.name})" in page:
            shutil.copyfile(source, IMAGES / source.name)


def read_reading(search: str) -> Reading:
    """The results of one reading of the paper's search."""
    cells = {number: read_csv(RESULTS / f"{file_name(name, search)}.csv") for name, number in TABLES.items()}
    times = RESULTS / f"{file_name('times', search)}.json"
    return Reading(search, cells, json.loads(times.read_text(encoding="utf-8")) if times.exists() else [])


def blocks() -> dict[str, str]:
    """Name -> Markdown, for every part of the page that is computed."""
    report = Report([read_reading(search) for search in SEARCHES], trials=100, seed=0)
    closest = report.closest
    return {
        **report.blocks(),
        "claims": "\n".join(map(claim_line, closest.claims)),
        "activations": findings(read_study(RESULTS / "activations.csv"))[-1],
        "tables": "\n".join(line for number, cells in closest.cells.items() for line in table_lines(number, cells)),
        "seconds": "\n".join(seconds_lines(closest.seconds)),
    }


def claim_line(claim: Claim) -> str:
    """A claim of the paper; if it does not hold, also why, without the numbers, which are in the tables."""
    why = re.sub(r" \([^)]*\)", "", claim.detail)
    return f"- holds: {claim.text}." if claim.holds else f"- **does not hold**: {claim.text}. {why}."


def table_lines(number: int, cells: list[Cell]) -> list[str]:
    """A table of the paper: one row for each method and data set, one column for each quantity."""
    data, rows = dict.fromkeys(cell.data for cell in cells), dict[str, list[Cell]]()
    for cell in cells:
        method = cell.method.removeprefix("SC-II, ")
        rows.setdefault(method if len(data) == 1 else f"{cell.data}, {method}", []).append(cell)
    quantities = [cell.quantity for cell in next(iter(rows.values()))]
    return [
        f"**Table {number}, {' and '.join(data) if len(data) < 3 else 'DB2 to DB4'}**",
        "",
        f"| | {' | '.join(quantities)} |",
        f"|---|{'---|' * len(quantities)}",
        *(f"| {name} | {' | '.join(map(cell_text, row))} |" for name, row in rows.items()),
        "",
    ]


def cell_text(cell: Cell) -> str:
    """The paper's mean and ours: in bold if it is worse, in italics if it is better."""
    mark = {AGREES: "", BETTER: "*", WORSE: "**"}[cell.verdict]
    return f"{mean_text(cell.paper)} → {mark}{mean_text(cell.ours)}{mark}"


def mean_text(reported: Reported | None) -> str:
    """A mean with as many digits as the paper gives; a dash where ε is not reached."""
    return "–" if reported is None else f"{reported.mean:.{4 if reported.mean < 1 else 2}f}"


def seconds_lines(rows: list[dict[str, Any]]) -> list[str]:
    """Milliseconds for each node."""
    times = {(row["data"], row["method"]): 1000 * row["seconds_per_node"] for row in rows}
    data = list(dict.fromkeys(name for name, _ in times))
    lines = [[name, *(f"{times[name, method]:.2f}" for method in METHODS)] for name in data]
    return [
        f"| milliseconds per node | {' | '.join(METHODS)} |",
        f"|---|{'---:|' * len(METHODS)}",
        *(f"| {' | '.join(line)} |" for line in lines),
    ]


def filled(page: str) -> str:
    """The page with its computed parts."""
    for name, text in blocks().items():
        pattern = rf"(<!-- {name} -->\n).*?(<!-- end {name} -->)"
        page, found = re.subn(
            pattern, lambda match, text=text: f"{match[1]}{text.strip()}\n{match[2]}", page, flags=re.S
        )
        if found != 1:
            sys.exit(f"The page needs <!-- {name} --> and <!-- end {name} --> once each; it has {found}.")
    return page


def main(folders: list[str]) -> None:
    """Copy the results of these folders and fill in the page."""
    for folder in folders:
        copy_results(Path(folder))
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
