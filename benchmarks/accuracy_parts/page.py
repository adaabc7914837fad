"""The page of the documentation: every figure on it, in tables and in sentences, comes from files of results."""

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from accuracy_parts import texts
from accuracy_parts.interval_tables import interval_section
from accuracy_parts.means import Means, read_comment, read_means, write_means
from accuracy_parts.methods import METHODS
from accuracy_parts.sentences import error_sentences, rank_sentences, time_sentences
from accuracy_parts.summary import ALPHA, Summary
from accuracy_parts.texts import wrapped
from accuracy_parts.titles import TITLES, title
from accuracy_parts.writing import save_pictures, summaries_of, table_of

RESULTS, REALMLP, INTERVALS = "accuracy_results.csv", "accuracy_realmlp.csv", "accuracy_intervals.csv"
# Tasks with sets enough for a picture.
PICTURED = ("regression", "classification")


def write_page(means: Means, path: Path) -> list[Path]:
    """Write the page, the means that it is made of, and its pictures."""
    results, images = path.parent / RESULTS, path.parent / "images"
    write_means(means, results)
    path.write_text(page_text(path.parent), encoding="utf-8", newline="\n")
    images.mkdir(exist_ok=True)
    pictures = []
    with TemporaryDirectory() as folder:
        for task in pictured_tasks(read_means(results)):
            drawn = save_pictures(task, summaries_of(read_means(results), task), Path(folder))
            pictures += [shutil.copy(file, images / file.name) for file in drawn if file.suffix == ".svg"]
    return [path, results, *pictures]


def page_text(folder: Path) -> str:
    """The page that belongs to the results in a folder."""
    measured = read_means(folder / RESULTS)
    realmlp = folder / REALMLP
    means = (read_means(realmlp) if realmlp.exists() else {}) | measured
    tasks = [task for task in METHODS if any(key[0] == task for key in measured)]
    summaries = {task: summaries_of(means, task) for task in tasks}
    said = [texts.SETUP, f"{splits_sentence(means)} {read_comment(folder / RESULTS)}"]
    lines = ["# Accuracy", "", texts.COMMANDS, "", *(line for text in said for line in (wrapped(text), ""))]
    if "classification" not in tasks:
        lines += [wrapped(texts.NO_CLASSES), ""]
    lines += ["## Where the networks are worse, and where they are better", ""]
    for found in summaries.values():
        lines += findings(found)
    lines += [
        "## The other methods",
        "",
        *(wrapped(text, "- ") for name, text in texts.METHODS.items() if any(key[2] == name for key in means)),
        "",
        wrapped(versions_sentence(means)),
        "",
    ]
    if realmlp.exists():
        lines += [wrapped(f"RealMLP was measured apart, with `{read_comment(realmlp)}`."), ""]
    lines += ["## Reading the tables", "", wrapped(texts.READING), ""]
    for task, found in summaries.items():
        lines += task_section(task, found)
    if (folder / INTERVALS).exists():
        lines += interval_section(folder / INTERVALS)
    return "\n".join(lines).rstrip() + "\n"


def findings(summaries: list[Summary]) -> list[str]:
    """What is to be said about a task: errors for each metric, then times."""
    lines = []
    for summary in summaries:
        said = [*error_sentences(summary), *rank_sentences(summary)]
        if summary is summaries[0]:
            said += time_sentences(summary)
        if said:
            heading = wrapped(f"**{heading_of(summary)}**")
            lines += [heading, "", *(wrapped(sentence, "- ") for sentence in said), ""]
    return lines


def heading_of(summary: Summary) -> str:
    return f"{title(summary)}, {len(summary.sets)} sets"


def task_section(task: str, summaries: list[Summary]) -> list[str]:
    """The tables and pictures of a task."""
    lines = []
    for summary in summaries:
        heading, *table = table_of(summary, notes=False).markdown()
        note = [wrapped(texts.TASKS[task]), ""] if task in texts.TASKS else []
        lines += [heading, "", *note, *table[1:], ""]
    if task in PICTURED and summaries[0].has_ranks:
        lines += picture_lines(task)
    return lines


def picture_lines(task: str) -> list[str]:
    """The pictures of a task."""
    name = TITLES[task]
    return [
        f"## {name}: error against time",
        "",
        f"![Error against processor time, {task}](images/time_{task}.svg)",
        "",
        "Methods that were run on all data sets; both axes are logarithmic.",
        "",
        f"## {name}: mean ranks",
        "",
        f"![Mean ranks, {task}](images/ranks_{task}.svg)",
        "",
        f"Methods connected by a bar do not differ significantly (Nemenyi's test, α = {ALPHA}).",
        "",
    ]


def pictured_tasks(means: Means) -> list[str]:
    return [task for task in PICTURED if any(key[0] == task for key in means)]


def splits_sentence(means: Means) -> str:
    """Over how many splits the means are, and which are over fewer."""
    most = max(mean["splits"] for mean in means.values())
    fewer = sorted({(method, mean["splits"]) for (_, _, method), mean in means.items() if mean["splits"] < most})
    exceptions = "".join(f", except for {method} ({splits})" for method, splits in fewer)
    return f"Numbers are means over {most} split{'' if most == 1 else 's'}{exceptions}."


def versions_sentence(means: Means) -> str:
    """The packages that the methods are from."""
    versions = sorted({mean["version"] for mean in means.values() if "version" in mean}, key=str.lower)
    return f"Versions: {', '.join(versions)}."
