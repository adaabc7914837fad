"""Numbers that are missing at random, and not at random: the network as it is, after medians, and gradient boosting."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from accuracy_parts.sets import load_sets
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline

from skscn import SCNEnsembleRegressor, SCNRegressor

MOST_ROWS = 3000
# How many cells are missing, and whether at random; "large": the larger a value, the likelier it is missing.
CASES = (("none", 0.0), ("random", 0.1), ("random", 0.3), ("large", 0.1), ("large", 0.3))
NATIVE, ENSEMBLE, MEDIANS, BOOSTING = "SCN", "SCN ensemble", "medians + SCN", "HGB"


class Measured(NamedTuple):
    """The test RMSE of a method, in units of the target's standard deviation, on one split."""

    data: str
    kind: str
    share: float
    seed: int
    method: str
    error: float


def methods(seed: int) -> dict[str, Any]:
    """What is compared, with default settings."""
    return {
        NATIVE: SCNRegressor(random_state=seed),
        ENSEMBLE: SCNEnsembleRegressor(random_state=seed),
        MEDIANS: make_pipeline(SimpleImputer(strategy="median"), SCNRegressor(random_state=seed)),
        BOOSTING: HistGradientBoostingRegressor(random_state=seed),
    }


def with_gaps(X: np.ndarray, kind: str, share: float, rng: np.random.Generator) -> np.ndarray:
    """X with this share of its cells missing."""
    rank = X.argsort(axis=0, kind="stable").argsort(axis=0) / len(X)
    likely = 2.0 * share * rank if kind == "large" else share
    return np.where(rng.random(X.shape) < likely, np.nan, X)


def measure(folder: Path | None, sets: list[str], splits: int) -> Iterator[Measured]:
    """All methods on all sets, or on the named ones."""
    for data in load_sets("regression", folder):
        if sets and data.name not in sets:
            continue
        for seed in range(splits):
            rng = np.random.default_rng(seed)
            rows = rng.permutation(len(data.X))[:MOST_ROWS]
            cut = -(-3 * len(rows) // 4)
            for kind, share in CASES:
                X, y = with_gaps(data.X[rows], kind, share, rng), data.y[rows]
                for name, model in methods(seed).items():
                    found = model.fit(X[:cut], y[:cut]).predict(X[cut:])
                    error = np.sqrt(np.mean((found - y[cut:]) ** 2)) / y[cut:].std()
                    yield Measured(data.name, kind, share, seed, name, float(error))


def summary(measured: list[Measured]) -> list[str]:
    """Lines of a table: mean errors of each case, and in how many cases ours are below the others."""
    names = list(methods(0))
    lines = [f"{'set':20} {'missing':12} " + " ".join(f"{name:>13}" for name in names)]
    ratios: dict[tuple[str, str, str], list[float]] = {}
    for data, kind, share in dict.fromkeys((one.data, one.kind, one.share) for one in measured):
        these, label = [one for one in measured if one[:3] == (data, kind, share)], f"{kind} {share:.0%}"
        error = {name: float(np.mean([one.error for one in these if one.method == name])) for name in names}
        lines.append(f"{data:20} {label:12} " + " ".join(f"{error[name]:13.3f}" for name in names))
        for ours, other in ((NATIVE, MEDIANS), (NATIVE, BOOSTING), (ENSEMBLE, BOOSTING)):
            ratios.setdefault((label, ours, other), []).append(error[ours] / error[other])
    for (label, ours, other), some in ratios.items():
        mean, lower = np.exp(np.mean(np.log(some))), sum(ratio < 1.0 for ratio in some)
        lines.append(f"{label:12} {ours} over {other}: {mean:.3f} (geometric mean), below on {lower} of {len(some)}")
    return lines
