"""The paper's tables, cell by cell: what it reports, what the trials give, and whether they agree."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from skscn.experiments.paper import (
    METHODS,
    PAPER_TRIALS,
    TABLE1,
    TABLE2,
    TABLE3,
    TABLE4,
    TABLE5,
    Reported,
    WindowRow,
)
from skscn.experiments.trials import Trial, Unit
from skscn.files import replacing_text

Results = Callable[[Unit], list[Trial]]
# Nodes to grow on each data set: the most that a table or figure needs.
NODES = {"DB1": 150, "DB2": 150, "DB3": 50, "DB4": 50}
# How far SC-II with a small window may grow to reach ε.
_UNTIL = 300
# Means agree if they differ by at most this many standard errors of their difference.
_STANDARD_ERRORS = 2.0
# They are close if they differ by at most this share of the paper's mean in addition.
_CLOSE = 0.05
# The verdicts on cells: our mean compared with the paper's.
AGREES, BETTER, WORSE = VERDICTS = ("agrees", "better", "worse")


@dataclass(frozen=True)
class Cell:
    """One number of the paper and the mean of our trials.

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
        Number of trials, and of those that the mean is taken over.
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
        """Whether ours agrees with the paper's, is better (lower) or worse (higher)."""
        if self.paper is None:
            return AGREES if self.reached < self.trials / 2 else BETTER
        if self.ours is None:
            return WORSE
        difference = self.ours.mean - self.paper.mean
        if abs(difference) <= _noise(self.paper, self.ours, self.reached):
            return AGREES
        return WORSE if difference > 0.0 else BETTER

    @property
    def is_close(self) -> bool:
        """Whether ours differs from the paper's, in either direction, by at most the noise and 5 %."""
        if self.paper is None or self.ours is None:
            return self.verdict == AGREES
        margin = _noise(self.paper, self.ours, self.reached) + _CLOSE * self.paper.mean
        return abs(self.ours.mean - self.paper.mean) <= margin


def _noise(paper: Reported, ours: Reported, trials: int) -> float:
    """By how much two means may differ and still agree."""
    return _STANDARD_ERRORS * _error_of_difference(paper, ours, trials)


def _error_of_difference(paper: Reported, ours: Reported, trials: int) -> float:
    """The standard error of the difference between two means.

    If the paper gives no deviation, or ours is from a single trial, the other one is used for both.
    """
    own = ours.std or 0.0
    papers = own if paper.std is None else paper.std
    return math.hypot(standard_error(papers, PAPER_TRIALS), standard_error(own if trials > 1 else papers, trials))


def standard_error(std: float, trials: int) -> float:
    """The standard error of a mean, from the standard deviation of its trials (which divides by their number)."""
    return std / math.sqrt(max(trials - 1, 1))


def curve_unit(data: str, method: str) -> Unit:
    """The trials of one method on one data set, as far as any table or figure needs."""
    return Unit(data, method, NODES[data])


def window_unit(data: str, window: int) -> Unit:
    """The trials of SC-II with one window size, for Tables 4 and 5."""
    return Unit(data, "SC-II", {"DB1": 35, "DB2": 25}[data], (("window", window),), _UNTIL)


def table_units(table: int) -> list[Unit]:
    """The trials that a table needs."""
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


def _accuracy_cells(
    table: int, data: str, reported: dict[tuple[str, str, int], Reported], results: Results
) -> list[Cell]:
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
    return Reported(_rounded(np.mean(values)), _rounded(np.std(values)))


def _rounded(number: np.floating) -> float:
    """Round to the digits in the files of tables, so that values read from them equal those computed."""
    return float(f"{number:.6g}")


_COLUMNS = (
    "table", "data", "method", "quantity",
    "paper_mean", "paper_std", "mean", "std", "ratio", "trials", "reached", "verdict",
)  # fmt: skip


def write_csv(cells: list[Cell], path: Path) -> None:
    """Write cells as a table of numbers, the same for the same seed on every run."""
    with replacing_text(path) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(_COLUMNS)
        for cell in cells:
            paper, ours = cell.paper or (None, None), cell.ours or (None, None)
            numbers = [_digits(number) for number in (*paper, *ours, cell.ratio)]
            writer.writerow(
                [cell.table, cell.data, cell.method, cell.quantity, *numbers, cell.trials, cell.reached, cell.verdict]
            )


def read_csv(path: Path) -> list[Cell]:
    """The cells that ``write_csv`` wrote."""
    with path.open(newline="", encoding="utf-8") as file:
        return [_read_cell(row) for row in csv.DictReader(file)]


def _read_cell(row: dict[str, str]) -> Cell:
    paper, ours = _read_mean(row["paper_mean"], row["paper_std"]), _read_mean(row["mean"], row["std"])
    counts = int(row["trials"]), int(row["reached"])
    return Cell(int(row["table"]), row["data"], row["method"], row["quantity"], paper, ours, *counts)


def _read_mean(mean: str, std: str) -> Reported | None:
    return Reported(float(mean), float(std) if std else None) if mean else None


def _digits(number: float | None) -> str:
    return "" if number is None else f"{number:.6g}"


def seconds(tables: list[int], results: Results) -> list[dict[str, Any]]:
    """Times on this machine and in the paper: to ε if it is reached, and per node."""
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
