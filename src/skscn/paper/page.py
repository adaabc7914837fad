"""The page that compares the results of each reading of the paper's search with the paper's, in one HTML file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from statistics import median
from typing import Any

from skscn import __version__
from skscn.files import replace_file
from skscn.paper.reported import Reported
from skscn.paper.tables import VERDICTS, WORSE, Cell, Claim, claims
from skscn.paper.trials import SCOPES, SEARCHES, Unit

CRITERION = (
    "A cell agrees with the paper if the two means differ by at most two standard errors of their difference, computed "
    "from both standard deviations; otherwise ours is better (lower) or worse (higher). The ratio is ours to the "
    "paper's. Where the paper gives no standard deviation, ours is used for both. Where the paper reports that a "
    "method does not reach ε, the cell agrees if fewer than half of our trials reach it."
)
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


@dataclass(frozen=True)
class Report:
    """The results of a run with each reading of the paper's search, to be written as a page or as Markdown."""

    readings: Sequence[Reading]
    trials: int
    seed: int

    @property
    def closeness(self) -> list[Closeness]:
        """How close each reading comes, the closest first."""
        return closeness(self.readings)

    @property
    def closest(self) -> Reading:
        """The reading that comes closest to the paper; the first one, if there are no cells to compare."""
        best = next((one.search for one in self.closeness), self.readings[0].search)
        return next(reading for reading in self.readings if reading.search == best)

    @property
    def tables(self) -> dict[int, list[Reading]]:
        """The readings with which each table was run."""
        numbers = sorted({number for reading in self.readings for number in reading.cells})
        return {number: [reading for reading in self.readings if number in reading.cells] for number in numbers}

    def rows(self, number: int) -> Iterator[tuple[Cell, ...]]:
        """The rows of a table: one cell for each reading."""
        return zip(*(reading.cells[number] for reading in self.tables[number]), strict=True)

    def comparison(self) -> list[str]:
        """Which reading comes closest, by how much, and what the measure is; nothing if there is only one."""
        if len(self.closeness) < 2:
            return []
        first, *others = self.closeness
        against = " and ".join(f"{one.percent:.0f} % with {one.search}" for one in others)
        sentences = [MEASURE, f"{first.percent:.0f} % of the cells are close with {first.search}, {against}."]
        if len({one.trials for one in self.closeness}) > 1:
            sentences.append("With fewer trials standard errors are larger, so that a cell is close more easily.")
        return sentences

    def write_page(self, path: Path) -> None:
        """Write one HTML file that contains everything."""
        from jinja2 import Environment

        environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
        environment.filters["spread"] = _spread
        source = files("skscn.paper").joinpath("page.html").read_text(encoding="utf-8")
        text = environment.from_string(source).render(
            report=self,
            settings=_settings(self.readings),
            scopes=SCOPES,
            searches=SEARCHES,
            version=__version__,
            criterion=CRITERION,
        )
        replace_file(path, text.encode())

    def write_markdown(self, path: Path) -> None:
        """Write summary, claims, tables and times as Markdown."""
        blocks = [f"{self.trials} trials, data seed {self.seed}.", CRITERION, self.blocks()["searches"]]
        for reading in self.readings:
            title = f"## {reading.search}" if len(self.readings) > 1 else ""
            blocks += [
                title,
                f"The search, {reading.search}: {SEARCHES[reading.search]}",
                *_reading_blocks(reading).values(),
            ]
        blocks.append("\n".join(self._table_lines()))
        replace_file(path, ("\n\n".join(filter(None, blocks)) + "\n").encode())

    def blocks(self) -> dict[str, str]:
        """The parts of the Markdown, by name; those of one reading are of the closest."""
        return {
            "criterion": CRITERION,
            "searches": "\n\n".join([*self.comparison(), "\n".join(self._closeness_lines())]).strip(),
            "tables": "\n".join(self._table_lines()),
            **_reading_blocks(self.closest),
        }

    def _closeness_lines(self) -> Iterator[str]:
        if not self.comparison():
            return
        yield "| search | trials | median ratio to the paper's | close | lower than that | higher |"
        yield "|---|---:|---:|---:|---:|---:|"
        for one in self.closeness:
            yield (
                f"| {one.search} | {one.trials} | {one.ratio:.2f} | {one.close} of {one.cells} ({one.percent:.0f} %) | "
                f"{one.below} | {one.above} |"
            )

    def _table_lines(self) -> Iterator[str]:
        for number, readings in self.tables.items():
            ours = [reading.search for reading in readings] if len(self.readings) > 1 else ["ours"]
            yield f"### Table {number}\n"
            yield f"| data | method | quantity | paper |{''.join(f' {name} | ratio | |' for name in ours)}"
            yield f"|---|---|---|---:|{'---:|---:|---|' * len(ours)}"
            for row in self.rows(number):
                cell = row[0]
                results = "".join(_result(cell) for cell in row)
                yield f"| {cell.data} | {cell.method} | {cell.quantity} | {_spread(cell.paper)} |{results}"
            yield ""


def _result(cell: Cell) -> str:
    ratio = "" if cell.ratio is None else f"{cell.ratio:.2f}"
    there = "" if cell.reached == cell.trials else f" ({cell.reached} of {cell.trials})"
    return f" {_spread(cell.ours)}{there} | {ratio} | {cell.verdict} |"


def _reading_blocks(reading: Reading) -> dict[str, str]:
    """What there is to say about one reading, in Markdown."""
    return {
        "summary": "\n".join(f"- {sentence}" for sentence in reading.summary()),
        "claims": "\n".join(_claim_line(claim) for claim in reading.claims),
        "seconds": "\n".join(_seconds_lines(reading.seconds)) if reading.seconds else "",
    }


def _claim_line(claim: Claim) -> str:
    return f"- {'holds' if claim.holds else '**does not hold**'}: {claim.text} ({claim.detail})"


def _seconds_lines(rows: list[dict[str, Any]]) -> Iterator[str]:
    yield "### Seconds\n"
    yield "| data | method | to ε = 0.05, paper | ours | milliseconds per node |"
    yield "|---|---|---:|---:|---:|"
    for row in rows:
        times = ["–" if t is None else f"{t:.3f}" for t in (row["paper_seconds"], row["seconds"])]
        milliseconds = f"{1000 * row['seconds_per_node']:.2f}"
        yield f"| {row['data']} | {row['method']} | {times[0]} | {times[1]} | {milliseconds} |"


def _spread(reported: Reported | None) -> str:
    """A mean with its deviation, with as many digits as the paper gives."""
    if reported is None:
        return "–"
    digits = 4 if reported.mean < 1 else 2
    spread = "" if reported.std is None else f" ± {reported.std:.{digits}f}"
    return f"{reported.mean:.{digits}f}{spread}"


def _settings(readings: Sequence[Reading]) -> list[dict[str, str]]:
    return [
        {"data": unit.data, "method": unit.method, "code": " ".join(repr(unit.estimator()).split())}
        for unit in dict.fromkeys(unit for reading in readings for unit in reading.units)
    ]
