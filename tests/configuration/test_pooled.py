import numpy as np
import pytest

from skscn import ACTIVATIONS, SCNRegressor
from skscn.configuration import pooled
from skscn.configuration.pooled import _Search, draw_by_data
from skscn.output_weights import LeastSquares
from skscn.rows import MemoryRows
from skscn.scaling import scale_inputs

RNG = np.random.default_rng(5)
X, T, P = RNG.uniform(size=(300, 3)), RNG.normal(size=(300, 2)), RNG.integers(1, 4, size=300).astype(float)


def grown(activation="sigmoid", weights=None, nodes=6):
    """Rows with a few nodes in the basis."""
    rows = MemoryRows(
        X, T, activation=ACTIVATIONS[activation], scaling=scale_inputs("minmax", X), sample_weight=weights
    )
    rule = LeastSquares(2)
    for _ in range(nodes):
        rule.append(rows, RNG.uniform(-5, 5, 3), float(RNG.uniform(-5, 5)))
    return rows


@pytest.fixture(params=["all rows", "a sample"])
def few_rows(request, monkeypatch):
    monkeypatch.setattr(pooled, "_SAMPLE", 2000 if request.param == "all rows" else 200)


@pytest.mark.parametrize("weights", [None, P], ids=["plain", "weighted"])
@pytest.mark.usefixtures("few_rows")
def test_candidates_are_ranked_by_how_far_least_squares_would_bring_the_error_down(weights):
    search = _Search.on(grown(weights=weights), np.random.default_rng(0))
    candidates, biases, _ = draw_by_data(search.X, search.weights, (1.0, 20.0), 40, np.random.default_rng(1))
    ranking, _ = search.ranked(candidates, biases)
    falls = []
    before = ((search.residual - search.basis @ np.linalg.lstsq(search.basis, search.residual)[0]) ** 2).sum()
    for j in ranking:
        columns = np.column_stack([search.basis, search.columns(candidates[:, [j]], biases[[j]])])
        after = search.residual - columns @ np.linalg.lstsq(columns, search.residual)[0]
        falls.append(before - (after**2).sum())
    np.testing.assert_allclose(falls, sorted(falls, reverse=True), rtol=1e-5)


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("weights", [None, P], ids=["plain", "weighted"])
@pytest.mark.usefixtures("few_rows")
def test_the_gradient_of_the_polished_score(activation, weights):
    search = _Search.on(grown(activation, weights), np.random.default_rng(0))
    point, step, settings = RNG.normal(size=4), 1e-6, (1e-3, 0.5, 100.0)
    _, gradient = search._loss(point, *settings)
    for k in range(4):
        moved = step * np.eye(4)[k]
        slope = (search._loss(point + moved, *settings)[0] - search._loss(point - moved, *settings)[0]) / (2 * step)
        assert gradient[k] == pytest.approx(slope, rel=1e-4, abs=1e-8)


def test_polishing_climbs():
    search = _Search.on(grown(), np.random.default_rng(0))
    candidates, biases, _ = draw_by_data(search.X, None, (1.0, 20.0), 40, np.random.default_rng(1))
    ranking, smallest = search.ranked(candidates, biases)
    for j in ranking[:5]:
        weight, bias = search.polish(candidates[:, j], float(biases[j]), 15, 0.0, smallest)
        start, end = (
            search._loss(np.append(w, b), 0.0, smallest / 4, 1.0)[0]
            for w, b in ((candidates[:, j], biases[j]), (weight, bias))
        )
        assert end <= start


@pytest.mark.parametrize("rows", [100, 300], ids=["few", "many"])
def test_transitions_lie_among_the_rows(rows):
    weights, biases, scopes = draw_by_data(X[:rows], None, (1.0, 200.0), 500, np.random.default_rng(0))
    projections = X[:rows] @ weights
    assert (projections.min(axis=0) <= -biases + 1e-9).all()
    assert (-biases <= projections.max(axis=0) + 1e-9).all()
    assert (np.abs(weights).max(axis=0) <= scopes).all()
    assert 20 < (np.log(scopes) < np.log(200.0) / 10).sum() < 90


def test_an_activation_without_derivative_is_pooled_but_not_polished():
    model = SCNRegressor(activation=np.arctan, max_nodes=5, random_state=0).fit(X, T)
    unpolished = SCNRegressor(activation=np.arctan, configuration="pooled", max_nodes=5, random_state=0).fit(X, T)
    np.testing.assert_array_equal(model.network_.weights, unpolished.network_.weights)


def test_a_sample_is_as_good_as_all_rows(monkeypatch):
    y = np.sin(6 * X[:, 0]) + X[:, 1] * X[:, 2]
    full = SCNRegressor(max_nodes=20, early_stopping=False, random_state=0).fit(X, y)
    monkeypatch.setattr(pooled, "_SAMPLE", 150)
    sampled = SCNRegressor(max_nodes=20, early_stopping=False, random_state=0).fit(X, y)
    assert sampled.history_["train_rmse"][-1] < 3 * full.history_["train_rmse"][-1] + 1e-3


def test_many_rows_are_not_copied_and_not_linked(monkeypatch):
    monkeypatch.setattr("skscn.estimators._base.MANY_ROWS", 200)
    monkeypatch.setattr("skscn.estimators._scn.MANY_ROWS", 200)
    y = np.sin(6 * X[:, 0])
    model = SCNRegressor(max_nodes=5, random_state=0).fit(X, y)
    assert len(model.held_out_) == 0
    assert model.network_.linear.size == 1
    asked = SCNRegressor(max_nodes=5, direct_link=True, early_stopping=True, random_state=0).fit(X, y)
    assert len(asked.held_out_) == 30
    assert asked.network_.linear.size == 4
