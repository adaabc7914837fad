"""Categories, few and many: columns of 0 and 1, means of the target, and what estimators do with them."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import TargetEncoder

from skscn import SCNRegressor
from skscn.tables import TableEncoder

ROWS, TEST_ROWS = 1000, 1000
COUNTS = (8, 20, 40, 100, 300)
# What categories have to do with the target: a constant, a constant and a slope, nothing.
KINDS = ("constant", "slope", "nothing")
STRAIGHT, USUAL = "straight", "0 and 1 for 20"


class Encoded(NamedTuple):
    """The test RMSE with one encoding of a category with so many levels."""

    kind: str
    levels: int
    seed: int
    method: str
    error: float


def made(kind: str, levels: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """A table with four numbers and a category, whose levels have very different frequencies."""
    rng, rows = np.random.default_rng(seed), ROWS + TEST_ROWS
    level = rng.choice(levels, rows, p=rng.dirichlet(np.ones(levels)))
    X, constants, slopes = rng.uniform(-1, 1, size=(rows, 4)), rng.normal(size=levels), rng.normal(size=levels)
    y = np.sin(3 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=rows)
    y += (kind != "nothing") * constants[level] + (kind == "slope") * slopes[level] * X[:, 3]
    return pd.DataFrame({**{f"x{i}": X[:, i] for i in range(4)}, "zone": [f"z{number}" for number in level]}), y


def methods(seed: int) -> dict[str, Any]:
    """Encodings before a network with default settings."""
    means = make_column_transformer((TargetEncoder(), ["zone"]), remainder="passthrough")
    before = {USUAL: TableEncoder(), "0 and 1 for all": TableEncoder(max_categories=1000), "means alone": means}
    network = SCNRegressor(random_state=seed)
    return {STRAIGHT: network, **{name: make_pipeline(step, network) for name, step in before.items()}}


def measure(splits: int) -> Iterator[Encoded]:
    """All encodings of all categories."""
    for kind in KINDS:
        for levels in COUNTS:
            for seed in range(splits):
                X, y = made(kind, levels, seed)
                for name, model in methods(seed).items():
                    wrong = model.fit(X[:ROWS], y[:ROWS]).predict(X[ROWS:]) - y[ROWS:]
                    yield Encoded(kind, levels, seed, name, float(np.sqrt(np.mean(wrong**2))))


def summary(encoded: list[Encoded]) -> list[str]:
    """Lines of a table: errors over those with columns of 0 and 1 for the 20 most frequent categories."""
    names = list(methods(0))
    lines = [f"{'target':10} {'levels':>6} " + " ".join(f"{name:>15}" for name in names)]
    for kind, levels in dict.fromkeys((one.kind, one.levels) for one in encoded):
        these = [one for one in encoded if (one.kind, one.levels) == (kind, levels)]
        errors = {name: np.mean([one.error for one in these if one.method == name]) for name in names}
        lines.append(f"{kind:10} {levels:6} " + " ".join(f"{errors[name] / errors[USUAL]:15.3f}" for name in names))
    return lines
