import numpy as np
import pytest

from skscn import ACTIVATIONS, SCNRegressor
from skscn.datasets import make_db1
from skscn.nodes import Dense
from skscn.output_weights import LeastSquares
from skscn.rows import open_rows
from skscn.scaling import scale_inputs
from skscn.search import ladder
from skscn.search.base import draw
from skscn.search.ladder import survivors

# The share of the score of the best candidate of the whole pool that a race may lose.
STATED_LOSS = 0.05


def rows_and_pool(seed, scope, nodes, n_rows=40_000, d=6):
    rng = np.random.default_rng(seed)
    X = rng.random((n_rows, d))
    y = np.sin(5 * X @ rng.normal(size=d)) + X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=n_rows)
    rows = open_rows(X, y[:, np.newaxis], layer=Dense(ACTIVATIONS["sigmoid"]), scaling=scale_inputs("minmax", X))
    rule = LeastSquares(1)
    for _ in range(nodes):
        rule.append(rows, draw(rows, 5.0, 1, rng))
    return rows, draw(rows, scope, 200, rng)


@pytest.mark.parametrize("scope", [1.0, 5.0, 50.0])
@pytest.mark.parametrize("nodes", [0, 30])
def test_a_race_loses_little_of_the_best_score(scope, nodes):
    losses, sizes = [], []
    for seed in range(5):
        rows, pool = rows_and_pool(seed, scope, nodes)
        scores = rows.sums(pool).decreases[0]
        kept = survivors(rows, pool, np.random.default_rng(seed))
        sizes.append(len(kept))
        losses.append(1.0 - scores[kept].max() / scores.max())
    assert max(losses) <= STATED_LOSS
    # Where candidates differ by more than noise, most of them are out of the race.
    assert nodes or np.mean(sizes) < 100


def test_a_race_does_not_make_a_pool_fail(monkeypatch):
    """Where no survivor is admissible the whole pool is looked at."""
    rng = np.random.default_rng(0)
    X = rng.random((20_000, 3))
    y = np.sin(7 * X[:, 0]) + X[:, 1]
    full = SCNRegressor(configuration="ladder", max_nodes=8, random_state=0).fit(X, y)

    def worst(rows, pool, rng):
        return np.zeros(1, dtype=int)

    monkeypatch.setattr(ladder, "survivors", worst)
    hindered = SCNRegressor(configuration="ladder", max_nodes=8, contractions=(0.9,), random_state=0).fit(X, y)
    assert hindered.n_nodes_ > 0
    assert full.n_nodes_ == 8


def test_few_rows_are_not_raced(monkeypatch):
    """The paper's data sets are small or spiky, and searched as in the paper."""
    db1 = make_db1(random_state=0)
    monkeypatch.setattr(ladder, "survivors", None)
    SCNRegressor(configuration="ladder", max_nodes=5, random_state=0).fit(db1.data, db1.target)


def test_every_node_of_a_raced_network_passes_the_inequality():
    rng = np.random.default_rng(1)
    X = rng.random((20_000, 3))
    y = np.sin(7 * X[:, 0]) + X[:, 1]
    model = SCNRegressor(configuration="ladder", max_nodes=12, random_state=0).fit(X, y)
    assert (model.history_["slack"] >= 0).all()
    scaling = model.network_.outputs
    errors = model.history_["train_rmse"] / scaling.scale[0]
    squares = np.r_[np.mean(scaling.transform(y[:, None]) ** 2), errors**2]
    nodes = model.history_["nodes"]
    contraction = model.history_["contraction"] + (1 - model.history_["contraction"]) / (nodes + 1)
    assert (squares[1:] <= contraction * squares[:-1] * (1 + 1e-9)).all()


def test_unbounded_nodes_are_raced_in_double_precision():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(33_000, 4))
    parameters = {"configuration": "ladder", "scaling": None, "activation": "relu", "max_candidates": 20}
    model = SCNRegressor(**parameters, max_nodes=3, random_state=0).fit(X * 1e19, np.sin(X[:, 0]))
    assert model.n_nodes_ == 3
