"""The paper's tables, cell by cell: what it reports, what the trials give, and whether its claims hold for ours."""

from __future__ import annotations

import csv
import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from skscn.files import replacing_text
from skscn.paper.reported import METHODS, PAPER_TRIALS, TABLE1, TABLE2, TABLE3, TABLE4, TABLE5, Reported
from skscn.paper.trials import Results, Trial, Unit

# Nodes to grow on each data set: the most that a table or figure needs.
NODES = {"DB1": 150, "DB2": 150, "DB3": 50, "DB4": 50}
# Tables of windows -> data set, nodes at which errors are compared, and what the paper reports.
_WINDOWS = {4: ("DB1", 35, TABLE4), 5: ("DB2", 25, TABLE5)}
# How far SC-II with a small window may grow to reach ε.
_UNTIL = 300
# Means agree if they differ by at most this many standard errors of their difference.
_STANDARD_ERRORS = 2.0
# They are close if they differ by at most this share of the paper's mean in addition.
_CLOSE = 0.05
# The verdicts on cells: our mean compared with the paper's.
AGREES, BETTER, WORSE = VERDICTS = ("agrees", "better", "worse")
# The methods whose order the paper derives from its theory.
_BY_THEORY = ("SC-III", "SC-II", "SC-I", "IRVFL")


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
    """By how much two means may differ and still agree: some standard errors of their difference.

    If the paper gives no deviation, or ours is from a single trial, the other one is used for both.
    """
    own = ours.std or 0.0
    papers = own if paper.std is None else paper.std
    errors = _standard_error(papers, PAPER_TRIALS), _standard_error(own if trials > 1 else papers, trials)
    return _STANDARD_ERRORS * math.hypot(*errors)


def _standard_error(std: float, trials: int) -> float:
    """The standard error of a mean, from the standard deviation of its trials (which divides by their number)."""
    return std / math.sqrt(max(trials - 1, 1))


# ---- from trials to cells


class _Quantity(NamedTuple):
    """A number of the paper, the trials that give ours, and what is read from each; None if it does not reach ε."""

    unit: Unit
    name: str
    paper: Reported | None
    read: Callable[[Trial], float | None]


def curve_unit(data: str, method: str) -> Unit:
    """The trials of one method on one data set, as far as any table or figure needs."""
    return Unit(data, method, NODES[data])


def _quantities(table: int) -> Iterator[_Quantity]:
    """All numbers of a table."""
    nodes_to_tolerance = "nodes to ε = 0.05"
    if table in _WINDOWS:
        data, nodes, windows = _WINDOWS[table]
        for window, row in windows.items():
            unit = Unit(data, "SC-II", nodes, (("window", window),), _UNTIL)
            for part, paper in (("train", row.train), ("test", row.test)):
                yield _Quantity(unit, f"{part} RMSE, L = {nodes}", paper, partial(Trial.at, part=part, nodes=nodes))
            yield _Quantity(unit, nodes_to_tolerance, row.nodes, Trial.reached)
    elif table == 3:
        for (data, method), reported in TABLE3.items():
            _, nodes_at, test_at = reported or (None, None, None)
            yield _Quantity(curve_unit(data, method), nodes_to_tolerance, nodes_at, Trial.reached)
            yield _Quantity(curve_unit(data, method), "test RMSE at ε = 0.05", test_at, _test_at_tolerance)
    else:
        for data, errors in ({"DB1": TABLE1} if table == 1 else TABLE2).items():
            for (method, part, nodes), paper in errors.items():
                read = partial(Trial.at, part=part, nodes=nodes)
                yield _Quantity(curve_unit(data, method), f"{part} RMSE, L = {nodes}", paper, read)


def _test_at_tolerance(trial: Trial) -> float | None:
    nodes = trial.reached()
    return None if nodes is None else trial.at("test", nodes)


def table_units(table: int) -> list[Unit]:
    """The trials that a table needs."""
    return list(dict.fromkeys(quantity.unit for quantity in _quantities(table)))


def table_cells(table: int, results: Results, methods: tuple[str, ...] = METHODS) -> list[Cell]:
    """The cells of a table, or those of some methods."""
    cells = []
    for unit, name, paper, read in _quantities(table):
        if unit.method in methods:
            trials = results(unit)
            values = [value for trial in trials if (value := read(trial)) is not None]
            ours = Reported(_rounded(np.mean(values)), _rounded(np.std(values))) if values else None
            cells.append(Cell(table, unit.data, unit.label, name, paper, ours, len(trials), len(values)))
    return cells


def _rounded(number: np.floating) -> float:
    """Round to the digits in the files of tables, so that values read from them equal those computed."""
    return float(f"{number:.6g}")


def seconds(tables: list[int], results: Results) -> list[dict[str, Any]]:
    """Times on this machine and in the paper: to ε if it is reached, and per node."""
    rows = []
    for unit in dict.fromkeys(unit for table in tables for unit in table_units(table)):
        trials = results(unit)
        to_tolerance = [t.seconds[nodes - 1] for t in trials if (nodes := t.reached()) is not None]
        if unit.window is not None:
            paper: Reported | None = (TABLE4 if unit.data == "DB1" else TABLE5)[unit.window].seconds
        else:
            paper = (TABLE3.get((unit.data, unit.method)) or (None,))[0]
        rows.append(
            {
                "data": unit.data,
                "method": unit.label,
                "paper_seconds": paper and paper.mean,
                "seconds": float(np.mean(to_tolerance)) if to_tolerance else None,
                "seconds_per_node": float(np.mean([t.seconds[-1] / len(t.seconds) for t in trials])),
            }
        )
    return rows


# ---- files of cells


_COLUMNS = (
    "table", "data", "method", "quantity",
    "paper_mean", "paper_std", "mean", "std", "ratio", "trials", "reached", "verdict",
)  # fmt: skip


def write_rows(path: Path, header: Iterable[Any], rows: Iterable[Iterable[Any]]) -> None:
    """Write a CSV file: numbers with six digits, nothing for None."""
    with replacing_text(path) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows([f"{value:.6g}" if isinstance(value, float) else value for value in row] for row in rows)


def read_rows(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV file by the names of its columns."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def write_csv(cells: list[Cell], path: Path) -> None:
    """Write cells as a table of numbers, the same for the same seed on every run."""
    rows = []
    for c in cells:
        paper, ours = c.paper or (None, None), c.ours or (None, None)
        rows.append((c.table, c.data, c.method, c.quantity, *paper, *ours, c.ratio, c.trials, c.reached, c.verdict))
    write_rows(path, _COLUMNS, rows)


def read_csv(path: Path) -> list[Cell]:
    """The cells that ``write_csv`` wrote."""
    cells = []
    for row in read_rows(path):
        paper, ours = _read_mean(row["paper_mean"], row["paper_std"]), _read_mean(row["mean"], row["std"])
        counts = int(row["trials"]), int(row["reached"])
        cells.append(Cell(int(row["table"]), row["data"], row["method"], row["quantity"], paper, ours, *counts))
    return cells


def _read_mean(mean: str, std: str) -> Reported | None:
    return Reported(float(mean), float(std) if std else None) if mean else None


# ---- claims


@dataclass(frozen=True)
class Claim:
    """A statement of the paper about its results, and whether it holds for ours."""

    text: str
    holds: bool
    detail: str


def claims(cells: dict[int, list[Cell]]) -> list[Claim]:
    """The paper's claims that the cells of these tables can confirm or refute."""
    accuracy = [cell for table in (1, 2) for cell in cells.get(table, [])]
    found = []
    for data in dict.fromkeys(cell.data for cell in accuracy):
        own = [cell for cell in accuracy if cell.data == data]
        found.append(_order(f"{' < '.join(_BY_THEORY)} in RMSE on {data}", _BY_THEORY, own))
        found.append(_order(f"the order of all five methods on {data}, MQ included, is the paper's", METHODS, own))
    found += [_larger_windows(table, cells[table]) for table in _WINDOWS if table in cells]
    if 3 in cells:
        reached = {cell.data: cell.reached for cell in cells[3] if cell.method == "IRVFL"}
        counts = ", ".join(f"{count} on {data}" for data, count in reached.items())
        detail = f"trials that reach it: {counts}"
        found.append(Claim("IRVFL never reaches ε = 0.05", not any(reached.values()), detail))
    return found


def _order(text: str, methods: tuple[str, ...], cells: list[Cell]) -> Claim:
    """The methods have the same order as in the paper, for training and test errors and for each number of nodes."""
    reversals = defaultdict(list)
    ours = []
    for column in dict.fromkeys(cell.quantity for cell in cells):
        chosen = [cell for cell in cells if cell.quantity == column and cell.method in methods]
        ranked = sorted(chosen, key=lambda cell: cell.paper.mean if cell.paper else math.inf)
        name = column.replace(" RMSE, L =", "")
        ours.append(f"{name}: {' < '.join(f'{cell.ours.mean:.4f}' for cell in ranked if cell.ours)}")
        for ahead, behind in itertools.combinations(ranked, 2):
            if ahead.ours and behind.ours and behind.ours.mean <= ahead.ours.mean:
                reversals[behind.method, ahead.method].append(
                    f"{name}: {behind.ours.mean:.4f} against {ahead.ours.mean:.4f}"
                )
    if reversals:
        return Claim(text, False, ". ".join(f"{a} is ahead of {b} ({'; '.join(w)})" for (a, b), w in reversals.items()))
    return Claim(text, True, "; ".join(ours))


def _larger_windows(table: int, cells: list[Cell]) -> Claim:
    """A larger window is not worse by more than two standard errors of the difference."""
    chosen = [cell for cell in cells if cell.quantity.startswith("train")]
    means = [cell.ours.mean for cell in chosen if cell.ours]
    errors = [_standard_error(cell.ours.std or 0.0, cell.trials) for cell in chosen if cell.ours]
    steps = zip(itertools.pairwise(means), itertools.pairwise(errors), strict=True)
    holds = all(later <= earlier + _STANDARD_ERRORS * math.hypot(*pair) for (earlier, later), pair in steps)
    windows = (cell.method.removeprefix("SC-II, ") for cell in chosen)
    detail = ", ".join(f"{window}: {mean:.4f}" for window, mean in zip(windows, means, strict=True))
    return Claim(f"a larger window is never worse beyond noise (Table {table}, {cells[0].data})", holds, detail)
