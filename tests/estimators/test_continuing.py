"""Early stopping, warm start and callbacks: readers of growth that must not change it."""

import numpy as np
import pytest
import sklearn
from sklearn.datasets import load_iris, make_friedman1

from skscn import SCNClassifier, SCNRegressor
from skscn.output_weights import ALGORITHMS

X, y = make_friedman1(300, noise=1.0, random_state=0)
FAST = {"max_candidates": 40, "configuration": "ladder", "random_state": 0}


def same_network(one, other):
    for name in ("weights", "biases", "output_weights", "coefficients"):
        np.testing.assert_array_equal(getattr(one.network_, name), getattr(other.network_, name))


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("nodes_per_step", [1, 4])
@pytest.mark.parametrize("early_stopping", [False, True, "gcv", "aic", "bic"])
@pytest.mark.parametrize("configuration", ["ladder", "polished"])
def test_thirty_nodes_and_then_sixty_are_sixty_in_one_go(algorithm, nodes_per_step, early_stopping, configuration):
    parameters = {
        **FAST,
        "algorithm": algorithm,
        "nodes_per_step": nodes_per_step,
        "early_stopping": early_stopping,
        "configuration": configuration,
    }
    continued = SCNRegressor(max_nodes=30, warm_start=True, **parameters).fit(X, y)
    continued.set_params(max_nodes=60).fit(X, y)
    at_once = SCNRegressor(max_nodes=60, **parameters).fit(X, y)
    same_network(continued, at_once)
    for name in at_once.history_.dtype.names:
        if name != "seconds":
            np.testing.assert_array_equal(continued.history_[name], at_once.history_[name])


def test_early_stopping_may_begin_with_a_warm_start():
    model = SCNRegressor(max_nodes=12, warm_start=True, **FAST).fit(X, y)
    model.set_params(max_nodes=60, early_stopping=True).fit(X, y)
    assert model.n_nodes_ > 5
    assert not np.isnan(model.history_["validation_rmse"]).any()
    assert model.score(X, y) > 0.6


def test_warm_start_works_without_a_seed():
    model = SCNRegressor(max_nodes=6, nodes_per_step=1, warm_start=True, max_candidates=40, early_stopping=False)
    model.fit(X, y)
    first = model.network_.weights
    model.set_params(max_nodes=9).fit(X, y)
    np.testing.assert_array_equal(model.network_.weights[:, :6], first)
    assert model.n_nodes_ == 9


def test_without_warm_start_fit_starts_anew():
    model = SCNRegressor(max_nodes=5, **FAST).fit(X, y)
    same_network(model.fit(X, y), SCNRegressor(max_nodes=5, **FAST).fit(X, y))


def test_warm_start_refuses_what_it_cannot_continue():
    model = SCNRegressor(max_nodes=10, warm_start=True, **FAST).fit(X, y)
    with pytest.raises(ValueError, match="max_nodes=5 is below the 10 nodes"):
        model.set_params(max_nodes=5).fit(X, y)
    with pytest.raises(ValueError, match="expecting 10 features"):
        model.set_params(max_nodes=20).fit(X[:, :3], y)
    with pytest.raises(ValueError, match="same number of outputs"):
        model.fit(X, np.column_stack([y, y]))
    with pytest.raises(ValueError, match="layer, activation, loss and scaling"):
        model.set_params(activation="sine").fit(X, y)
    with pytest.raises(ValueError, match="activation, loss and scaling"):
        model.set_params(activation="sigmoid", scaling=None).fit(X, y)
    with pytest.raises(ValueError, match="data it was grown on"):
        model.set_params(scaling="minmax").fit(np.zeros_like(X), y)
    own = SCNRegressor(activation=lambda z: np.tanh(z), max_nodes=3, warm_start=True, **FAST).fit(X, y)
    with pytest.raises(ValueError, match="layer, activation, loss and scaling"):
        own.set_params(activation=lambda z: np.sin(z)).fit(X, y)
    rows, classes = load_iris(return_X_y=True)
    classifier = SCNClassifier(max_nodes=5, warm_start=True, **FAST).fit(rows, classes)
    with pytest.raises(ValueError, match="same classes"):
        classifier.fit(rows, classes + 1)


def test_early_stopping_keeps_the_best_prefix():
    model = SCNRegressor(early_stopping=True, max_nodes=200, n_iter_no_change=5, **FAST).fit(X, y)
    assert model.stop_reason_ == "early stopping"
    best = model.history_["validation_rmse"].argmin()
    assert model.n_nodes_ == model.history_["nodes"][best]
    assert model.n_iter_ == best + 1 + 5
    X_fresh, y_fresh = make_friedman1(2000, noise=1.0, random_state=1)
    overgrown = SCNRegressor(max_nodes=200, **FAST).fit(X, y)
    assert model.score(X_fresh, y_fresh) > overgrown.score(X_fresh, y_fresh)


def test_the_validation_error_is_that_of_the_network_on_the_rows_held_out():
    weights = np.random.default_rng(0).integers(1, 9, size=300)
    model = SCNRegressor(early_stopping=True, max_nodes=12, validation_fraction=0.3, **FAST).fit(X, y, weights)
    held_out = model.held_out_
    assert len(held_out) == 90
    errors = [
        np.sqrt(np.average((p - y[held_out]) ** 2, weights=weights[held_out]))
        for p in model.staged_predict(X[held_out])
    ]
    kept = model.history_["validation_rmse"][: model.n_nodes_]
    np.testing.assert_allclose(kept, errors, rtol=1e-6)


@pytest.mark.parametrize(
    ("criterion", "score"),
    [
        ("gcv", lambda squares, degrees: squares / (1 - degrees / 300) ** 2),
        ("aic", lambda squares, degrees: 300 * np.log(squares) + 2 * degrees),
        ("bic", lambda squares, degrees: 300 * np.log(squares) + np.log(300) * degrees),
    ],
)
def test_a_criterion_chooses_the_prefix_of_its_formula(criterion, score):
    model = SCNRegressor(early_stopping=criterion, max_nodes=120, n_iter_no_change=5, **FAST).fit(X, y)
    scores = score(model.history_["train_rmse"] ** 2, 2.0 * model.history_["nodes"])
    assert model.n_nodes_ == model.history_["nodes"][scores.argmin()] < model.history_["nodes"][-1]
    assert model.stop_reason_ == "early stopping"
    assert len(model.held_out_) == 0


def test_a_few_rows_are_not_held_out_unless_asked_for():
    assert len(SCNRegressor(max_nodes=5, random_state=0).fit(X[:90], y[:90]).held_out_) == 0
    assert len(SCNRegressor(max_nodes=5, early_stopping=True, random_state=0).fit(X[:90], y[:90]).held_out_) == 9
    assert len(SCNRegressor(max_nodes=5, random_state=0).fit(X, y).held_out_) == 30


def test_probabilities_belong_to_the_nodes_that_are_kept():
    rows, classes = load_iris(return_X_y=True)
    parameters = {"early_stopping": True, "n_iter_no_change": 40, "max_nodes": 60, "loss": "squared", **FAST}
    model = SCNClassifier(**parameters).fit(rows, classes)
    assert model.n_nodes_ < model.history_["nodes"][-1]
    exact = SCNClassifier(**{**parameters, "max_nodes": model.n_nodes_}).fit(rows, classes)
    np.testing.assert_allclose(model.predict_proba(rows), exact.predict_proba(rows), atol=1e-6)


def test_held_out_rows_stay_sparse():
    import tracemalloc

    from scipy import sparse

    wide = sparse.random_array((600, 5000), density=0.001, format="csr", random_state=0)
    tracemalloc.start()
    SCNRegressor(early_stopping=True, validation_fraction=0.5, max_nodes=3, **FAST).fit(wide, np.arange(600.0))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 300 * 5000 * 8


def test_every_class_is_held_out_where_possible():
    from skscn.fit.data import split_rows

    labels = np.repeat([0, 1, 2], [80, 15, 5])
    train, held_out = split_rows(100, 0.2, labels, seed=0)
    assert set(labels[held_out]) == {0, 1, 2}
    assert sorted([*train, *held_out]) == list(range(100))
    lonely = np.repeat([0, 1], [99, 1])
    assert len(split_rows(100, 0.2, lonely, seed=0)[1]) == 20


def test_too_few_rows_to_hold_any_out():
    with pytest.raises(ValueError, match="leaves none of n_samples=1"):
        SCNRegressor(early_stopping=True).fit(X[:1], y[:1])


if hasattr(sklearn, "callback") or tuple(map(int, sklearn.__version__.split(".")[:2])) >= (1, 9):
    from sklearn.callback import ScoringMonitor

    class StopAt:
        """A callback that ends growth, and looks at the estimator as it would be."""

        def __init__(self, nodes):
            self.nodes, self.seen = nodes, []

        def setup(self, estimator, context):
            pass

        def teardown(self, estimator, context):
            pass

        def on_fit_task_begin(self, estimator, context):
            pass

        def on_fit_task_end(self, estimator, context, *, fitted_estimator):
            if context.task_name == "step":
                self.seen.append(fitted_estimator.n_nodes_)
            return fitted_estimator.n_nodes_ >= self.nodes

    def test_a_callback_can_end_growth():
        callback = StopAt(7)
        model = SCNRegressor(max_nodes=20, **FAST).set_callbacks(callback).fit(X, y)
        assert model.stop_reason_ == "callback"
        assert model.n_nodes_ == 7
        assert callback.seen == [1, 2, 3, 4, 5, 6, 7]
        same_network(model, SCNRegressor(max_nodes=7, **FAST).fit(X, y))

    def test_scikit_learns_scoring_monitor_follows_growth():
        monitor = ScoringMonitor(scoring="r2")
        SCNRegressor(max_nodes=6, **FAST).set_callbacks(monitor).fit(X, y)
        log = monitor.get_logs().data_as_pandas
        scores = log["r2"][-6:]
        assert scores.is_monotonic_increasing
        assert scores.iloc[-1] > 0.5


def test_short_steps_at_the_end_are_grown_again():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(400, 3))
    Y = np.column_stack([np.sin(5 * X[:, 0]), X[:, 1] * X[:, 2]])
    parameters = {
        "configuration": "pooled",
        "nodes_per_step": 3,
        "max_candidates": 40,
        "early_stopping": False,
        "tol": 0,
    }
    for seed in range(6):
        whole = SCNRegressor(max_nodes=14, random_state=seed, **parameters).fit(X, Y)
        for first in (2, 4, 7):
            model = SCNRegressor(max_nodes=first, warm_start=True, random_state=seed, **parameters).fit(X, Y)
            model.set_params(max_nodes=14).fit(X, Y)
            np.testing.assert_array_equal(model.network_.weights, whole.network_.weights)
