"""Output weights of fixed nodes under a loss, against independent solutions of the same problem."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression, PoissonRegressor, QuantileRegressor
from sklearn.preprocessing import StandardScaler

from skscn import refit
from skscn.activations import ACTIVATIONS
from skscn.fit import trainer
from skscn.fit.data import ArrayData
from skscn.losses import Huber, LogLoss, Poisson, Quantile, Welsch
from skscn.nodes import IDENTITY, Dense, Nodes
from skscn.refit import Candidate, Columns, HeldOut, Reweighting, blend, solve_candidates, solve_path
from skscn.rows import open_rows
from skscn.scaling import ArrayStatistics, Scaling, scale_inputs

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (600, 3))
LAYER = Dense(ACTIVATIONS["tanh"])
LINEAR = Nodes(IDENTITY, np.eye(3, 4, k=1), np.eye(1, 4)[0])
NODES = Nodes(LAYER, RNG.uniform(-3, 3, (3, 8)), RNG.uniform(-2, 2, 8))
PLAIN = scale_inputs(None, X)
H = np.column_stack([np.ones(600), X, np.tanh(X @ NODES.weights + NODES.biases)])
SIGNAL = H @ RNG.normal(size=12)
IDENTITY_SCALING = Scaling.centred(np.zeros(1), np.ones(1))


def columns_of(y, outputs=IDENTITY_SCALING, weights=None):
    rows = open_rows(X, y, layer=LAYER, scaling=PLAIN, sample_weight=weights)
    return Columns(rows, outputs, LINEAR, [NODES])


def test_columns_have_their_triangle_and_leave_the_targets():
    y = SIGNAL[:, np.newaxis]
    columns = columns_of(y)
    np.testing.assert_allclose(columns.triangle.T @ columns.triangle, H.T @ H, atol=1e-9)
    np.testing.assert_array_equal(columns.rows.backend.storage.residual, y)


def test_columns_that_depend_on_others_are_left_out():
    twice = Nodes.joined([NODES, NODES])
    rows = open_rows(X, SIGNAL[:, np.newaxis], layer=LAYER, scaling=PLAIN)
    columns = Columns(rows, IDENTITY_SCALING, LINEAR, [NODES, twice])
    assert [len(block) for block in columns.blocks] == [8, 0]
    fewer = columns.first(6)
    assert [len(block) for block in fewer.blocks] == [2, 0]
    assert [len(block) for block in columns.first(4).blocks] == [0, 0]


@pytest.mark.parametrize("weighted", [False, True])
def test_huber(weighted):
    weights = RNG.uniform(0.5, 2.0, 600) if weighted else None
    y = SIGNAL + RNG.standard_t(1.5, 600)
    loss = Huber(scales=(1.0,))
    reweighting = Reweighting(columns_of(y[:, np.newaxis], weights=weights), alpha=0.0)
    for _ in range(5):
        reweighting.minimise(loss)
    beta = reweighting.solution().output_weights
    p = np.ones(600) if weights is None else weights

    def objective(b):
        return float(p @ loss.value(y[:, np.newaxis], (H @ b)[:, np.newaxis]))

    exact = minimize(objective, beta[:, 0], method="BFGS", options={"gtol": 1e-6})
    assert objective(beta[:, 0]) <= exact.fun * (1 + 1e-5)


def test_a_reweighted_solution_with_fewer_nodes_has_the_same_row_weights():
    y = SIGNAL + RNG.standard_t(1.5, 600)
    loss = Huber(scales=(1.0,))
    reweighting = Reweighting(columns_of(y[:, np.newaxis]), alpha=0.0)
    for _ in range(5):
        reweighting.minimise(loss)
    solution = reweighting.solution()
    f = (H @ solution.output_weights)[:, 0]
    roots = np.sqrt(loss.row_weights(y[:, np.newaxis], f[:, np.newaxis]))
    ours = H[:, :7] @ (solution.directions[:7, :7] @ solution.coefficients[:7])[:, 0]
    theirs = H[:, :7] @ np.linalg.lstsq(roots[:, np.newaxis] * H[:, :7], roots * y, rcond=None)[0]
    np.testing.assert_allclose(ours, theirs, atol=0.02)


def path_of(columns, loss, held_out=None, sizes=()):
    return {candidate.penalty: candidate for candidate in solve_path(columns, loss, held_out, sizes)}


@pytest.mark.parametrize("classes", [2, 4])
def test_log_loss_is_that_of_logistic_regression(classes):
    labels = np.digitize(SIGNAL + RNG.logistic(size=600), np.quantile(SIGNAL, np.linspace(0, 1, classes + 1)[1:-1]))
    targets = (labels[:, np.newaxis] == np.arange(classes)).astype(float)
    targets = targets[:, 1:] if classes == 2 else targets
    outputs = Scaling.centred(np.zeros(targets.shape[1]), np.ones(targets.shape[1]))
    columns = columns_of(targets, outputs)
    standard = StandardScaler().fit_transform(H[:, 1:])
    for candidate in path_of(columns, LogLoss()).values():
        penalty = LogLoss().penalties(600)[candidate.penalty]
        theirs = LogisticRegression(C=1 / penalty, tol=1e-8, max_iter=5000).fit(standard, labels)
        ours = H @ columns.solution(candidate.coefficients).output_weights
        found = LogLoss().mean(ours)
        wanted = theirs.predict_proba(standard)
        np.testing.assert_allclose(found[:, 0], wanted[:, 1] if classes == 2 else wanted[:, 0], atol=0.01)


def test_poisson_is_that_of_scikit_learn():
    y = RNG.poisson(np.exp(0.3 * SIGNAL)).astype(float)
    exposure = RNG.uniform(0.5, 2.0, 600)
    loss = Poisson(rate=float(np.average(y, weights=exposure)))
    outputs = Scaling.centred(np.log([loss.rate]), np.ones(1))
    columns = columns_of(y[:, np.newaxis], outputs, exposure)
    mean = np.average(H[:, 1:], axis=0, weights=exposure)
    deviation = np.sqrt(np.average((H[:, 1:] - mean) ** 2, axis=0, weights=exposure))
    standard = (H[:, 1:] - mean) / deviation
    candidate = path_of(columns, loss)[3]
    alpha = loss.penalties(exposure.sum())[3] / exposure.sum()
    theirs = PoissonRegressor(alpha=alpha, tol=1e-8, max_iter=5000).fit(standard, y, sample_weight=exposure)
    solution = columns.solution(candidate.coefficients)
    ours = np.exp(np.log(loss.rate) + H @ solution.output_weights)[:, 0]
    np.testing.assert_allclose(ours, theirs.predict(standard), rtol=0.02)


@pytest.mark.parametrize("q", [0.1, 0.5])
def test_quantiles_are_almost_those_of_linear_programming(q):
    y = SIGNAL + RNG.gumbel(size=600)
    loss = Quantile(q, factor=0.2)
    targets = y[:, np.newaxis]
    outputs = Scaling.centred(np.quantile(targets, q, axis=0), np.ones(1))
    rows = np.tile(outputs.offset, (600, 1))
    loss = loss.adapted(lambda function: ArrayStatistics(function(targets, rows)))
    columns = columns_of(targets, outputs)
    candidate = list(path_of(columns, loss).values())[-1]
    ours = outputs.offset + H @ columns.solution(candidate.coefficients).output_weights
    theirs = QuantileRegressor(quantile=q, alpha=0.0).fit(H[:, 1:], y).predict(H[:, 1:])
    pinball = [loss.value(targets, f.reshape(-1, 1)).mean() for f in (ours, theirs)]
    assert pinball[1] <= pinball[0] <= 1.02 * pinball[1]


def test_held_out_rows_have_the_loss_of_the_network():
    y = (SIGNAL + RNG.normal(size=600))[:, np.newaxis]
    columns = columns_of(y)
    held_out = HeldOut(columns, X[:50], y[:50], np.arange(1.0, 51.0), PLAIN)
    coefficients = RNG.normal(size=(12, 1))
    loss = Quantile(0.3)
    f = H[:50] @ columns.solution(coefficients).output_weights
    expected = np.average(loss.value(y[:50], f), weights=np.arange(1.0, 51.0))
    assert held_out.mean_loss(loss, held_out.outputs_of(coefficients)) == pytest.approx(expected)
    assert held_out.weight == 1275


def test_candidates_are_averaged_by_their_likelihood():
    candidates = [Candidate(4, 0, number, np.zeros((1, 1)), score) for number, score in enumerate([0.5, 0.52, 0.9])]
    shares = blend(candidates, LogLoss(), weight=100.0)
    assert shares[2] == 0.0
    assert shares[1] / shares[0] == pytest.approx(np.exp(-1.0))
    assert sum(shares) == pytest.approx(1.0)
    # A unit of the target does not matter.
    loss = Quantile(0.5, spreads=(1.0,))
    large = [candidate._replace(score=1000 * candidate.score) for candidate in candidates]
    np.testing.assert_allclose(blend(candidates, loss, 100.0), blend(large, loss, 100.0))


def test_sizes_are_candidates_too():
    labels = (SIGNAL > 0).astype(float)[:, np.newaxis]
    found = solve_path(columns_of(labels), LogLoss(), None, sizes=(0, 3))
    assert sorted({candidate.size for candidate in found}) == [4, 7, 12]
    assert all(not candidate.coefficients[candidate.size :].any() for candidate in found)


# The second node is almost the first one where the third input is 0, which it is in all but the first rows.
FEW = 60
NARROW = np.where(np.arange(600)[:, np.newaxis] < FEW, X, X * [1.0, 1.0, 0.0])
TWINS = Nodes(
    LAYER,
    np.insert(NODES.weights, 1, NODES.weights[:, 0] + [0.0, 0.0, 0.05], axis=1),
    np.insert(NODES.biases, 1, NODES.biases[0]),
)
TWINS_LAST = [*range(5), *range(6, 13), 5]


def columns_of_twins(y, count, linear=LINEAR, nodes=TWINS):
    rows = open_rows(NARROW[:count], y[:count], layer=LAYER, scaling=PLAIN)
    return Columns(rows, IDENTITY_SCALING, linear, [nodes])


def test_columns_know_which_of_the_given_ones_they_are():
    y = SIGNAL[:, np.newaxis]
    few, every = columns_of_twins(y, FEW), columns_of_twins(y, 600)
    np.testing.assert_array_equal(few.numbers, np.arange(13))
    np.testing.assert_array_equal(every.numbers, TWINS_LAST)
    h = np.column_stack([np.ones(600), NARROW, np.tanh(NARROW @ TWINS.weights + TWINS.biases)])[:, every.numbers]
    np.testing.assert_allclose(every.triangle.T @ every.triangle, h.T @ h, atol=1e-9)
    np.testing.assert_array_equal(every.first(9).numbers, TWINS_LAST[:9])


def test_columns_in_another_order_begin_with_their_own_output_weights(monkeypatch):
    y = (SIGNAL > 0).astype(float)[:, np.newaxis]
    few = columns_of_twins(y, FEW)
    every = columns_of_twins(y, 600, few.linear, few.blocks[0])
    beta = np.arange(1.0, 14.0)[:, np.newaxis]
    candidate = Candidate(13, 0, 3, few.triangle @ beta, 0.0)
    monkeypatch.setattr(refit, "_solved", lambda spectrum, loss, penalty, points: points)
    (there,) = solve_candidates(every, LogLoss(), [candidate], 1.0, few)
    np.testing.assert_allclose(every.solution(there.coefficients).output_weights, beta[TWINS_LAST], rtol=1e-6)
    # On the same columns, whatever their order is, nothing moves.
    (same,) = solve_candidates(every, LogLoss(), [there], 2.0, every)
    np.testing.assert_allclose(same.coefficients, there.coefficients)


def test_columns_in_another_order_keep_their_shares(monkeypatch):
    def shares(held_out, loss, columns, solution):
        return np.append(np.ones(4), np.arange(9, 0, -1) / 9.0)

    y = SIGNAL + 0.1 * RNG.normal(size=600)
    data = ArrayData.regression(NARROW, y, None)
    training, held_out = data.take(np.arange(FEW)), data.take(np.arange(FEW, 600))
    spec = trainer.NetworkSpec(
        LAYER, Welsch(), PLAIN, IDENTITY_SCALING, LINEAR, bounded=False, single_output=True, single_precision=False
    )
    of_all = trainer.Refit(training, held_out, data, spec, 0.0, None, averaged=False)
    with monkeypatch.context() as patched:
        patched.setattr(trainer, "prefix_shares", lambda *_: np.ones(13))
        whole = of_all.network([TWINS], Welsch(), final=True)
    monkeypatch.setattr(trainer, "prefix_shares", shares)
    averaged = of_all.network([TWINS], Welsch(), final=True)
    np.testing.assert_array_equal(averaged.layers[0].nodes.biases, TWINS.biases[np.array(TWINS_LAST[4:]) - 4])
    expected = shares(None, None, None, None)[TWINS_LAST]
    np.testing.assert_allclose(averaged.coefficients[:, 0] / whole.coefficients[:, 0], expected)
