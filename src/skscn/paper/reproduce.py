"""Everything from one command: which trials a table, figure or study needs, and what is written from them."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path

from skscn.files import check_writable, make_folder, replace_file
from skscn.paper import studies
from skscn.paper.figures import FIGURES, save
from skscn.paper.page import PageFigure, Reading, Report
from skscn.paper.tables import seconds, table_cells, table_units, write_csv, write_rows
from skscn.paper.trials import FIRST_SEARCH, SEARCHES, Results, TrialStore, Unit, split

TABLES = {f"table{number}": number for number in range(1, 6)}
EXPERIMENTS = FIGURES | studies.EXPERIMENTS
TARGETS = (*TABLES, *EXPERIMENTS)
# "all" is all of the paper.
NAMES = (*TARGETS, "all")


def expand(names: list[str]) -> list[str]:
    """The tables, figures and studies that these names stand for, in the paper's order."""
    wanted = {target for name in names for target in ([*TABLES, *FIGURES] if name == "all" else [name])}
    return [target for target in TARGETS if target in wanted]


def units_of(name: str, search: str) -> list[Unit]:
    """The trials that one table, figure or study needs."""
    units = table_units(TABLES[name]) if name in TABLES else EXPERIMENTS[name].units
    return [unit.searched(search) for unit in units]


def file_name(name: str, search: str) -> str:
    """The name of the files of a table, figure or study, without ending; the first search is not mentioned."""
    return name if search == FIRST_SEARCH else f"{name}_{search}"


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
    search : str
        The reading of the paper's search, one of ``SEARCHES``.

    Attributes
    ----------
    units : list of Unit
        The units to run, each once.
    written : list of Path
        The files of results written so far.
    """

    def __init__(
        self,
        targets: list[str],
        out: Path,
        trials: int,
        seed: int,
        method: str | None = None,
        search: str = FIRST_SEARCH,
    ):
        self.targets, self.out, self.trials, self.seed, self.method = expand(targets), out, trials, seed, method
        self.search = search
        units = dict.fromkeys(unit for name in self.targets for unit in units_of(name, search))
        self.units = [unit for unit in units if method in (None, unit.method)]
        self.written: list[Path] = []
        make_folder(out)
        check_writable(out / "index.html")
        self.store = TrialStore(out / "trials.jsonl", seed)

    def missing(self) -> list[tuple[Unit, int]]:
        """The trials that are still to be run."""
        return self.store.missing(self.units, self.trials)

    def run(self, jobs: int) -> Iterator[Unit]:
        """Run the trials that are missing, in processes; an iterator over their units, as they end.

        A data set that cannot be had is reported at once.
        """
        tasks = self.missing()
        for data in dict.fromkeys(unit.data for unit, _ in tasks):
            split(data, self.seed)
        return self.store.run(tasks, jobs)

    def write(self) -> list[Path]:
        """Write tables, figures and the page; all trials must be complete. Return what was written."""
        if self.method is not None:
            results = Results(self.store, self.trials, self.search)
            numbers = [TABLES[name] for name in self.targets if name in TABLES]
            cells = [cell for number in numbers for cell in table_cells(number, results, (self.method,))]
            write_csv(cells, self._path(self.method, self.search, ".csv"))
            return self.written
        # The page shows what was requested, and what earlier runs in this folder have completed.
        shown = {search: [name for name in TARGETS if self._is_shown(name, search)] for search in SEARCHES}
        readings = [self._write_reading(search, names) for search, names in shown.items() if names]
        report = Report(readings, self.trials, self.seed)
        report.write_markdown(self.out / "index.md")
        report.write_page(self.out / "index.html")
        return [*self.written, self.out / "index.md", self.out / "index.html"]

    def _is_shown(self, name: str, search: str) -> bool:
        if search == self.search and name in self.targets:
            return True
        if units := units_of(name, search):
            return not self.store.missing(units, self.trials)
        # Figure 3 needs no trials; it is shown if it was drawn before.
        return (self.out / f"{file_name(name, search)}.svg").exists()

    def _write_reading(self, search: str, names: list[str]) -> Reading:
        """Write the files of one reading of the paper's search, and return their contents for the page."""
        results = Results(self.store, self.trials, search)
        cells = {TABLES[name]: table_cells(TABLES[name], results) for name in names if name in TABLES}
        for number, some in cells.items():
            write_csv(some, self._path(f"table{number}", search, ".csv"))
        times = seconds(list(cells), results)
        if times:
            # Not CSV like the rest: times are never the same twice.
            replace_file(self._path("times", search, ".json"), json.dumps(times, indent=1).encode())
        pictures = {name: self._write_figure(name, results) for name in names if name in EXPERIMENTS}
        units = [unit for name in names for unit in units_of(name, search)]
        return Reading(search, cells, times, pictures, units)

    def _write_figure(self, name: str, results: Results) -> PageFigure:
        experiment = EXPERIMENTS[name]
        path, _ = (self._path(name, results.search, ending) for ending in (".svg", ".png"))
        save(experiment.draw(results), path)
        if experiment.rows is not None:
            write_rows(self._path(name, results.search, ".csv"), *experiment.rows(results))
        findings = [] if experiment.findings is None else experiment.findings(results)
        return PageFigure(experiment.title, experiment.caption, base64.b64encode(path.read_bytes()).decode(), findings)

    def _path(self, name: str, search: str, ending: str) -> Path:
        path = self.out / f"{file_name(name, search)}{ending}"
        self.written.append(path)
        return path
