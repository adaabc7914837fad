"""The paper's tables, cell by cell: what it reports, what the trials give, and whether they agree."""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from skscn.experiments.paper import METHODS, TABLE1, TABLE2, TABLE3, TABLE4, TABLE5, Reported, WindowRow
from skscn.experiments.trials import Trial, Unit
from skscn.files import replacing_text

Results = Callable[[Unit], list[Trial]]
# Nodes to grow on each data set: as far as a table or figure looks.
NODES = {"DB1": 150, "DB2": 150, "DB3": 50, "DB4": 50}
# How far SC-II with a small window may grow to reach ε.
_UNTIL = 300
# What counts as agreement: two of the paper's standard deviations and five percent.
_DEVIATIONS, _SHARE = 2.0, 0.05


@dataclass(frozen=True)
class Cell:
    """One number of the paper beside ours.

    Attributes
    ----------
    table : int
    data, method : str
    quantity : str
        What is measured, with the number of nodes or the window that it belongs to.
    paper : Reported or None
        None where the paper has a dash: the method does not reach ε.
    ours : Reported or None
        None where none of the trials reaches ε.
    trials, reached : int
        Trials, and those among them that the mean is over.
    """

    table: int
    data: str
    method: str
    quantity: str
    paper: Reported | None
    ours: Reported | None
    trials: int
    reached: int

    @property
    def ratio(self) -> float | None:
        """Ours over the paper's."""
        return self.ours.mean / self.paper.mean if self.paper and self.ours else None

    @property
    def verdict(self) -> str:
        """One of "within", "better" (lower), "beyond"; or what became of a dash."""
        if self.paper is None:
            return "as in the paper" if self.reached < self.trials / 2 else "reached here"
        if self.ours is None:
            return "not reached"
        margin = _DEVIATIONS * (self.paper.std or 0.0) + _SHARE * self.paper.mean
        if self.ours.mean > self.paper.mean + margin:
            return "beyond"
        return "within" if self.ours.mean >= self.paper.mean - margin else "better"

    @property
    def agrees(self) -> bool:
        """Whether ours is as the paper says, or better."""
        return self.verdict in ("within", "better", "as in the paper")


def curve_unit(data: str, method: str) -> Unit:
    """The trials of one method on one data set, as far as any table or figure looks."""
    return Unit(data, method, NODES[data])


def window_unit(data: str, window: int) -> Unit:
    """The trials of SC-II with one window size, for Tables 4 and 5."""
    return Unit(data, "SC-II", {"DB1": 35, "DB2": 25}[data], (("window", window),), _UNTIL)


def table_units(table: int) -> list[Unit]:
    """What has to be run for a table."""
    if table in (4, 5):
        data, rows = (("DB1", TABLE4), ("DB2", TABLE5))[table - 4]
        return [window_unit(data, window) for window in rows]
    sets = {1: ["DB1"], 2: list(TABLE2), 3: ["DB1", "DB2"]}[table]
    return [curve_unit(data, method) for data in sets for method in METHODS]


def table_cells(table: int, results: Results) -> list[Cell]:
    """The cells of a table."""
    if table == 1:
        return _accuracy_cells(1, "DB1", TABLE1, results)
    if table == 2:
        return [cell for data, reported in TABLE2.items() for cell in _accuracy_cells(2, data, reported, results)]
    if table == 3:
        return [
            cell
            for (data, method), row in TABLE3.items()
            for cell in _efficiency_cells(3, data, method, row, results(curve_unit(data, method)))
        ]
    data, rows = (("DB1", TABLE4), ("DB2", TABLE5))[table - 4]
    return [cell for window, row in rows.items() for cell in _window_cells(table, data, window, row, results)]


def _accuracy_cells(table: int, data: str, reported: dict, results: Results) -> list[Cell]:
    cells = []
    for (method, part, nodes), paper in reported.items():
        trials = results(curve_unit(data, method))
        ours = _mean([trial.at(part, nodes) for trial in trials])
        quantity = f"{part} RMSE, L = {nodes}"
        cells.append(Cell(table, data, method, quantity, paper, ours, len(trials), len(trials)))
    return cells


def _efficiency_cells(
    table: int, data: str, method: str, row: tuple[Reported, Reported, Reported] | None, trials: list[Trial]
) -> list[Cell]:
    there = [(trial, nodes) for trial in trials if (nodes := trial.reached()) is not None]
    ours = {
        "nodes to ε = 0.05": _mean([nodes for _, nodes in there]),
        "test RMSE at ε = 0.05": _mean([trial.at("test", nodes) for trial, nodes in there]),
    }
    papers = (None, None) if row is None else row[1:]
    return [
        Cell(table, data, method, quantity, paper, mean, len(trials), len(there))
        for (quantity, mean), paper in zip(ours.items(), papers, strict=True)
    ]


def _window_cells(table: int, data: str, window: int, row: WindowRow, results: Results) -> list[Cell]:
    unit = window_unit(data, window)
    trials = results(unit)
    reached = [float(nodes) for trial in trials if (nodes := trial.reached()) is not None]
    values: dict[str, tuple[list[float], Reported]] = {
        f"train RMSE, L = {unit.nodes}": ([trial.at("train", unit.nodes) for trial in trials], row.train),
        f"test RMSE, L = {unit.nodes}": ([trial.at("test", unit.nodes) for trial in trials], row.test),
        "nodes to ε = 0.05": (reached, row.nodes),
    }
    return [
        Cell(table, data, f"SC-II, K = {window}", quantity, paper, _mean(numbers), len(trials), len(numbers))
        for quantity, (numbers, paper) in values.items()
    ]


def _mean(values: list[float]) -> Reported | None:
    if not values:
        return None
    return Reported(float(np.mean(values)), float(np.std(values)))


def write_csv(cells: list[Cell], path: Path) -> None:
    """Write cells as a table of numbers, the same for the same seed on every run."""
    names = (
        "table",
        "data",
        "method",
        "quantity",
        "paper_mean",
        "paper_std",
        "mean",
        "std",
        "ratio",
        "trials",
        "reached",
        "verdict",
    )
    with replacing_text(path) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(names)
        for cell in cells:
            paper, ours = cell.paper or (None, None), cell.ours or (None, None)
            numbers = [_digits(number) for number in (*paper, *ours, cell.ratio)]
            writer.writerow(
                [cell.table, cell.data, cell.method, cell.quantity, *numbers, cell.trials, cell.reached, cell.verdict]
            )


def _digits(number: float | None) -> str:
    return "" if number is None else f"{number:.6g}"


@dataclass(frozen=True)
class Claim:
    """Something that the paper says of its results, and whether it holds of ours."""

    text: str
    holds: bool
    detail: str


def claims(results: Results, tables: list[int]) -> list[Claim]:
    """The orderings that the paper claims, as far as these tables show them."""
    found = []
    sets = {1: ["DB1"], 2: ["DB2", "DB3", "DB4"]}
    for data in (data for table in tables for data in sets.get(table, [])):
        found.append(_ordering(data, results))
    for table, data, rows in ((4, "DB1", TABLE4), (5, "DB2", TABLE5)):
        if table in tables:
            found.append(_larger_windows(table, data, list(rows), results))
    if 3 in tables:
        reached = {
            data: sum(t.reached() is not None for t in results(curve_unit(data, "IRVFL"))) for data in ("DB1", "DB2")
        }
        found.append(
            Claim("IRVFL never reaches ε = 0.05", not any(reached.values()), f"trials that reach it: {reached}")
        )
    return found


def _ordering(data: str, results: Results) -> Claim:
    order = ("SC-III", "SC-II", "SC-I", "IRVFL")
    errors = {
        (part, nodes): [float(np.mean([t.at(part, nodes) for t in results(curve_unit(data, m))])) for m in order]
        for part in ("train", "test")
        for nodes in (25, 50)
    }
    holds = all(values == sorted(values) and len(set(values)) == 4 for values in errors.values())
    detail = "; ".join(
        f"{part} {nodes}: " + " < ".join(f"{value:.4f}" for value in values) for (part, nodes), values in errors.items()
    )
    return Claim(f"{' < '.join(order)} in RMSE on {data}", holds, detail)


def _larger_windows(table: int, data: str, windows: list[int], results: Results) -> Claim:
    """A larger window is never worse beyond noise: two standard errors of the difference."""
    nodes = window_unit(data, windows[0]).nodes
    means, errors = [], []
    for window in windows:
        values = [trial.at("train", nodes) for trial in results(window_unit(data, window))]
        means.append(float(np.mean(values)))
        errors.append(float(np.var(values) / len(values)))
    steps = zip(means, means[1:], errors, errors[1:], strict=False)
    holds = all(later <= earlier + 2.0 * np.sqrt(a + b) for earlier, later, a, b in steps)
    detail = ", ".join(f"K = {window}: {mean:.4f}" for window, mean in zip(windows, means, strict=True))
    return Claim(f"a larger window is never worse beyond noise (Table {table}, {data})", holds, detail)


def seconds(tables: list[int], results: Results) -> list[dict]:
    """Times on this machine beside the paper's: to ε where it is reached, and for a node."""
    rows = []
    for unit in dict.fromkeys(unit for table in tables for unit in table_units(table)):
        trials = results(unit)
        to_tolerance = [t.seconds[nodes - 1] for t in trials if (nodes := t.reached()) is not None]
        window = dict(unit.parameters).get("window")
        if window is None:
            row = TABLE3.get((unit.data, unit.method))
            paper = row[0].mean if row else None
        else:
            paper = (TABLE4 if unit.data == "DB1" else TABLE5)[window].seconds.mean
        rows.append(
            {
                "data": unit.data,
                "method": unit.method if window is None else f"SC-II, K = {window}",
                "paper_seconds": paper,
                "seconds": float(np.mean(to_tolerance)) if to_tolerance else None,
                "seconds_per_node": float(np.mean([t.seconds[-1] / len(t.seconds) for t in trials])),
            }
        )
    return rows
