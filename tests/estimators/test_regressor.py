import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_diabetes, make_friedman1
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, HalvingGridSearchCV, cross_validate, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skscn import ACTIVATIONS, SCNEnsembleRegressor, SCNRegressor
from skscn.output_weights import ALGORITHMS
from skscn.search import Free

X, y = make_friedman1(400, n_features=6, noise=0.1, random_state=0)
FAST = {"max_nodes": 15, "max_candidates": 40, "configuration": "ladder", "random_state": 0}


def test_fitted_attributes():
    model = SCNRegressor(**FAST).fit(X, y)
    assert model.n_nodes_ == model.network_.n_nodes == model.history_["nodes"][-1] == 15
    assert model.n_iter_ == len(model.history_) == 15
    assert model.n_features_in_ == 6
    assert model.stop_reason_ == "max_nodes"
    assert model.history_.dtype.names == (
        "nodes",
        "scope",
        "contraction",
        "slack",
        "train_rmse",
        "validation_rmse",
        "candidates",
        "seconds",
        "round",
        "polished",
    )
    assert np.isnan(model.history_["validation_rmse"]).all()
    assert set(model.history_["scope"]) <= set(model.scopes)
    assert set(model.history_["contraction"]) <= set(model.contractions)
    assert (model.history_["candidates"] % 40 == 0).all()
    assert (model.history_["seconds"] > 0).all()


def test_it_learns_unseen_rows():
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    assert SCNRegressor(max_nodes=60, random_state=0).fit(X_train, y_train).score(X_test, y_test) > 0.9


def test_many_outputs_are_learnt_together():
    Y = np.column_stack([y, -2 * y + 3, X[:, 0]])
    model = SCNRegressor(**FAST).fit(X, Y)
    assert model.predict(X).shape == (400, 3)
    assert model.network_.output_weights.shape == (15, 3)
    assert model.score(X, Y) > 0.6


@pytest.mark.parametrize("activation", [*ACTIVATIONS, np.arctan, ACTIVATIONS["sine"]])
def test_activations_by_name_function_or_instance(activation):
    model = SCNRegressor(activation=activation, **FAST).fit(X, y)
    assert model.score(X, y) > 0.5


def test_a_configuration_can_be_passed():
    free = SCNRegressor(**{**FAST, "configuration": Free((5.0,), (0.9,), 10)}).fit(X, y)
    named = SCNRegressor(**{**FAST, "configuration": "free", "scopes": (5.0,)}).fit(X, y)
    np.testing.assert_array_equal(free.network_.weights, named.network_.weights)
    assert set(free.history_["contraction"]) == {1.0}


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_step_adds_a_block_of_distinct_nodes(algorithm):
    parameters = {"nodes_per_step": 10, "window": 2, "configuration": "ladder", "random_state": 0}
    model = SCNRegressor(algorithm=algorithm, max_nodes=35, **parameters).fit(X, y)
    steps = np.diff(model.history_["nodes"], prepend=0)
    # Of a block, one or the other node may be refused.
    assert steps.sum() == 35
    assert steps[:-1].min() >= 8
    assert steps.max() <= 10
    assert len(np.unique(model.network_.weights, axis=1).T) == 35


def test_several_nodes_a_step_are_cheaper_and_almost_as_good():
    parameters = {"max_nodes": 11, "max_candidates": 100, "configuration": "ladder", "random_state": 0}
    model = SCNRegressor(nodes_per_step=4, **parameters).fit(X, y)
    single = SCNRegressor(**parameters).fit(X, y)
    assert model.history_["train_rmse"][-1] < 1.5 * single.history_["train_rmse"][-1]
    assert model.history_["candidates"].sum() < single.history_["candidates"].sum()


def test_tol_ends_growth():
    model = SCNRegressor(tol=0.1, configuration="ladder", random_state=0).fit(X, y)
    assert model.stop_reason_ == "tol"
    *_, before, last = model.history_["train_rmse"] / model.network_.outputs.scale[0]
    assert last <= 0.1 < before


def test_sparse_rows_give_the_network_of_dense_rows():
    rows = X * (np.random.default_rng(0).random(X.shape) < 0.3)
    dense, scattered = SCNRegressor(**FAST).fit(rows, y), SCNRegressor(**FAST).fit(sparse.csr_array(rows), y)
    np.testing.assert_array_equal(dense.network_.output_weights, scattered.network_.output_weights)
    np.testing.assert_array_equal(dense.predict(rows), scattered.predict(sparse.csr_array(rows)))


def test_single_precision_stays_single_and_agrees():
    single = SCNRegressor(**FAST).fit(X.astype(np.float32), y.astype(np.float32))
    assert single.predict(X.astype(np.float32)).dtype == np.float32
    assert single.transform(X.astype(np.float32)).dtype == np.float32
    np.testing.assert_allclose(single.predict(X), SCNRegressor(**FAST).fit(X, y).predict(X), atol=0.05)


def test_predictions_keep_the_digits_of_the_target():
    rows, target = X.astype(np.float32), 1.6e9 + 10.0 * np.sin(X[:, 0])
    model = SCNRegressor(**FAST).fit(rows, target)
    assert model.predict(rows).dtype == np.float64
    assert model.score(rows, target) > 0.9


def test_weights_count_rows():
    counts = np.random.default_rng(0).integers(0, 4, size=400)
    weighted = SCNRegressor(**FAST).fit(X, y, sample_weight=counts)
    repeated = SCNRegressor(**FAST).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-6)


def test_the_unit_of_the_weights_does_not_matter():
    weights = np.random.default_rng(0).random(400) + 0.1
    one, other = (SCNRegressor(**FAST).fit(X, y, sample_weight=w) for w in (weights, weights / weights.sum()))
    np.testing.assert_allclose(one.predict(X), other.predict(X), rtol=1e-6)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_with_names(frame):
    names = [f"sensor {i}" for i in range(6)]
    table = frame(dict(zip(names, X.T, strict=True)))
    model = SCNRegressor(**FAST).fit(table, y)
    assert model.feature_names_in_.tolist() == names
    np.testing.assert_allclose(model.predict(table), SCNRegressor(**FAST).fit(X, y).predict(X), rtol=1e-9)


def test_set_output_names_the_nodes():
    model = SCNRegressor(**FAST).set_output(transform="pandas").fit(X, y)
    hidden = model.transform(X)
    assert isinstance(hidden, pd.DataFrame)
    assert hidden.columns[0] == "scnregressor0"
    assert hidden.shape == (400, 15)


def test_hidden_nodes_are_features_for_others():
    stacked = make_pipeline(SCNRegressor(**FAST), Ridge(1e-3)).fit(X, y)
    assert stacked.score(X, y) > 0.7


def test_metadata_routing_carries_weights():
    weights = np.r_[np.ones(200), np.zeros(200)]
    with config_context(enable_metadata_routing=True):
        model = SCNRegressor(**FAST).set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=True), model)
        pipeline.fit(X, y, sample_weight=weights)
        scores = cross_validate(model, X, y, params={"sample_weight": np.ones(400)}, error_score="raise")
    half = SCNRegressor(**FAST).fit(X[:200], y[:200])
    np.testing.assert_allclose(pipeline.predict(X), half.predict(X), rtol=1e-6)
    assert len(scores["test_score"]) == 5


def test_grid_search_and_cloning():
    search = GridSearchCV(SCNRegressor(**FAST), {"algorithm": ["SC-I", "SC-III"], "window": [3]}, cv=3).fit(X, y)
    assert search.best_params_["algorithm"] == "SC-III"
    assert clone(search.best_estimator_).get_params() == search.best_estimator_.get_params()


def test_halving_search_with_nodes_as_resource():
    search = HalvingGridSearchCV(
        SCNRegressor(max_candidates=20, random_state=0),
        {"activation": ["sigmoid", "tanh"]},
        resource="max_nodes",
        max_resources=12,
        min_resources=3,
        factor=2,
        cv=3,
        random_state=0,
    ).fit(X, y)
    assert search.best_estimator_.max_nodes > 3


def test_the_demo_of_the_readme_works_on_unseen_rows():
    rows, target = load_diabetes(return_X_y=True)
    rows_train, rows_test, train, test = train_test_split(rows, target, random_state=0)
    scores = [SCNRegressor(random_state=seed).fit(rows_train, train).score(rows_test, test) for seed in range(5)]
    assert np.mean(scores) > 0.3


def counts(n_rows=300):
    rows = np.random.default_rng(0).uniform(size=(n_rows, 3))
    return rows, np.random.default_rng(1).poisson(np.exp(4.0 * rows[:, 0] - 2.0))


@pytest.mark.parametrize("target_scale", [1.0, 1e-9, 7e8])
@pytest.mark.parametrize("loss", ["squared", "quantile", "huber"])
def test_where_no_target_is_negative_no_prediction_is(loss, target_scale):
    rows, targets = counts()
    model = SCNRegressor(loss=loss, max_nodes=30, early_stopping=False, alpha=0.0, random_state=0)
    model.fit(rows, target_scale * targets)
    far = 5.0 * np.random.default_rng(2).normal(size=(2000, 3))
    assert model.predict(far).min() >= 0.0
    assert model.predict(rows.astype(np.float32)).min() >= 0.0
    signed = clone(model).fit(rows, target_scale * (targets - 1.0))
    assert signed.predict(far).min() < 0.0


def test_predictions_stay_non_negative_until_a_target_is_negative():
    rows, targets = counts()
    model = SCNRegressor(max_nodes=30, early_stopping=False, alpha=0.0, random_state=0).partial_fit(rows, targets)
    far = 5.0 * np.random.default_rng(2).normal(size=(2000, 3))
    for start in range(0, 60, 20):
        model.partial_fit(rows[start : start + 20], 0.5 * targets[start : start + 20])
        assert model.predict(far).min() >= 0.0
    model.partial_fit(rows[:20], targets[:20] - 5.0)
    assert model.predict(far).min() < 0.0


def test_intervals_of_non_negative_targets():
    rows, targets = counts()
    ensemble = SCNEnsembleRegressor(SCNRegressor(max_nodes=10), n_members=5, random_state=0)
    lower, upper = ensemble.fit(rows, targets).predict_interval(rows, 0.95)
    assert lower.min() == 0.0
    assert np.mean((lower <= targets) & (targets <= upper)) > 0.9
    assert ensemble.predict_quantiles(rows, [0.01, 0.5]).min() == 0.0
    both = np.column_stack([targets, targets - 10.0])
    lower, _ = ensemble.fit(rows, both).predict_interval(rows, 0.95)
    assert lower[:, 0].min() == 0.0
    assert lower[:, 1].min() < -10.0
