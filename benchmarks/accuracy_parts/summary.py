"""The results of all methods on all sets: ranks, ratios to the best, and costs."""

from dataclasses import dataclass, field, replace

import numpy as np
from scipy.stats import rankdata, studentized_range

from accuracy_parts.means import Means, methods_of, sets_of
from accuracy_parts.measuring import METRICS
from accuracy_parts.tables import Row

# Level of significance of Nemenyi's test.
ALPHA = 0.05
COSTS = ("cpu", "predict", "nodes")
TITLES = {
    "regression": "Regression",
    "classification": "Classification",
    "friedman": "Friedman's function",
    "smooth": "Smooth functions",
}


@dataclass(frozen=True)
class Summary:
    """One metric of all methods on all sets of a task.

    Attributes
    ----------
    task, metric : str
    sets, methods : list of str
    means : ndarray of shape (sets, methods)
        Mean over the splits; infinite where one of them failed, NaN where the method was not run.
    floors : ndarray of shape (sets,)
        The least that counts in a ratio.
    costs : dict of str to ndarray of shape (sets, methods)
        Processor seconds of a fit and of the prediction of 1,000 rows, and nodes.
    """

    task: str
    metric: str
    sets: list[str]
    methods: list[str]
    means: np.ndarray
    floors: np.ndarray
    costs: dict[str, np.ndarray] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """The title of its table."""
        return f"{TITLES[self.task]}: {METRICS[self.task][self.metric]}"

    @property
    def is_everywhere(self) -> np.ndarray:
        """Which methods were run on all sets."""
        return ~np.isnan(self.means).any(axis=0)

    @property
    def ranks(self) -> np.ndarray:
        """Mean rank over the sets, among the methods that were run on all of them; failures are last."""
        everywhere = self.is_everywhere
        ranks = np.full(len(self.methods), np.nan)
        ranks[everywhere] = rankdata(self.means[:, everywhere], axis=1).mean(axis=0)
        return ranks

    @property
    def has_ranks(self) -> bool:
        """Whether there are methods to compare."""
        return np.count_nonzero(np.isfinite(self.ranks)) > 1

    @property
    def counted(self) -> np.ndarray:
        """The means, as far as they count in ratios: at least the floor; NaN where there is none or it failed."""
        return np.where(np.isfinite(self.means), np.maximum(self.means, self.floors[:, None]), np.nan)

    @property
    def ratios(self) -> np.ndarray:
        """Each mean over the best of its set; NaN where there is none or it failed."""
        return np.array([row / np.nanmin(row) if np.isfinite(row).any() else row for row in self.counted])

    @property
    def critical_difference(self) -> float:
        """How far two mean ranks must be apart to differ, by Nemenyi's test."""
        k = np.count_nonzero(np.isfinite(self.ranks))
        quantile = studentized_range.ppf(1.0 - ALPHA, k, np.inf) / np.sqrt(2.0)
        return float(quantile * np.sqrt(k * (k + 1) / (6.0 * len(self.sets))))

    def reordered(self, order: list[int]) -> "Summary":
        """The same with the sets in another order."""
        costs = {name: values[order] for name, values in self.costs.items()}
        sets = [self.sets[i] for i in order]
        return replace(self, sets=sets, means=self.means[order], floors=self.floors[order], costs=costs)

    def rows(self) -> list[Row]:
        """The sets, ranks and ratios."""
        ratios = self.ratios
        return [
            *(Row(name, values, 4, has_best=True) for name, values in zip(self.sets, self.means, strict=True)),
            Row("mean rank", self.ranks, 2, has_best=True),
            Row("ratio to best, geometric mean", geometric_means(ratios), 3),
            Row("ratio to best, worst", over_columns(ratios, np.max), 3),
            Row(f"sets (of {len(self.sets)})", np.isfinite(ratios).sum(axis=0).astype(float), 0),
        ]

    def cost_rows(self) -> list[Row]:
        """Times and nodes, over the sets that a method was run on."""
        cpu, predict, nodes = (self.costs[name] for name in COSTS)
        rows = [
            Row("fit, processor seconds, geometric mean", geometric_means(cpu), 2),
            Row("prediction of 1,000 rows, milliseconds, geometric mean", 1000.0 * geometric_means(predict), 1),
        ]
        return [*rows, Row("nodes, mean", over_columns(nodes, np.mean), 0)] if np.isfinite(nodes).any() else rows


def over_columns(values: np.ndarray, function) -> np.ndarray:
    """A number made of the finite ones of each column; NaN where there are none."""
    there = [column[np.isfinite(column)] for column in values.T]
    return np.array([function(column) if len(column) else np.nan for column in there])


def geometric_means(values: np.ndarray) -> np.ndarray:
    """Geometric means of the columns, without numbers that are missing or not positive."""
    return np.exp(over_columns(np.log(np.where(values > 0.0, values, np.nan)), np.mean))


def summarise(means: Means, task: str, metric: str) -> Summary:
    """The summary of a metric on all sets of a task that there are means of."""
    sets, methods = sets_of(means, task), methods_of(means, task)

    def numbers(name: str) -> np.ndarray:
        lines = [[means.get((task, data, method), {}).get(name, np.nan) for method in methods] for data in sets]
        return np.array(lines, dtype=float).reshape(len(sets), len(methods))

    failed = numbers("failed") > 0
    floors = np.zeros(len(sets))
    if metric == "error_rate":
        # Half a wrong row in all the splits: a set that some method makes no error on has finite ratios still.
        floors = 0.5 / np.nanmax(numbers("splits") * numbers("test_rows"), axis=1)
    costs = {name: np.where(failed, np.nan, numbers(name)) for name in COSTS}
    return Summary(task, metric, sets, methods, np.where(failed, np.inf, numbers(metric)), floors, costs)
