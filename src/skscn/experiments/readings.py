"""The results of each reading of the paper's search, and which of them come closest to the paper's."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from skscn.experiments.claims import Claim, claims
from skscn.experiments.tables import VERDICTS, WORSE, Cell
from skscn.experiments.trials import Unit

MEASURE = (
    "A cell is close to the paper if the two means differ, in either direction, by at most two standard errors of "
    "their difference plus 5 % of the paper's mean. The search with the largest share of close cells, among those of "
    "SC-I, SC-II and SC-III in the tables that were run with every search, comes closest."
)


@dataclass(frozen=True)
class PageFigure:
    """A figure on the page."""

    title: str
    caption: str
    svg: str
    findings: list[str] = field(default_factory=list)

    @classmethod
    def read(cls, path: Path, title: str, caption: str, findings: list[str] | None = None) -> PageFigure:
        """A figure that was saved as SVG."""
        return cls(title, caption, base64.b64encode(path.read_bytes()).decode(), findings or [])


@dataclass(frozen=True)
class Reading:
    """The results of a run with one reading of the paper's search."""

    search: str
    cells: dict[int, list[Cell]]
    seconds: list[dict[str, Any]] = field(default_factory=list)
    pictures: dict[str, PageFigure] = field(default_factory=dict)
    units: list[Unit] = field(default_factory=list)

    @property
    def claims(self) -> list[Claim]:
        """What the paper says about its results, and whether it holds for ours."""
        return claims(self.cells)

    @property
    def supervised(self) -> list[Cell]:
        """The cells of SC-I, SC-II and SC-III for which the paper has a number."""
        return _supervised(self.cells, list(self.cells))

    @property
    def worse(self) -> list[Cell]:
        """Those of them that are worse than the paper's, the largest ratio first."""
        found = [cell for cell in self.supervised if cell.verdict == WORSE]
        return sorted(found, key=lambda cell: cell.ratio or float("inf"), reverse=True)

    def summary(self) -> list[str]:
        """How ours compares with the paper, in sentences."""
        if not self.supervised:
            return []
        counts = [sum(cell.verdict == verdict for cell in self.supervised) for verdict in VERDICTS]
        sentences = [
            f"Of the {len(self.supervised)} cells of SC-I, SC-II and SC-III, {counts[0]} agree with the paper, "
            f"{counts[1]} are better and {counts[2]} are worse."
        ]
        return sentences + [
            _typical_ratio(name, [cell.ratio for cell in self.supervised if cell.ratio and start in cell.quantity])
            for name, start in (("Training errors", "train"), ("Test errors", "test"), ("Nodes to ε", "nodes"))
            if any(cell.ratio and start in cell.quantity for cell in self.supervised)
        ]


def _supervised(cells: dict[int, list[Cell]], tables: list[int]) -> list[Cell]:
    return [cell for table in tables for cell in cells[table] if cell.method.startswith("SC-") and cell.paper]


def _typical_ratio(name: str, ratios: list[float]) -> str:
    above = sum(ratio > 1.0 for ratio in ratios)
    return (
        f"{name}: the median ratio to the paper's is {median(ratios):.2f} (from {min(ratios):.2f} to "
        f"{max(ratios):.2f}); {above} of {len(ratios)} are above the paper's."
    )


@dataclass(frozen=True)
class Closeness:
    """How close one reading comes to the paper.

    Attributes
    ----------
    search : str
    trials : int
        Number of trials for each cell.
    ratio : float
        The median ratio of our means to the paper's.
    cells : int
        Number of cells.
    close, below, above : int
        Those that are close, and those that are lower and higher than that; trials that never reach ε are above.
    """

    search: str
    trials: int
    ratio: float
    cells: int
    close: int
    below: int
    above: int

    @property
    def percent(self) -> float:
        """The share of close cells."""
        return 100.0 * self.close / self.cells

    @classmethod
    def of(cls, search: str, cells: list[Cell]) -> Closeness:
        """The closeness of cells for which the paper has a number."""
        far = [cell for cell in cells if not cell.is_close]
        below = sum(cell.ratio is not None and cell.ratio < 1.0 for cell in far)
        ratio = median(cell.ratio or float("inf") for cell in cells)
        return cls(search, cells[0].trials, ratio, len(cells), len(cells) - len(far), below, len(far) - below)


def closeness(readings: Sequence[Reading]) -> list[Closeness]:
    """How close each reading comes in the tables that all of them have, the closest first."""
    tables = [table for table in readings[0].cells if all(table in reading.cells for reading in readings)]
    cells = {reading.search: _supervised(reading.cells, tables) for reading in readings}
    found = [Closeness.of(search, some) for search, some in cells.items() if some]
    return sorted(found, key=lambda one: one.percent, reverse=True)
