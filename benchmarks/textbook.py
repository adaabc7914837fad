"""Fits against a literal reading of the paper's Algorithm SC-III: one candidate at a time, a pseudo-inverse per node.

usage: ./run bench textbook [--rows 2000] [--nodes 30]
"""

import argparse
from itertools import islice
from time import perf_counter

import numpy as np

from skscn import SCNRegressor

SCOPES = (1, 5, 15, 30, 50, 100, 150, 200)
CONTRACTIONS = (0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999)


def textbook(X, T, max_nodes, max_candidates, rng):
    """Training RMSE after ``max_nodes`` nodes, or after as many as there are."""
    errors = [np.sqrt(np.mean(T**2)), *islice(grow(X, T, max_candidates, rng), max_nodes)]
    return errors[-1]


def grow(X, T, max_candidates, rng):
    """Training RMSE after each node, with the residual T - H beta, until there is no candidate."""
    H, e = np.zeros((len(X), 0)), T
    while (h := configure(X, e, H.shape[1] + 1, max_candidates, rng)) is not None:
        H = np.column_stack([H, h])
        e = T - H @ (np.linalg.pinv(H) @ T)
        yield np.sqrt(np.mean(e**2))


def configure(X, e, L, max_candidates, rng):
    for scope in SCOPES:
        pool = []
        for _ in range(max_candidates):
            w, b = rng.uniform(-scope, scope, X.shape[1]), rng.uniform(-scope, scope)
            h = 1.0 / (1.0 + np.exp(-(X @ w + b)))
            pool.append(((e @ h) ** 2 / (h @ h), h))
        for r in CONTRACTIONS:
            mu = (1 - r) / (L + 1)
            slack = [score - (1 - r - mu) * (e @ e) for score, _ in pool]
            best = int(np.argmax(slack))
            if slack[best] >= 0:
                return pool[best][1]
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--nodes", type=int, default=30)
    arguments = parser.parse_args()
    rng = np.random.default_rng(0)
    X = rng.random((arguments.rows, 10))
    y = np.sin(4 * X[:, 0]) * X[:, 1] + X[:, 2] ** 2
    T = (y - y.min()) / np.ptp(y)
    started = perf_counter()
    literal_rmse = textbook(X, T, arguments.nodes, 200, rng)
    literal = perf_counter() - started
    print(f"{arguments.rows} rows, 10 inputs, {arguments.nodes} nodes")
    print(f"textbook   {literal:8.2f} s   RMSE {literal_rmse:.5f}")
    for algorithm in ("SC-I", "SC-II", "SC-III"):
        model = SCNRegressor(algorithm=algorithm, configuration="ladder", max_nodes=arguments.nodes, random_state=0)
        started = perf_counter()
        model.fit(X, y)
        ours = perf_counter() - started
        rmse = model.history_["train_rmse"][-1] / np.ptp(y)
        print(f"{algorithm:10s} {ours:8.2f} s   RMSE {rmse:.5f}   {literal / ours:.0f} times as fast")


if __name__ == "__main__":
    main()
