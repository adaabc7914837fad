"""Everything from one command: which trials a table, figure or study needs, and what is written from them."""

from __future__ import annotations

import json
from pathlib import Path

from skscn.datasets import make_db1
from skscn.experiments import depth, figures, studies, tables
from skscn.experiments.page import PageFigure, Report
from skscn.experiments.store import TrialStore
from skscn.experiments.trials import Trial, Unit
from skscn.files import check_writable, make_folder, replace_file

TABLES = {f"table{number}": number for number in range(1, 6)}
FIGURES = {f"figure{number}": number for number in range(1, 5)}
TARGETS = (*TABLES, *FIGURES, *studies.STUDIES, "deep")
# "all" is all of the paper.
NAMES = (*TARGETS, "all")


def expand(names: list[str]) -> list[str]:
    """The tables, figures and studies that these names stand for, in the paper's order."""
    wanted = {target for name in names for target in ([*TABLES, *FIGURES] if name == "all" else [name])}
    return [target for target in TARGETS if target in wanted]


def units_of(name: str) -> list[Unit]:
    """The trials that one table, figure or study needs."""
    if name in TABLES:
        return tables.table_units(TABLES[name])
    if name in FIGURES:
        return figures.figure_units(FIGURES[name])
    if name == "deep":
        return depth.depth_units()
    return list(studies.STUDIES[name]().values())


class Reproduction:
    """The run of some tables, figures and studies.

    Parameters
    ----------
    targets : list of str
        Names from ``NAMES``.
    out : Path
        Folder for trials and results.
    trials : int
        Networks for each cell.
    seed : int
        Seed of data and split.
    method : str or None
        Run and show the trials of one method only.
    """

    def __init__(self, targets: list[str], out: Path, trials: int, seed: int, method: str | None = None):
        self.targets, self.out, self.trials, self.seed, self.method = expand(targets), out, trials, seed, method
        make_folder(out)
        check_writable(out / "index.html")
        self.store = TrialStore(out / "trials.jsonl", seed)

    @property
    def units(self) -> list[Unit]:
        """The units to run, each once."""
        units = dict.fromkeys(unit for name in self.targets for unit in units_of(name))
        return [unit for unit in units if self.method in (None, unit.method)]

    def missing(self) -> list[tuple[Unit, int]]:
        """The trials that are still to be run."""
        return self.store.missing(self.units, self.trials)

    def results(self, unit: Unit) -> list[Trial]:
        """The trials of a unit."""
        return self.store.trials(unit, self.trials)

    def _shown(self) -> list[str]:
        """What the page shows: what was requested, and what earlier runs in this folder have completed."""
        return [name for name in TARGETS if name in self.targets or self._is_complete(name)]

    def _is_complete(self, name: str) -> bool:
        units = units_of(name)
        # Figure 3 needs no trials; it is shown if it was drawn before.
        return not self.store.missing(units, self.trials) if units else (self.out / f"{name}.svg").exists()

    def write(self) -> list[Path]:
        """Write tables, figures and the page; all trials must be complete. Return what was written."""
        if self.method is not None:
            return self._write_method()
        shown = self._shown()
        numbers = [TABLES[name] for name in shown if name in TABLES]
        cells = {number: tables.table_cells(number, self.results) for number in numbers}
        written = [self._write_table(number, group) for number, group in cells.items()]
        seconds = tables.seconds(numbers, self.results)
        if seconds:
            # Not CSV like the rest: times are never the same twice.
            times = self.out / "times.json"
            replace_file(times, json.dumps(seconds, indent=1).encode())
            written.append(times)
        pictures = {name: self._picture(name) for name in shown if name not in TABLES}
        written += [self.out / f"{name}{suffix}" for name in pictures for suffix in (".svg", ".png")]
        report = Report(
            cells,
            seconds,
            pictures,
            [unit for name in shown for unit in units_of(name)],
            self.trials,
            self.seed,
        )
        report.write_markdown(self.out / "index.md")
        report.write_page(self.out / "index.html")
        return [*written, self.out / "index.md", self.out / "index.html"]

    def _write_table(self, number: int, cells: list[tables.Cell]) -> Path:
        path = self.out / f"table{number}.csv"
        tables.write_csv(cells, path)
        return path

    def _write_method(self) -> list[Path]:
        """The cells of one method alone, in one file."""
        available = {unit: self.results(unit) for unit in self.units}
        cells = [
            cell
            for name in self.targets
            if name in TABLES
            for cell in tables.table_cells(TABLES[name], lambda unit: available.get(unit, []))
            if cell.method.split(",")[0] == self.method
        ]
        path = self.out / f"{self.method}.csv"
        tables.write_csv(cells, path)
        return [path]

    def _picture(self, name: str) -> PageFigure:
        path = self.out / f"{name}.svg"
        if name in FIGURES:
            db1 = make_db1(random_state=self.seed)
            figures.save(figures.draw_figure(FIGURES[name], self.results, db1, seed=0), path)
            return PageFigure.read(path, f"Figure {FIGURES[name]}", figures.CAPTIONS[name])
        if name == "deep":
            depth.write_depths(self.results, self.out / f"{name}.csv")
            figures.save(depth.draw_depths(self.results), path)
            return PageFigure.read(path, depth.TITLE, depth.CAPTION, depth.depth_findings(self.results))
        settings = studies.study_settings(name, self.results)
        studies.write_study(settings, self.out / f"{name}.csv")
        figures.save(studies.draw_study(settings), path)
        caption = f"Test RMSE of SC-III (SC-II for the window) after 50 nodes, mean and deviation: {name}."
        return PageFigure.read(path, name.capitalize(), caption, studies.findings(settings))
