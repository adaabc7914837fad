"""Draw what was measured on series, plants and streams, from files of results: ``python docs/make_evidence.py``."""

import csv
from collections import defaultdict
from pathlib import Path
from statistics import median

import matplotlib
import matplotlib.pyplot as plt
import numpy as np

from skscn.plot.style import BLUE, GREEN, GREY, ORANGE, PURPLE, plain_numbers

DOCS = Path(__file__).parent
# Ratios that are larger are drawn here.
FARTHEST = 30
COLOURS = (BLUE, GREEN, PURPLE, GREY, "black", "brown")


def read(name: str) -> list[dict[str, str]]:
    """The lines of a file of results."""
    with (DOCS / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def save(figure: plt.Figure, name: str) -> None:
    """Write docs/images/NAME.svg, the same bytes for the same figure."""
    with matplotlib.rc_context({"svg.hashsalt": "skscn"}):
        figure.savefig(DOCS / "images" / f"{name}.svg", metadata={"Date": None})
    plt.close(figure)


def draw_ratios(values: dict[tuple[str, str], float], own: str, name: str) -> None:
    """Errors of other methods over our own, one line for each task; (task, method) -> error."""
    tasks = sorted({task for task, _ in values}, key=lambda task: values[task, own])
    methods = list(dict.fromkeys(method for _, method in values if method != own))
    figure, ax = plt.subplots(figsize=(8, 0.9 + 0.36 * len(tasks)), layout="constrained")
    ax.axvline(1.0, color=ORANGE, label=own)
    for method, colour in zip(methods, COLOURS, strict=False):
        there = [place for place, task in enumerate(tasks) if (task, method) in values]
        ratios = [min(FARTHEST, values[tasks[place], method] / values[tasks[place], own]) for place in there]
        ax.plot(ratios, there, "o", color=colour, label=method)
    ax.set(xscale="log", xlabel=f"error relative to ours; right of 1 is worse ({FARTHEST}: that or more)")
    ax.set_yticks(range(len(tasks)), tasks)
    plain_numbers(ax.xaxis)
    ax.grid(axis="y", alpha=0.25)
    figure.legend(loc="outside right upper", frameon=False)
    save(figure, name)


def draw_series() -> None:
    """Medians over the seeds; free runs are measured in lengths and left out."""
    found = defaultdict(list)
    names = {"RSCN": "recurrent SCN", "ESN": "echo state network", "lagged HGB": "boosting on lags"}
    for line in read("series_results.csv"):
        if "free" not in line["task"]:
            found[line["task"], names.get(line["method"], line["method"])].append(float(line["value"]))
    draw_ratios({key: median(values) for key, values in found.items()}, "recurrent SCN", "series")


def draw_streams() -> None:
    """Mean absolute errors."""
    names = {"the same without scaling": "the forest, inputs not scaled"}
    lines = read("stream_results.csv")
    errors = {(line["stream"], names.get(line["method"], line["method"])): float(line["mae"]) for line in lines}
    draw_ratios(errors, "OnlineSCNRegressor", "streams")


def draw_plants() -> None:
    """R² that fit printed, and R² of later rows."""
    figure, ax = plt.subplots(figsize=(6.4, 4.6), layout="constrained")
    outcomes = {
        "honest": ("within 0.15 of what was printed", BLUE, "o"),
        "cautioned": ("worse, and a caution said so", GREEN, "s"),
        "misleading": ("worse, without a caution", ORANGE, "X"),
        "false alarm": ("a false alarm", PURPLE, "D"),
        "named": ("wrong values in training, named", GREY, "^"),
    }
    lines = read("plants_results.csv")
    for outcome, (label, colour, marker) in outcomes.items():
        some = [(float(line["said"]), float(line["found"])) for line in lines if line["outcome"] == outcome]
        said, found = np.maximum(np.reshape(some, (-1, 2)), -1.0).T
        ax.plot(said, found, marker, color=colour, label=f"{label} ({len(some)})", alpha=0.8)
    ax.axline((0, 0), slope=1, color="black", linewidth=1)
    ax.axline((0.15, 0), slope=1, color="black", linewidth=1, linestyle=":")
    ax.set(xlabel="R² that fit printed", ylabel="R² found on later rows (−1: that or less)")
    ax.set(xlim=(-1.05, 1.05), ylim=(-1.05, 1.05))
    ax.legend(frameon=False)
    save(figure, "plants")


if __name__ == "__main__":
    draw_series()
    draw_streams()
    draw_plants()
