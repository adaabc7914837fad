"""Part d: growth of time and memory with rows, nodes, inputs and candidates."""

from collections.abc import Iterator
from functools import partial

import numpy as np

from speed_parts.processes import measure_in_process
from speed_parts.results import Cell, Part, ResultStore
from speed_parts.sizes import Sizes
from speed_parts.writing import COLOURS, Table, seconds_text

AXES = {"N": "rows", "L": "nodes", "d": "inputs", "T": "candidates"}


_MANY = 1_000_000


def growth_case(point: dict[str, int]) -> str:
    return ", ".join(f"{axis} = {value}" for axis, value in point.items())


def growth_points(sizes: Sizes) -> list[dict[str, int]]:
    """Each point of the sweeps once, small ones first."""
    points = [{**sizes.base, axis: value} for axis, values in sizes.sweeps.items() for value in values]
    unique = {growth_case(point): point for point in points}
    return sorted(unique.values(), key=lambda point: np.prod(list(point.values()), dtype=float))


def growth_cells(sizes: Sizes) -> Iterator[Cell]:
    for point in growth_points(sizes):
        for turn in range(1 if point["N"] >= _MANY else sizes.fit_turns):
            for configuration in sizes.configurations:
                key = ("d", growth_case(point), configuration, turn)
                yield Cell(key, partial(measure_in_process, {**point, "configuration": configuration}))


def growth_line(store: ResultStore, sizes: Sizes, axis: str, configuration: str, name: str) -> tuple[list, list]:
    """Values of one size, and the medians there; nothing where they were not measured."""
    values = [
        value
        for value in sizes.sweeps[axis]
        if all(r[name] is not None for r in store.turns("d", point_case(sizes, axis, value), configuration))
    ]
    return values, [store.median("d", point_case(sizes, axis, value), configuration, name) for value in values]


def point_case(sizes: Sizes, axis: str, value: int) -> str:
    return growth_case({**sizes.base, axis: value})


def slope(values: list, numbers: list) -> str:
    """The slope of a line through the points of a double logarithmic plot."""
    if len(values) < 2 or min(numbers) <= 0:
        return ""
    return f"{np.polyfit(np.log(values), np.log(numbers), 1)[0]:.2f}"


def growth_tables(store: ResultStore, sizes: Sizes) -> list[Table]:
    rows = []
    for axis, label in AXES.items():
        for configuration in sizes.configurations:
            values, seconds = growth_line(store, sizes, axis, configuration, "cpu")
            places, memory = growth_line(store, sizes, axis, configuration, "bytes")
            rows.append(
                [
                    f"{label} {axis} = {values[0]} … {values[-1]}, {configuration}",
                    f"{seconds_text(seconds[0])} … {seconds_text(seconds[-1])}",
                    slope(values, seconds),
                    slope(values[-2:], seconds[-2:]),
                    f"{memory[0] / 2**20:.0f} … {memory[-1] / 2**20:.0f}" if memory else "",
                    slope(places[-2:], memory[-2:]),
                ]
            )
    header = ["size, search", "fit", "slope, all", "slope, last two", "memory of the fit, MiB", "slope, last two"]
    note = (
        f"Processor time, one thread; the sizes that do not vary are {growth_case(sizes.base)}. Slopes are on log-log "
        "axes: 1 means proportional growth. Memory is the amount by which the fit raised the peak resident memory of "
        "its process, not counting the rows themselves."
    )
    missing = "" if places else " This system does not report the memory of a process."
    return [Table("Growth", header, rows, note + missing)]


def draw_growth(store: ResultStore, sizes: Sizes):
    """Time and memory against each size, one column a size."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import NullLocator

    figure = Figure(figsize=(13, 6), layout="constrained")
    axes = figure.subplots(2, len(AXES), sharex="col", sharey="row")
    for column, (axis, label) in zip(axes.T, AXES.items(), strict=True):
        for ax, name, unit in zip(column, ("cpu", "bytes"), (1.0, 2.0**20), strict=True):
            for configuration in sizes.configurations:
                values, numbers = growth_line(store, sizes, axis, configuration, name)
                ax.plot(values, np.array(numbers) / unit, marker="o", color=COLOURS[configuration], label=configuration)
            ax.grid(alpha=0.25)
        column[0].set(xscale="log", yscale="log")
        column[1].set(xlabel=f"{label} {axis}", yscale="symlog")
        column[1].set_xticks(sizes.sweeps[axis], minor=False)
        column[1].xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        column[1].xaxis.set_minor_locator(NullLocator())
    axes[0, 0].set_ylabel("fit, processor seconds")
    axes[1, 0].set_ylabel("memory of the fit, MiB")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=2, frameon=False)
    return figure


PART = Part("Growth with the size", growth_cells, growth_tables, draw_growth)
