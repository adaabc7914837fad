"""Single precision first: the same node as with double precision alone."""

import numpy as np
import pytest

from skscn import ACTIVATIONS, DeepSCNRegressor, SCNClassifier, SCNRegressor
from skscn.nodes import Dense
from skscn.output_weights import LeastSquares
from skscn.rows import open_rows
from skscn.scaling import scale_inputs
from skscn.search import ladder
from skscn.search.base import draw
from skscn.search.ladder import contenders
from skscn.supervision import Inequality, alive, ranked

RNG = np.random.default_rng(0)
X = RNG.random((500, 3))
Y = np.column_stack([np.sin(9 * X[:, 0]) + X[:, 1], np.abs(X[:, 2] - 0.5)])
CONTRACTIONS = (0.9, 0.99, 0.999, 0.999999)


@pytest.mark.parametrize("activation", ["sigmoid", "gaussian", "sine"])
@pytest.mark.parametrize("nodes", [0, 25])
@pytest.mark.parametrize("together", [False, True])
def test_the_best_are_among_the_contenders(activation, nodes, together):
    layer, inequality = Dense(ACTIVATIONS[activation]), Inequality(together=together)
    rows = open_rows(X, Y, layer=layer, scaling=scale_inputs("minmax", X), inequality=inequality)
    rule, rng = LeastSquares(2), np.random.default_rng(1)
    for _ in range(nodes):
        rule.append(rows, draw(rows, 5.0, 1, rng))
    for scope in (0.5, 5.0, 100.0):
        pool = draw(rows, scope, 100, rng)
        best = contenders(rows, pool, nodes + 1, CONTRACTIONS, 4)
        sums = rows.sums(pool)
        usable = alive(sums, rows.weight, rows.layer.bound)
        for r in CONTRACTIONS:
            order = ranked(inequality.slack(sums, rows.residual_squares, r, nodes + 1), usable)
            assert set(order[:4]) <= set(best)


@pytest.mark.parametrize("configuration", ["ladder", "renewal"])
@pytest.mark.parametrize(
    ("estimator", "y"),
    [
        (SCNRegressor("SC-I", max_nodes=25), Y),
        (SCNRegressor(max_nodes=25), Y[:, 0]),
        (DeepSCNRegressor(max_nodes=20, max_layers=2), Y[:, 0]),
        (SCNClassifier(max_nodes=15), np.digitize(Y[:, 0], [0.0, 0.8])),
    ],
)
def test_networks_are_those_of_double_precision(estimator, y, configuration, monkeypatch):
    estimator.set_params(configuration=configuration, random_state=0)
    screened = estimator.fit(X, y).predict(X)
    monkeypatch.setattr(ladder, "contenders", lambda rows, pool, *_: np.arange(len(pool)))
    np.testing.assert_array_equal(estimator.fit(X, y).predict(X), screened)
