import numpy as np
import pytest
from scipy import sparse

from skscn import SCNRegressor, network
from skscn.output_weights import ALGORITHMS

RNG = np.random.default_rng(3)
X = RNG.normal(size=(400, 3))
Y = np.column_stack([np.sin(X[:, 0]), X[:, 1] * X[:, 2]])


def fitted(algorithm="SC-III", y=Y, nodes=20):
    return SCNRegressor(
        algorithm=algorithm, max_nodes=nodes, max_candidates=50, window=4, configuration="ladder", random_state=0
    ).fit(X, y)


def test_a_network_predicts_on_its_own():
    model = fitted()
    network = model.network_
    np.testing.assert_array_equal(network.predict(X), model.predict(X))
    low, span = Y.min(axis=0), np.ptp(Y, axis=0)
    z = (X - X.min(axis=0)) / np.ptp(X, axis=0) @ network.weights + network.biases
    np.testing.assert_allclose(network.predict(X), low + span * (1 / (1 + np.exp(-z)) @ network.output_weights))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_staged_predictions_are_those_of_smaller_networks(algorithm):
    stages = list(fitted(algorithm).staged_predict(X))
    assert len(stages) == 20
    for nodes in (1, 7, 20):
        np.testing.assert_allclose(stages[nodes - 1], fitted(algorithm, nodes=nodes).predict(X), atol=1e-8)


def test_staging_is_one_pass(monkeypatch):
    model = fitted()
    rows, scaled = [], network.scaled_with_one
    monkeypatch.setattr(network, "scaled_with_one", lambda X, scaling: (rows.append(len(X)), scaled(X, scaling))[1])
    list(model.staged_predict(X))
    assert sum(rows) == len(X)


def test_one_output_is_one_dimensional():
    network = fitted(y=Y[:, 0]).network_
    assert network.predict(X).shape == (400,)
    assert next(network.staged_predict(X)).shape == (400,)
    assert fitted(y=Y[:, :1]).network_.predict(X).shape == (400, 1)


def test_kinds_of_rows_agree():
    network = fitted().network_
    np.testing.assert_array_equal(network.predict(sparse.csr_array(X)), network.predict(X))
    single = fitted(y=Y.astype(np.float32)).network_.predict(X.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, network.predict(X), atol=1e-4)
    np.testing.assert_array_equal(network.predict(X.tolist()), network.predict(X))


def test_rows_of_another_width_are_refused():
    with pytest.raises(ValueError, match="expects 3 features per row"):
        fitted().network_.predict(X[:, :2])


def test_a_network_without_nodes_predicts_the_constant():
    model = SCNRegressor().fit(X, np.full(400, 2.5))
    assert model.n_nodes_ == 0
    assert model.stop_reason_ == "tol"
    np.testing.assert_array_equal(model.predict(X), 2.5)
    assert list(model.staged_predict(X)) == []
    assert model.transform(X).shape == (400, 0)


def test_predicting_many_rows_holds_no_matrix_of_rows_by_nodes():
    import tracemalloc

    network, many = fitted(y=Y[:, 0]).network_, np.zeros((200_000, 3))
    tracemalloc.start()
    network.predict(many)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200_000 * 8 + 4_000_000
