"""Errors and times of models that learn row by row."""

from collections.abc import Iterator
from pathlib import Path
from time import process_time

import numpy as np

from skscn import OnlineSCNRegressor
from stream_parts import results

COLUMNS = ("stream", "method", "rows", "mae", "rmse", "microseconds")
OURS = "OnlineSCNRegressor"
N_SETS = 5


def compare(data: Path | None, seed: int, most: int | None, path: Path) -> None:
    results.start(path, COLUMNS)
    for name, X, y in streams(data, seed, most):
        for method, predict_then_learn in methods(seed).items():
            started = process_time()
            predictions = predict_then_learn(X, y)
            microseconds = (process_time() - started) / len(y) * 1e6
            errors = predictions[1:] - y[1:]
            mae, rmse = float(np.abs(errors).mean()), float(np.sqrt((errors**2).mean()))
            results.add(path, (name, method, len(y), mae, rmse, microseconds))


def streams(data: Path | None, seed: int, most: int | None) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    from river import datasets

    for make in (datasets.ChickWeights, datasets.TrumpApproval):
        rows = list(make())
        yield (
            make.__name__,
            np.array([list(map(float, x.values())) for x, _ in rows]),
            np.array([float(t) for _, t in rows]),
        )
    files = sorted((data / "regression").glob("*.csv"))[:N_SETS] if data else []
    for file in files:
        table = np.genfromtxt(file, delimiter=",", skip_header=1)
        table = table[np.random.default_rng(seed).permutation(len(table))[:most]]
        yield file.stem, table[:, :-1], table[:, -1]


def methods(seed: int) -> dict:
    from river import ensemble, forest, linear_model, neighbors, preprocessing, tree

    scaler = preprocessing.StandardScaler
    adaptive = tree.HoeffdingAdaptiveTreeRegressor
    makers = {
        "linear": lambda: scaler() | linear_model.LinearRegression(),
        "adaptive tree": lambda: scaler() | adaptive(seed=seed),
        "bagged trees": lambda: scaler() | ensemble.BaggingRegressor(adaptive(seed=seed), n_models=10, seed=seed),
        "Mondrian forest": lambda: scaler() | forest.AMFRegressor(seed=seed),
        "the same without scaling": lambda: forest.AMFRegressor(seed=seed),
        "nearest neighbours": lambda: scaler() | neighbors.KNNRegressor(),
    }
    return {OURS: lambda X, y: ours(X, y, seed), **{name: by_river(make) for name, make in makers.items()}}


def ours(X: np.ndarray, y: np.ndarray, seed: int) -> np.ndarray:
    model, predictions = OnlineSCNRegressor(random_state=seed), np.zeros(len(y))
    for row in range(len(y)):
        part = slice(row, row + 1)
        if row:
            predictions[row] = model.predict(X[part])[0]
        model.partial_fit(X[part], y[part])
    return predictions


def by_river(make):
    def predict_then_learn(X: np.ndarray, y: np.ndarray) -> np.ndarray:
        model, predictions = make(), np.zeros(len(y))
        for row, (values, target) in enumerate(zip(X.tolist(), y.tolist(), strict=True)):
            x = dict(enumerate(values))
            predictions[row] = model.predict_one(x) or 0.0
            model.learn_one(x, target)
        return predictions

    return predict_then_learn
