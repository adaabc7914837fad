"""Polishing nodes: properties of the Levenberg–Marquardt steps, against finite differences and plain least squares."""

from dataclasses import replace

import numpy as np
import pytest

from skscn import ACTIVATIONS, SCNRegressor
from skscn.nodes import Dense
from skscn.output_weights import LeastSquares
from skscn.rows import open_rows
from skscn.scaling import scale_inputs
from skscn.search import Polished, polish, pool
from skscn.search.polish import LocalProblem, improve_together, weights_to_improve
from skscn.search.pool import Search, Sweep

RNG = np.random.default_rng(5)
X, P = RNG.uniform(size=(300, 3)), RNG.integers(1, 4, size=300).astype(float)
T = np.column_stack([np.sin(6 * X[:, 0]) + X[:, 1] * X[:, 2], np.cos(5 * X[:, 1])])
WEIGHT_DECAY, LONGEST = 1e-9, 100.0
ALL = np.ones((3, 3), dtype=bool)


def grown(activation="sigmoid", weights=None, nodes=6):
    """Rows with a few nodes in the basis, and the rule."""
    rows = open_rows(
        X, T, layer=Dense(ACTIVATIONS[activation]), scaling=scale_inputs("minmax", X), sample_weight=weights
    )
    rule, rng = LeastSquares(2), np.random.default_rng(7)
    for _ in range(nodes):
        rule.append(rows, rows.nodes(rng.uniform(-5, 5, (3, 1)), rng.uniform(-5, 5, 1)))
    return rows, rule


def problem(activation="sigmoid", weights=None, weight_decay=WEIGHT_DECAY, damping=1.0, few=300):
    """In double precision."""
    search = Search(grown(activation, weights)[0], np.random.default_rng(0), moderate=0.0)
    where = (search.layer, search.X, search.sqrt_weight, search.basis, search.residual)
    return LocalProblem(*where, weight_decay, 0.0, LONGEST, damping, few)


def points(count=3):
    return np.random.default_rng(1).normal(size=(count, 4))


def error_left(where, at):
    """What least squares with all of these nodes leaves of the residual."""
    _, h = where.layer.slope_and_value(where.X, at[:, :-1].T, at[:, -1])
    h = h if where.sqrt_weight is None else h * where.sqrt_weight[:, np.newaxis]
    columns = np.column_stack([where.basis.T, h])
    e = where.residual.T
    return float(((e - columns @ np.linalg.lstsq(columns, e, rcond=None)[0]) ** 2).sum())


@pytest.mark.parametrize("activation", [name for name in ACTIVATIONS if name != "relu"])
@pytest.mark.parametrize("weights", [None, P], ids=["plain", "weighted"])
def test_the_gradient_of_the_error_after_re_evaluating_all_output_weights(activation, weights, monkeypatch):
    monkeypatch.setattr(polish, "_SHIFT", 0.0)
    where, at, step = problem(activation, weights, weight_decay=0.0), points(), 1e-5
    where.centred[:-1] = where.X.T
    _, gradient = polish._Together(where, at).normal_equations(*weights_to_improve(at, ALL))
    slopes = [
        (error_left(where, at + moved) - error_left(where, at - moved)) / (2 * step)
        for moved in step * np.eye(12).reshape(12, 3, 4)
    ]
    np.testing.assert_allclose(-2.0 * gradient, slopes, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("weights", [None, P], ids=["plain", "weighted"])
def test_the_matrix_is_that_of_columns_without_what_the_network_has(weights, monkeypatch):
    monkeypatch.setattr(polish, "_SHIFT", 0.0)
    at = points()
    for few in (len(X), 120):
        where = problem(weights=weights, weight_decay=0.0, few=few)
        state, inputs = polish._Together(where, at), where.X[:few]
        matrix, _ = state.normal_equations(*weights_to_improve(at, ALL))
        slope, h = where.layer.slope_and_value(inputs, at[:, :-1].T, at[:, -1])
        roots = np.ones((few, 1)) if where.sqrt_weight is None else where.sqrt_weight[:few, np.newaxis]
        known = np.linalg.qr(np.column_stack([where.basis[:, :few].T, h * roots]))[0]
        columns = ((slope * roots)[:, :, np.newaxis] * where.centred[:, :few].T[:, np.newaxis]).reshape(few, -1)
        columns -= known @ (known.T @ columns)
        products = np.kron(state.output_weights @ state.output_weights.T, np.ones((4, 4)))
        np.testing.assert_allclose(matrix, len(X) / few * (columns.T @ columns) * products, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("few", [len(X), 60])
@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("damping", [1.0, 0.01])
def test_steps_together_never_increase_the_error_and_reduce_it(activation, damping, few):
    where, at = problem(activation, damping=damping, few=few), points()
    errors = [error_left(where, improve_together(where, at, steps, ALL)) for steps in (0, 2, 10)]
    assert errors[2] <= errors[1] <= errors[0]
    assert errors[2] < 0.95 * errors[0]


@pytest.mark.parametrize("allowed", [[0, 2], [1], []], ids=str)
def test_only_weights_that_are_allowed_to_and_biases_move(allowed):
    at, allowed = points(), np.isin(np.arange(3), allowed)
    there = np.array([allowed, allowed, ALL[0]])
    found = improve_together(problem(), at, 5, there)
    np.testing.assert_array_equal(found[:, :-1] != at[:, :-1], there)
    assert (found[:, -1] != at[:, -1]).all()


def test_of_many_inputs_a_node_keeps_to_those_it_was_drawn_with(monkeypatch):
    monkeypatch.setattr(pool, "MANY_INPUTS", 2)
    at = points()
    at[0, 1] = at[2, 0] = 0.0
    nodes = rows_nodes(at)
    found = problem_search().polish(nodes, 5, 1.0, 1.0, Polished((1.0,))._improvable(nodes))
    np.testing.assert_array_equal(found.weights == 0.0, nodes.weights == 0.0)
    assert (found.weights != nodes.weights).any()


def test_with_too_few_rows_for_all_weights_the_largest_of_each_node_are_polished_if_that_pays(monkeypatch):
    rows, rule = grown()
    nodes, factor = rule.grown, rule.final_factor(rows, rule.nodes)
    # On 300 rows, at fifteen for each, six nodes can have two weights of inputs, and the bias.
    monkeypatch.setattr(pool, "_FEWEST_WEIGHTS", 2)
    search = Polished((1.0, 10.0))
    search.rows_per_weight = 15
    assert search.polish(rows, nodes, factor, 0.0, np.random.default_rng(0)) is None
    found = search.polish(rows, nodes, factor, 0.05, np.random.default_rng(0)).weights
    smallest = np.abs(nodes.weights).argmin(axis=0)
    np.testing.assert_array_equal(found != nodes.weights, np.arange(3)[:, np.newaxis] != smallest)
    monkeypatch.setattr(pool, "_FEWEST_WEIGHTS", 3)
    assert search.polish(rows, nodes, factor, 0.05, np.random.default_rng(0)) is None


def test_a_block_that_would_depend_on_the_others_stays_as_it_was(monkeypatch):
    rows, rule = grown()
    nodes, factor = rule.grown, rule.final_factor(rows, rule.nodes)
    monkeypatch.setattr(pool, "_BLOCK", 2)

    def join(self, block, numbers, before=Sweep.join):
        """The first block is refused."""
        joined.append(numbers)
        return len(joined) > 1 and before(self, block, numbers)

    joined = []
    monkeypatch.setattr(Sweep, "join", join)
    found = Polished((1.0, 10.0)).polish(rows, nodes, factor, 0.0, np.random.default_rng(0))
    np.testing.assert_array_equal(joined[0], joined[1])
    assert len(joined) == 4
    refused = np.isin(np.arange(6), joined[0])
    np.testing.assert_array_equal((found.weights != nodes.weights).all(axis=0), ~refused)
    np.testing.assert_array_equal(found.take(joined[0]).biases, nodes.take(joined[0]).biases)


def test_nodes_lose_their_weights_of_inputs_that_hardly_matter_or_keep_them_as_they_are():
    rows, rule = grown()
    nodes, factor = rule.grown, rule.final_factor(rows, rule.nodes)
    search = Polished((1.0, 10.0)).informed(0.9, np.array([1.0, 0.5, 0.01]))
    found = search.polish(rows, nodes, factor, 0.0, np.random.default_rng(0)).weights
    mostly = nodes.weights[2] ** 2 > (nodes.weights[:2] ** 2).sum(axis=0)
    assert mostly.any()
    assert not mostly.all()
    np.testing.assert_array_equal(found[2], np.where(mostly, nodes.weights[2], 0.0))
    assert (found[:2] != nodes.weights[:2]).all()


def rows_nodes(at):
    """Nodes at these points."""
    return grown(nodes=0)[0].nodes(at[:, :-1].T, at[:, -1])


def problem_search():
    """A search on the rows of the problem."""
    return Search(grown()[0], np.random.default_rng(0), moderate=0.0)


@pytest.mark.parametrize("few", [len(X), 60])
def test_flat_nodes_do_no_harm(few):
    at = np.array([[0.0, 0.0, 0.0, 1e3], [0.0, 0.0, 0.0, -1e3], [1.0, 1.0, 1.0, 1e3]])
    found = improve_together(problem(few=few), at, 5, ALL)
    assert np.isfinite(found).all()


def test_of_very_many_inputs_only_the_largest_weights_move(monkeypatch):
    monkeypatch.setattr("skscn.search.polish.MANY_INPUTS", 2)
    at = points()
    found = improve_together(problem(), at, 5, ALL)
    fixed = np.abs(at[:, :-1]).argmin(axis=1)
    np.testing.assert_array_equal(found[range(3), fixed], at[range(3), fixed])
    assert (found != at).any()


@pytest.mark.parametrize("most_rows", [2000, 200], ids=["all rows", "a sample"])
def test_nodes_that_leave_a_sweep_and_come_back_leave_it_as_it_was(most_rows):
    rows, rule = grown()
    search = Search(rows, np.random.default_rng(0), most_rows=most_rows, moderate=0.0)
    sweep = Sweep(search, rule.final_factor(rows, rule.nodes))
    residual, total = search.residual.copy(), sweep.coefficients.T @ search.basis + search.residual
    block = np.array([1, 4])
    sweep.leave(block)
    columns = search.columns(rule.grown.take(np.array([0, 2, 3, 5]))).T
    left = total.T - columns @ np.linalg.lstsq(columns, total.T, rcond=None)[0]
    np.testing.assert_allclose(search.residual.T, left, atol=1e-6)
    assert sweep.join(rule.grown.take(block), block)
    np.testing.assert_allclose(search.residual, residual, atol=1e-4)
    np.testing.assert_allclose(search.basis @ search.basis.T, np.eye(6), atol=1e-5)
    np.testing.assert_array_equal(sweep.order, [0, 2, 3, 5, 1, 4])


@pytest.mark.parametrize(
    ("gain", "expected"),
    [(0.0, [12, 18, 27, 42, 63, 96]), (0.05, [12, 18, 27, 42, 63, 96]), (0.2, [12, 15, 18, 21, 24, 27, 30, 33])],
)
def test_all_nodes_are_polished_at_growing_sizes_and_sooner_where_it_pays(gain, expected):
    search, polished = Polished((1.0,)), []
    for size in range(3, expected[-1] + 1, 3):
        if search.is_due(size - 3, size, polished[-1] if polished else 0, gain if polished else 0.0):
            polished.append(size)
    assert polished == expected


def test_polishing_all_nodes_reduces_the_error_and_is_in_the_history():
    rng = np.random.default_rng(0)
    inputs = rng.uniform(size=(4000, 3))
    y = np.sin(7 * inputs[:, 0] * inputs[:, 1]) + inputs[:, 2] ** 2
    model = SCNRegressor(max_nodes=30, early_stopping=False, random_state=0).fit(inputs, y)
    history = model.history_
    assert history["polished"].sum() >= 2
    # A step may add fewer than three nodes.
    assert 12 <= history["nodes"][history["polished"]][0] <= 14
    assert (np.diff(history["train_rmse"]) <= 0).all()


def test_of_many_rows_a_sample_judges_the_polished_nodes_first(monkeypatch):
    monkeypatch.setattr(pool, "_MANY_ROWS", 500)
    X, noise = np.random.default_rng(0).uniform(size=(2000, 3)), np.random.default_rng(1).normal(size=2000)
    judged = []

    def is_better(*arguments, before=pool._is_better):
        judged.append(before(*arguments))
        return judged[-1]

    monkeypatch.setattr(pool, "_is_better", is_better)
    model = SCNRegressor(random_state=0, max_nodes=30).fit(X, np.sin(7 * X[:, 0] * X[:, 1]) + X[:, 2] ** 2)
    # Only what the sample finds better is tried on all rows; there it was better, too.
    assert sum(judged) >= model.history_["polished"].sum() >= 1
    judged.clear()
    model = SCNRegressor(random_state=0, max_nodes=30, early_stopping=False).fit(X, noise)
    assert judged
    assert model.history_["polished"].sum() <= sum(judged)


@pytest.mark.parametrize("weights", [None, P])
def test_a_sample_judges_nodes_by_least_squares(weights, monkeypatch):
    monkeypatch.setattr(pool, "SAMPLE", 300)
    monkeypatch.setattr(pool, "_ROWS_TO_JUDGE", 1)
    rows, rule = grown(weights=weights)
    factor, nodes, rng = rule.final_factor(rows, 6), rule.grown, np.random.default_rng(0)
    sample = rows.sample(np.arange(300))
    roots = 1.0 if weights is None else sample.sqrt_weight[:, np.newaxis]
    targets = sample.residual + sample.basis.T @ factor.coefficients

    def left(of):
        columns = rows.layer.hidden(sample.X, of) * roots
        return ((targets - columns @ np.linalg.lstsq(columns, targets, rcond=None)[0]) ** 2).sum()

    others = [replace(nodes, weights=nodes.weights + rng.normal(size=nodes.weights.shape)) for _ in range(20)]
    expected = [bool(left(other) < 0.998 * left(nodes)) for other in others]
    assert set(expected) == {True, False}
    assert [pool._is_better(rows, other, factor, np.random.default_rng(1)) for other in others] == expected
