"""The data sets: tables in files, and those that come with scikit-learn."""

import csv
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn import datasets
from sklearn.model_selection import train_test_split

from accuracy_parts.functions import FUNCTIONS, TEST_ROWS, Function

DATA_VARIABLE = "SKSCN_BENCH_DATA"
FOLDERS = {"regression": ("paper", "regression"), "classification": ("classification",)}
BUNDLED = {
    "regression": {"diabetes": datasets.load_diabetes},
    "classification": {
        "iris": datasets.load_iris,
        "wine": datasets.load_wine,
        "breast_cancer": datasets.load_breast_cancer,
        "digits": datasets.load_digits,
    },
}


@dataclass(frozen=True)
class DataSet:
    """One table: inputs X, and targets y or, for classes, their numbers from 0."""

    task: str
    name: str
    X: np.ndarray
    y: np.ndarray

    def split(self, seed: int) -> list[np.ndarray]:
        """Three quarters for training: X, test X, y, test y."""
        stratify = self.y if self.task == "classification" else None
        return train_test_split(self.X, self.y, test_size=self.test_rows, random_state=seed, stratify=stratify)

    @property
    def test_rows(self) -> int:
        """Rows for testing, in every split."""
        return -(-len(self.X) // 4)

    @property
    def train_rows(self) -> int:
        """Rows for training, in every split."""
        return len(self.X) - self.test_rows


@dataclass(frozen=True)
class DrawnSet:
    """Rows that are drawn from a function, other ones for every split."""

    task: str
    name: str
    function: Function

    def split(self, seed: int) -> tuple[np.ndarray, ...]:
        """X, test X, y, test y."""
        return self.function.split(seed)

    @property
    def test_rows(self) -> int:
        """Rows for testing, in every split."""
        return TEST_ROWS

    @property
    def train_rows(self) -> int:
        """Rows for training, in every split."""
        return self.function.rows


def read_csv(path: Path, task: str) -> DataSet:
    """The table in a file."""
    with path.open(newline="", encoding="utf-8-sig") as file:
        rows = [row for row in csv.reader(file) if row][1:]
    try:
        X = np.array([row[:-1] for row in rows], dtype=float)
        y = np.array([row[-1] for row in rows], dtype=float if task == "regression" else str)
    except ValueError as error:
        sys.exit(f"{path} is not a table of numbers with the target in the last column: {error}")
    return DataSet(task, path.stem, X, np.unique(y, return_inverse=True)[1] if task == "classification" else y)


def load_sets(task: str, folder: Path | None) -> list[DataSet | DrawnSet]:
    """The sets of a task: those in the folder, then those of scikit-learn; or functions."""
    if task in FUNCTIONS:
        return [DrawnSet(task, name, function) for name, function in FUNCTIONS[task].items()]
    paths = [path for sub in FOLDERS[task] for path in sorted((folder / sub).glob("*.csv"))] if folder else []
    bundled = [DataSet(task, name, *load(return_X_y=True)) for name, load in BUNDLED[task].items()]
    sets = [*(read_csv(path, task) for path in paths), *bundled]
    names = [data.name for data in sets]
    # Results are kept by name.
    if doubles := sorted({name for name in names if names.count(name) > 1}):
        sys.exit(f"More than one {task} set has the name {', '.join(doubles)}; rename the files.")
    return sets
