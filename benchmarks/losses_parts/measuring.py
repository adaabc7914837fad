"""Measurements that are missing are made, one after the other, each on one thread."""

import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from sklearn.pipeline import Pipeline
from speed_parts.fits import timed
from threadpoolctl import threadpool_limits

from losses_parts.experiments import Case, Experiment, Method
from skscn.cli.console import progress_bar
from skscn.paper.trials import KeyedLines

# Characters of a warning that are kept.
WARNING_LENGTH = 200


class Cell(NamedTuple):
    """One method on one split of a case."""

    experiment: Experiment
    case: Case
    method: str
    split: int

    @property
    def key(self) -> tuple[str, str, str, int]:
        """What its result is kept under."""
        return self.experiment.part, self.case.name, self.method, self.split


def cells_of(experiment: Experiment, cases: list[Case], methods: list[str], splits: int) -> Iterator[Cell]:
    """All measurements, split by split through all cases."""
    for split in range(splits):
        for case in cases:
            for method in methods:
                yield Cell(experiment, case, method, split)


def run_missing(store: KeyedLines, cells: list[Cell]) -> None:
    """Measure what is not in the store yet."""
    missing = [cell for cell in cells if cell.key not in store.results]
    with progress_bar() as progress:
        bar = progress.add_task("fits", total=len(cells), completed=len(cells) - len(missing))
        for cell in missing:
            progress.update(bar, description=f"{cell.case.name} {cell.method}")
            store.add(cell.key, measured(cell))
            progress.advance(bar)


def measured(cell: Cell) -> dict:
    """The numbers of a measurement, or why there are none; with the warnings."""
    method: Method = cell.experiment.methods[cell.method]
    with warnings.catch_warnings(record=True) as caught, threadpool_limits(1):
        warnings.simplefilter("always")
        # SVC(probability=True) has one.
        warnings.simplefilter("ignore", FutureWarning)
        try:
            result = cell.experiment.measure(cell.case, method.make, cell.split)
        except Exception as error:  # the packages have errors of their own, and a run of hours should not end with them
            result = {"failed": f"{type(error).__name__}: {error}"}
    said = [f"{warning.category.__name__}: {warning.message}"[:WARNING_LENGTH] for warning in caught]
    return result | ({"warnings": list(dict.fromkeys(said))} if said else {})


def fitted(model: Any, X: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None = None) -> dict:
    """Fit a model: the time that it takes, and the nodes of a network or of all members."""
    name = f"{model.steps[-1][0]}__sample_weight" if isinstance(model, Pipeline) else "sample_weight"
    weights = {} if sample_weight is None else {name: sample_weight}
    result = timed(lambda: model.fit(X, y, **weights))
    if hasattr(model, "n_nodes_"):
        result["nodes"] = float(np.sum(model.n_nodes_))
    return result
