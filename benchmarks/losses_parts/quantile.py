"""Part quantile: three quantiles of the target, given the inputs, on tables."""

from functools import partial
from typing import Any

import numpy as np
from accuracy_parts.peers import lightgbm
from accuracy_parts.sets import DataSet
from accuracy_parts.tables import Row, Table
from sklearn.metrics import mean_pinball_loss

from losses_parts.experiments import Experiment, Method, load_tables
from losses_parts.learners import boosting, network, own
from losses_parts.measuring import fitted
from losses_parts.results import Results, column_means, ranked
from skscn import SCNEnsembleRegressor

LEVELS = (0.05, 0.5, 0.95)


class OnePerLevel:
    """A model for each level, fitted one after the other."""

    def __init__(self, make: Any, seed: int):
        self.models = [make(seed, level) for level in LEVELS]

    def fit(self, X, y):
        for model in self.models:
            model.fit(X, y)
        return self

    def predict_quantiles(self, X, levels):
        return np.column_stack([model.predict(X) for model in self.models])


def measure(data: DataSet, make: Any, seed: int) -> dict:
    """Pinball losses, coverage and width of the band, and crossings; quantiles are scored as they come, not sorted."""
    X, X_test, y, y_test = data.split(seed)
    model = make(seed)
    result = fitted(model, X, y)
    return result | scores(y_test, np.asarray(model.predict_quantiles(X_test, LEVELS)))


def scores(y: np.ndarray, quantiles: np.ndarray) -> dict[str, float]:
    """The numbers of predicted quantiles (rows, levels); losses and widths over the standard deviation of y."""
    if quantiles.shape != (len(y), len(LEVELS)):
        raise ValueError(f"Quantiles of shape {quantiles.shape} instead of {(len(y), len(LEVELS))}.")
    losses = {
        f"pinball_{level}": float(mean_pinball_loss(y, quantiles[:, i], alpha=level) / np.std(y))
        for i, level in enumerate(LEVELS)
    }
    lower, upper = quantiles[:, 0], quantiles[:, -1]
    return losses | {
        "coverage": float(np.mean((lower <= y) & (y <= upper))),
        "width": float(np.mean(upper - lower) / np.std(y)),
        "crossing": float(np.mean(np.diff(quantiles, axis=1) < 0)),
    }


def of_level(name: str, make: Any) -> Any:
    """From the seed to a model for each level; the level is given by that name."""
    return partial(OnePerLevel, lambda seed, level: make(seed, **{name: level}))


METHODS = {
    "SCN": own(of_level("quantile", partial(network, loss="quantile"))),
    "SCN-ensemble": own(lambda seed: SCNEnsembleRegressor(random_state=seed)),
    "HGB": Method(of_level("quantile", partial(boosting, loss="quantile"))),
    "LightGBM": Method(of_level("alpha", partial(lightgbm, objective="quantile")), package="lightgbm"),
}


def tables(results: Results) -> list[Table]:
    note = "Pinball loss over the standard deviation of the test target; processor time of all three quantiles."
    pinball = [
        ranked(
            results, f"pinball_{level}", f"Quantile {level}: pinball loss", notes=[note] if level == LEVELS[0] else []
        )
        for level in LEVELS
    ]
    return [*pinball, band(results)]


def band(results: Results) -> Table:
    """Coverage by set, furthest below its nominal value first, and its average."""
    coverage = results.means("coverage")
    order = np.argsort(np.fmin.reduce(coverage, axis=1), kind="stable")
    off = np.abs(coverage - (LEVELS[-1] - LEVELS[0]))
    rows = [
        *(Row(results.cases[i], coverage[i], 3) for i in order),
        results.row("mean coverage", "coverage", 3),
        Row("mean distance from nominal", column_means(off), 3, has_best=True),
        Row("furthest from nominal", np.fmax.reduce(off, axis=0), 3, has_best=True),
        results.row("width over standard deviation", "width", 3),
        results.row("share of crossing pairs", "crossing", 4),
    ]
    note = "Pairs are neighbouring quantiles of a row: two pairs in each row."
    return Table(f"Band of {LEVELS[-1] - LEVELS[0]:.0%}: coverage", results.methods, rows, [note])


EXPERIMENTS = [Experiment("quantile", 3, lambda folder: load_tables("regression", folder), METHODS, measure, tables)]
