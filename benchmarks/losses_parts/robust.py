"""Part robust: training targets with outliers, test targets without.

Friedman's function with noise, some targets shifted far to both sides or upwards; DB 1 of the paper, some targets
replaced; tables, some targets replaced by values in the far tails.
"""

from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from accuracy_parts.peers import catboost, lightgbm
from accuracy_parts.sets import DataSet
from accuracy_parts.tables import Row, Table
from sklearn.datasets import make_friedman1
from sklearn.linear_model import HuberRegressor
from sklearn.metrics import root_mean_squared_error
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import SplineTransformer, StandardScaler

from losses_parts.experiments import Experiment, Method, load_tables
from losses_parts.learners import boosting, ensemble, network, own, robustly_scaled
from losses_parts.measuring import fitted
from losses_parts.results import Results, ranked
from skscn.datasets import make_db1

SHARES = (0, 3, 10, 30)
SHIFT = (20.0, 100.0)
FRIEDMAN_ROWS, FRIEDMAN_TEST_ROWS = 1500, 2000
DB1_SHARE, DB1_RANGE = 20, (-1.0, 2.0)
TABLE_SHARE, TABLE_DISTANCE = 10, (5.0, 15.0)
# A row whose weight is below this one counts as recognised.
LOW_WEIGHT = 0.2
SCALED_NOTE = (
    "LightGBM and Huber's regression get targets scaled by median and median absolute deviation, since LightGBM's loss "
    "has a fixed width; apart from that the others have their default parameters."
)


class Rows(NamedTuple):
    """Training rows, those of them whose target is an outlier, and clean test rows."""

    X: np.ndarray
    y: np.ndarray
    planted: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


class Friedman(NamedTuple):
    """Friedman's function with a percentage of the targets shifted."""

    share: int
    one_sided: bool = False

    @property
    def name(self) -> str:
        side = "one-sided" if self.one_sided else "symmetric"
        return f"friedman-{side}-{self.share}" if self.share else "friedman-0"

    def rows(self, seed: int) -> Rows:
        """Rows with noise for training; for testing, the function itself."""
        X, y = make_friedman1(FRIEDMAN_ROWS, noise=1.0, random_state=seed)
        X_test, y_test = make_friedman1(FRIEDMAN_TEST_ROWS, noise=0.0, random_state=1000 + seed)
        rng = np.random.default_rng(seed)
        planted = chosen_rows(rng, len(y), self.share)
        shifts = rng.uniform(*SHIFT, len(y)) * (1.0 if self.one_sided else rng.choice([-1.0, 1.0], len(y)))
        return Rows(X, np.where(planted, y + shifts, y), planted, X_test, y_test)


class DB1(NamedTuple):
    """DB 1 with a percentage of the targets replaced by uniform ones."""

    name: str = "db1"

    def rows(self, seed: int) -> Rows:
        data, rng = make_db1(random_state=seed), np.random.default_rng(seed)
        planted = chosen_rows(rng, len(data.target), DB1_SHARE)
        y = np.where(planted, rng.uniform(*DB1_RANGE, len(planted)), data.target)
        return Rows(data.data, y, planted, data.test_data, data.test_target)


class Spoilt(NamedTuple):
    """A table with a percentage of the training targets replaced by values some interquartile ranges off the median."""

    data: DataSet

    @property
    def name(self) -> str:
        return self.data.name

    def rows(self, seed: int) -> Rows:
        X, X_test, y, y_test = self.data.split(seed)
        rng = np.random.default_rng(seed)
        planted = chosen_rows(rng, len(y), TABLE_SHARE)
        quarter, median, three_quarters = np.percentile(y, [25, 50, 75])
        distance = rng.uniform(*TABLE_DISTANCE, len(y)) * rng.choice([-1.0, 1.0], len(y))
        far = median + distance * (three_quarters - quarter)
        return Rows(X, np.where(planted, far, y), planted, X_test, y_test)


def chosen_rows(rng: np.random.Generator, count: int, share: int) -> np.ndarray:
    """Which rows get an outlier: a percentage of them, at random."""
    planted = np.zeros(count, dtype=bool)
    planted[rng.permutation(count)[: round(count * share / 100)]] = True
    return planted


def measure(case: Any, make: Any, seed: int) -> dict:
    """The error on clean test rows, and what the weights of the training rows say about the outliers."""
    rows, model = case.rows(seed), make(seed)
    result = fitted(model, rows.X, rows.y)
    rmse = root_mean_squared_error(rows.y_test, model.predict(rows.X_test))
    result |= {"rmse": float(rmse), "nrmse": float(rmse / np.std(rows.y_test))}
    return result | recognised(getattr(model, "row_weights_", None), rows.planted)


def recognised(weights: np.ndarray | None, planted: np.ndarray) -> dict[str, float]:
    """The share of the outliers with a low weight, and that of the other rows; nothing without weights."""
    if weights is None:
        return {}
    low = np.asarray(weights) < LOW_WEIGHT
    found = {"recall": float(low[planted].mean())} if planted.any() else {}
    return found | {"false_alarms": float(low[~planted].mean())}


def huber_on_splines(seed: int) -> Any:
    return robustly_scaled(make_pipeline(SplineTransformer(), StandardScaler(), HuberRegressor(max_iter=1000)))


OTHERS = {
    "HGB-absolute": Method(partial(boosting, loss="absolute_error")),
    "LightGBM-huber": Method(lambda seed: robustly_scaled(lightgbm(seed, objective="huber")), package="lightgbm"),
    "CatBoost-MAE": Method(partial(catboost, loss_function="MAE"), package="catboost"),
    "Huber-splines": Method(huber_on_splines),
}
LOSSES = ("welsch", "bisquare", "kde", "huber", "absolute", "squared")
SINGLE = {f"SCN-{loss}": own(partial(network, loss=loss)) for loss in LOSSES}
ON_TABLES = {
    **{name: SINGLE[name] for name in ("SCN-welsch", "SCN-bisquare", "SCN-kde")},
    "SCN-ensemble-welsch": own(partial(ensemble, loss="welsch")),
}


def friedman_cases(folder: Path | None) -> list[Friedman]:
    shifted = [Friedman(share, one_sided) for one_sided in (False, True) for share in SHARES if share]
    return [Friedman(0), *shifted]


def error_table(results: Results, title: str, note: str) -> Table:
    """RMSE by case, in their order, and processor time."""
    means = results.means("rmse")
    rows = [Row(case, values, 4, has_best=True) for case, values in zip(results.cases, means, strict=True)]
    return Table(title, results.methods, [*rows, results.processor_seconds()], [note, *results.two_sided(means)])


def weight_table(results: Results, title: str, note: str = "") -> list[Table]:
    """Shares of rows with a low weight, outliers and others, of the methods that have weights; none if none has."""
    recall, false_alarms = results.means("recall"), results.means("false_alarms")
    weighing = np.isfinite(false_alarms).any(axis=0)
    if not weighing.any():
        return []
    rows = [
        Row(f"{case}: {what}", values[weighing], 4)
        for i, case in enumerate(results.cases)
        for what, values in (("outliers", recall[i]), ("other rows", false_alarms[i]))
        if np.isfinite(values[weighing]).any()
    ]
    methods = [method for method, has in zip(results.methods, weighing, strict=True) if has]
    return [Table(title, methods, rows, [note] if note else [])]


def friedman_tables(results: Results) -> list[Table]:
    note = (
        f"{FRIEDMAN_ROWS} training rows, noise of standard deviation 1, a percentage of the targets shifted by "
        f"{SHIFT[0]:.0f} to {SHIFT[1]:.0f}. The error is that against the function itself, without noise, on "
        f"{FRIEDMAN_TEST_ROWS} test rows. {SCALED_NOTE}"
    )
    title = f"Friedman's function: share of training rows with a weight below {LOW_WEIGHT}"
    return [error_table(results, "Friedman's function with outliers: RMSE", note), *weight_table(results, title)]


def db1_tables(results: Results) -> list[Table]:
    note = f"{DB1_SHARE} % of the training targets are uniform in [{DB1_RANGE[0]:g}, {DB1_RANGE[1]:g}]. {SCALED_NOTE}"
    weights = "Some of the replaced targets are near the right ones and cannot be recognised."
    title = f"DB 1: share of training rows with a weight below {LOW_WEIGHT}"
    return [error_table(results, "DB 1 with outliers: RMSE", note), *weight_table(results, title, weights)]


def table_tables(results: Results) -> list[Table]:
    note = (
        f"{TABLE_SHARE} % of the training targets are {TABLE_DISTANCE[0]:.0f} to {TABLE_DISTANCE[1]:.0f} interquartile "
        "ranges off the median; test targets are clean. RMSE over the standard deviation of the test target. "
        f"{SCALED_NOTE}"
    )
    title = f"Tables: share of training rows with a weight below {LOW_WEIGHT}"
    return [ranked(results, "nrmse", "Tables with outliers: NRMSE", notes=[note]), *weight_table(results, title)]


EXPERIMENTS = [
    Experiment("robust", 3, friedman_cases, SINGLE | OTHERS, measure, friedman_tables),
    Experiment("robust", 3, lambda folder: [DB1()], SINGLE | OTHERS, measure, db1_tables),
    Experiment(
        "robust",
        3,
        lambda folder: [Spoilt(data) for data in load_tables("regression", folder)],
        ON_TABLES | OTHERS,
        measure,
        table_tables,
    ),
]
