"""The page that compares every table and figure with the paper's; one HTML file that opens offline."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from statistics import median
from typing import Any

from skscn import __version__
from skscn.experiments.claims import Claim, claims
from skscn.experiments.paper import Reported
from skscn.experiments.tables import VERDICTS, WORSE, Cell
from skscn.experiments.trials import Unit
from skscn.files import replace_file

CRITERION = (
    "A cell agrees with the paper if the two means differ by at most two standard errors of their difference, computed "
    "from both standard deviations; otherwise ours is better (lower) or worse (higher). The ratio is ours to the "
    "paper's. Where the paper gives no standard deviation, ours is used for both. Where the paper reports that a "
    "method does not reach ε, the cell agrees if fewer than half of our trials reach it."
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
class Report:
    """The results of a run, to be written as a page or as Markdown."""

    cells: dict[int, list[Cell]]
    seconds: list[dict[str, Any]]
    pictures: dict[str, PageFigure]
    units: list[Unit]
    trials: int
    seed: int

    @property
    def claims(self) -> list[Claim]:
        """What the paper says about its results, and whether it holds for ours."""
        return claims(self.cells)

    @property
    def supervised(self) -> list[Cell]:
        """The cells of SC-I, SC-II and SC-III for which the paper has a number."""
        return [cell for group in self.cells.values() for cell in group if cell.method.startswith("SC-") and cell.paper]

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

    def write_page(self, path: Path) -> None:
        """Write one HTML file that contains everything."""
        from jinja2 import Environment

        environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
        environment.filters["spread"] = _spread
        source = files("skscn.experiments").joinpath("page.html").read_text(encoding="utf-8")
        text = environment.from_string(source).render(
            report=self, settings=_settings(self.units), version=__version__, criterion=CRITERION
        )
        replace_file(path, text.encode())

    def write_markdown(self, path: Path) -> None:
        """Write summary, claims, tables and times as Markdown."""
        blocks = [f"{self.trials} trials, data seed {self.seed}.", *filter(None, self.blocks().values())]
        replace_file(path, ("\n\n".join(blocks) + "\n").encode())

    def blocks(self) -> dict[str, str]:
        """The parts of the Markdown, by name."""
        return {
            "criterion": CRITERION,
            "summary": "\n".join(f"- {sentence}" for sentence in self.summary()),
            "claims": "\n".join(_claim_line(claim) for claim in self.claims),
            "tables": "\n".join(_table_lines(self.cells)),
            "seconds": "\n".join(_seconds_lines(self.seconds)) if self.seconds else "",
        }


def _typical_ratio(name: str, ratios: list[float]) -> str:
    above = sum(ratio > 1.0 for ratio in ratios)
    return (
        f"{name}: the median ratio to the paper's is {median(ratios):.2f} (from {min(ratios):.2f} to "
        f"{max(ratios):.2f}); {above} of {len(ratios)} are above the paper's."
    )


def _claim_line(claim: Claim) -> str:
    return f"- {'holds' if claim.holds else '**does not hold**'}: {claim.text} ({claim.detail})"


def _table_lines(cells: dict[int, list[Cell]]) -> Iterator[str]:
    for number, group in cells.items():
        yield f"### Table {number}\n"
        yield "| data | method | quantity | paper | ours | ratio | |"
        yield "|---|---|---|---:|---:|---:|---|"
        for cell in group:
            ratio = "" if cell.ratio is None else f"{cell.ratio:.2f}"
            there = "" if cell.reached == cell.trials else f" ({cell.reached} of {cell.trials})"
            yield (
                f"| {cell.data} | {cell.method} | {cell.quantity} | {_spread(cell.paper)} | "
                f"{_spread(cell.ours)}{there} | {ratio} | {cell.verdict} |"
            )
        yield ""


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


def _settings(units: list[Unit]) -> list[dict[str, str]]:
    return [
        {"data": unit.data, "method": unit.method, "code": " ".join(repr(unit.estimator()).split())}
        for unit in dict.fromkeys(units)
    ]
