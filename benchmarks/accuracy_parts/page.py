"""The tables and pictures of docs/accuracy.md, from the files of results next to it; people write its sentences."""

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from accuracy_parts.comparing import summaries_of
from accuracy_parts.means import Means, read_means, write_means
from accuracy_parts.methods import METHODS
from accuracy_parts.pictures import save_pictures
from accuracy_parts.summary import Summary
from accuracy_parts.tables import Table, put_tables

RESULTS, REALMLP = "accuracy_results.csv", "accuracy_realmlp.csv"
# Tasks with sets enough for pictures, and for more than errors and times in their table.
MANY_SETS = ("regression", "classification")


def write_page(means: Means, path: Path) -> list[Path]:
    """Write the means, and the tables and pictures that a page has of them."""
    results, images = path.parent / RESULTS, path.parent / "images"
    write_means(means, results)
    path.write_text(page_text(path), encoding="utf-8", newline="\n")
    images.mkdir(exist_ok=True)
    pictures = []
    with TemporaryDirectory() as folder:
        for task in [task for task in MANY_SETS if any(key[0] == task for key in means)]:
            drawn = save_pictures(task, summaries_of(means, task), Path(folder))
            pictures += [shutil.copy(file, images / file.name) for file in drawn if file.suffix == ".svg"]
    return [path, results, *pictures]


def all_means(folder: Path) -> Means:
    """What was measured; RealMLP was measured apart."""
    apart = folder / REALMLP
    return (read_means(apart) if apart.exists() else {}) | read_means(folder / RESULTS)


def page_text(path: Path) -> str:
    """The page with the tables of the results in its folder."""
    means = all_means(path.parent)
    tables = {
        f"{task} {summary.metric}": table_lines(summary)
        for task in METHODS
        if any(key[0] == task for key in means)
        for summary in summaries_of(means, task)
    }
    return put_tables(path.read_text(encoding="utf-8"), tables)


def table_lines(summary: Summary) -> list[str]:
    """Errors and times; of many sets also ranks and ratios."""
    errors, (fit, predict, *_) = summary.rows(), summary.cost_rows()
    rows = [*errors[: len(summary.sets)], fit]
    if summary.task in MANY_SETS:
        rows = [*errors[: len(summary.sets) + 2], fit, predict]
    return Table("", summary.methods, rows).markdown()[2:]
