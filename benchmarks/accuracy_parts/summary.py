"""The results of all methods on all sets: means, ranks, and ratios to the best."""

from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata, studentized_range

from accuracy_parts.sets import DataSet
from skscn.experiments.jsonlines import KeyedLines

# Level of significance of Nemenyi's test.
ALPHA = 0.05


@dataclass(frozen=True)
class Row:
    """A line of a table: one number for each method, NaN where there is none, infinite where it failed."""

    label: str
    values: np.ndarray
    digits: int
    has_best: bool = False

    def texts(self) -> list[str]:
        """The numbers as text."""
        return [
            "failed" if value == np.inf else "-" if np.isnan(value) else f"{value:.{self.digits}f}"
            for value in self.values
        ]

    def is_best(self) -> np.ndarray:
        """Where the smallest number is, if the smallest is the best one."""
        finite = np.isfinite(self.values)
        if not self.has_best or not finite.any():
            return np.zeros(len(self.values), dtype=bool)
        return self.values == self.values[finite].min()


@dataclass(frozen=True)
class Summary:
    """One metric of all methods on all sets of a task.

    Attributes
    ----------
    task, metric : str
    sets, methods : list of str
    means : ndarray of shape (sets, methods)
        Mean over the splits; infinite where one of them failed, NaN where there are too many rows for the method.
    floors : ndarray of shape (sets,)
        The least that counts in a ratio.
    seconds, nodes : ndarray of shape (methods,)
        Means over sets of the means over splits.
    """

    task: str
    metric: str
    sets: list[str]
    methods: list[str]
    means: np.ndarray
    floors: np.ndarray
    seconds: np.ndarray
    nodes: np.ndarray

    @property
    def ranks(self) -> np.ndarray:
        """Mean rank over the sets, among the methods that were run on all of them; failures are last."""
        everywhere = ~np.isnan(self.means).any(axis=0)
        ranks = np.full(len(self.methods), np.nan)
        ranks[everywhere] = rankdata(self.means[:, everywhere], axis=1).mean(axis=0)
        return ranks

    @property
    def has_ranks(self) -> bool:
        """Whether there are methods to compare."""
        return np.count_nonzero(np.isfinite(self.ranks)) > 1

    @property
    def ratios(self) -> np.ndarray:
        """Each mean over the best of its set; NaN where there is none or it failed."""
        values = np.where(np.isfinite(self.means), np.maximum(self.means, self.floors[:, None]), np.nan)
        return np.array([row / np.nanmin(row) if np.isfinite(row).any() else row for row in values])

    @property
    def critical_difference(self) -> float:
        """How far two mean ranks must be apart to differ, by Nemenyi's test."""
        k = np.count_nonzero(np.isfinite(self.ranks))
        quantile = studentized_range.ppf(1.0 - ALPHA, k, np.inf) / np.sqrt(2.0)
        return float(quantile * np.sqrt(k * (k + 1) / (6.0 * len(self.sets))))

    def rows(self) -> list[Row]:
        """The table."""
        finite = [column[np.isfinite(column)] for column in self.ratios.T]
        geometric = [np.exp(np.mean(np.log(column))) if len(column) else np.nan for column in finite]
        worst = [column.max() if len(column) else np.nan for column in finite]
        return [
            *(Row(name, values, 4, has_best=True) for name, values in zip(self.sets, self.means, strict=True)),
            Row("mean rank", self.ranks, 2, has_best=True),
            Row("ratio to best, geometric mean", np.array(geometric), 3),
            Row("ratio to best, worst", np.array(worst), 3),
            Row(f"sets (of {len(self.sets)})", np.array([float(len(column)) for column in finite]), 0),
            Row("fit seconds", self.seconds, 2),
            Row("nodes", self.nodes, 0),
        ]


def summarise(
    store: KeyedLines, task: str, metric: str, sets: list[DataSet], methods: list[str], splits: int
) -> Summary:
    """The summary of a metric; all results must be there."""
    cells = [
        [[store.results.get((task, data.name, method, split), {}) for split in range(splits)] for method in methods]
        for data in sets
    ]
    means = np.array([[mean_metric(results, metric) for results in row] for row in cells])
    # Half a wrong row in all the splits: a set that some method makes no error on has finite ratios still.
    floors = (
        0.5 / (splits * np.array([data.test_rows for data in sets])) if metric == "error_rate" else np.zeros(len(sets))
    )
    seconds, nodes = (
        np.array(
            [
                mean_of([mean_of([r.get(name) for r in results]) for results in column])
                for column in zip(*cells, strict=True)
            ]
        )
        for name in ("seconds", "nodes")
    )
    return Summary(task, metric, [data.name for data in sets], methods, means, floors, seconds, nodes)


def mean_metric(results: list[dict], metric: str) -> float:
    """The mean over splits: infinite where one failed, NaN where the method was not run."""
    if any("failed" in result for result in results):
        return np.inf
    return mean_of([result.get(metric) for result in results])


def mean_of(values: list[float | None]) -> float:
    """The mean of the numbers that are there; NaN if there are none."""
    there = [value for value in values if value is not None and not np.isnan(value)]
    return float(np.mean(there)) if there else np.nan


def failures(store: KeyedLines, sets: list[DataSet], methods: dict[str, list[str]], splits: int) -> list[str]:
    """What failed, and the messages."""
    return [
        f"{name}, {method}, split {split}: {' '.join(result['failed'].split())}"
        for (task, name, method, split), result in sorted(store.results.items())
        if "failed" in result
        and any((data.task, data.name) == (task, name) for data in sets)
        and method in methods[task]
        and split < splits
    ]
