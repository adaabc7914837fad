"""Critical-difference diagrams: mean ranks on a line, and which of them do not differ."""

import numpy as np
from matplotlib.figure import Figure

from accuracy_parts.methods import OURS
from accuracy_parts.summary import Summary
from accuracy_parts.titles import title

_OURS_COLOUR, _OTHER_COLOUR = "#c2410c", "#374151"


def draw_ranks(summaries: list[Summary]) -> Figure:
    """Critical-difference diagrams of a task, one for each metric."""
    count = max(np.count_nonzero(np.isfinite(summary.ranks)) for summary in summaries)
    figure = Figure(figsize=(9, (1.6 + 0.22 * count) * len(summaries)), layout="constrained")
    for ax, summary in zip(figure.subplots(len(summaries), 1, squeeze=False).flat, summaries, strict=True):
        draw_diagram(ax, summary)
    return figure


def draw_diagram(ax, summary: Summary) -> None:
    """Mean ranks on a line, the best at the left; bars join those nearer than the critical difference."""
    order = [i for i in np.argsort(summary.ranks, kind="stable") if np.isfinite(summary.ranks[i])]
    names, ranks, difference = [summary.methods[i] for i in order], summary.ranks[order], summary.critical_difference
    k, bars = len(names), joined(ranks, difference)
    ax.set_title(f"{title(summary)}, {len(summary.sets)} sets", loc="left", fontsize=10)
    ax.plot([1, k], [0, 0], color="black", linewidth=1)
    for rank in range(1, k + 1):
        ax.plot([rank, rank], [0, 0.15], color="black", linewidth=1)
        ax.text(rank, 0.25, str(rank), ha="center", va="bottom", fontsize=8)
    ax.plot([1, 1 + difference], [1.2, 1.2], color="black", linewidth=2, marker="|")
    ax.text(1, 1.35, f"critical difference {difference:.2f}", ha="left", va="bottom", fontsize=8)
    for level, (first, last) in enumerate(bars):
        y = -0.3 * (level + 1)
        ax.plot([ranks[first] - 0.04, ranks[last] + 0.04], [y, y], color="black", linewidth=3, solid_capstyle="butt")
    for i, (name, rank) in enumerate(zip(names, ranks, strict=True)):
        left = i < (k + 1) // 2
        y = -0.3 * len(bars) - 0.6 * (1 + (i if left else k - 1 - i))
        end = 0.7 if left else k + 0.3
        colour = _OURS_COLOUR if name in OURS else _OTHER_COLOUR
        ax.plot([rank, rank, end], [0, y, y], color=colour, linewidth=1)
        label = f"{name} {rank:.2f}" if left else f"{rank:.2f} {name}"
        ax.text(end + (-0.05 if left else 0.05), y, label, ha="right" if left else "left", va="center", color=colour)
    margin = 0.25 * k
    ax.set(xlim=(0.7 - margin, max(k + 0.3 + margin, 1 + difference)), ylim=(None, 2.1))
    ax.axis("off")


def joined(ranks: np.ndarray, difference: float) -> list[tuple[int, int]]:
    """First and last of each longest run of sorted ranks that are no further apart than the difference."""
    lasts = [int(np.searchsorted(ranks, rank + difference, side="right")) - 1 for rank in ranks]
    return [
        (first, last) for first, last in enumerate(lasts) if last > first and (first == 0 or last > lasts[first - 1])
    ]
