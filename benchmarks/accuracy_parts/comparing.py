"""Our methods against the others: sets won and lost, ratios, and the tables that show them."""

from collections.abc import Sequence

import numpy as np

from accuracy_parts.means import Means
from accuracy_parts.measuring import METRICS
from accuracy_parts.methods import OURS
from accuracy_parts.summary import Summary, geometric_means, summarise
from accuracy_parts.tables import Row, Table, TextRow

# What is listed of the cases where a method is better, and where it is worse.
MOST_NAMED = 6


def summaries_of(means: Means, task: str) -> list[Summary]:
    """One for each metric of a task, the sets in the order in which our ensemble does worst."""
    return [worst_first(summarise(means, task, metric)) for metric in METRICS[task]]


def table_of(summary: Summary) -> Table:
    """The sets, ranks, ratios, comparisons and costs, and where our methods are worse and better."""
    rows = [*summary.rows(), *comparison_rows(summary), *summary.cost_rows()]
    notes = [note for own in own_methods(summary) for note in sides(own, summary.sets, against_others(summary, own))]
    return Table(summary.title, summary.methods, rows, notes)


def own_methods(summary: Summary) -> list[str]:
    """Our methods that are in a summary, the ensemble first."""
    return [name for name in reversed(OURS) if name in summary.methods]


def worst_first(summary: Summary) -> Summary:
    """The sets in the order of our ensemble's ratio to the best of the others, the largest first."""
    own = own_methods(summary)
    if not own:
        return summary
    ratios = against_others(summary, own[0])
    return summary.reordered(np.argsort(-np.nan_to_num(ratios, nan=-np.inf, posinf=np.inf), kind="stable").tolist())


def against_others(summary: Summary, method: str) -> np.ndarray:
    """A method's error over the smallest of those that are not ours, by set; infinite where only it failed."""
    others = [i for i, name in enumerate(summary.methods) if name not in OURS]
    own = summary.methods.index(method)
    return over_best(np.maximum(summary.means, summary.floors[:, None]), own, others)


def over_best(means: np.ndarray, own: int, others: list[int]) -> np.ndarray:
    """One column over the smallest of some others, row by row; NaN where there is none of those."""
    if not others:
        return np.full(len(means), np.nan)
    best = np.where(np.isnan(means[:, others]), np.inf, means[:, others]).min(axis=1)
    return np.divide(means[:, own], best, out=np.full(len(means), np.nan), where=np.isfinite(best) & (best > 0))


def won_and_lost(summary: Summary, own: str, other: str) -> tuple[int, int]:
    """On how many of the sets that both were run on one method is better than another, and worse."""
    a, b = (summary.means[:, summary.methods.index(name)] for name in (own, other))
    return int(np.sum(a < b)), int(np.sum(a > b))


def mean_ratio(values: np.ndarray, own: int) -> np.ndarray:
    """Geometric means of one column over each column, on the sets that have both."""
    return geometric_means(values[:, [own]] / values)


def comparison_rows(summary: Summary) -> list[Row | TextRow]:
    """Our methods against each of the others: sets won and lost, and the ratio of the errors."""
    rows: list[Row | TextRow] = []
    for own in own_methods(summary):
        column = summary.methods.index(own)
        counts = [won_and_lost(summary, own, other) for other in summary.methods]
        cells = [
            "-" if name == own else f"{won} : {lost}" for name, (won, lost) in zip(summary.methods, counts, strict=True)
        ]
        ratios = mean_ratio(summary.counted, column)
        ratios[column] = np.nan
        rows.append(TextRow(f"sets won : lost, {own} against it", cells))
        rows.append(Row(f"ratio of errors, {own} over it, geometric mean", ratios, 3))
    return rows


def sides(method: str, cases: Sequence[str], ratios: np.ndarray) -> list[str]:
    """One sentence on the cases where a ratio is above 1 and where it is not; none if there are no ratios."""
    known = [i for i in np.argsort(-ratios, kind="stable") if not np.isnan(ratios[i])]
    if not known:
        return []
    worse, better = [i for i in known if ratios[i] > 1.0], [i for i in reversed(known) if ratios[i] <= 1.0]
    said = [
        f"{what} on {len(which)}{named([(cases[i], ratios[i]) for i in which])}"
        for what, which in (("worse", worse), ("as good or better", better))
    ]
    return [f"{method} against the best of the others on each set: {', '.join(said)}."]


def named(pairs: list[tuple[str, float]]) -> str:
    """The first of the cases with their ratios, in brackets."""
    texts = [f"{case} failed" if np.isinf(ratio) else f"{case} × {ratio:.2f}" for case, ratio in pairs[:MOST_NAMED]]
    return f" ({', '.join([*texts, *(['…'] if len(pairs) > MOST_NAMED else [])])})" if texts else ""
