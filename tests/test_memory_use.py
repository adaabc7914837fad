"""A fit holds the rows, the basis, and little else."""

import tracemalloc

import numpy as np
import pytest

from skscn import SCNClassifier, SCNEnsembleClassifier, SCNEnsembleRegressor, SCNRegressor
from skscn.estimators.ensemble.out_of_bag import by_blocks, mean_and_spread


@pytest.mark.slow
def test_a_million_rows_fit_beside_their_basis_in_200_megabytes():
    rows, nodes = 1_000_000, 50
    X = np.random.default_rng(0).random((rows, 20))
    y = np.sin(5.0 * X[:, 0]) + X[:, 1]
    tracemalloc.start()
    settings = {"max_nodes": nodes, "max_candidates": 50, "tol": 0.0, "early_stopping": False}
    model = SCNRegressor(**settings, n_jobs=2, random_state=0).fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert model.n_nodes_ == nodes
    assert peak < rows * nodes * 8 + 200_000_000


RNG = np.random.default_rng(0)
X = RNG.random((200, 4))
Y = np.sin(5.0 * X[:, 0]) + X[:, 1]
SMALL = {"max_nodes": 3, "max_candidates": 4, "random_state": 0}
REGRESSOR = SCNEnsembleRegressor(SCNRegressor(**SMALL), n_members=10, random_state=0).fit(X, Y)
CLASSIFIER = SCNEnsembleClassifier(SCNClassifier(**SMALL), n_members=10, max_features=0.8, random_state=0)
CLASSIFIER.fit(X, (4 * X[:, 0]).astype(int))


@pytest.mark.slow
@pytest.mark.parametrize(
    "predict",
    [
        REGRESSOR.predict,
        lambda rows: REGRESSOR.predict(rows, return_std=True),
        REGRESSOR.predict_interval,
        CLASSIFIER.predict,
        CLASSIFIER.predict_proba,
        SCNClassifier(**SMALL).fit(X, (4 * X[:, 0]).astype(int)).predict_proba,
    ],
    ids=["predict", "std", "interval", "classes", "probabilities", "one network"],
)
def test_predictions_of_many_rows_take_little_more_memory_than_the_answer(predict):
    rows = np.random.default_rng(1).random((200_000, 4))
    few = predict(rows[:10])
    tracemalloc.start()
    answer = predict(rows)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    arrays = answer if isinstance(answer, tuple) else (answer,)
    # Two arrays as large as the answer, and blocks.
    assert peak < 2 * sum(array.nbytes for array in arrays) + 16_000_000
    for array, start in zip(arrays, few if isinstance(few, tuple) else (few,), strict=True):
        np.testing.assert_allclose(array[:10], start, rtol=1e-9)


@pytest.mark.parametrize("model", [REGRESSOR, CLASSIFIER], ids=["regressor", "classifier"])
def test_blocks_of_rows_are_put_together_in_order(model):
    def answer(rows):
        return mean_and_spread(model._responses(rows), model.weights_)

    whole, pieces = by_blocks(X, answer), by_blocks(X, answer, size=7)
    for one, other in zip(whole, pieces, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
