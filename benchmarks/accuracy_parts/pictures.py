"""The pictures of a task: critical-difference diagrams, and errors against processor times."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from accuracy_parts.methods import OURS
from accuracy_parts.summary import Summary, geometric_means
from skscn.paper.figures import save
from skscn.plot.style import BLUE, ORANGE, logarithmic_axis, plain_numbers

_OURS_COLOUR, _OTHER_COLOUR = "#c2410c", "#374151"
_WIDTH, _HEIGHT = 7.5, 4.6
# Size of a letter of a label, and the distance of a label from its point, as shares of a picture of that size.
_LETTER, _LINE, _GAP = 0.0135, 0.046, 0.014
Box = tuple[float, float, float, float]


def save_pictures(task: str, summaries: list[Summary], folder: Path) -> list[Path]:
    """Draw ranks, and errors against times, of methods that there are several of."""
    if not summaries[0].has_ranks:
        return []
    pictures = {f"ranks_{task}": draw_ranks(summaries), f"time_{task}": draw_times(summaries)}
    for name, figure in pictures.items():
        save(figure, folder / name)
    return [folder / f"{name}{suffix}" for name in pictures for suffix in (".svg", ".png")]


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
    ax.set_title(f"{summary.title}, {len(summary.sets)} sets", loc="left", fontsize=10)
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


def draw_times(summaries: list[Summary]) -> Figure:
    """Ratio to the best against the processor time of a fit, both as geometric means, one picture for each metric."""
    figure = Figure(figsize=(_WIDTH, _HEIGHT * len(summaries)), layout="constrained")
    for ax, summary in zip(figure.subplots(len(summaries), 1, squeeze=False).flat, summaries, strict=True):
        draw_points(ax, summary)
        ax.set_title(f"{summary.title}, {len(summary.sets)} sets", loc="left", fontsize=10)
    return figure


def draw_points(ax, summary: Summary) -> None:
    """Labelled points on logarithmic axes."""
    times, errors = geometric_means(summary.costs["cpu"]), geometric_means(summary.ratios)
    shown = np.flatnonzero(summary.is_everywhere & np.isfinite(times) & np.isfinite(errors))
    names = [summary.methods[i] for i in shown]
    colours = [ORANGE if name in OURS else BLUE for name in names]
    ax.scatter(times[shown], errors[shown], color=colours, s=28, zorder=3)
    ax.set_xscale("log")
    logarithmic_axis(ax)
    plain_numbers(ax.xaxis)
    ax.margins(0.12, 0.1)
    ax.set(xlabel="fit, processor seconds, geometric mean", ylabel="error, ratio to best, geometric mean")
    ax.grid(alpha=0.25)
    places = np.column_stack([shares(ax.get_xlim(), times[shown]), shares(ax.get_ylim(), errors[shown])])
    for name, colour, (x, y, align) in zip(names, colours, label_places(names, places), strict=True):
        ax.text(x, y, name, transform=ax.transAxes, ha=align, va="center", color=colour, fontsize=9)


def shares(limits: tuple[float, float], values: np.ndarray) -> np.ndarray:
    """Where values are on a logarithmic axis, from 0 to 1."""
    low, high = np.log(limits)
    return (np.log(values) - low) / (high - low)


def label_places(names: list[str], points: np.ndarray) -> list[tuple[float, float, str]]:
    """Where labels are free of points and of each other, as far as possible: x, y and alignment."""
    taken: list[Box] = [(x - 0.01, y - 0.015, x + 0.01, y + 0.015) for x, y in points]
    places = []
    for name, (x, y) in zip(names, points, strict=True):
        options = label_options(x, y)
        boxes = [label_box(name, option) for option in options]
        costs = [outside(box) + sum(overlap(box, other) for other in taken) for box in boxes]
        best = int(np.argmin(costs))
        taken.append(boxes[best])
        places.append(options[best])
    return places


def label_options(x: float, y: float) -> list[tuple[float, float, str]]:
    """To the right, above, below, to the left; the first that is as good as the others is taken."""
    right = [(x + _GAP, y + up, "left") for up in (0.0, 0.5 * _LINE, -0.5 * _LINE)]
    above = [(x, y + 1.1 * _LINE, "center"), (x, y - 1.1 * _LINE, "center")]
    return [*right, *above, *((x - _GAP, y + up, "right") for up in (0.0, 0.5 * _LINE, -0.5 * _LINE))]


def label_box(name: str, place: tuple[float, float, str]) -> Box:
    """The area of a label."""
    x, y, align = place
    width = _LETTER * len(name)
    left = x - {"left": 0.0, "center": 0.5, "right": 1.0}[align] * width
    return left, y - 0.5 * _LINE, left + width, y + 0.5 * _LINE


def outside(box: Box) -> float:
    """How far a box is out of the axes."""
    return max(0.0, -box[0]) + max(0.0, -box[1]) + max(0.0, box[2] - 1.0) + max(0.0, box[3] - 1.0)


def overlap(a: Box, b: Box) -> float:
    """The area that two have in common."""
    return max(0.0, min(a[2], b[2]) - max(a[0], b[0])) * max(0.0, min(a[3], b[3]) - max(a[1], b[1]))
