"""A fit holds the rows, the basis, and little else."""

import tracemalloc

import numpy as np

from skscn import SCNRegressor


def test_a_million_rows_fit_beside_their_basis_in_200_megabytes():
    rows, nodes = 1_000_000, 50
    X = np.random.default_rng(0).random((rows, 20))
    y = np.sin(5.0 * X[:, 0]) + X[:, 1]
    tracemalloc.start()
    model = SCNRegressor(max_nodes=nodes, max_candidates=4, tol=0.0, n_jobs=2, random_state=0).fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert model.n_nodes_ == nodes
    assert peak < rows * nodes * 8 + 200_000_000
