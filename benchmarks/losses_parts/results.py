"""The results of an experiment: means over splits, ranks, and our methods against the best of the others."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from accuracy_parts.comparing import over_best, sides
from accuracy_parts.means import mean_metric
from accuracy_parts.summary import Summary, over_columns
from accuracy_parts.tables import Row, Table

from skscn.paper.trials import KeyedLines

# What a result is kept under.
KEY = ("part", "set", "method", "split")


@dataclass(frozen=True)
class Results:
    """What was measured in an experiment.

    Attributes
    ----------
    store : KeyedLines
    part : str
    cases : list of str
    methods : list of str
        Those with results for all splits of at least one case.
    ours : frozenset of str
    splits : int
    """

    store: KeyedLines
    part: str
    cases: list[str]
    methods: list[str]
    ours: frozenset[str]
    splits: int

    def of(self, case: str, method: str) -> list[dict]:
        """The results of all splits; none unless all are there."""
        keys = [(self.part, case, method, split) for split in range(self.splits)]
        return [self.store.results[key] for key in keys] if all(key in self.store.results for key in keys) else []

    def means(self, name: str) -> np.ndarray:
        """Means over splits (cases, methods): infinite where one failed, NaN where there is no such number."""
        return np.array(
            [[mean_metric(self.of(case, method), name) for method in self.methods] for case in self.cases]
        ).reshape(len(self.cases), len(self.methods))

    def smallest(self, name: str) -> np.ndarray:
        """The smallest number over cases and splits, for each method."""
        found = [
            [r[name] for case in self.cases for r in self.of(case, method) if name in r] for method in self.methods
        ]
        return np.array([min(values, default=np.nan) for values in found])

    def row(self, label: str, name: str, digits: int) -> Row:
        """Means over splits and then over the cases that have the number, for each method."""
        return Row(label, column_means(self.means(name)), digits)

    def processor_seconds(self) -> Row:
        """The processor time of a fit."""
        return self.row("fit, processor seconds", "cpu", 2)

    def worst_first(self, means: np.ndarray) -> list[int]:
        """The order of the cases: where our first method does worst against the best of the others, first."""
        ratios = [self.against_others(means, method) for method in self.methods if method in self.ours]
        if not ratios or not np.isfinite(ratios[0]).any():
            return list(range(len(self.cases)))
        return np.argsort(-np.nan_to_num(ratios[0], nan=-np.inf, posinf=np.inf), kind="stable").tolist()

    def against_others(self, means: np.ndarray, method: str) -> np.ndarray:
        """A method's number over the smallest of those that are not ours, by case; infinite where only it failed."""
        others = [i for i, name in enumerate(self.methods) if name not in self.ours]
        return over_best(means, self.methods.index(method), others)

    def two_sided(self, means: np.ndarray) -> list[str]:
        """For each of our methods, where it is worse than the best of the others, and where it is better."""
        return [
            sentence
            for method in self.methods
            if method in self.ours
            for sentence in sides(method, self.cases, self.against_others(means, method))
        ]

    def failures(self) -> list[str]:
        """What failed, and the messages."""
        return [
            f"{case}, {method}, split {split}: {' '.join(result['failed'].split())}"
            for case in self.cases
            for method in self.methods
            for split, result in enumerate(self.of(case, method))
            if "failed" in result
        ]


def column_means(values: np.ndarray) -> np.ndarray:
    """The mean of the finite numbers of each column; NaN where there are none."""
    return over_columns(values, np.mean)


def ranked(
    results: Results, metric: str, title: str, floors: np.ndarray | None = None, notes: Sequence[str] = ()
) -> Table:
    """A table of a metric on all cases, the worst for us first, with mean ranks, geometric means and processor time."""
    means = results.means(metric)
    floors = np.zeros(len(means)) if floors is None else floors
    # Without the floor a set that one of the others makes no error on would have no ratio, and not count against us.
    counted = np.maximum(means, floors[:, None])
    order = results.worst_first(counted)
    cases = [results.cases[i] for i in order]
    summary = Summary(results.part, metric, cases, results.methods, means[order], floors[order])
    rows = [*summary.rows(), geometric_means(summary), results.processor_seconds()]
    return Table(title, results.methods, rows, [*notes, *results.two_sided(counted)])


def geometric_means(summary: Summary) -> Row:
    """The geometric mean over the sets; NaN for a method that was not run on all of them, or failed."""
    values = np.maximum(summary.means, summary.floors[:, None])
    with np.errstate(divide="ignore"):
        means = np.exp(np.mean(np.log(values), axis=0))
    return Row("geometric mean", np.where(np.isfinite(means), means, np.nan), 4, has_best=True)
