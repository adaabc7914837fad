import numpy as np
import pytest

from skscn import DeepSCNRegressor
from skscn.activations import resolve_activation
from skscn.growth import grow
from skscn.nodes import Dense
from skscn.output_weights import LeastSquares
from skscn.rows import open_rows
from skscn.scaling import scale_inputs
from skscn.search import Configuration, Proposal, StepSchedule
from skscn.supervision import SMALLEST_SUPPORT, Sums, admissible, alive, forward_selection, participates, slack

RNG = np.random.default_rng(0)
E, H = RNG.normal(size=(40, 2)), RNG.uniform(size=(40, 5))
SUMS = Sums(E.T @ H, (H**2).sum(axis=0), (H**4).sum(axis=0))


def test_slack_is_the_papers_formula():
    r, node = 0.99, 3
    mu = (1 - r) / (node + 1)
    for q in range(2):
        for j in range(5):
            e, h = E[:, q], H[:, j]
            truth = (e @ h) ** 2 / (h @ h) - (1 - r - mu) * (e @ e)
            assert slack(SUMS, (E**2).sum(axis=0), r, node)[q, j] == pytest.approx(truth, rel=1e-12)


def test_each_candidate_can_meet_a_residual_and_a_number_of_nodes_of_its_own():
    r, squares, numbers = np.reshape([0.9, 0.99], (-1, 1, 1)), RNG.uniform(1.0, 2.0, (2, 5)), np.arange(3, 8)
    slacks = slack(SUMS, squares, r, numbers)
    for j, number in enumerate(numbers):
        expected = [slack(SUMS, squares[:, j], each, int(number))[:, j] for each in (0.9, 0.99)]
        np.testing.assert_array_equal(slacks[:, :, j], expected)


def test_slack_says_exactly_when_the_error_falls_enough():
    r, node = 0.97, 2
    slacks = slack(SUMS, (E**2).sum(axis=0), r, node)
    for q in range(2):
        for j in range(5):
            e, h = E[:, q], H[:, j]
            after = e - h * (e @ h) / (h @ h)
            falls = after @ after <= (r + (1 - r) / (node + 1)) * (e @ e)
            assert (slacks[q, j] >= 0) == falls
    assert (admissible(slacks) == (slacks >= 0).all(axis=0)).all()


def test_contraction_one_asks_for_nothing():
    assert admissible(slack(SUMS, (E**2).sum(axis=0), 1.0, 1)).all()


def test_a_zero_column_is_not_admissible():
    zero = Sums(np.zeros((1, 1)), np.zeros(1), np.zeros(1))
    assert not admissible(slack(zero, np.ones(1), 0.999999, 1)).any()
    assert not alive(zero, 40.0, 1.0).any()


def test_guards_refuse_almost_dead_and_lonely_nodes():
    columns = np.column_stack([np.full(1000, 0.5), np.full(1000, 1e-3), np.r_[np.ones(5), np.zeros(995)]])
    sums = Sums(np.zeros((1, 3)), (columns**2).sum(axis=0), (columns**4).sum(axis=0))
    np.testing.assert_array_equal(alive(sums, 1000.0, 1.0), [True, False, True])
    np.testing.assert_array_equal(
        participates(sums.squares, sums.quartics, SMALLEST_SUPPORT * 1000.0), [True, True, False]
    )


def test_guards_do_not_depend_on_the_unit_of_the_activation():
    sums = Sums(np.zeros((1, 1)), np.array([1000 * 1e-6]))
    assert not alive(sums, 1000.0, 1.0).any()
    assert alive(sums, 1000.0, 1e-3).all()


def relu(z):
    return np.maximum(z, 0.0)


def softplus(z):
    return np.logaddexp(0.0, z)


def rows_of(activation, unit=1.0):
    """Rows of which a few have an input that is the largest."""
    X = np.append(np.linspace(0.0, 0.98, 196), [1.0] * 4)[:, np.newaxis] * unit
    layer = Dense(resolve_activation(activation))
    return open_rows(X, (unit <= X).astype(float), layer=layer, scaling=scale_inputs(None, X))


def are_alive(rows, weights, biases):
    nodes = rows.nodes(np.array([weights]), np.array(biases))
    return alive(rows.sums(nodes), rows.weight, rows.scales(nodes)).tolist()


class Only(Configuration):
    """Proposes one node, again and again."""

    def __init__(self, weight, bias):
        self.node = np.array([[weight]]), np.array([bias])

    def propose(self, rows, node, rng, count):
        yield Proposal(rows.nodes(*self.node), (0.999,), 1)


@pytest.mark.parametrize("activation", ["relu", relu, softplus])
def test_a_node_of_an_unbounded_activation_that_is_almost_zero_is_refused_alone(activation):
    rows = rows_of(activation)
    bias = -60.0 if activation is softplus else -1.0 + 1e-10
    assert rows.sums(rows.nodes(np.ones((1, 1)), np.array([bias]))).squares < 1e-18
    with rows:
        growth = grow(rows, Only(1.0, bias), LeastSquares(1), max_nodes=1, tol=0.0, pace=StepSchedule(1), seed=0)
        assert list(growth) == []


@pytest.mark.parametrize("unit", [1e-12, 1.0, 1e12])
@pytest.mark.parametrize("factor", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize("activation", ["relu", relu])
def test_neither_the_unit_of_the_inputs_nor_that_of_the_weights_matters(activation, factor, unit):
    weights, biases = np.array([1.0, -1.0, 1.0, 1.0]), np.array([-0.3, 1.0, -0.999, -1.0 + 1e-10])
    found = are_alive(rows_of(activation, unit=unit), factor * weights / unit, factor * biases)
    assert found == [True, True, False, False]


def test_ordinary_nodes_of_all_sorts_of_functions_are_alive():
    functions = [softplus, np.arctan, np.square, np.sin, np.exp, np.sinh, lambda z: np.where(z > 0, z, 0.1 * z)]
    for function in functions:
        rows = rows_of(function)
        assert all(are_alive(rows, [3.0, -3.0, 0.5, 20.0], [-1.0, 1.0, 0.2, -10.0])), function
    # What overflows is not alive, and no reason to warn.
    assert are_alive(rows_of(lambda z: np.exp(np.minimum(z, 700.0))), [1.0], [-1e3]) == [False]


def test_nodes_of_the_layer_below_are_judged_by_what_they_see():
    X = np.random.default_rng(0).normal(size=(200, 3))
    model = DeepSCNRegressor(activation="relu", max_layers=2, nodes_per_layer=5, max_nodes=10, random_state=0)
    model.set_params(early_stopping=False).fit(X, np.sin(3 * X[:, 0]) * X[:, 1])
    assert model.network_.layer_sizes == (5, 5)


@pytest.mark.parametrize("from_matrix", [True, False])
def test_forward_selection_chooses_what_least_squares_with_those_before_explains_best(from_matrix):
    def score(sums, _, chosen):
        left = np.delete(np.arange(H.shape[1]), chosen)
        scores = np.full(H.shape[1], -np.inf)
        scores[left] = (sums.projections[:, left] ** 2).sum(axis=0) / sums.squares[left]
        return scores

    gram = H.T @ H
    products = None if from_matrix else lambda number: H[:, number] @ H
    sums = Sums(SUMS.projections, SUMS.squares, gram=gram if from_matrix else None)
    found = forward_selection(sums, 4, score, orthogonal=True, products=products).tolist()
    for place, number in enumerate(found):
        left = {}
        for other in set(range(H.shape[1])) - set(found[:place]):
            columns = H[:, [*found[:place], other]]
            left[other] = ((E - columns @ np.linalg.lstsq(columns, E, rcond=None)[0]) ** 2).sum()
        assert number == min(left, key=left.get)
