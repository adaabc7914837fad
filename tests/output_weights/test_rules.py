"""Each rule against a literal reading of the paper's pseudo code, with its residual T − Hβ."""

import numpy as np
import pytest
from scipy.linalg import lstsq
from scipy.special import expit

from skscn.activations import ACTIVATIONS
from skscn.nodes import IDENTITY, Dense, Nodes
from skscn.output_weights import ALGORITHMS
from skscn.rows import ROWS, open_rows
from skscn.scaling import scale_inputs

RNG = np.random.default_rng(1)
X, T = RNG.uniform(size=(200, 3)), RNG.normal(size=(200, 2))
W, B = RNG.uniform(-6, 6, size=(3, 24)), RNG.uniform(-6, 6, size=24)
H = expit(scale_inputs(None, X).transform(X) @ W + B)
WINDOW = 5


def residual_of(rows):
    return rows.sample(np.arange(rows.n_rows)).residual


def literal(algorithm, window, alpha=0.0):
    """β after each node: steps 18-19 of SC-I, 5-11 of SC-II, 5 of SC-III; with a ridge on what is evaluated."""
    beta = np.zeros((0, 2))
    for L in range(1, H.shape[1] + 1):
        first = {"SC-I": L - 1, "SC-II": max(0, L - window), "SC-III": 0}[algorithm]
        beta = np.vstack([beta, np.zeros((1, 2))])
        rest = T - H[:, :first] @ beta[:first]
        ridge = np.sqrt(alpha) * np.eye(L - first)
        beta[first:] = lstsq(np.vstack([H[:, first:L], ridge]), np.vstack([rest, np.zeros((L - first, 2))]))[0]
        yield beta.copy()


@pytest.mark.parametrize("backend", ROWS)
@pytest.mark.parametrize("window", [1, WINDOW, 100])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_rule_equals_the_pseudo_code_after_every_node(algorithm, window, backend, rows_in):
    rows = rows_in(backend, X, T, layer=Dense(ACTIVATIONS["sigmoid"]), scaling=scale_inputs(None, X))
    rule = ALGORITHMS[algorithm](2, window)
    for j, beta in enumerate(literal(algorithm, window)):
        assert rule.append(rows, rows.nodes(W[:, [j]], B[[j]])).all()
        np.testing.assert_allclose(H[:, : j + 1] @ rule.output_weights(), H[:, : j + 1] @ beta, atol=1e-8)
        np.testing.assert_allclose(residual_of(rows), T - H[:, : j + 1] @ beta, atol=1e-8)
    for nodes, beta in enumerate(literal(algorithm, window), start=1):
        prefix = rule.directions(nodes) @ rule.coefficients(nodes)
        np.testing.assert_allclose(H[:, :nodes] @ prefix, H[:, :nodes] @ beta, atol=1e-8)


@pytest.mark.parametrize("backend", ROWS)
@pytest.mark.parametrize("alpha", [1e-9, 0.01, 30.0, 1e6])
@pytest.mark.parametrize(("algorithm", "window"), [("SC-I", 1), ("SC-II", 1), ("SC-II", WINDOW), ("SC-II", 100)])
def test_a_ridge_on_what_is_evaluated(algorithm, window, alpha, backend, rows_in):
    """On all training rows and one more for each column, which no backend stores."""
    rows = rows_in(backend, X, T, layer=Dense(ACTIVATIONS["sigmoid"]), scaling=scale_inputs(None, X))
    rule = ALGORITHMS[algorithm](2, window, alpha)
    for j, beta in enumerate(literal(algorithm, window, alpha)):
        block = rule.open(rows, rows.nodes(W[:, [j]], B[[j]]))
        assert block.admit(np.ones(1, dtype=bool)).all()
        rule.join(rows, block)
        np.testing.assert_allclose(rule.output_weights(), beta, atol=1e-7 * np.abs(beta).max())
        np.testing.assert_allclose(residual_of(rows), T - H[:, : j + 1] @ beta, atol=1e-8)
        # What is minimised falls by what the inequality is about, or by more; SC-I no longer penalises the weight then.
        penalised = beta[max(0, j + 1 - window) :] if algorithm == "SC-II" else beta[:0]
        left = ((T - H[:, : j + 1] @ beta) ** 2).sum(axis=0) + alpha * (penalised**2).sum(axis=0)
        before, after = block.residual_squares.T
        np.testing.assert_allclose(after, left, rtol=1e-9)
        inner, squares = block.columns.sums.projections[:, 0], block.columns.sums.squares[0]
        assert (left <= (before - inner**2 / (squares + alpha)) * (1 + 1e-9)).all()
    for nodes, beta in enumerate(literal(algorithm, window, alpha), start=1):
        prefix = rule.directions(nodes) @ rule.coefficients(nodes)
        np.testing.assert_allclose(H[:, :nodes] @ prefix, H[:, :nodes] @ beta, atol=1e-8)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_linear_columns_are_solved_for_together_and_by_sc3_with_every_node(algorithm):
    rows = open_rows(X, T, layer=Dense(ACTIVATIONS["sigmoid"]), scaling=scale_inputs(None, X))
    rule = ALGORITHMS[algorithm](2, WINDOW)
    linear = np.column_stack([np.ones(200), X, X[:, 0]])
    links = Nodes(IDENTITY, np.column_stack([np.zeros(3), np.eye(3), np.eye(3)[:, 0]]), np.eye(1, 5)[0])
    kept = rule.append_linear(rows, links)
    np.testing.assert_array_equal(kept, [0, 1, 2, 3])
    G = linear[:, kept]
    np.testing.assert_allclose(residual_of(rows), T - G @ lstsq(G, T)[0], atol=1e-10)
    for j in range(8):
        assert rule.append(rows, rows.nodes(W[:, [j]], B[[j]])).all()
    assert rule.nodes == 8
    columns = np.hstack([G, H[:, :8]])
    np.testing.assert_allclose(residual_of(rows), T - columns @ rule.output_weights(), atol=1e-8)
    np.testing.assert_allclose(
        columns @ rule.directions() @ rule.coefficients(), columns @ rule.output_weights(), atol=1e-8
    )
    if algorithm == "SC-III":
        np.testing.assert_allclose(residual_of(rows), T - columns @ lstsq(columns, T)[0], atol=1e-8)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_rule_without_nodes_has_empty_weights(algorithm):
    rule = ALGORITHMS[algorithm](2, WINDOW)
    assert rule.output_weights().shape == rule.coefficients().shape == (0, 2)
    assert rule.directions().shape == (0, 0)


def test_the_window_keeps_no_more_than_it_needs():
    rows = open_rows(X, T, layer=Dense(ACTIVATIONS["sigmoid"]), scaling=scale_inputs(None, X))
    rule = ALGORITHMS["SC-II"](2, WINDOW)
    for j in range(H.shape[1]):
        rule.append(rows, rows.nodes(W[:, [j]], B[[j]]))
    assert rows.basis_size == WINDOW - 1


@pytest.mark.parametrize("algorithm", [name for name, rule in ALGORITHMS.items() if rule.takes_blocks])
def test_a_block_of_nodes_is_what_one_after_the_other_is(algorithm):
    rows = open_rows(X, T, layer=Dense(ACTIVATIONS["sigmoid"]), scaling=scale_inputs(None, X))
    rule = ALGORITHMS[algorithm](2)
    stages = list(literal(algorithm, WINDOW))
    for start in (0, 3):
        assert rule.append(rows, rows.nodes(W[:, start : start + 3], B[start : start + 3])).all()
    np.testing.assert_allclose(H[:, :6] @ rule.output_weights(), H[:, :6] @ stages[5], atol=1e-8)
    np.testing.assert_allclose(residual_of(rows), T - H[:, :6] @ stages[5], atol=1e-8)
    for nodes in range(1, 7):
        prefix = rule.directions(nodes) @ rule.coefficients(nodes)
        np.testing.assert_allclose(H[:, :nodes] @ prefix, H[:, :nodes] @ stages[nodes - 1], atol=1e-8)


def test_a_block_with_a_node_that_is_refused_changes_nothing():
    rows = open_rows(X, T, layer=Dense(ACTIVATIONS["sigmoid"]), scaling=scale_inputs(None, X))
    rule = ALGORITHMS["SC-III"](2)
    rule.append(rows, rows.nodes(W[:, [0]], B[[0]]))
    before = residual_of(rows).copy()
    twice = [1, 2, 1, 0, 5]
    np.testing.assert_array_equal(
        rule.append(rows, rows.nodes(W[:, twice], B[twice])), [True, True, False, False, True]
    )
    assert rule.nodes == rows.basis_size == 1
    np.testing.assert_array_equal(residual_of(rows), before)


def test_each_node_of_a_block_is_judged_by_the_residual_that_those_before_it_leave():
    rows = open_rows(X, T, layer=Dense(ACTIVATIONS["sigmoid"]), scaling=scale_inputs(None, X))
    block = ALGORITHMS["SC-III"](2).open(rows, rows.nodes(W[:, :4], B[:4]))
    usable = np.array([True, False, True, True])
    np.testing.assert_array_equal(block.admit(usable), usable)
    for candidate, before in ((0, []), (1, [0]), (2, [0]), (3, [0, 2])):
        residual = T - H[:, before] @ lstsq(H[:, before], T)[0] if before else T
        np.testing.assert_allclose(block.sums.projections[:, candidate], residual.T @ H[:, candidate], atol=1e-9)
        np.testing.assert_allclose(block.sums.squares[candidate], H[:, candidate] @ H[:, candidate])
        np.testing.assert_allclose(block.residual_squares[:, candidate], (residual**2).sum(axis=0))


def test_linear_columns_that_say_little_beside_the_others_come_in_after_them():
    close = X[:, 0] + 1e-4 * X[:, 1] ** 2
    inputs = np.column_stack([X, close])
    rows = open_rows(inputs, T, layer=Dense(ACTIVATIONS["sigmoid"]), scaling=scale_inputs(None, inputs))
    rule = ALGORITHMS["SC-III"](2)
    kept = rule.append_linear(rows, Nodes(IDENTITY, np.eye(4)[:, [0, 3, 1, 2]], np.zeros(4)))
    np.testing.assert_array_equal(kept, [0, 2, 3, 1])
    solution = inputs @ lstsq(inputs, T)[0]
    np.testing.assert_allclose(residual_of(rows), T - solution, atol=1e-9)
    np.testing.assert_allclose(inputs[:, [0, 3, 1, 2]][:, kept] @ rule.output_weights(), solution, atol=1e-9)
