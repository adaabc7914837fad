"""Accuracy and fit time of our estimators, at their defaults, beside other learners on tables of data.

usage: ./run bench accuracy [--data DIR] [--out results/accuracy] [--splits 5] [--jobs 1]
                            [--task regression|classification|both] [--sets NAME ...] [--methods NAME ...]

DIR/paper/*.csv and DIR/regression/*.csv are regression sets, DIR/classification/*.csv classification sets: a header
line, numeric inputs, the target in the last column. Without DIR only the sets that come with scikit-learn are used.

Results are kept in OUT/results.jsonl as they come, failures too, and the same command goes on where it was. To measure
something again after a change, take another OUT or delete its lines.
"""

import argparse
import csv
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import numpy as np
from joblib import Parallel, delayed
from matplotlib.figure import Figure
from scipy import special
from scipy.stats import rankdata, studentized_range
from sklearn import datasets
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    StackingClassifier,
)
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeCV
from sklearn.metrics import log_loss, root_mean_squared_error
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

import skscn
from skscn.cli._progress import progress_bar
from skscn.experiments.figures import save
from skscn.experiments.jsonlines import KeyedLines

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
METRICS = {"regression": {"nrmse": "NRMSE"}, "classification": {"error_rate": "error rate", "log_loss": "log loss"}}
OURS = {
    "regression": {"SCN": "SCNRegressor", "SCN-ensemble": "SCNEnsembleRegressor"},
    "classification": {"SCN": "SCNClassifier", "SCN-ensemble": "SCNEnsembleClassifier"},
}
RANDOM_NODES = 300
# A Gaussian process takes time cubic in the rows; the classifier does so for each class and many times.
GP_ROWS = {"regression": 2000, "classification": 1000}
ALPHA = 0.05
_OURS_COLOUR, _OTHER_COLOUR = "#c2410c", "#374151"


class RandomSigmoids(TransformerMixin, BaseEstimator):
    """Sigmoid nodes with weights and biases uniform in [-1, 1], after the inputs themselves if ``direct``."""

    def __init__(self, nodes, direct, random_state):
        self.nodes, self.direct, self.random_state = nodes, direct, random_state

    def fit(self, X, y=None):
        rng = np.random.default_rng(self.random_state)
        self.weights_ = rng.uniform(-1.0, 1.0, (X.shape[1], self.nodes))
        self.biases_ = rng.uniform(-1.0, 1.0, self.nodes)
        return self

    def transform(self, X):
        # By its module: worker processes could not find a ufunc that is a name of the program itself.
        H = special.expit(X @ self.weights_ + self.biases_)
        return np.hstack([X, H]) if self.direct else H


class LeastSquaresClassifier(ClassifierMixin, BaseEstimator):
    """Plain least squares on class indicators."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.model_ = LinearRegression().fit(X, (y[:, None] == self.classes_).astype(float))
        return self

    def decision_function(self, X):
        outputs = self.model_.predict(X)
        return outputs[:, 1] - outputs[:, 0] if len(self.classes_) == 2 else outputs

    def predict(self, X):
        return self.classes_[np.argmax(self.model_.predict(X), axis=1)]


def scaled(*steps):
    return make_pipeline(StandardScaler(), *steps)


def scaled_target(model):
    return TransformedTargetRegressor(model, transformer=StandardScaler())


def elm_nodes(rows):
    """Fewer nodes than rows by far: without regularisation, as many nodes as rows fit the noise."""
    return min(RANDOM_NODES, rows // 3)


def gp_regressor(rows, seed):
    if rows > GP_ROWS["regression"]:
        return None
    kernel = ConstantKernel() * RBF() + WhiteKernel()
    return scaled(GaussianProcessRegressor(kernel, normalize_y=True, random_state=seed))


def gp_classifier(rows, seed):
    if rows > GP_ROWS["classification"]:
        return None
    # On classes that are easy to separate the likelihood has no optimum within scikit-learn's wider bounds.
    kernel = ConstantKernel(1.0, (1e-3, 1e3)) * RBF(1.0, (0.1, 100.0))
    return scaled(GaussianProcessClassifier(kernel, random_state=seed))


def svc(rows, seed):
    """SVC with probabilities.

    They come from a logistic regression on the decisions between pairs of classes, which is near to what libsvm does.
    CalibratedClassifierCV sees counts of won pairs instead, and its log loss is several times as large for ten classes.
    """
    pairs = SVC(decision_function_shape="ovo")
    logistic = LogisticRegression(max_iter=1000)
    return scaled(StackingClassifier([("svc", pairs)], logistic, stack_method="decision_function"))


def elm_classifier(rows, seed):
    # A temperature makes probabilities of the outputs and leaves the predicted classes as they are.
    readout = CalibratedClassifierCV(LeastSquaresClassifier(), method="temperature", ensemble=False)
    return scaled(RandomSigmoids(elm_nodes(rows), False, seed), readout)


def rvfl_regressor(rows, seed):
    return scaled(RandomSigmoids(RANDOM_NODES, True, seed), RidgeCV(np.logspace(-6, 4, 11)))


def rvfl_classifier(rows, seed):
    return scaled(RandomSigmoids(RANDOM_NODES, True, seed), LogisticRegression(max_iter=1000))


def ours(task):
    """Our estimators, as far as this version of the package has them."""
    return {
        name: lambda rows, seed, estimator=estimator: estimator(random_state=seed)
        for name, attribute in OURS[task].items()
        if (estimator := getattr(skscn, attribute, None)) is not None
    }


# Name -> factory from the number of training rows and the seed; None from it where the method is not for so many rows.
METHODS: dict[str, dict[str, Callable]] = {
    "regression": {
        **ours("regression"),
        "boosting": lambda rows, seed: HistGradientBoostingRegressor(random_state=seed),
        "forest": lambda rows, seed: RandomForestRegressor(random_state=seed),
        "MLP": lambda rows, seed: scaled_target(
            scaled(MLPRegressor(early_stopping=True, max_iter=500, random_state=seed))
        ),
        "SVM": lambda rows, seed: scaled_target(scaled(SVR())),
        "RVFL": rvfl_regressor,
        "ELM": lambda rows, seed: scaled(RandomSigmoids(elm_nodes(rows), False, seed), LinearRegression()),
        "GP": gp_regressor,
    },
    "classification": {
        **ours("classification"),
        "boosting": lambda rows, seed: HistGradientBoostingClassifier(random_state=seed),
        "forest": lambda rows, seed: RandomForestClassifier(random_state=seed),
        "MLP": lambda rows, seed: scaled(MLPClassifier(early_stopping=True, max_iter=500, random_state=seed)),
        "SVM": svc,
        "RVFL": rvfl_classifier,
        "ELM": elm_classifier,
        "GP": gp_classifier,
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


def load_sets(task: str, folder: Path | None) -> list[DataSet]:
    """The sets of a task: those in the folder, then those of scikit-learn."""
    paths = [path for sub in FOLDERS[task] for path in sorted((folder / sub).glob("*.csv"))] if folder else []
    bundled = [DataSet(task, name, *load(return_X_y=True)) for name, load in BUNDLED[task].items()]
    sets = [*(read_csv(path, task) for path in paths), *bundled]
    names = [data.name for data in sets]
    # Results are kept by name.
    if doubles := sorted({name for name in names if names.count(name) > 1}):
        sys.exit(f"More than one {task} set has the name {', '.join(doubles)}; rename the files.")
    return sets


# What a result is kept under.
KEY = ("task", "set", "method", "split")
Key = tuple[str, str, str, int]


def measure(data: DataSet, method: str, split: int) -> tuple[Key, dict]:
    """Fit a method on one split: its metrics, or why there are none."""
    X, X_test, y, y_test = data.split(split)
    model = METHODS[data.task][method](len(X), split)
    result: dict = {"train_rows": len(X), "test_rows": len(X_test)}
    try:
        started = perf_counter()
        model.fit(X, y)
        result["seconds"] = perf_counter() - started
        result |= scores(data, model, X_test, y_test)
    except (ValueError, np.linalg.LinAlgError, MemoryError) as error:
        result["failed"] = f"{type(error).__name__}: {error}"
    else:
        if hasattr(model, "n_nodes_"):
            # Of an ensemble: the nodes of all its members.
            result["nodes"] = float(np.sum(model.n_nodes_))
    return (data.task, data.name, method, split), result


def scores(data: DataSet, model, X: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """The metrics of a fitted model on test rows."""
    if data.task == "regression":
        return {"nrmse": float(root_mean_squared_error(y, model.predict(X)) / np.std(y))}
    return {
        "error_rate": float(np.mean(model.predict(X) != y)),
        "log_loss": float(log_loss(y, model.predict_proba(X), labels=np.unique(data.y))),
    }


def run_missing(store: KeyedLines, sets: list[DataSet], methods: dict[str, list[str]], splits: int, jobs: int) -> None:
    """Measure what is not in the store yet, split by split through all sets."""
    cells = [
        (data, method, split)
        for split in range(splits)
        for data in sets
        for method in methods[data.task]
        if METHODS[data.task][method](data.train_rows, split) is not None
    ]
    missing = [
        (data, method, split)
        for data, method, split in cells
        if (data.task, data.name, method, split) not in store.results
    ]
    with progress_bar() as progress:
        bar = progress.add_task("fits", total=len(cells), completed=len(cells) - len(missing))
        for key, result in Parallel(n_jobs=jobs, return_as="generator_unordered")(
            delayed(measure)(*cell) for cell in missing
        ):
            store.add(key, result)
            progress.update(bar, description=f"{key[1]} {key[2]}", advance=1)


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
        Mean over the splits; infinite where one of them failed, NaN where the method is not for so many rows.
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


def title(summary: Summary) -> str:
    return f"{summary.task.capitalize()}: {METRICS[summary.task][summary.metric]}"


def print_table(summary: Summary) -> None:
    rows = [(title(summary), summary.methods), *((row.label, row.texts()) for row in summary.rows())]
    first = max(len(label) for label, _ in rows)
    width = 2 + max(len(text) for _, texts in rows for text in texts)
    print()
    for label, texts in rows:
        print(f"{label:{first}}" + "".join(f"{text:>{width}}" for text in texts))


def write_csv(summaries: list[Summary], path: Path) -> None:
    """Write the tables of a task below each other, the metric in the first column."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["metric", "row", *summaries[0].methods])
        for summary in summaries:
            for row in summary.rows():
                numbers = ["failed" if v == np.inf else "" if np.isnan(v) else f"{v:.6g}" for v in row.values]
                writer.writerow([summary.metric, row.label, *numbers])


def markdown_table(summary: Summary) -> list[str]:
    """The lines of a table in Markdown, the best in bold."""
    lines = [f"| | {' | '.join(summary.methods)} |", f"|---|{'---:|' * len(summary.methods)}"]
    for row in summary.rows():
        texts = [f"**{text}**" if best else text for text, best in zip(row.texts(), row.is_best(), strict=True)]
        lines.append(f"| {row.label} | {' | '.join(texts)} |")
    return lines


def write_markdown(summaries: list[Summary], failed: list[str], splits: int, path: Path) -> None:
    """Write all tables and pictures as one page."""
    lines = [
        "# Accuracy",
        "",
        f"Means over random splits ({splits}), three quarters of the rows for training; the best in bold. NRMSE is the "
        "test RMSE over the standard deviation of the test target. Ranks are of these means, among the methods that "
        "were run on all sets; a method that failed on a set is last there. Ratios, seconds and nodes are over the "
        "sets that a method was run on (without those that it failed on, for the ratios). An error rate counts in a "
        "ratio as half a wrong row at least.",
    ]
    for summary in summaries:
        lines += ["", f"## {title(summary)}", "", *markdown_table(summary)]
    for task in dict.fromkeys(summary.task for summary in summaries if summary.has_ranks):
        lines += ["", f"## {task.capitalize()}: mean ranks", "", f"![Mean ranks, {task}]({task}_ranks.svg)", ""]
        lines += [f"Methods connected by a bar do not differ significantly (Nemenyi's test, α = {ALPHA})."]
    if failed:
        lines += ["", "## Failed", "", *(f"- {line}" for line in failed)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")


def draw_ranks(summaries: list[Summary]) -> Figure:
    """Critical-difference diagrams of a task, one for each metric."""
    count = max(np.count_nonzero(np.isfinite(summary.ranks)) for summary in summaries)
    figure = Figure(figsize=(9, (1.6 + 0.22 * count) * len(summaries)), layout="constrained")
    for ax, summary in zip(figure.subplots(len(summaries), 1, squeeze=False).flat, summaries, strict=True):
        draw_diagram(ax, summary)
    return figure


def draw_diagram(ax, summary: Summary) -> None:
    """Mean ranks on a line, the best at the left; bars join those nearer than the critical difference."""
    order = [i for i in np.argsort(summary.ranks, kind="stable") if np.isfinite(summary.ranks[i])]
    names, ranks, difference = [summary.methods[i] for i in order], summary.ranks[order], summary.critical_difference
    k, bars = len(names), joined(ranks, difference)
    ax.set_title(f"{title(summary)}, {len(summary.sets)} sets", loc="left", fontsize=10)
    ax.plot([1, k], [0, 0], color="black", linewidth=1)
    for rank in range(1, k + 1):
        ax.plot([rank, rank], [0, 0.15], color="black", linewidth=1)
        ax.text(rank, 0.25, str(rank), ha="center", va="bottom", fontsize=8)
    ax.plot([1, 1 + difference], [1.2, 1.2], color="black", linewidth=2, marker="|")
    ax.text(1, 1.35, f"critical difference {difference:.2f}", ha="left", va="bottom", fontsize=8)
    for level, (first, last) in enumerate(bars):
        y = -0.3 * (level + 1)
        ax.plot([ranks[first] - 0.04, ranks[last] + 0.04], [y, y], color="black", linewidth=3, solid_capstyle="butt")
    for i, (name, rank) in enumerate(zip(names, ranks, strict=True)):
        left = i < (k + 1) // 2
        y = -0.3 * len(bars) - 0.6 * (1 + (i if left else k - 1 - i))
        end = 0.7 if left else k + 0.3
        colour = _OURS_COLOUR if name in OURS[summary.task] else _OTHER_COLOUR
        ax.plot([rank, rank, end], [0, y, y], color=colour, linewidth=1)
        label = f"{name} {rank:.2f}" if left else f"{rank:.2f} {name}"
        ax.text(end + (-0.05 if left else 0.05), y, label, ha="right" if left else "left", va="center", color=colour)
    margin = 0.25 * k
    ax.set(xlim=(0.7 - margin, max(k + 0.3 + margin, 1 + difference)), ylim=(None, 2.1))
    ax.axis("off")


def joined(ranks: np.ndarray, difference: float) -> list[tuple[int, int]]:
    """First and last of each longest run of sorted ranks that are no further apart than the difference."""
    lasts = [int(np.searchsorted(ranks, rank + difference, side="right")) - 1 for rank in ranks]
    return [
        (first, last) for first, last in enumerate(lasts) if last > first and (first == 0 or last > lasts[first - 1])
    ]


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help=f"folder of data sets (default: the environment's {DATA_VARIABLE})")
    parser.add_argument("--out", type=Path, default=Path("results/accuracy"))
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=1, help="processes; fit times are comparable with 1 only")
    parser.add_argument("--sets", nargs="+", metavar="NAME", help="only these sets")
    parser.add_argument("--methods", nargs="+", metavar="NAME", help="only these methods")
    parser.add_argument("--task", choices=["regression", "classification", "both"], default="both")
    arguments = parser.parse_args()
    if arguments.splits < 1:
        parser.error("--splits must be 1 or more.")
    if arguments.data is None and os.environ.get(DATA_VARIABLE):
        arguments.data = Path(os.environ[DATA_VARIABLE])
    if arguments.data is not None and not arguments.data.is_dir():
        parser.error(f"There is no folder {arguments.data}.")
    return arguments


def chosen(wanted: list[str] | None, known: list[str], what: str) -> list[str]:
    """The names that are wanted, all if none are named."""
    if unknown := sorted(set(wanted or ()) - set(known)):
        sys.exit(f"There is no {what} {', '.join(unknown)}; choose from: {', '.join(dict.fromkeys(known))}")
    return known if wanted is None else [name for name in known if name in wanted]


def print_notes(tasks: list[str], folder: Path | None) -> None:
    """Say what is left out."""
    if folder is None:
        print(f"Only the sets of scikit-learn: neither --data nor {DATA_VARIABLE} is given.", file=sys.stderr)
    for task in tasks:
        for name, attribute in OURS[task].items():
            if name not in METHODS[task]:
                print(f"Without {name} in {task}: this skscn has no {attribute}.", file=sys.stderr)


def write_task(task: str, summaries: list[Summary], out: Path) -> list[Path]:
    """Print the tables of a task, and write them and their picture."""
    for summary in summaries:
        print_table(summary)
    write_csv(summaries, out / f"{task}.csv")
    written = [out / f"{task}.csv"]
    if summaries[0].has_ranks:
        save(draw_ranks(summaries), out / f"{task}_ranks")
        written += [out / f"{task}_ranks{suffix}" for suffix in (".svg", ".png")]
    return written


def main():
    arguments = parse_arguments()
    tasks = list(METHODS) if arguments.task == "both" else [arguments.task]
    print_notes(tasks, arguments.data)
    sets = [data for task in tasks for data in load_sets(task, arguments.data)]
    names = chosen(arguments.sets, [data.name for data in sets], "set")
    sets = [data for data in sets if data.name in names]
    tasks = [task for task in tasks if any(data.task == task for data in sets)]
    wanted = chosen(arguments.methods, [name for task in tasks for name in METHODS[task]], "method")
    methods = {task: [name for name in METHODS[task] if name in wanted] for task in tasks}
    store = KeyedLines(arguments.out / "results.jsonl", KEY)
    try:
        run_missing(store, sets, methods, arguments.splits, arguments.jobs)
    except KeyboardInterrupt:
        print(f"Interrupted. The results so far are in {store.path}; the same command goes on.", file=sys.stderr)
        return 130
    written, everything = [], []
    for task in tasks:
        own = [data for data in sets if data.task == task]
        summaries = [summarise(store, task, metric, own, methods[task], arguments.splits) for metric in METRICS[task]]
        written += write_task(task, summaries, arguments.out)
        everything += summaries
    failed = failures(store, sets, methods, arguments.splits)
    for line in failed:
        print(f"failed: {line}")
    write_markdown(everything, failed, arguments.splits, arguments.out / "index.md")
    print()
    for path in [*written, arguments.out / "index.md"]:
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
