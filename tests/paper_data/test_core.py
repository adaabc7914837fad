"""Networks on the paper's real data sets; errors on the scale [0, 1]."""

import numpy as np
import pytest

from skscn import DeepSCNRegressor, SCNRegressor


def errors(model, X_train, X_test, y_train, y_test):
    span = np.ptp(y_train)
    return [np.sqrt(np.mean((model.predict(X) - y) ** 2)) / span for X, y in ((X_train, y_train), (X_test, y_test))]


@pytest.mark.parametrize(
    ("algorithm", "low", "high"), [("SC-I", 0.085, 0.105), ("SC-II", 0, 0.047), ("SC-III", 0, 0.043)]
)
def test_stock(split, algorithm, low, high):
    data = split("stock", seed=0)
    results = [
        errors(
            SCNRegressor(algorithm=algorithm, configuration="ladder", max_nodes=25, random_state=seed).fit(
                data[0], data[2]
            ),
            *data,
        )
        for seed in range(10)
    ]
    train, test = np.mean(results, axis=0)
    assert low <= train <= high
    assert 0.8 * train <= test <= 1.2 * train


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["SC-I", "SC-II", "SC-III"])
@pytest.mark.parametrize("name", ["concrete", "compactiv"])
def test_no_network_fails_on_unseen_rows(split, name, algorithm):
    tests = []
    for seed in range(12):
        data = split(name, seed)
        model = SCNRegressor(algorithm=algorithm, configuration="ladder", max_nodes=100, random_state=seed).fit(
            data[0], data[2]
        )
        tests.append(errors(model, *data)[1])
    assert max(tests) <= 1.5 * np.median(tests)


def test_the_default_needs_half_of_the_papers_nodes_on_stock(split):
    X, _, y, _ = split("stock", seed=0)
    models = [SCNRegressor(tol=0.05, early_stopping=False, random_state=seed).fit(X, y) for seed in range(20)]
    assert np.mean([model.n_nodes_ for model in models]) <= 16.4 / 2


@pytest.mark.slow
@pytest.mark.parametrize("inputs", ["previous", "all", "output"])
@pytest.mark.parametrize("name", ["concrete", "compactiv"])
def test_no_deep_network_fails_on_unseen_rows(split, name, inputs):
    """Five layers of twenty nodes, whether or not they are worth it; on at most 2000 rows, to save time."""
    tests = []
    for seed in range(8):
        data = split(name, seed)
        model = DeepSCNRegressor(max_nodes=100, inputs=inputs, early_stopping=False, random_state=seed)
        tests.append(errors(model.fit(data[0][:2000], data[2][:2000]), *data)[1])
        assert len(model.network_.layers) == 5
    assert max(tests) <= 1.5 * np.median(tests)
