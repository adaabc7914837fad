"""The page that shows every table and figure beside the paper's; one HTML file that opens offline."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path

from skscn import __version__
from skscn.experiments.paper import Reported
from skscn.experiments.tables import Cell, Claim
from skscn.experiments.trials import Unit


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


def write_page(
    path: Path,
    *,
    cells: dict[int, list[Cell]],
    claims: list[Claim],
    seconds: list[dict],
    pictures: dict[str, Picture],
    units: list[Unit],
    trials: int,
    seed: int,
) -> None:
    """Write the page."""
    from jinja2 import Environment

    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.filters["spread"] = _spread
    template = environment.from_string(files("skscn.experiments").joinpath("page.html").read_text(encoding="utf-8"))
    supervised = [cell for group in cells.values() for cell in group if cell.method.startswith("SC-") and cell.paper]
    agreeing = sum(cell.agrees for cell in supervised)
    text = template.render(
        cells=cells,
        supervised=len(supervised),
        agreeing=agreeing,
        share=f"{100 * agreeing / max(1, len(supervised)):.0f}",
        beyond=[cell for cell in supervised if not cell.agrees],
        claims=claims,
        seconds=seconds,
        pictures=pictures,
        settings=_settings(units),
        trials=trials,
        seed=seed,
        version=__version__,
    )
    path.write_text(text, encoding="utf-8")


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
