"""What the paper says about its results, and whether it holds for ours, from the cells of its tables."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from dataclasses import dataclass

from skscn.experiments.paper import METHODS
from skscn.experiments.tables import Cell, standard_error

# The methods whose order the paper derives from its theory.
_BY_THEORY = ("SC-III", "SC-II", "SC-I", "IRVFL")


@dataclass(frozen=True)
class Claim:
    """A statement of the paper about its results, and whether it holds for ours."""

    text: str
    holds: bool
    detail: str


def claims(cells: dict[int, list[Cell]]) -> list[Claim]:
    """What can be checked with the cells of these tables."""
    accuracy = [cell for table in (1, 2) for cell in cells.get(table, [])]
    found = []
    for data in dict.fromkeys(cell.data for cell in accuracy):
        own = [cell for cell in accuracy if cell.data == data]
        found.append(_order(f"{' < '.join(_BY_THEORY)} in RMSE on {data}", _BY_THEORY, own))
        found.append(_order(f"the order of all five methods on {data}, MQ included, is the paper's", METHODS, own))
    found += [_larger_windows(table, cells[table]) for table in (4, 5) if table in cells]
    if 3 in cells:
        found.append(_irvfl_fails(cells[3]))
    return found


def _order(text: str, methods: tuple[str, ...], cells: list[Cell]) -> Claim:
    """The methods have the same order as in the paper, for training and test errors and for each number of nodes."""
    reversals = defaultdict(list)
    columns = dict.fromkeys(cell.quantity for cell in cells)
    ours = {}
    for column in columns:
        ranked = _ranked(column, methods, cells)
        name = column.replace(" RMSE, L =", "")
        ours[name] = " < ".join(f"{cell.ours.mean:.4f}" for cell in ranked if cell.ours)
        for ahead, behind in itertools.combinations(ranked, 2):
            if ahead.ours and behind.ours and behind.ours.mean <= ahead.ours.mean:
                reversals[behind.method, ahead.method].append(
                    f"{name}: {behind.ours.mean:.4f} against {ahead.ours.mean:.4f}"
                )
    if reversals:
        return Claim(text, False, ". ".join(f"{a} is ahead of {b} ({'; '.join(w)})" for (a, b), w in reversals.items()))
    return Claim(text, True, "; ".join(f"{name}: {values}" for name, values in ours.items()))


def _ranked(column: str, methods: tuple[str, ...], cells: list[Cell]) -> list[Cell]:
    """The cells of one column, in the paper's order."""
    chosen = [cell for cell in cells if cell.quantity == column and cell.method in methods]
    return sorted(chosen, key=lambda cell: cell.paper.mean if cell.paper else math.inf)


def _larger_windows(table: int, cells: list[Cell]) -> Claim:
    """A larger window is not worse by more than two standard errors of the difference."""
    chosen = [cell for cell in cells if cell.quantity.startswith("train")]
    means = [cell.ours.mean for cell in chosen if cell.ours]
    errors = [standard_error(cell.ours.std or 0.0, cell.trials) for cell in chosen if cell.ours]
    steps = zip(itertools.pairwise(means), itertools.pairwise(errors), strict=True)
    holds = all(later <= earlier + 2.0 * math.hypot(*pair) for (earlier, later), pair in steps)
    windows = (cell.method.removeprefix("SC-II, ") for cell in chosen)
    detail = ", ".join(f"{window}: {mean:.4f}" for window, mean in zip(windows, means, strict=True))
    return Claim(f"a larger window is never worse beyond noise (Table {table}, {cells[0].data})", holds, detail)


def _irvfl_fails(cells: list[Cell]) -> Claim:
    reached = {cell.data: cell.reached for cell in cells if cell.method == "IRVFL"}
    counts = ", ".join(f"{count} on {data}" for data, count in reached.items())
    return Claim("IRVFL never reaches ε = 0.05", not any(reached.values()), f"trials that reach it: {counts}")
