"""What an experiment is: cases, methods, a measurement of one method on one case, and tables of the results."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

from accuracy_parts.sets import DataSet, load_sets, read_csv
from accuracy_parts.tables import Table
from sklearn.model_selection import train_test_split

from losses_parts.results import Results

# Larger sets are cut to this many rows, the same ones in every split.
MAX_ROWS = 3000


class Case(Protocol):
    """What methods are measured on; its rows are made by the experiment from the number of the split."""

    name: str


@dataclass(frozen=True)
class Method:
    """A learner.

    Attributes
    ----------
    make : callable
        From the seed to a model.
    ours : bool
    package : str or None
        The optional package that it needs.
    """

    make: Callable[[int], Any]
    ours: bool = False
    package: str | None = None

    @property
    def is_installed(self) -> bool:
        """Whether it can be run here."""
        return self.package is None or find_spec(self.package) is not None


@dataclass(frozen=True)
class Experiment:
    """A part of the benchmark, or one of several.

    Attributes
    ----------
    part : str
    splits : int
        How many splits, or draws of the rows, are made unless told otherwise.
    cases : callable
        From the folder of data sets, or None, to the cases.
    methods : dict of str to Method
    measure : callable
        From a case, a function from the seed to a model, and the number of the split, to numbers by their names.
    tables : callable
        From the results to tables.
    """

    part: str
    splits: int
    cases: Callable[[Path | None], list[Any]]
    methods: dict[str, Method]
    measure: Callable[[Any, Callable[[int], Any], int], dict]
    tables: Callable[[Results], list[Table]]


def load_tables(task: str, folder: Path | None) -> list[DataSet]:
    """The sets in DIR/regression, or those in DIR/classification and in scikit-learn, of at most MAX_ROWS rows."""
    if task == "regression" and folder is not None:
        sets = [read_csv(path, task) for path in sorted((folder / task).glob("*.csv"))]
    else:
        sets = load_sets(task, folder)
    if not sets:
        sys.exit(f"There are no sets in {folder / task}.")
    return [cut(data) for data in sets]


def cut(data: DataSet) -> DataSet:
    """At most MAX_ROWS rows of a set, drawn once; of classes, in their proportions."""
    if len(data.X) <= MAX_ROWS:
        return data
    stratify = data.y if data.task == "classification" else None
    X, _, y, _ = train_test_split(data.X, data.y, train_size=MAX_ROWS, random_state=0, stratify=stratify)
    return DataSet(data.task, data.name, X, y)
