"""Part counts: Poisson deviance on counts whose rates are known, one set with exposures as weights."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from accuracy_parts.tables import Row, Table
from sklearn.datasets import make_friedman1
from sklearn.linear_model import PoissonRegressor
from sklearn.metrics import mean_poisson_deviance
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from losses_parts.experiments import Experiment, Method
from losses_parts.learners import boosting, ensemble, network, own
from losses_parts.measuring import fitted
from losses_parts.results import Results

TRAIN_ROWS, TEST_ROWS = 3000, 10_000
LEARNING_RATES, ITERATIONS = (0.01, 0.02, 0.05, 0.1), (50, 100, 200, 400, 800)
PENALTIES = (1.0, 1e-2, 1e-4)


class Counts(NamedTuple):
    """Rows, their counts per exposure, their exposures (None: all 1), and the rates behind the counts."""

    X: np.ndarray
    y: np.ndarray
    exposure: np.ndarray | None
    rate: np.ndarray


class CountSet(NamedTuple):
    """A simulated set of counts."""

    name: str
    draw: Callable[[int, int], Counts]


def smooth(rows: int, seed: int) -> Counts:
    """The logarithm of the rate is Friedman's function, scaled; five of ten inputs do not matter."""
    X, f = make_friedman1(rows, noise=0.0, random_state=seed)
    rate = np.exp((f - 14.0) / 5.0)
    return Counts(X, np.random.default_rng(seed).poisson(rate).astype(float), None, rate)


def claims(rows: int, seed: int) -> Counts:
    """Claims of policies in force for a part of the year.

    The logarithm of the rate has a curve, a step and an interaction; four of eight inputs do not matter.
    """
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(rows, 8))
    age, power, region, usage = X.T[:4]
    rate = np.exp(-1.5 + 3.0 * (age - 0.6) ** 2 + 0.8 * (power > 0.7) + np.sin(6.0 * region) * usage)
    exposure = rng.uniform(0.05, 1.0, rows)
    return Counts(X, rng.poisson(rate * exposure) / exposure, exposure, rate)


def cases(folder: Path | None) -> list[CountSet]:
    return [CountSet("smooth", smooth), CountSet("claims", claims)]


def measure(case: CountSet, make: Any, seed: int) -> dict:
    """The numbers of a model, or of the best of several, chosen on the test rows."""
    train, test = case.draw(TRAIN_ROWS, seed), case.draw(TEST_ROWS, 1000 + seed)
    models = made if isinstance(made := make(seed), dict) else {"": made}
    results = [measure_model(model, train, test) | ({"best": name} if name else {}) for name, model in models.items()]
    return min(results, key=lambda result: result["deviance"])


def measure_model(model: Any, train: Counts, test: Counts) -> dict:
    """The deviance on counts, the one of the known rates on them, and the one from the known rates."""
    result = fitted(model, train.X, train.y, train.exposure)
    predicted = model.predict(test.X)
    return result | {
        "deviance": float(mean_poisson_deviance(test.y, predicted, sample_weight=test.exposure)),
        "of_the_rates": float(mean_poisson_deviance(test.y, test.rate, sample_weight=test.exposure)),
        "from_the_rates": float(mean_poisson_deviance(test.rate, predicted, sample_weight=test.exposure)),
    }


def boosting_grid(seed: int) -> dict[str, Any]:
    return {
        f"learning_rate={rate}, max_iter={iterations}": boosting(
            seed, loss="poisson", learning_rate=rate, max_iter=iterations, early_stopping=False
        )
        for rate in LEARNING_RATES
        for iterations in ITERATIONS
    }


def linear_grid(seed: int) -> dict[str, Any]:
    return {
        f"alpha={alpha:g}": make_pipeline(StandardScaler(), PoissonRegressor(alpha=alpha, max_iter=1000))
        for alpha in PENALTIES
    }


METHODS = {
    "SCN": own(partial(network, loss="poisson")),
    "SCN-ensemble": own(partial(ensemble, loss="poisson")),
    "HGB-best": Method(boosting_grid),
    "PoissonRegressor-best": Method(linear_grid),
}


def tables(results: Results) -> list[Table]:
    means = {name: results.means(name) for name in ("deviance", "of_the_rates", "from_the_rates")}
    rows = []
    for i, case in enumerate(results.cases):
        rows += [
            Row(f"{case}: deviance", means["deviance"][i], 4, has_best=True),
            Row(f"{case}: deviance of the known rates", means["of_the_rates"][i], 4),
            Row(f"{case}: deviance from the known rates", means["from_the_rates"][i], 4, has_best=True),
        ]
    notes = [NOTE, *results.two_sided(means["from_the_rates"])]
    return [Table("Counts: Poisson deviance", results.methods, [*rows, results.processor_seconds()], notes)]


NOTE = (
    f"{TRAIN_ROWS} training rows, {TEST_ROWS} test rows; claims are weighted by exposure. Of boosting the best of "
    f"{len(LEARNING_RATES) * len(ITERATIONS)} combinations of learning rate and iterations is shown, and of the linear "
    f"model the best of {len(PENALTIES)} penalties, both chosen on the test rows, which is in their favour; the time "
    "is that of the best alone."
)
EXPERIMENTS = [Experiment("counts", 3, cases, METHODS, measure, tables)]
