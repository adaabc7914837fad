"""The paper's first data set, DB 1, with the paper's search: mean training errors of ten networks."""

import numpy as np
import pytest

from skscn import SCNRegressor


def rmse_after(model, nodes):
    """The training error with this number of nodes, of the target scaled to [0, 1]."""
    history = model.history_
    return history["train_rmse"][history["nodes"] <= nodes][-1] / model.network_.outputs.scale[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("algorithm", "at_25", "at_50"), [("SC-I", 0.11, 0.105), ("SC-II", 0.060, 0.045), ("SC-III", 0.045, 0.012)]
)
def test_db1(db1, algorithm, at_25, at_50):
    models = [
        SCNRegressor(
            algorithm=algorithm, configuration="ladder", scopes=(100, 150, 200), max_nodes=50, random_state=seed
        ).fit(db1.data, db1.target)
        for seed in range(10)
    ]
    assert np.mean([rmse_after(model, 25) for model in models]) <= at_25
    assert np.mean([rmse_after(model, 50) for model in models]) <= at_50
    for model in models:
        span = np.ptp(db1.target)
        test = np.sqrt(np.mean((model.predict(db1.test_data) - db1.test_target) ** 2)) / span
        assert test < 1.5 * rmse_after(model, 50) + 0.005


def nodes_to_tolerance(X, y):
    """Mean over 20 seeds of the nodes that bring the training error to 0.05; no rows held out, as in the paper."""
    models = [SCNRegressor(tol=0.05, early_stopping=False, random_state=seed).fit(X, y) for seed in range(20)]
    assert all(model.stop_reason_ == "tol" for model in models)
    return np.mean([model.n_nodes_ for model in models])


def test_the_default_needs_half_of_the_papers_nodes_on_db1(db1):
    assert nodes_to_tolerance(db1.data, db1.target) <= 19.9 / 2


def test_the_default_is_far_below_the_papers_error_on_db1(db1):
    errors = []
    for seed in range(10):
        model = SCNRegressor(max_nodes=25, early_stopping=False, random_state=seed).fit(db1.data, db1.target)
        errors.append(np.sqrt(np.mean((model.predict(db1.test_data) - db1.test_target) ** 2)) / np.ptp(db1.target))
    assert np.mean(errors) <= 0.005


def test_predictions_stay_sane_far_outside_the_training_range():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 4)), rng.normal(size=300)
    model = SCNRegressor(random_state=0).fit(X, y)
    far = model.predict(np.array([[1e6] * 4, [-1e300] * 4]))
    margin = 0.05 * np.ptp(y) + 1e-9
    assert (far >= y.min() - margin).all()
    assert (far <= y.max() + margin).all()


def test_direct_links_make_linear_targets_easy():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5))
    y = X @ [1.0, -2.0, 3.0, 0.0, 0.5] + 7.0
    linked = SCNRegressor(max_nodes=5, direct_link=True, configuration="ladder", random_state=0).fit(X, y)
    assert linked.n_nodes_ == 0
    np.testing.assert_allclose(linked.predict(X), y)
    network = linked.network_
    slope = network.linear.direct_weights[:, 0] / network.inputs.scale * network.outputs.scale[0]
    np.testing.assert_allclose(slope, [1.0, -2.0, 3.0, 0.0, 0.5], atol=1e-9)


def test_wide_small_tables_are_learnt():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 100))
    assert SCNRegressor(random_state=0).fit(X, 3 * X[:, 0]).score(X, 3 * X[:, 0]) > 0.3


def test_large_whole_weights_weigh_rather_than_count():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(60, 2))
    y = X[:, 0] + 0.2 * rng.normal(size=60)
    weights = rng.integers(9000, 11000, size=60)
    whole, other = (SCNRegressor(random_state=0).fit(X, y, sample_weight=w) for w in (weights, weights / np.pi))
    np.testing.assert_allclose(whole.predict(X), other.predict(X), rtol=1e-6)


def test_rows_without_error_to_climb_on():
    X = np.random.default_rng(0).uniform(size=(5000, 2))
    y = np.zeros(5000)
    y[:3] = 1.0
    for seed in range(3):
        model = SCNRegressor(max_nodes=3, direct_link=False, early_stopping=False, random_state=seed).fit(X, y)
        assert np.isfinite(model.predict(X)).all()
