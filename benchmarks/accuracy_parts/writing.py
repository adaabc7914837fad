"""The tables and pictures of a task."""

from pathlib import Path

from accuracy_parts.comparing import against_others, comparison_rows, own_methods, sides, worst_first
from accuracy_parts.diagram import draw_ranks
from accuracy_parts.means import Means
from accuracy_parts.measuring import METRICS
from accuracy_parts.summary import Summary, summarise
from accuracy_parts.tables import Table
from accuracy_parts.times import draw_times
from accuracy_parts.titles import title
from skscn.paper.figures import save


def summaries_of(means: Means, task: str) -> list[Summary]:
    """One for each metric of a task, the sets in the order in which our ensemble does worst."""
    return [worst_first(summarise(means, task, metric)) for metric in METRICS[task]]


def table_of(summary: Summary, notes: bool = True) -> Table:
    """The sets, ranks, ratios, comparisons and costs."""
    rows = [*summary.rows(), *comparison_rows(summary), *summary.cost_rows()]
    said = [
        sentence
        for own in own_methods(summary)
        for sentence in sides(own, summary.sets, against_others(summary, own))
        if notes
    ]
    return Table(title(summary), summary.methods, rows, said)


def save_pictures(task: str, summaries: list[Summary], folder: Path) -> list[Path]:
    """Draw ranks, and errors against times, of methods that there are several of."""
    if not summaries[0].has_ranks:
        return []
    pictures = {f"ranks_{task}": draw_ranks(summaries), f"time_{task}": draw_times(summaries)}
    for name, figure in pictures.items():
        save(figure, folder / name)
    return [folder / f"{name}{suffix}" for name in pictures for suffix in (".svg", ".png")]
