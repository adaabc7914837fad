"""Tables of a summary: in a terminal, as CSV and as Markdown."""

import csv
from pathlib import Path

import numpy as np

from accuracy_parts.measuring import METRICS
from accuracy_parts.summary import ALPHA, Summary


def title(summary: Summary) -> str:
    return f"{summary.task.capitalize()}: {METRICS[summary.task][summary.metric]}"


def print_table(summary: Summary) -> None:
    rows = [(title(summary), summary.methods), *((row.label, row.texts()) for row in summary.rows())]
    first = max(len(label) for label, _ in rows)
    width = 2 + max(len(text) for _, texts in rows for text in texts)
    print()
    for label, texts in rows:
        print(f"{label:{first}}" + "".join(f"{text:>{width}}" for text in texts))


def write_csv(summaries: list[Summary], path: Path) -> None:
    """Write the tables of a task below each other, the metric in the first column."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["metric", "row", *summaries[0].methods])
        for summary in summaries:
            for row in summary.rows():
                numbers = ["failed" if v == np.inf else "" if np.isnan(v) else f"{v:.6g}" for v in row.values]
                writer.writerow([summary.metric, row.label, *numbers])


def markdown_table(summary: Summary) -> list[str]:
    """The lines of a table in Markdown, the best in bold."""
    lines = [f"| | {' | '.join(summary.methods)} |", f"|---|{'---:|' * len(summary.methods)}"]
    for row in summary.rows():
        texts = [f"**{text}**" if best else text for text, best in zip(row.texts(), row.is_best(), strict=True)]
        lines.append(f"| {row.label} | {' | '.join(texts)} |")
    return lines


def write_markdown(summaries: list[Summary], failed: list[str], splits: int, path: Path) -> None:
    """Write all tables and pictures as one page."""
    lines = [
        "# Accuracy",
        "",
        f"Means over random splits ({splits}), three quarters of the rows for training; the best in bold. NRMSE is the "
        "test RMSE over the standard deviation of the test target. Ranks are of these means, among the methods that "
        "were run on all sets; a method that failed on a set is last there. Ratios, seconds and nodes are over the "
        "sets that a method was run on (without those that it failed on, for the ratios). An error rate counts in a "
        "ratio as half a wrong row at least.",
    ]
    for summary in summaries:
        lines += ["", f"## {title(summary)}", "", *markdown_table(summary)]
    for task in dict.fromkeys(summary.task for summary in summaries if summary.has_ranks):
        lines += ["", f"## {task.capitalize()}: mean ranks", "", f"![Mean ranks, {task}]({task}_ranks.svg)", ""]
        lines += [f"Methods connected by a bar do not differ significantly (Nemenyi's test, α = {ALPHA})."]
    if failed:
        lines += ["", "## Failed", "", *(f"- {line}" for line in failed)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")
