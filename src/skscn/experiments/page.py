"""The page that shows every table and figure beside the paper's; one HTML file that opens offline."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path

from skscn import __version__
from skscn.experiments.paper import Reported
from skscn.experiments.tables import Cell, Claim
from skscn.experiments.trials import Unit
from skscn.files import replace_file


@dataclass(frozen=True)
class Picture:
    """A figure on the page."""

    title: str
    caption: str
    svg: str
    findings: list[str] = field(default_factory=list)

    @classmethod
    def read(cls, path: Path, title: str, caption: str, findings: list[str] | None = None) -> Picture:
        """A figure that was saved as SVG."""
        return cls(title, caption, base64.b64encode(path.read_bytes()).decode(), findings or [])


@dataclass(frozen=True)
class Report:
    """What a run gave, to be written as a page or as Markdown."""

    cells: dict[int, list[Cell]]
    claims: list[Claim]
    seconds: list[dict]
    pictures: dict[str, Picture]
    units: list[Unit]
    trials: int
    seed: int

    @property
    def supervised(self) -> list[Cell]:
        """The cells of SC-I, SC-II and SC-III for which the paper has a number."""
        return [cell for group in self.cells.values() for cell in group if cell.method.startswith("SC-") and cell.paper]

    @property
    def beyond(self) -> list[Cell]:
        """Those of them that do not agree."""
        return [cell for cell in self.supervised if not cell.agrees]

    def write_page(self, path: Path) -> None:
        """Write one HTML file that holds everything."""
        from jinja2 import Environment

        environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
        environment.filters["spread"] = _spread
        source = files("skscn.experiments").joinpath("page.html").read_text(encoding="utf-8")
        text = environment.from_string(source).render(
            report=self, settings=_settings(self.units), version=__version__, share=_share
        )
        replace_file(path, text.encode())

    def write_markdown(self, path: Path) -> None:
        """Write the tables and claims as Markdown."""
        replace_file(path, ("\n".join(self._markdown_lines()) + "\n").encode())

    def _markdown_lines(self) -> Iterator[str]:
        yield f"{self.trials} trials, data seed {self.seed}. {_share(self.supervised, self.beyond)}"
        for claim in self.claims:
            yield f"- {'holds' if claim.holds else '**does not hold**'}: {claim.text} ({claim.detail})"
        for number, group in self.cells.items():
            yield f"\n### Table {number}\n"
            yield "| data | method | quantity | paper | ours | ratio | |"
            yield "|---|---|---|---:|---:|---:|---|"
            for cell in group:
                ratio = "" if cell.ratio is None else f"{cell.ratio:.2f}"
                there = "" if cell.reached == cell.trials else f" ({cell.reached} of {cell.trials})"
                yield (
                    f"| {cell.data} | {cell.method} | {cell.quantity} | {_spread(cell.paper)} | "
                    f"{_spread(cell.ours)}{there} | {ratio} | {cell.verdict} |"
                )
        if self.seconds:
            yield "\n### Seconds\n"
            yield "| data | method | to ε = 0.05, paper | ours | milliseconds a node |"
            yield "|---|---|---:|---:|---:|"
            for row in self.seconds:
                times = ["–" if t is None else f"{t:.3f}" for t in (row["paper_seconds"], row["seconds"])]
                milliseconds = f"{1000 * row['seconds_per_node']:.2f}"
                yield f"| {row['data']} | {row['method']} | {times[0]} | {times[1]} | {milliseconds} |"


def _share(supervised: list[Cell], beyond: list[Cell]) -> str:
    if not supervised:
        return ""
    agreeing = len(supervised) - len(beyond)
    percent = 100 * agreeing / len(supervised)
    return f"{agreeing} of {len(supervised)} cells of SC-I, SC-II and SC-III agree ({percent:.0f} %)."


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
