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

from skscn.paper.page import Reading, Report
from skscn.paper.reproduce import TABLES, file_name
from skscn.paper.studies import STUDIES, findings, read_study
from skscn.paper.tables import read_csv
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
    settings = [read_study(RESULTS / f"{study}.csv") for study in STUDIES]
    sentences = [sentence for group in settings for sentence in findings(group)]
    return {**report.blocks(), "studies": "\n".join(f"- {sentence}" for sentence in sentences)}


def filled(page: str) -> str:
    """The page with its computed parts."""
    for name, text in blocks().items():
        pattern = rf"(<!-- {name} -->\n).*?(\n<!-- end {name} -->)"
        page, found = re.subn(pattern, lambda match, text=text: match[1] + text.strip() + match[2], page, flags=re.S)
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
