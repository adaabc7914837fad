"""Errors against processor times: one point for each method that was run on all sets."""

import numpy as np
from matplotlib.figure import Figure

from accuracy_parts.methods import OURS
from accuracy_parts.summary import Summary, geometric_means
from accuracy_parts.titles import title
from skscn.plot.style import BLUE, ORANGE, logarithmic_axis, plain_numbers

_WIDTH, _HEIGHT = 7.5, 4.6
# Size of a letter of a label, and the distance of a label from its point, as shares of a picture of that size.
_LETTER, _LINE, _GAP = 0.0135, 0.046, 0.014
Box = tuple[float, float, float, float]


def draw_times(summaries: list[Summary]) -> Figure:
    """Ratio to the best against the processor time of a fit, both as geometric means, one picture for each metric."""
    figure = Figure(figsize=(_WIDTH, _HEIGHT * len(summaries)), layout="constrained")
    for ax, summary in zip(figure.subplots(len(summaries), 1, squeeze=False).flat, summaries, strict=True):
        draw_points(ax, summary)
        ax.set_title(f"{title(summary)}, {len(summary.sets)} sets", loc="left", fontsize=10)
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
