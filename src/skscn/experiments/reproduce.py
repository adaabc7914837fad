"""Everything from one command: which trials a table, figure or study needs, and what is written from them."""

from __future__ import annotations

import json
from pathlib import Path

from skscn.datasets import make_db1
from skscn.experiments import depth, figures, studies, tables
from skscn.experiments.page import Report
from skscn.experiments.readings import PageFigure, Reading
from skscn.experiments.store import TrialStore
from skscn.experiments.trials import FIRST_SEARCH, SEARCHES, Trial, Unit
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


def units_of(name: str, search: str) -> list[Unit]:
    """The trials that one table, figure or study needs."""
    if name in TABLES:
        units = tables.table_units(TABLES[name])
    elif name in FIGURES:
        units = figures.figure_units(FIGURES[name])
    elif name == "deep":
        units = depth.depth_units()
    else:
        units = list(studies.STUDIES[name]().values())
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
        make_folder(out)
        check_writable(out / "index.html")
        self.store = TrialStore(out / "trials.jsonl", seed)

    @property
    def units(self) -> list[Unit]:
        """The units to run, each once."""
        units = dict.fromkeys(unit for name in self.targets for unit in units_of(name, self.search))
        return [unit for unit in units if self.method in (None, unit.method)]

    def missing(self) -> list[tuple[Unit, int]]:
        """The trials that are still to be run."""
        return self.store.missing(self.units, self.trials)

    def write(self) -> list[Path]:
        """Write tables, figures and the page; all trials must be complete. Return what was written."""
        if self.method is not None:
            return self._write_method(self.method)
        # The page shows what was requested, and what earlier runs in this folder have completed.
        shown = {search: [name for name in TARGETS if self._is_shown(name, search)] for search in SEARCHES}
        parts = [
            _ReadingFiles(self.out, self.store, self.trials, search, names) for search, names in shown.items() if names
        ]
        report = Report([part.reading() for part in parts], self.trials, self.seed)
        report.write_markdown(self.out / "index.md")
        report.write_page(self.out / "index.html")
        return [*(path for part in parts for path in part.written), self.out / "index.md", self.out / "index.html"]

    def _is_shown(self, name: str, search: str) -> bool:
        if search == self.search and name in self.targets:
            return True
        if units := units_of(name, search):
            return not self.store.missing(units, self.trials)
        # Figure 3 needs no trials; it is shown if it was drawn before.
        return (self.out / f"{file_name(name, search)}.svg").exists()

    def _write_method(self, method: str) -> list[Path]:
        """The cells of one method alone, in one file."""
        available = {unit: self.store.trials(unit, self.trials) for unit in self.units}
        cells = [
            cell
            for name in self.targets
            if name in TABLES
            for cell in tables.table_cells(TABLES[name], lambda unit: available.get(unit.searched(self.search), []))
            if cell.method.split(",")[0] == method
        ]
        path = self.out / f"{file_name(method, self.search)}.csv"
        tables.write_csv(cells, path)
        return [path]


class _ReadingFiles:
    """The files of one reading of the paper's search.

    Parameters
    ----------
    out : Path
        Folder for the results.
    store : TrialStore
        Where the trials are.
    trials : int
        Networks for each cell.
    search : str
        The reading of the paper's search.
    names : list of str
        The tables, figures and studies to write.

    Attributes
    ----------
    written : list of Path
        The files written so far.
    """

    def __init__(self, out: Path, store: TrialStore, trials: int, search: str, names: list[str]):
        self.out, self.store, self.trials, self.search, self.names = out, store, trials, search, names
        self.written: list[Path] = []

    def reading(self) -> Reading:
        """Write the files, and return their contents for the page."""
        cells = {TABLES[name]: self._table(name) for name in self.names if name in TABLES}
        seconds = tables.seconds(list(cells), self._results)
        if seconds:
            # Not CSV like the rest: times are never the same twice.
            replace_file(self._path("times", ".json"), json.dumps(seconds, indent=1).encode())
        pictures = {name: self._picture(name) for name in self.names if name not in TABLES}
        units = [unit for name in self.names for unit in units_of(name, self.search)]
        return Reading(self.search, cells, seconds, pictures, units)

    def _results(self, unit: Unit) -> list[Trial]:
        """The trials of a unit."""
        return self.store.trials(unit.searched(self.search), self.trials)

    def _path(self, name: str, suffix: str) -> Path:
        path = self.out / f"{file_name(name, self.search)}{suffix}"
        self.written.append(path)
        return path

    def _table(self, name: str) -> list[tables.Cell]:
        cells = tables.table_cells(TABLES[name], self._results)
        tables.write_csv(cells, self._path(name, ".csv"))
        return cells

    def _picture(self, name: str) -> PageFigure:
        path, _ = self._path(name, ".svg"), self._path(name, ".png")
        if name in FIGURES:
            db1 = make_db1(random_state=self.store.data_seed)
            figures.save(figures.draw_figure(FIGURES[name], self._results, db1, seed=0, search=self.search), path)
            return PageFigure.read(path, f"Figure {FIGURES[name]}", figures.CAPTIONS[name])
        if name == "deep":
            depth.write_depths(self._results, self._path(name, ".csv"))
            figures.save(depth.draw_depths(self._results), path)
            return PageFigure.read(path, depth.TITLE, depth.CAPTION, depth.depth_findings(self._results))
        settings = studies.study_settings(name, self._results)
        studies.write_study(settings, self._path(name, ".csv"))
        figures.save(studies.draw_study(settings), path)
        caption = f"Test RMSE of SC-III (SC-II for the window) after 50 nodes, mean and deviation: {name}."
        return PageFigure.read(path, name.capitalize(), caption, studies.findings(settings))
